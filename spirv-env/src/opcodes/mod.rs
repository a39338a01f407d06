//! What every instruction is: one row an opcode, by family.
//!
//! Whether the intake accepts an opcode, the operands that it takes, who lowers it, how its result varies over lanes and
//! over the sub-groups of a bundle, whether it may run for lanes that are off, what it does to memory and who executes it
//! together: all of that is read from its row, here and in the engine. An opcode without a row is refused by name.
//! The capabilities that bring an instruction and the decoding of its operands are `grammar`'s.
//!
//! To add an instruction: its row here, its lowering in the engine's file of the family, and a test of what it computes.
//! Tests walk the rows; they find one without a lowering, a group operation of the wrong uniformity, and, where the operands
//! are new, a [`Signature`] without an example.

mod arithmetic;
mod atomics;
mod composites;
mod control;
mod conversions;
mod declarations;
mod groups;
mod images;
mod instructions;
mod matrices;
mod memory;
pub mod opencl_std;
mod signature;

pub(crate) use declarations::Section;
pub use instructions::{DotFlags, MatrixAccess, MatrixFlags, MemoryOperands};
pub use signature::Signature;

use spirv::{MemorySemantics, Op};

/// The bits of memory semantics that order what else a work-item accesses (SPIR-V §3.25).
pub const ORDERS: MemorySemantics = MemorySemantics::ACQUIRE
    .union(MemorySemantics::RELEASE)
    .union(MemorySemantics::ACQUIRE_RELEASE)
    .union(MemorySemantics::SEQUENTIALLY_CONSISTENT);

/// The instructions that one file of the engine's lowering knows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Family {
    /// Stands outside of functions.
    Declaration,
    /// Declares a type.
    Type,
    /// Makes functions and blocks, or says something about them.
    Structure,
    /// Structure that producers state and that nothing depends on.
    Merge,
    /// Ends a block.
    Terminator,
    Phi,
    Call,
    Arithmetic,
    IntegerDot,
    Reinterpretation,
    Conversion,
    Composite,
    Memory,
    Atomic,
    Barrier,
    /// Votes and ballots.
    Vote,
    /// Values that move between the lanes of a sub-group.
    Shuffle,
    /// Reductions and scans.
    Reduction,
    /// What work-groups do together besides reductions.
    Collective,
    /// Instructions of an extended set, which `opencl_std` tells apart.
    Extended,
    /// Says what holds, for optimizers.
    Hint,
    /// Arrays of variable length, which the intake turns into variables.
    VariableArray,
    /// Instructions on untyped pointers, which the intake makes typed.
    Untyped,
    /// Accesses under a mask or a predicate, and casts that are none here: the loader puts others in their place.
    Replaced,
    /// Reads the time.
    Clock,
    Image,
    /// Loads, stores and products of matrices.
    Matrix,
}

impl Family {
    /// Whether the engine has a lowering for it, or needs none.
    pub fn is_lowered(self) -> bool {
        !matches!(self, Family::VariableArray | Family::Untyped | Family::Replaced)
    }
}

/// How a result varies over the lanes of a sub-group.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Uniformity {
    /// There is no result, or none that is a value.
    Nothing,
    /// Leaf by leaf as the operands do.
    Elementwise,
    /// As the operands do; equal steps from lane to lane may stay equal steps.
    Strided,
    /// Leaves are those of the operands, in other places.
    Rearranged,
    /// As the pointer does, and as what it leads to.
    Loaded,
    /// The address of a private object: as the object is laid out.
    Object,
    /// As the operands of an extended instruction do.
    Extended,
    /// As the called function makes it.
    Called,
    /// The same in all lanes, whatever the operands are.
    Uniform,
    /// Different in each lane, whatever the operands are.
    Varying,
    /// The same in all lanes if this operand is, whatever the others are; else as the operands do.
    UniformIf(usize),
    /// By the group operation, operand 1: a reduction is the same in all lanes, scans and clusters are not.
    ByOperation,
    /// By the group operation, operand 1: a reduction varies as operand 2 does, scans do anyway.
    CountByOperation,
}

