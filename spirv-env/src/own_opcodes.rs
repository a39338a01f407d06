//! Opcodes that compilers emit and only their own headers have (`SPV_INTEL_joint_matrix`, `SPV_INTEL_predicated_io`).
//!
//! SPIR-V's grammar has no name for them, so each is told apart as one of the grammar's that no device of this driver
//! has, whose own number is refused.

use crate::grammar::{Reading, Repeat};
use spirv::{Capability, Op};

/// An instruction of a compiler's own.
pub(crate) struct OwnOpcode {
    pub number: u32,
    /// What it is called here.
    pub op: Op,
    pub name: &'static str,
    pub has_result: bool,
    /// What brings it, where the grammar has a name for that.
    pub capabilities: &'static [Capability],
    pub operands: &'static [(Reading, Repeat)],
}

pub const LOAD_CHECKED: Op = Op::CooperativeMatrixLoadTensorNV;
pub const STORE_CHECKED: Op = Op::CooperativeMatrixStoreTensorNV;
pub const CONSTRUCT_CHECKED: Op = Op::CooperativeMatrixReduceNV;
pub const LOAD_OFFSET: Op = Op::CooperativeMatrixLoadNV;
pub const STORE_OFFSET: Op = Op::CooperativeMatrixStoreNV;
pub const GET_ELEMENT_COORD: Op = Op::CooperativeMatrixLengthNV;
pub const PREFETCH: Op = Op::CooperativeMatrixTransposeNV;
pub const PREDICATED_LOAD: Op = Op::CooperativeVectorLoadNV;
pub const PREDICATED_STORE: Op = Op::CooperativeVectorStoreNV;

const MATRICES: &[Capability] = &[Capability::CooperativeMatrixKHR];

const ID: (Reading, Repeat) = (Reading::Id, Repeat::One);
const STRIDE: (Reading, Repeat) = (Reading::Id, Repeat::Optional);
const ACCESS: (Reading, Repeat) = (Reading::MemoryAccess, Repeat::Optional);

pub(crate) const OWN: &[OwnOpcode] = &[
    OwnOpcode {
        number: 6193,
        op: LOAD_CHECKED,
        name: "CooperativeMatrixLoadCheckedINTEL",
        has_result: true,
        capabilities: MATRICES,
        operands: &[ID, ID, ID, ID, ID, ID, STRIDE, ACCESS],
    },
    OwnOpcode {
        number: 6194,
        op: STORE_CHECKED,
        name: "CooperativeMatrixStoreCheckedINTEL",
        has_result: false,
        capabilities: MATRICES,
        operands: &[ID, ID, ID, ID, ID, ID, ID, STRIDE, ACCESS],
    },
    OwnOpcode {
        number: 6195,
        op: CONSTRUCT_CHECKED,
        name: "CooperativeMatrixConstructCheckedINTEL",
        has_result: true,
        capabilities: MATRICES,
        operands: &[ID, ID, ID, ID, ID],
    },
    OwnOpcode {
        number: 6239,
        op: LOAD_OFFSET,
        name: "CooperativeMatrixLoadOffsetINTEL",
        has_result: true,
        capabilities: MATRICES,
        operands: &[ID, ID, ID, ID, STRIDE, ACCESS],
    },
    OwnOpcode {
        number: 6240,
        op: STORE_OFFSET,
        name: "CooperativeMatrixStoreOffsetINTEL",
        has_result: false,
        capabilities: MATRICES,
        operands: &[ID, ID, ID, ID, ID, STRIDE, ACCESS],
    },
    OwnOpcode {
        number: 6440,
        op: GET_ELEMENT_COORD,
        name: "CooperativeMatrixGetElementCoordINTEL",
        has_result: true,
        capabilities: MATRICES,
        operands: &[ID, ID],
    },
    OwnOpcode {
        number: 6449,
        op: PREFETCH,
        name: "CooperativeMatrixPrefetchINTEL",
        has_result: false,
        capabilities: MATRICES,
        operands: &[ID, ID, ID, ID, ID, (Reading::Literal, Repeat::One), ID, STRIDE],
    },
    OwnOpcode {
        number: 6258,
        op: PREDICATED_LOAD,
        name: "PredicatedLoadINTEL",
        has_result: true,
        capabilities: &[],
        operands: &[ID, ID, ID, ACCESS],
    },
    OwnOpcode {
        number: 6259,
        op: PREDICATED_STORE,
        name: "PredicatedStoreINTEL",
        has_result: false,
        capabilities: &[],
        operands: &[ID, ID, ID, ACCESS],
    },
];

/// The opcode with a number, if there is one.
pub(crate) fn op(number: u32) -> Option<Op> {
    match OWN.iter().find(|own| own.number == number) {
        Some(own) => Some(own.op),
        None => Op::from_u32(number).filter(|op| !OWN.iter().any(|own| own.op == *op)),
    }
}
