//! What a work-group may have written to local memory that begins as zeros (`OpConstantNull`; SYCL's `work_group_static` is such a variable).
//!
//! Each work-group finds zeros there, and the one before has left something. Where it was stored by local ids, as tiles are, that is
//! as much as the work-group has work-items, however large the variable is.

use super::Analysis;
use super::func::ChainStep;
use super::pointers::Pointers;
use rustc_hash::FxHashMap;
use spirv::{BuiltIn, Op};
use spirv_env::opcodes::Memory;
use spirv_env::{ConstantValue, Id, Inst, Operand, Type};

/// How deep an index is looked into.
const DEPTH: u32 = 8;

/// The most that something can be: a number, and for each dimension so much times what the last local id is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Most {
    pub constant: u64,
    pub of_ids: [u64; 3],
}

impl Most {
    fn number(constant: u64) -> Most {
        Most { constant, of_ids: [0; 3] }
    }

    fn each(self, other: Most, of: impl Fn(u64, u64) -> Option<u64>) -> Option<Most> {
        let mut of_ids = [0; 3];
        for (at, of_id) in of_ids.iter_mut().enumerate() {
            *of_id = of(self.of_ids[at], other.of_ids[at])?;
        }
        Some(Most { constant: of(self.constant, other.constant)?, of_ids })
    }

    fn plus(self, other: Most) -> Option<Most> {
        self.each(other, u64::checked_add)
    }

    fn times(self, factor: u64) -> Option<Most> {
        self.each(self, |of, _| of.checked_mul(factor))
    }

    /// The most that either can be.
    fn or(self, other: Most) -> Most {
        self.each(other, |a, b| Some(a.max(b))).unwrap_or(self)
    }
}

/// Such a variable.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Touched {
    /// Where it is in local memory, and its bytes.
    pub offset: u64,
    pub size: u64,
    /// The bytes from its beginning that may have been written, if that is known.
    pub bytes: Option<Most>,
}

impl Analysis<'_> {
    /// The variables that begin as zeros. With `calls`, others may write to them, too.
    pub fn touched(&self, calls: bool) -> Vec<Touched> {
        let kernel = self.func.kernel;
        let begins_so = |id: Id| self.func.global(id).is_some_and(|global| global.initializer.is_some());
        let variables = kernel.local_variables.iter().filter(|(id, _)| begins_so(*id));
        let mut found: FxHashMap<Id, Touched> = FxHashMap::default();
        for &(id, offset) in variables {
            let size = self.func.pointee_bytes(id).unwrap_or(0);
            // Constants may be addresses within it (`OpSpecConstantOp`), which instructions then do not name it by.
            let bytes = (!calls && !self.is_in_a_constant(id)).then_some(Most::default());
            found.insert(id, Touched { offset, size, bytes });
        }
        if found.is_empty() {
            return Vec::new();
        }
        let pointers = Pointers::new(&self.func);
        let brought = self.func.blocks.values().flat_map(|block| &block.phis).flat_map(|phi| &phi.incoming);
        for id in brought.map(|(_, id)| pointers.root(*id)) {
            if let Some(touched) = found.get_mut(&id) {
                touched.bytes = None;
            }
        }
        for inst in self.func.blocks.values().flat_map(|block| &block.insts) {
            for (at, id) in inst.ids().enumerate() {
                if let Some(touched) = found.get_mut(&pointers.root(id)) {
                    let bytes = self.written(inst, at, id);
                    touched.bytes = touched.bytes.zip(bytes).map(|(a, b)| a.or(b));
                }
            }
        }
        let mut found: Vec<Touched> = found.into_values().collect();
        // What is no less than all is all, and sums of the others do not wrap around.
        for touched in &mut found {
            let is_less = |most: &Most| {
                most.constant < touched.size && most.of_ids.iter().all(|factor| *factor < touched.size.max(1))
            };
            touched.bytes = touched.bytes.filter(is_less);
        }
        found.sort_unstable_by_key(|touched| touched.offset);
        found
    }

    /// Whether a constant is made of a variable's address.
    fn is_in_a_constant(&self, variable: Id) -> bool {
        self.func.module.constants.values().any(|constant| match &constant.value {
            ConstantValue::Expression { operands, .. } => operands.contains(&Operand::Id(variable)),
            _ => false,
        })
    }

    /// The bytes that an instruction may have written from the beginning of the variable on that one of its operands leads into.
    fn written(&self, inst: &Inst, operand: usize, pointer: Id) -> Option<Most> {
        if operand == 0 && self.func.derived_from(inst).is_some() {
            return Some(Most::default());
        }
        match inst.row().memory {
            Memory::Read { .. } | Memory::AtomicRead if operand == 0 => Some(Most::default()),
            Memory::Write { .. } | Memory::AtomicWrite | Memory::AtomicUpdate if operand == 0 => {
                let bytes = self.func.pointee_bytes(pointer)?;
                self.place(pointer)?.plus(Most::number(bytes))
            }
            _ => None,
        }
    }

    /// How far a pointer is behind the beginning of its variable at most.
    fn place(&self, mut pointer: Id) -> Option<Most> {
        let mut most = Most::default();
        while let Some(inst) = self.definition(pointer) {
            for step in self.func.chain(inst) {
                let step = match step {
                    ChainStep::Constant(bytes) => Most::number(u64::try_from(bytes).ok()?),
                    ChainStep::Scaled { index, size } => self.most(index, DEPTH)?.times(size)?,
                };
                most = most.plus(step)?;
            }
            pointer = self.func.derived_from(inst)?;
        }
        Some(most)
    }

    /// The most that a number can be that is not negative.
    fn most(&self, id: Id, depth: u32) -> Option<Most> {
        if let Some((BuiltIn::LocalInvocationId, at @ 0..3)) = self.whole_component(id) {
            let mut most = Most::default();
            most.of_ids[at as usize] = 1;
            return Some(most);
        }
        let number = || self.upper(id, 0).map(Most::number);
        let Some(inst) = self.definition(id).filter(|_| depth > 0) else { return number() };
        let of = |at: usize| self.most(inst.id(at), depth - 1);
        let constant = |at: usize| self.func.constant_bits(inst.id(at));
        let computed = match inst.op {
            Op::IAdd => of(0).zip(of(1)).and_then(|(a, b)| a.plus(b)),
            Op::IMul => match (constant(0), constant(1)) {
                (_, Some(factor)) => of(0).and_then(|most| most.times(factor)),
                (Some(factor), _) => of(1).and_then(|most| most.times(factor)),
                _ => None,
            },
            Op::ShiftLeftLogical => match constant(1) {
                Some(bits @ 0..32) => of(0).and_then(|most| most.times(1 << bits)),
                _ => None,
            },
            Op::UConvert | Op::CopyObject => of(0),
            Op::SConvert => of(0).filter(|_| self.is_below_half(inst.id(0))),
            _ => None,
        };
        computed.or_else(number)
    }

    /// Whether a number has no sign.
    fn is_below_half(&self, id: Id) -> bool {
        let ty = self.func.type_of(id).map(|ty| self.func.module.types.get(ty));
        let Some(Type::Int { width: width @ 1..=64 }) = ty else { return false };
        self.upper(id, 0).is_some_and(|upper| upper < 1 << (width - 1))
    }
}

#[cfg(test)]
mod tests;