/// Whether the sub-groups of a bundle, which run side by side, get the same result from the same operands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Common {
    OfOperands,
    /// Each sub-group has its own: its own objects, its own turn at memory, its own votes.
    Own,
}

/// What an instruction does to memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Memory {
    None,
    /// Makes a private object.
    Object,
    /// Says when an object begins or ends to matter.
    Lifetime,
    /// Reads through operand 0; memory operands stand at this place.
    Read {
        access: usize,
    },
    /// Writes operand 1 through operand 0.
    Write {
        access: usize,
    },
    /// Reads through operand 1 and writes through operand 0.
    Copy {
        access: usize,
    },
    /// Atomics go through operand 0; their scope is operand 1 and their semantics operand 2.
    AtomicRead,
    AtomicWrite,
    AtomicUpdate,
    /// Orders accesses; operand 0 is the scope.
    Fence,
    /// Each lane its element behind operand 0, which all lanes share.
    BlockRead,
    BlockWrite,
    /// Writes through operand 1, reads through operand 2.
    AsyncCopy,
    /// What the called function or extended instruction does.
    ByCallee,
    ImageRead,
    ImageWrite,
}

impl Memory {
    pub fn is_atomic(self) -> bool {
        matches!(self, Memory::AtomicRead | Memory::AtomicWrite | Memory::AtomicUpdate)
    }

    pub fn is_of_images(self) -> bool {
        matches!(self, Memory::ImageRead | Memory::ImageWrite)
    }

    /// Where memory operands stand, of instructions that take them.
    pub fn access(self) -> Option<usize> {
        match self {
            Memory::Read { access } | Memory::Write { access } | Memory::Copy { access } => Some(access),
            _ => None,
        }
    }
}

/// Who executes an instruction together.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Convergence {
    /// Each work-item by itself.
    None,
    /// The group that operand 0 names, whose work-items wait for each other.
    Barrier,
    /// The work-group or sub-group that operand 0 names.
    Group,
    /// The work-group, which operand 0 names.
    Workgroup,
    /// The sub-group, which operand 0 names.
    Subgroup,
    /// The sub-group, without an operand that says so.
    ImplicitSubgroup,
}

impl Convergence {
    /// Whether operand 0 is the execution scope.
    pub fn has_scope(self) -> bool {
        !matches!(self, Convergence::None | Convergence::ImplicitSubgroup)
    }

    /// Whether the instruction exists for sub-groups only.
    pub fn is_of_subgroups(self) -> bool {
        matches!(self, Convergence::Subgroup | Convergence::ImplicitSubgroup)
    }
}

/// Whether the result is a pointer into the object that operand 0 points into.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Derives {
    Nothing,
    /// The same address.
    Address,
    /// The same address, if operand and result are pointers.
    AddressIfPointer,
    /// The address that indices lead to from operand 0.
    Chain,
    /// The same with an index before them that counts objects of the pointee's type.
    ElementChain,
}

/// What computing takes, for the decision to do it for lanes that are off.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Cost {
    Low,
    High,
}

/// An instruction.
#[derive(Clone, Copy, Debug)]
pub struct Opcode {
    pub op: Op,
    pub family: Family,
    pub signature: Signature,
    /// Whether it may stand in a function.
    pub(crate) in_function: bool,
    /// The section of the module that it belongs to outside of functions.
    pub(crate) section: Option<Section>,
    pub uniformity: Uniformity,
    pub common: Common,
    pub memory: Memory,
    pub convergence: Convergence,
    pub derives: Derives,
    pub cost: Cost,
    /// Whether the result says which object operand 0 leads to, by comparing addresses.
    pub locates: bool,
    /// Whether `OpSpecConstantOp` may say it (SPIR-V 1.2 §3.32.7).
    pub(crate) in_constants: bool,
    /// The SPIR-V version that it needs, where no capability says that it is there.
    pub since: (u8, u8),
}

