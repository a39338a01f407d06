use super::*;
use crate::grammar::op_name;
use crate::module::Id;
use crate::own_opcodes::OWN;
use crate::test_support::{KERNEL, assemble, build_text, kernel};
use crate::{Environment, ModuleInput, Operand, build};
use rspirv::grammar::INSTRUCTION_TABLE;
use ze_extensions::DeviceProfile;

/// The words of a module with one more instruction, in front of one that is there.
fn with_instruction(text: &str, before: Op, words: &[u32]) -> Vec<u8> {
    const HEADER: usize = 5;
    let bytes = assemble(text);
    let mut module: Vec<u32> =
        bytes.chunks(4).map(|word| u32::from_ne_bytes(word.try_into().unwrap())).collect();
    let mut at = HEADER;
    while module[at] & 0xFFFF != before as u32 {
        at += (module[at] >> 16) as usize;
    }
    module.splice(at..at, words.iter().copied());
    module.iter().flat_map(|word| word.to_ne_bytes()).collect()
}

/// Rule and message by which a module is refused.
fn refusal(bytes: &[u8]) -> (&'static str, String) {
    let profile = DeviceProfile::host();
    match build(&[ModuleInput::new(bytes)], &Environment::new(&profile)) {
        Ok(_) => ("accepted", String::new()),
        Err(error) => (error.diagnostics[0].rule, error.diagnostics[0].message.clone()),
    }
}

#[test]
fn an_opcode_without_a_row_is_refused_by_name() {
    let mut refused = 0;
    for entry in INSTRUCTION_TABLE.iter().filter(|entry| row(entry.opcode).is_none()) {
        let words = [2 << 16 | entry.opcode as u32, 1];
        for place in [Op::Return, Op::TypeVoid] {
            let (rule, message) = refusal(&with_instruction(KERNEL, place, &words));
            assert_eq!(rule, "module.opcode", "{}", entry.opname);
            assert!(message.contains(&op_name(entry.opcode)), "{message} does not name {}", entry.opname);
        }
        refused += 1;
    }
    assert!(refused > 400, "{refused} opcodes have no row");
}

#[test]
fn a_declaration_in_a_function_is_refused_by_name() {
    for row in rows().filter(|row| !row.in_function) {
        let (rule, message) = refusal(&with_instruction(KERNEL, Op::Return, &[2 << 16 | row.op as u32, 1]));
        assert_eq!(rule, "module.opcode", "{:?}", row.op);
        assert!(message.contains(&op_name(row.op)), "{message}");
    }
}

#[test]
fn an_instruction_of_functions_is_refused_outside_of_them() {
    let computes =
        |row: &&Opcode| row.section.is_none() && row.in_function && row.signature != Signature::Layout;
    for row in rows().filter(computes).filter(|row| row.op != Op::ExtInst) {
        let own = OWN.iter().find(|own| own.op == row.op);
        let number = own.map_or(row.op as u32, |own| own.number);
        let (rule, message) = refusal(&with_instruction(KERNEL, Op::TypeVoid, &[2 << 16 | number, 1]));
        assert_eq!(rule, "module.opcode", "{:?}", row.op);
        assert!(message.contains(&op_name(row.op)), "{message}");
    }
}

/// Their numbers mean the compilers' instructions, and those whose enumerants they borrow are unknown.
#[test]
fn borrowed_enumerants_are_not_opcodes() {
    for own in OWN {
        assert_eq!(row(own.op).map(|row| row.op), Some(own.op), "{}", own.name);
        assert_eq!(op_name(own.op), format!("Op{}", own.name));
        let (rule, _) = refusal(&with_instruction(KERNEL, Op::Return, &[2 << 16 | own.op as u32, 1]));
        assert_eq!(rule, "binary.opcode", "{}", own.name);
    }
}

#[test]
fn every_row_is_found_by_its_opcode() {
    for expected in rows() {
        assert_eq!(row(expected.op).map(|row| row.op), Some(expected.op));
    }
    for function in opencl_std::FUNCTIONS {
        assert_eq!(opencl_std::of_number(function.op as u64).map(|found| found.op), Some(function.op));
    }
    assert!(opencl_std::of_number(u64::MAX).is_none());
}

#[test]
fn every_function_of_opencl_std_has_a_row() {
    let missing = (0..1 << 16)
        .filter(|number| spirv::OpenclStd100Op::from_u32(*number).is_some())
        .filter(|number| opencl_std::of_number(u64::from(*number)).is_none());
    assert_eq!(missing.collect::<Vec<_>>(), Vec::<u32>::new());
    let unknown = kernel("", "%r = OpExtInst %float %std 255 %f1");
    let message = build_text(&unknown).unwrap_err().diagnostics[0].message.clone();
    assert!(message.contains("OpenCL.std has no instruction 255"), "{message}");
}

/// What lanes do together does not follow from what each of them has: a row says what is known of it.
#[test]
fn results_of_groups_state_how_they_vary() {
    use Uniformity as U;
    let results = rows().filter(|row| row.convergence != Convergence::None);
    for row in results {
        let stated = match row.uniformity {
            U::Nothing | U::Uniform | U::Varying | U::ByOperation | U::CountByOperation | U::UniformIf(_) => {
                true
            }
            // Equal values in all lanes stay equal wherever they move, and a ballot is the same for all who look at it.
            U::Elementwise => matches!(
                row.signature,
                Signature::Shuffle
                    | Signature::Rotate
                    | Signature::IntelShuffle
                    | Signature::BallotBitExtract
                    | Signature::BallotFind
            ),
            U::Strided | U::Rearranged | U::Loaded | U::Object | U::Extended | U::Called => false,
        };
        assert!(stated, "{:?} is {:?}", row.op, row.uniformity);
        let by_operation = matches!(row.uniformity, U::ByOperation | U::CountByOperation);
        assert!(!by_operation || grammar_has_operation(row.op), "{:?} has no group operation", row.op);
    }
}

