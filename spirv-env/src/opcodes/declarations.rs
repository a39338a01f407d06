//! What stands outside of functions: modes, annotations, types, constants (SPIR-V 1.2 §3.32.1 to §3.32.7).

use super::{Family, Opcode, Signature, Uniformity};
use spirv::Op;

/// The sections of a module in their order (SPIR-V 1.2 §2.4).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Debug)]
pub(crate) enum Section {
    #[default]
    Capabilities,
    Extensions,
    Imports,
    MemoryModel,
    EntryPoints,
    Modes,
    Sources,
    Names,
    Processes,
    Annotations,
    Declarations,
    Functions,
}

const fn of(op: Op, section: Section) -> Opcode {
    Opcode { section: Some(section), ..anywhere(op) }
}

const fn ty(op: Op) -> Opcode {
    Opcode { family: Family::Type, ..of(op, Section::Declarations) }
}

/// Outside of functions, but in any section.
const fn anywhere(op: Op) -> Opcode {
    let row = Opcode::new(op, Family::Declaration, Signature::Layout, Uniformity::Nothing);
    Opcode { in_function: false, ..row }
}

pub(super) const ROWS: &[Opcode] = {
    use Section as S;
    &[
        of(Op::Capability, S::Capabilities),
        of(Op::Extension, S::Extensions),
        of(Op::ExtInstImport, S::Imports),
        of(Op::MemoryModel, S::MemoryModel),
        of(Op::EntryPoint, S::EntryPoints),
        of(Op::ExecutionMode, S::Modes),
        of(Op::ExecutionModeId, S::Modes).since(1, 2),
        of(Op::String, S::Sources),
        of(Op::Name, S::Names),
        of(Op::MemberName, S::Names),
        of(Op::Source, S::Sources),
        of(Op::SourceContinued, S::Sources),
        of(Op::SourceExtension, S::Sources),
        of(Op::ModuleProcessed, S::Processes).since(1, 1),
        of(Op::Decorate, S::Annotations),
        of(Op::DecorateString, S::Annotations),
        of(Op::MemberDecorate, S::Annotations),
        of(Op::MemberDecorateString, S::Annotations),
        of(Op::DecorationGroup, S::Annotations),
        of(Op::GroupDecorate, S::Annotations),
        of(Op::GroupMemberDecorate, S::Annotations),
        // Alias lists stand among decorations, and decorations that name them behind them.
        anywhere(Op::DecorateId),
        anywhere(Op::AliasDomainDeclINTEL),
        anywhere(Op::AliasScopeDeclINTEL),
        anywhere(Op::AliasScopeListDeclINTEL),
        ty(Op::TypeVoid),
        ty(Op::TypeBool),
        ty(Op::TypeInt),
        ty(Op::TypeFloat),
        ty(Op::TypeVector),
        ty(Op::TypeImage),
        ty(Op::TypeSampler),
        ty(Op::TypeSampledImage),
        ty(Op::TypeArray),
        ty(Op::TypeStruct),
        ty(Op::TypeOpaque),
        ty(Op::TypePointer),
        ty(Op::TypeFunction),
        ty(Op::TypeEvent),
        ty(Op::TypeDeviceEvent),
        ty(Op::TypeReserveId),
        ty(Op::TypeQueue),
        ty(Op::TypePipe),
        ty(Op::TypeForwardPointer),
        ty(Op::TypeUntypedPointerKHR),
        ty(Op::TypeCooperativeMatrixKHR),
        of(Op::ConstantTrue, S::Declarations),
        of(Op::ConstantFalse, S::Declarations),
        of(Op::Constant, S::Declarations),
        of(Op::ConstantComposite, S::Declarations),
        of(Op::ConstantSampler, S::Declarations),
        of(Op::ConstantNull, S::Declarations),
        of(Op::ConstantFunctionPointerINTEL, S::Declarations),
        of(Op::SpecConstantTrue, S::Declarations),
        of(Op::SpecConstantFalse, S::Declarations),
        of(Op::SpecConstant, S::Declarations),
        of(Op::SpecConstantComposite, S::Declarations),
        of(Op::SpecConstantOp, S::Declarations),
        of(Op::AsmTargetINTEL, S::Declarations),
        of(Op::AsmINTEL, S::Declarations),
        // Read as part of the instruction that they continue, and nowhere else.
        anywhere(Op::TypeStructContinuedINTEL),
        anywhere(Op::ConstantCompositeContinuedINTEL),
        anywhere(Op::SpecConstantCompositeContinuedINTEL),
        anywhere(Op::CompositeConstructContinuedINTEL),
    ]
};
