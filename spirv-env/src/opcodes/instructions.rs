//! What single instructions say, read by their rows: memory operands and execution scopes.

use super::{Convergence, Family, Opcode, opencl_std, row};
use crate::module::{ConstantValue, ExtSet, Id, Inst, Module, Operand};
use spirv::{MemoryAccess, Op, Scope};

/// Memory operands of one access (SPIR-V 1.2 §3.26).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MemoryOperands {
    pub mask: MemoryAccess,
    /// The alignment in bytes that the instruction promises.
    pub align: Option<u64>,
}

impl Default for MemoryOperands {
    fn default() -> Self {
        Self { mask: MemoryAccess::NONE, align: None }
    }
}

/// Bits of the mask that bring an operand, in the order of their operands.
const WITH_OPERAND: MemoryAccess = MemoryAccess::ALIGNED
    .union(MemoryAccess::MAKE_POINTER_AVAILABLE)
    .union(MemoryAccess::MAKE_POINTER_VISIBLE)
    .union(MemoryAccess::ALIAS_SCOPE_INTEL_MASK)
    .union(MemoryAccess::NO_ALIAS_INTEL_MASK);

impl MemoryOperands {
    pub fn is_volatile(self) -> bool {
        self.mask.contains(MemoryAccess::VOLATILE)
    }

    /// Those whose mask stands at a place, if one does, and the place behind them.
    fn at(operands: &[Operand], at: usize) -> Option<(Self, usize)> {
        let Some(&Operand::Lit(mask)) = operands.get(at) else { return None };
        let mask = MemoryAccess::from_bits_truncate(mask as u32);
        let align = match operands.get(at + 1) {
            Some(&Operand::Lit(align)) if mask.contains(MemoryAccess::ALIGNED) => Some(align),
            _ => None,
        };
        let parameters = (mask & WITH_OPERAND).bits().count_ones() as usize;
        Some((Self { mask, align: align.filter(|align| align.is_power_of_two()) }, at + 1 + parameters))
    }
}

/// What a product of matrices says of its operands: `SPV_KHR_cooperative_matrix`, and from bit 5 on
/// `SPV_INTEL_joint_matrix`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MatrixFlags(u64);

impl MatrixFlags {
    pub const A_SIGNED: MatrixFlags = MatrixFlags(0x1);
    pub const B_SIGNED: MatrixFlags = MatrixFlags(0x2);
    pub const C_SIGNED: MatrixFlags = MatrixFlags(0x4);
    pub const RESULT_SIGNED: MatrixFlags = MatrixFlags(0x8);
    pub const SATURATING: MatrixFlags = MatrixFlags(0x10);
    pub const INPUTS_TF32: MatrixFlags = MatrixFlags(0x20);
    pub const INPUTS_BFLOAT16: MatrixFlags = MatrixFlags(0x40);
    pub const C_BFLOAT16: MatrixFlags = MatrixFlags(0x80);
    pub const RESULT_BFLOAT16: MatrixFlags = MatrixFlags(0x100);

    pub fn contains(self, other: MatrixFlags) -> bool {
        self.0 & other.0 == other.0
    }

    pub fn with(self, other: MatrixFlags) -> MatrixFlags {
        MatrixFlags(self.0 | other.0)
    }

    pub fn bits(self) -> u64 {
        self.0
    }

    pub fn is_known(self) -> bool {
        self.0 <= 0x1FF
    }
}

/// What `OpSubgroupMatrixMultiplyAccumulateINTEL` says of its operands
/// (`SPV_INTEL_subgroup_matrix_multiply_accumulate`, Matrix Multiply Accumulate Operands).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DotFlags(u64);

impl DotFlags {
    pub const A_SIGNED: u64 = 0x1;
    pub const B_SIGNED: u64 = 0x2;
    pub const C_BFLOAT16: u64 = 0x4;
    pub const RESULT_BFLOAT16: u64 = 0x8;
    pub const A_INT8: u64 = 0x10;
    pub const B_INT8: u64 = 0x20;
    pub const A_INT4: u64 = 0x40;
    pub const B_INT4: u64 = 0x80;
    pub const A_TF32: u64 = 0x100;
    pub const B_TF32: u64 = 0x200;
    pub const A_HALF: u64 = 0x400;
    pub const B_HALF: u64 = 0x800;
    pub const A_BFLOAT16: u64 = 0x1000;
    pub const B_BFLOAT16: u64 = 0x2000;
    /// Packed in integers: floats.
    pub const A_FLOATS: u64 = Self::A_HALF | Self::A_BFLOAT16;
    pub const B_FLOATS: u64 = Self::B_HALF | Self::B_BFLOAT16;
    /// Packed in integers: integers.
    pub const A_INTS: u64 = Self::A_INT8 | Self::A_INT4 | Self::A_SIGNED;
    pub const B_INTS: u64 = Self::B_INT8 | Self::B_INT4 | Self::B_SIGNED;

    /// Whether one of these flags is set.
    pub fn any(self, flags: u64) -> bool {
        self.0 & flags != 0
    }

    /// Whether all flags are known, and none contradicts another.
    pub fn is_known(self) -> bool {
        let one = |flags: u64| (self.0 & flags).count_ones() <= 1;
        let of_a = Self::A_INT8 | Self::A_INT4 | Self::A_TF32 | Self::A_FLOATS;
        let of_b = Self::B_INT8 | Self::B_INT4 | Self::B_TF32 | Self::B_FLOATS;
        self.0 <= 0x3FFF && one(of_a) && one(of_b)
    }
}