fn grammar_has_operation(op: Op) -> bool {
    let entry = INSTRUCTION_TABLE.iter().find(|entry| entry.opcode == op).unwrap();
    entry.operands.get(3).is_some_and(|operand| operand.kind == rspirv::grammar::OperandKind::GroupOperation)
}

/// The list of SPIR-V 1.2 §3.32.7: for all, and with the capability Kernel; and that of SPV_KHR_untyped_pointers.
#[test]
fn constants_compute_what_the_specification_lists() {
    const LIST: &str = "SConvert FConvert SNegate Not IAdd ISub IMul UDiv SDiv UMod SRem SMod ShiftRightLogical \
        ShiftRightArithmetic ShiftLeftLogical BitwiseOr BitwiseXor BitwiseAnd VectorShuffle CompositeExtract CompositeInsert \
        LogicalOr LogicalAnd LogicalNot LogicalEqual LogicalNotEqual Select IEqual INotEqual ULessThan SLessThan UGreaterThan \
        SGreaterThan ULessThanEqual SLessThanEqual UGreaterThanEqual SGreaterThanEqual \
        ConvertFToS ConvertSToF ConvertFToU ConvertUToF UConvert ConvertPtrToU ConvertUToPtr GenericCastToPtr \
        PtrCastToGeneric Bitcast FNegate FAdd FSub FMul FDiv FRem FMod AccessChain InBoundsAccessChain PtrAccessChain \
        InBoundsPtrAccessChain UntypedAccessChainKHR UntypedInBoundsAccessChainKHR UntypedPtrAccessChainKHR \
        UntypedInBoundsPtrAccessChainKHR";
    let mut expected: Vec<String> = LIST.split_whitespace().map(|name| format!("Op{name}")).collect();
    let mut found: Vec<String> = rows().filter(|row| row.in_constants).map(|row| op_name(row.op)).collect();
    expected.sort_unstable();
    found.sort_unstable();
    assert_eq!(found, expected);
}

/// The grammar knows which operands are scopes and memory operands; the rows say the same.
#[test]
fn rows_agree_with_the_grammar() {
    use rspirv::grammar::OperandKind as K;
    // What compilers have for themselves the grammar does not know.
    let of_grammar = |row: &&Opcode| OWN.iter().all(|own| own.op != row.op);
    for row in rows().filter(of_grammar) {
        let entry = INSTRUCTION_TABLE.iter().find(|entry| entry.opcode == row.op).unwrap();
        let operands: Vec<K> = entry
            .operands
            .iter()
            .map(|operand| operand.kind)
            .filter(|kind| !matches!(kind, K::IdResultType | K::IdResult))
            .collect();
        // What is only hinted at is not accessed.
        let accesses = !matches!(row.family, Family::Hint | Family::Matrix | Family::Untyped);
        let access = operands.iter().position(|kind| accesses && *kind == K::MemoryAccess);
        assert_eq!(row.memory.access(), access, "{:?}", row.op);
        let scope = operands.first() == Some(&K::IdScope);
        let of_clock = row.family == Family::Clock;
        let has_scope = row.convergence.has_scope() || row.memory == Memory::Fence || of_clock;
        assert_eq!(has_scope, scope, "{:?}", row.op);
        let is_type = row.family == Family::Type;
        assert_eq!(
            row.memory.is_atomic() || is_type && operands.get(1) == Some(&K::IdScope),
            operands.get(1) == Some(&K::IdScope) && !scope,
            "{:?}",
            row.op
        );
        let has_result = entry.operands.iter().any(|operand| operand.kind == K::IdResultType);
        let has_value = row.uniformity != Uniformity::Nothing;
        let of_body = row.in_function && row.signature != Signature::Layout && row.op != Op::Phi;
        // The intake gives blocks a value.
        let of_body = of_body && row.signature != Signature::BlockLoad2D;
        assert!(!of_body || has_result == has_value, "{:?}", row.op);
    }
}

#[test]
fn memory_operands_are_those_of_target_and_source() {
    let volatile = u64::from(spirv::MemoryAccess::VOLATILE.bits());
    let aligned = u64::from(spirv::MemoryAccess::ALIGNED.bits());
    let inst = |op: Op, literals: &[u64]| {
        let pointers = if op == Op::Load { 1 } else { 2 };
        let mut operands: Vec<Operand> = (0..pointers).map(|at| Operand::Id(Id(at + 1))).collect();
        operands.extend(literals.iter().map(|literal| Operand::Lit(*literal)));
        crate::Inst { op, ty: None, result: None, operands: operands.into(), line: None }
    };
    let of =
        |op: Op, literals: &[u64]| inst(op, literals).memory_operands().map(|o| (o.is_volatile(), o.align));
    assert_eq!(of(Op::Load, &[]), [(false, None); 2]);
    assert_eq!(of(Op::Load, &[volatile | aligned, 16]), [(true, Some(16)); 2]);
    assert_eq!(of(Op::CopyMemory, &[aligned, 8]), [(false, Some(8)); 2]);
    assert_eq!(of(Op::CopyMemory, &[aligned, 8, volatile]), [(false, Some(8)), (true, None)]);
    assert_eq!(of(Op::Store, &[aligned, 3]), [(false, None); 2]);
    assert!(inst(Op::CopyMemory, &[aligned, 8, volatile]).is_volatile());
    assert!(!inst(Op::Store, &[aligned, 2]).is_volatile());
}
