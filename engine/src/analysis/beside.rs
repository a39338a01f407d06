//! Private objects of which more may be read than there is.
//!
//! Where lanes read elements that lie near each other, or a part of a row under a mask, code reads all of a piece of memory that is in one page, and
//! takes what is wanted (`lower::speculation`, `lower::rows`). The processor does not mind what lies beside an object. LLVM does: what it sees
//! read from beyond a variable on the stack is undefined, and so is all that is read with it. Such variables have room on both sides.

use super::Analysis;
use super::func::BlockId;
use super::private::Placement;
use super::shapes::{Shape, Trust};
use rustc_hash::FxHashSet;
use spirv::StorageClass;
use spirv_env::opcodes::Memory;
use spirv_env::{Id, Inst};

/// Which they are.
#[derive(Debug)]
pub enum Beside {
    All,
    These(FxHashSet<Id>),
}

impl Analysis<'_> {
    /// Whether accesses may read beside a private object.
    pub fn reads_beside(&self, object: Id) -> bool {
        match self.beside.get_or_init(|| self.find_beside()) {
            Beside::All => true,
            Beside::These(objects) => objects.contains(&object),
        }
    }

    fn find_beside(&self) -> Beside {
        let mut objects = FxHashSet::default();
        if self.variant.width == 1 {
            return Beside::These(objects);
        }
        for block in self.func.block_ids() {
            for inst in &self.func.blocks[block].insts {
                let read = self
                    .read_by(inst)
                    .and_then(|(pointer, is_indexed)| self.beside_of(block, pointer, is_indexed));
                if let Some(of) = read {
                    match self.private.placement.get(&of) {
                        Some(Placement::PerLane | Placement::Uniform) => _ = objects.insert(of),
                        Some(Placement::Interleaved | Placement::Argument) => {}
                        // What the host gives is no private object.
                        None if self.func.is_kernel() && self.func.params.iter().any(|(id, _)| *id == of) => {
                        }
                        // Any of them.
                        None => return Beside::All,
                    }
                }
            }
        }
        Beside::These(objects)
    }

    /// The pointer that an instruction reads through, and whether it takes an index beside that.
    fn read_by(&self, inst: &Inst) -> Option<(Id, bool)> {
        match inst.row().memory {
            Memory::Read { .. } => Some((inst.id(0), false)),
            Memory::Copy { .. } => Some((inst.id(1), false)),
            _ => {
                let (pointer, _) = inst.opencl_std(self.func.module)?.pointer()?;
                Some((inst.argument(pointer), pointer > 0))
            }
        }
    }

    /// What the pointer of an access leads into that may read more than it wants, if that may be private.
    fn beside_of(&self, block: BlockId, pointer: Id, is_indexed: bool) -> Option<Id> {
        let class = self.func.class_of(pointer)?;
        let is_private = matches!(class, StorageClass::Function | StorageClass::Generic);
        if !is_private || self.private.interleaved.contains_key(&pointer) {
            return None;
        }
        let root = self.root_of(pointer);
        let is_own = self.private.placement.get(&root) == Some(&Placement::PerLane);
        match self.shape(block, pointer)[0] {
            _ if is_indexed => Some(root),
            Shape::Uniform | Shape::Undefined => None,
            // Lanes' objects follow each other.
            Shape::Strided(_) if is_own && self.trust(pointer) == Trust::Proven => None,
            Shape::Strided(_) | Shape::Varying => Some(root),
        }
    }
}