/// Where the operands of a load or store of a matrix stand; the pointer is the first.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MatrixAccess {
    /// What is stored.
    pub object: Option<usize>,
    /// Of the matrix in a larger one: row and column.
    pub place: Option<[usize; 2]>,
    /// The larger one's: height and width, outside of which is nothing.
    pub extents: Option<[usize; 2]>,
    pub layout: usize,
    pub stride: usize,
}

impl Inst {
    /// Where the operands stand, of a load or store of a matrix.
    pub fn matrix_access(&self) -> Option<MatrixAccess> {
        use crate::own_opcodes as own;
        let of = |object, place, layout, extents: Option<[usize; 2]>| {
            let stride = extents.map_or(layout, |[_, last]| last) + 1;
            Some(MatrixAccess { object, place, extents, layout, stride })
        };
        match self.op {
            Op::CooperativeMatrixLoadKHR => of(None, None, 1, None),
            Op::CooperativeMatrixStoreKHR => of(Some(1), None, 2, None),
            own::LOAD_CHECKED => of(None, Some([1, 2]), 3, Some([4, 5])),
            own::STORE_CHECKED => of(Some(3), Some([1, 2]), 4, Some([5, 6])),
            own::LOAD_OFFSET => of(None, Some([1, 2]), 3, None),
            own::STORE_OFFSET => of(Some(3), Some([1, 2]), 4, None),
            _ => None,
        }
    }

    /// The flags of `OpSubgroupMatrixMultiplyAccumulateINTEL`.
    pub fn dot_flags(&self) -> DotFlags {
        const PLACE: usize = 4;
        match self.operands.get(PLACE) {
            Some(&Operand::Lit(flags)) => DotFlags(flags),
            _ => DotFlags(0),
        }
    }

    /// The flags of `OpCooperativeMatrixMulAddKHR`.
    pub fn matrix_flags(&self) -> MatrixFlags {
        const PLACE: usize = 3;
        match self.operands.get(PLACE) {
            Some(&Operand::Lit(flags)) => MatrixFlags(flags),
            _ => MatrixFlags(0),
        }
    }

    /// The row of its opcode.
    ///
    /// # Panics
    ///
    /// If there is none, which no instruction of a built module is without.
    pub fn row(&self) -> &'static Opcode {
        row(self.op).expect("the intake accepts no opcode without a row")
    }

    /// Memory operands of what the instruction writes and of what it reads. A copy's second ones are its source's,
    /// and the first ones are both's where there are no others (SPIR-V 1.4 §3.32.8).
    pub fn memory_operands(&self) -> [MemoryOperands; 2] {
        let first = self.row().memory.access().and_then(|at| MemoryOperands::at(&self.operands, at));
        let Some((first, next)) = first else { return Default::default() };
        [first, MemoryOperands::at(&self.operands, next).map_or(first, |(second, _)| second)]
    }

    /// Whether a load, store or copy is volatile.
    pub fn is_volatile(&self) -> bool {
        self.memory_operands().into_iter().any(MemoryOperands::is_volatile)
    }

    /// The function of `OpenCL.std` that an `OpExtInst` calls; none if it is of another set.
    pub fn opencl_std(&self, module: &Module) -> Option<&'static opencl_std::Function> {
        if self.op != Op::ExtInst || module.ext_sets.get(&self.id(0)) != Some(&ExtSet::OpenClStd) {
            return None;
        }
        opencl_std::of_number(self.lit(1))
    }

    /// Whether each component of the result is made of the same components of the operands that have as many, and of all of the others.
    pub fn is_componentwise(&self, module: &Module) -> bool {
        match self.row().family {
            Family::Arithmetic | Family::Conversion | Family::Reinterpretation | Family::Composite => true,
            Family::Extended => self.opencl_std(module).is_some_and(opencl_std::Function::is_componentwise),
            _ => false,
        }
    }

    /// An argument of a function of an extended set: they stand behind the set and the function's number.
    pub fn argument(&self, at: usize) -> Id {
        self.id(2 + at)
    }

    /// The group that executes the instruction together, if it says so with a constant.
    pub fn execution_scope(&self, module: &Module) -> Option<Scope> {
        if !self.row().convergence.has_scope() {
            return None;
        }
        constant_scope(module, self.ids().next()?)
    }

    /// Whether the work-groups of a launch wait for each other in the instruction.
    pub fn waits_for_launch(&self, module: &Module) -> bool {
        self.row().convergence == Convergence::Barrier && self.execution_scope(module) == Some(Scope::Device)
    }

    /// Whether the sub-groups of a work-group wait for each other in the instruction.
    pub fn waits_for_work_group(&self, module: &Module) -> bool {
        self.row().convergence.has_scope()
            && self.execution_scope(module) != Some(Scope::Subgroup)
            && !self.row().convergence.is_of_subgroups()
    }
}

/// The scope that a constant is.
fn constant_scope(module: &Module, id: Id) -> Option<Scope> {
    match module.constants.get(&id)?.value {
        ConstantValue::Scalar(bits) => Scope::from_u32(u32::try_from(bits).ok()?),
        ConstantValue::Null => Some(Scope::CrossDevice),
        _ => None,
    }
}
