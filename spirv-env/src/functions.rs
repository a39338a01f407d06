//! The functions of a module, in their order and by their ids.

use crate::module::{Function, Id};
use rustc_hash::FxHashMap;
use std::ops::{Deref, DerefMut};

/// Functions in the order of the module. The slice that this stands for may be changed, but not the functions' ids.
#[derive(Default, Debug)]
pub struct Functions {
    all: Vec<Function>,
    /// Where each function is.
    places: FxHashMap<Id, usize>,
}

impl Functions {
    /// Adds a function, whose id no other has.
    pub fn push(&mut self, function: Function) {
        self.places.insert(function.id, self.all.len());
        self.all.push(function);
    }

    /// Takes out the functions that are not kept.
    pub fn retain(&mut self, keep: impl FnMut(&Function) -> bool) {
        self.all.retain(keep);
        self.places = self.all.iter().enumerate().map(|(at, function)| (function.id, at)).collect();
    }

    /// The function of this id.
    pub fn find(&self, id: Id) -> Option<&Function> {
        Some(&self.all[self.place(id)?])
    }

    /// Where it is.
    pub fn place(&self, id: Id) -> Option<usize> {
        self.places.get(&id).copied()
    }
}

impl Deref for Functions {
    type Target = [Function];
    fn deref(&self) -> &[Function] {
        &self.all
    }
}

impl DerefMut for Functions {
    fn deref_mut(&mut self) -> &mut [Function] {
        &mut self.all
    }
}

impl<'a> IntoIterator for &'a Functions {
    type Item = &'a Function;
    type IntoIter = std::slice::Iter<'a, Function>;
    fn into_iter(self) -> Self::IntoIter {
        self.all.iter()
    }
}

impl<'a> IntoIterator for &'a mut Functions {
    type Item = &'a mut Function;
    type IntoIter = std::slice::IterMut<'a, Function>;
    fn into_iter(self) -> Self::IntoIter {
        self.all.iter_mut()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::module::TypeId;

    fn function(id: u32) -> Function {
        Function {
            id: Id(id),
            result: TypeId(0),
            params: Vec::new(),
            control: spirv::FunctionControl::NONE,
            blocks: Vec::new(),
            name: None,
            linkage: None,
        }
    }

    #[test]
    fn functions_are_found_by_their_ids_also_after_others_are_taken_out() {
        let mut functions = Functions::default();
        [7, 3, 9, 5].into_iter().for_each(|id| functions.push(function(id)));
        assert_eq!(functions.find(Id(9)).map(|function| function.id), Some(Id(9)));
        functions.retain(|function| function.id != Id(3));
        assert_eq!(functions.iter().map(|function| function.id.0).collect::<Vec<_>>(), [7, 9, 5]);
        assert!(functions.find(Id(3)).is_none() && functions.find(Id(4)).is_none());
        for function in &functions {
            assert_eq!(functions.find(function.id).map(|found| found.id), Some(function.id));
        }
        assert_eq!(functions.place(Id(5)), Some(2));
    }
}
