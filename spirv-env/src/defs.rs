//! What every id of a module under construction stands for.

use crate::diagnostics::{Fault, RuleId};
use crate::module::{Id, TypeId};

const SOURCE: &str = "SPIR-V 1.2 §2.16.1";
pub(crate) const ID_RANGE: RuleId = RuleId { id: "ids.bound", source: "SPIR-V 1.2 §2.3" };
pub(crate) const ID_UNIQUE: RuleId = RuleId { id: "ids.unique", source: SOURCE };
pub(crate) const ID_DEFINED: RuleId = RuleId { id: "ids.defined", source: SOURCE };
pub(crate) const ID_KIND: RuleId = RuleId { id: "ids.kind", source: SOURCE };

/// The meaning of an id.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Def {
    None,
    Type(TypeId),
    Constant(TypeId),
    /// A module-scope variable, with its pointer type.
    Global(TypeId),
    /// With its function type.
    Function(TypeId),
    /// A function's parameter or the result of an instruction.
    Value(TypeId),
    Label,
    ExtSet,
    /// `OpString`, with its place in the loader's list.
    Text(u32),
    /// Decoration groups, alias scopes, debug information: ids without meaning at run time.
    Inert,
    /// What was rejected. Whatever uses it is not to blame.
    Poison,
}

/// The ids of one input. Linked inputs have their ids moved up by `base`, so that they stay apart.
#[derive(Debug)]
pub(crate) struct Defs {
    base: u32,
    bound: u32,
    defs: Vec<Def>,
}

impl Defs {
    pub fn new(base: u32, bound: u32) -> Self {
        Self { base, bound, defs: Vec::new() }
    }

    /// The intake's id for an id of the input.
    pub fn id(&self, raw: u32) -> Result<Id, Fault> {
        if raw == 0 || raw >= self.bound {
            let message = format!("%{raw} is not between 1 and the bound {}", self.bound);
            return Err(Fault::new(ID_RANGE, message));
        }
        Ok(Id(raw + self.base))
    }

    /// How many ids the table has room for: all that are defined are below.
    pub fn len(&self) -> usize {
        self.defs.len()
    }

    /// The id as it is numbered in the input.
    pub fn raw(&self, id: Id) -> Id {
        Id(id.0.wrapping_sub(self.base))
    }

    pub fn get(&self, id: Id) -> Def {
        let at = id.0.checked_sub(self.base);
        at.and_then(|at| self.defs.get(at as usize)).copied().unwrap_or(Def::None)
    }

    /// Gives an id its one meaning.
    pub fn define(&mut self, id: Id, def: Def) -> Result<(), Fault> {
        let at = (id.0 - self.base) as usize;
        if at >= self.defs.len() {
            self.defs.resize(at + 1, Def::None);
        }
        if self.defs[at] != Def::None {
            return Err(Fault::new(ID_UNIQUE, format!("{} is defined more than once", self.raw(id))));
        }
        self.defs[at] = def;
        Ok(())
    }

    /// Gives an id that is defined another meaning.
    pub fn replace(&mut self, id: Id, def: Def) {
        if let Some(slot) = id.0.checked_sub(self.base).and_then(|at| self.defs.get_mut(at as usize)) {
            *slot = def;
        }
    }

    /// Marks the result of what was rejected.
    pub fn poison(&mut self, id: Id) {
        // One that has a meaning already keeps it.
        let _ = self.define(id, Def::Poison);
    }

    /// The type of a constant, variable, parameter or result.
    pub fn type_of(&self, id: Id) -> Option<TypeId> {
        match self.get(id) {
            Def::Constant(ty) | Def::Global(ty) | Def::Value(ty) | Def::Function(ty) => Some(ty),
            _ => None,
        }
    }

    pub fn ty(&self, id: Id) -> Result<TypeId, Fault> {
        match self.get(id) {
            Def::Type(ty) => Ok(ty),
            def => Err(self.wrong(id, def, "a type")),
        }
    }

    pub fn constant(&self, id: Id) -> Result<TypeId, Fault> {
        match self.get(id) {
            Def::Constant(ty) => Ok(ty),
            def => Err(self.wrong(id, def, "a constant")),
        }
    }

    pub fn wrong(&self, id: Id, def: Def, wanted: &str) -> Fault {
        let id = self.raw(id);
        match def {
            Def::Poison => Fault::consequence(),
            Def::None => Fault::new(ID_DEFINED, format!("{id} is used as {wanted} but not defined before")),
            _ => Fault::new(ID_KIND, format!("{id} is not {wanted}")),
        }
    }
}