impl Opcode {
    /// An instruction of functions that computes, each work-item by itself, from its operands.
    const fn new(op: Op, family: Family, signature: Signature, uniformity: Uniformity) -> Self {
        Self {
            op,
            family,
            signature,
            in_function: true,
            section: None,
            uniformity,
            common: Common::OfOperands,
            memory: Memory::None,
            convergence: Convergence::None,
            derives: Derives::Nothing,
            cost: Cost::Low,
            locates: false,
            in_constants: false,
            since: (1, 0),
        }
    }

    const fn memory(self, memory: Memory) -> Self {
        Self { memory, ..self }
    }

    const fn converges(self, convergence: Convergence) -> Self {
        Self { convergence, ..self }
    }

    const fn derives(self, derives: Derives) -> Self {
        Self { derives, ..self }
    }

    const fn since(self, major: u8, minor: u8) -> Self {
        Self { since: (major, minor), ..self }
    }

    const fn own(self) -> Self {
        Self { common: Common::Own, ..self }
    }

    const fn high_cost(self) -> Self {
        Self { cost: Cost::High, ..self }
    }

    const fn locates(self) -> Self {
        Self { locates: true, ..self }
    }

    const fn in_constants(self) -> Self {
        Self { in_constants: true, ..self }
    }

    const fn also_outside(self, section: Section) -> Self {
        Self { section: Some(section), ..self }
    }

    /// Whether it does nothing but compute a result from its operands: running it for lanes that are off does no harm.
    pub fn is_pure(&self) -> bool {
        let computes = !matches!(self.family, Family::Terminator | Family::Phi | Family::Call);
        computes && self.memory == Memory::None && self.convergence == Convergence::None
    }

    /// Whether it reads or writes memory that others may change meanwhile, or orders such accesses.
    pub fn synchronizes(&self) -> bool {
        self.memory.is_atomic() || self.memory == Memory::Fence || self.convergence == Convergence::Barrier
    }
}

/// All rows.
const TABLES: [&[Opcode]; 11] = [
    declarations::ROWS,
    control::ROWS,
    arithmetic::ROWS,
    conversions::ROWS,
    composites::ROWS,
    memory::ROWS,
    atomics::ROWS,
    groups::ROWS,
    images::ROWS,
    matrices::ROWS,
    opencl_std::CALL,
];

/// More than the number of any opcode that has a row.
const NUMBERS: usize = 6600;
/// Rows that one table has at most.
const MOST_ROWS: usize = 256;

/// Where the row of an opcode is: one more than the table's number times `MOST_ROWS` plus the row's; 0 if nowhere.
static PLACES: [u16; NUMBERS] = {
    let mut places = [0; NUMBERS];
    let mut table = 0;
    while table < TABLES.len() {
        assert!(TABLES[table].len() <= MOST_ROWS);
        let mut row = 0;
        while row < TABLES[table].len() {
            let number = TABLES[table][row].op as usize;
            assert!(places[number] == 0, "an opcode has two rows");
            places[number] = (table * MOST_ROWS + row + 1) as u16;
            row += 1;
        }
        table += 1;
    }
    places
};

/// Whether an instruction divides integers: its second operand may not be zero, and CPUs have no such instruction of vectors.
pub fn divides_integers(op: Op) -> bool {
    matches!(op, Op::UDiv | Op::SDiv | Op::UMod | Op::SRem | Op::SMod)
}

/// The row of an opcode; none if the intake does not accept it.
pub fn row(op: Op) -> Option<&'static Opcode> {
    let place = usize::from(*PLACES.get(op as usize)?).checked_sub(1)?;
    Some(&TABLES[place / MOST_ROWS][place % MOST_ROWS])
}

/// All rows, family by family.
pub fn rows() -> impl Iterator<Item = &'static Opcode> {
    TABLES.iter().copied().flatten()
}

#[cfg(test)]
mod tests;
