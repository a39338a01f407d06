//! Pointers that are made from pointers: which object each leads into, and by which steps.
//!
//! One walk finds them for all who ask: what private objects are used for (`private`, `uniform_objects`), which copies of
//! arguments nobody can tell from the original (`func::by_value`), and which bytes of a built-in are read (`builtins`).

use super::func::Func;
use rustc_hash::{FxHashMap, FxHashSet};
use spirv_env::opcodes::Derives;
use spirv_env::{Id, Inst};

/// A pointer that an access chain or a cast makes from another one.
#[derive(Debug)]
pub struct Derived<'f> {
    pub pointer: Id,
    pub base: Id,
    /// The access chain or cast.
    pub inst: &'f Inst,
}

impl Derived<'_> {
    /// Whether the memory may be seen as of another type through the pointer than through its base.
    pub fn reinterprets(&self, func: &Func<'_>) -> bool {
        match self.inst.row().derives {
            // Elements beside an object that is no array are parts of it under another type.
            Derives::ElementChain => func.constant_bits(self.inst.id(1)) != Some(0),
            Derives::AddressIfPointer => true,
            Derives::Address | Derives::Chain | Derives::Nothing => false,
        }
    }
}

/// All derived pointers of a function.
#[derive(Debug, Default)]
pub struct Pointers<'f> {
    /// Each behind its base.
    all: Vec<Derived<'f>>,
    roots: FxHashMap<Id, Id>,
    by_root: FxHashMap<Id, Vec<usize>>,
}

impl<'f> Pointers<'f> {
    pub fn new(func: &'f Func<'_>) -> Self {
        let insts = func.blocks.values().flat_map(|block| &block.insts);
        let derived = |inst: &'f Inst| Some((inst.result?, (func.derived_from(inst)?, inst)));
        let made: FxHashMap<Id, (Id, &Inst)> = insts.clone().filter_map(derived).collect();
        let mut pointers = Pointers::default();
        // Definitions may stand behind uses in the order of blocks: bases first.
        let mut seen: FxHashSet<Id> = FxHashSet::default();
        let mut chain = Vec::new();
        for (pointer, _) in insts.filter_map(derived) {
            let mut next = pointer;
            while let Some(&(base, inst)) = made.get(&next) {
                if !seen.insert(next) {
                    break;
                }
                chain.push(Derived { pointer: next, base, inst });
                next = base;
            }
            for derived in chain.drain(..).rev() {
                let root = pointers.root(derived.base);
                pointers.roots.insert(derived.pointer, root);
                pointers.by_root.entry(root).or_default().push(pointers.all.len());
                pointers.all.push(derived);
            }
        }
        pointers
    }

    /// All of them, each behind its base.
    pub fn iter(&self) -> impl Iterator<Item = &Derived<'f>> {
        self.all.iter()
    }

    /// Those into the object of a pointer that is not derived itself, each behind its base.
    pub fn in_root(&self, root: Id) -> impl Iterator<Item = &Derived<'f>> {
        self.by_root.get(&root).into_iter().flatten().map(|at| &self.all[*at])
    }

    /// The pointer that is not derived at which the way back from `pointer` ends.
    pub fn root(&self, pointer: Id) -> Id {
        self.roots.get(&pointer).copied().unwrap_or(pointer)
    }

    /// [`root`](Self::root) of each derived pointer.
    pub fn into_roots(self) -> FxHashMap<Id, Id> {
        self.roots
    }
}
