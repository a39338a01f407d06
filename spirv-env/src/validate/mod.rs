//! Structural safety: what a consumer of a [`Module`] relies on, checked function by function.
//!
//! `flow` looks at blocks, targets and dominance; the other files hold the types that the signatures of
//! opcodes take and give. Which signature an opcode has is in its row (`opcodes`).

mod arithmetic;
mod atomics;
mod composites;
mod control;
mod conversions;
mod ctx;
mod dominators;
mod flow;
mod groups;
mod images;
mod matrices;
mod memory;
mod opencl_std;
mod signatures;

pub(crate) use ctx::{Ctx, Scalar};
pub(crate) use dominators::Dominators;

use crate::diagnostics::{Diagnostic, Diagnostics, Fault, InstructionRef, RuleId};
use crate::environment::Environment;
use crate::grammar::op_name;
use crate::load::{Loaded, not_supported};
use crate::module::{Constant, ConstantValue, Function, Id, Inst, Module};
use crate::opcodes;
use crate::rules::{self, InstructionRule};
use rustc_hash::{FxHashMap, FxHashSet};
use spirv::{LinkageType, Op};

const OPERAND_TYPES: RuleId = RuleId { id: "types.operands", source: "SPIR-V 1.2 §3.32" };
const ENGINE: RuleId = RuleId { id: "engine.unsupported", source: "this driver" };
const LINKAGE: RuleId = RuleId { id: "functions.linkage", source: "SPIR-V 1.2 §2.16.1" };

/// Checks the operands of one opcode; the error says what is wrong with them.
type Check = fn(&Ctx<'_>, &Inst) -> Result<(), String>;

/// Checks all functions that an input brought.
pub(crate) fn validate(
    module: &Module,
    env: &Environment<'_>,
    loaded: &Loaded,
    leaves: &[u64],
    input: Option<usize>,
    diagnostics: &mut Diagnostics,
) {
    let mut judges: FxHashMap<Op, Judge> = FxHashMap::default();
    let functions = &module.functions[loaded.first_function..];
    let mut places = flow::Places::new(loaded.defs.len());
    let mut faults = Vec::new();
    for (function, source) in functions.iter().zip(&loaded.sources) {
        let ctx = Ctx { module, defs: &loaded.defs, function, leaves, env };
        let report = |at: Option<(usize, usize)>, fault: Fault| {
            let inst =
                at.map(|(block, inst)| (&function.blocks[block].insts[inst], source.blocks[block][inst]));
            let mut diagnostic = locate(module, loaded, function, inst, fault);
            if inst.is_none() {
                diagnostic.instruction = Some(InstructionRef {
                    opcode: op_name(Op::Function),
                    offset: source.offset,
                    result: Some(loaded.defs.raw(function.id)),
                    text: None,
                });
            }
            Diagnostic { input, ..diagnostic }
        };
        if let Err(fault) = linkage(function).and_then(|()| signature(&ctx)) {
            diagnostics.push(report(None, fault));
            continue;
        }
        let graph = flow::check(&ctx, &mut places, &mut faults);
        let blamed: FxHashSet<(usize, usize)> = faults.iter().filter_map(|(at, _)| *at).collect();
        for (at, fault) in faults.drain(..) {
            diagnostics.spoil();
            if !fault.is_consequence() {
                diagnostics.push(report(at, fault));
            }
        }
        if !graph {
            continue;
        }
        for (block, insts) in function.blocks.iter().enumerate() {
            for (at, inst) in insts.insts.iter().enumerate() {
                if !blamed.is_empty() && blamed.contains(&(block, at)) {
                    continue;
                }
                let judge = judges.entry(inst.op).or_insert_with(|| Judge::new(module, inst.op));
                if let Err(fault) = judge.structure(&ctx, inst) {
                    diagnostics.push(report(Some((block, at)), fault));
                    continue;
                }
                for rule in &judge.rules {
                    if let Err(message) = (rule.check)(&ctx, inst) {
                        diagnostics.judge(report(Some((block, at)), Fault::new(rule.id, message)));
                    }
                }
            }
        }
    }
    for &(id, offset) in &loaded.expressions {
        if let Err(message) = expression(module, env, loaded, leaves, id) {
            let fault = Fault::new(OPERAND_TYPES, message);
            let result = Some(loaded.defs.raw(id));
            let opcode = op_name(Op::SpecConstantOp);
            let instruction = Some(InstructionRef { opcode, offset, result, text: None });
            diagnostics.push(Diagnostic { input, instruction, ..Diagnostic::new(fault) });
        }
    }
}

/// A constant that stays an expression is checked as if it were an instruction.
fn expression(
    module: &Module,
    env: &Environment<'_>,
    loaded: &Loaded,
    leaves: &[u64],
    id: Id,
) -> Result<(), String> {
    let Some(Constant { ty, value: ConstantValue::Expression { op, operands } }) = module.constants.get(&id)
    else {
        return Ok(());
    };
    let row = opcodes::row(*op).ok_or_else(|| format!("{op:?} is not supported"))?;
    let check = match op {
        Op::PtrCastToGeneric => conversions::constant_to_generic,
        Op::GenericCastToPtr => conversions::constant_from_generic,
        _ => signatures::check(row.signature),
    };
    let function = Function {
        id,
        result: *ty,
        params: Vec::new(),
        control: spirv::FunctionControl::NONE,
        blocks: Vec::new(),
        name: None,
        linkage: None,
    };
    let inst =
        Inst { op: *op, ty: Some(*ty), result: Some(id), operands: operands.as_slice().into(), line: None };
    let ctx = Ctx { module, defs: &loaded.defs, function: &function, leaves, env };
    ctx.value_sizes(&inst).and_then(|()| check(&ctx, &inst))
}

/// All that is to be known about an opcode, looked up once a module.
struct Judge {
    supported: Result<Check, Fault>,
    rules: Vec<&'static InstructionRule>,
}

impl Judge {
    fn new(module: &Module, op: Op) -> Self {
        let row = opcodes::row(op).ok_or_else(|| not_supported(op));
        let supported = row.and_then(|row| {
            rules::instruction_capability(module, op)?;
            rules::instruction_version(module, row)?;
            Ok(signatures::check(row.signature))
        });
        Self { supported, rules: rules::of(op) }
    }

    fn structure(&self, ctx: &Ctx<'_>, inst: &Inst) -> Result<(), Fault> {
        let check = self.supported.as_ref().map_err(Fault::clone)?;
        let check = if matrices::is_elementwise(ctx, inst) { matrices::elementwise } else { *check };
        let types = ctx.value_sizes(inst).and_then(|()| check(ctx, inst));
        types.map_err(|message| Fault::new(OPERAND_TYPES, message))
    }
}

/// Asks the engine about everything that is left to be compiled.
pub(crate) fn ask_engine(
    module: &Module,
    env: &Environment<'_>,
    loaded: &[Loaded],
    diagnostics: &mut Diagnostics,
) {
    let Some(engine_ops) = env.engine_ops else { return };
    // What breaks a rule is not to be lowered anyway.
    let blamed: FxHashSet<(Option<usize>, u32)> = diagnostics.places().collect();
    for (at, input) in loaded.iter().enumerate() {
        let index = (loaded.len() > 1).then_some(at);
        for source in &input.sources {
            let Some(function) = module.function(source.function) else { continue };
            for (block, offsets) in function.blocks.iter().zip(&source.blocks) {
                for (inst, &offset) in block.insts.iter().zip(offsets) {
                    if let Err(reason) = engine_ops(module, inst)
                        && !blamed.contains(&(index, offset))
                    {
                        let fault = Fault::new(ENGINE, reason);
                        let diagnostic = locate(module, input, function, Some((inst, offset)), fault);
                        diagnostics.judge(Diagnostic { input: index, ..diagnostic });
                    }
                }
            }
        }
    }
}

/// A function has a body or is imported.
fn linkage(function: &Function) -> Result<(), Fault> {
    match (function.blocks.is_empty(), function.linkage == Some(LinkageType::Import)) {
        (true, false) => Err(Fault::new(LINKAGE, "the function has no body and is not imported")),
        (false, true) => Err(Fault::new(LINKAGE, "the function is imported and has a body")),
        _ => Ok(()),
    }
}

/// Parameters and results are values.
fn signature(ctx: &Ctx<'_>) -> Result<(), Fault> {
    let mut types = ctx.function.params.iter().map(|(_, ty)| *ty).chain([ctx.function.result]);
    types.try_for_each(|ty| ctx.size(ty)).map_err(|message| Fault::new(OPERAND_TYPES, message))
}

/// Says where a fault is.
pub(crate) fn locate(
    module: &Module,
    loaded: &Loaded,
    function: &Function,
    inst: Option<(&Inst, u32)>,
    fault: Fault,
) -> Diagnostic {
    let mut diagnostic = Diagnostic::new(fault);
    diagnostic.function = Some(loaded.function_name(module, function.id));
    if let Some((inst, offset)) = inst {
        diagnostic.line = inst.line.and_then(|line| module.lines.get(line as usize)).cloned();
        diagnostic.instruction = Some(InstructionRef {
            opcode: op_name(inst.op),
            offset,
            result: inst.result.map(|id| loaded.defs.raw(id)),
            text: None,
        });
    }
    diagnostic
}

#[cfg(test)]
mod tests {
    use crate::build;
    use crate::environment::{Environment, ModuleInput};
    use crate::module::{Inst, Module};
    use crate::test_support::{assemble, assert_accepted, assert_rejected, kernel};
    use spirv::Op;
    use ze_extensions::DeviceProfile;

    const TYPES: &str = "%pf = OpTypePointer Function %uint
%pl = OpTypePointer CrossWorkgroup %uint
%pg = OpTypePointer Generic %uint
%pc = OpTypePointer UniformConstant %uint
%ph = OpTypePointer Function %half
%pv = OpTypePointer Function %float
%arr = OpTypeArray %uint %u4
%rec = OpTypeStruct %uint %arr
%pr = OpTypePointer Function %rec
%bool2 = OpTypeVector %bool 2
%nf = OpConstantNull %pf
%nl = OpConstantNull %pl
%ng = OpConstantNull %pg
%nc = OpConstantNull %pc
%nr = OpConstantNull %pr
%nh = OpConstantNull %ph
%nv = OpConstantNull %pv
%rc = OpConstantNull %rec
%v2 = OpConstantNull %uint2
%f2 = OpConstantNull %float2
%f4 = OpConstantNull %float4
%b2 = OpConstantNull %bool2
%d1 = OpConstantNull %double
%h1 = OpConstantNull %half
%s1 = OpConstantNull %ushort";

    /// Pairs of an instruction that is accepted and one that is not.
    const CASES: &[(&str, &str)] = &[
        ("OpIAdd %uint %u1 %u1", "OpIAdd %uint %u1 %ul1"),
        ("OpIMul %uint2 %v2 %v2", "OpIMul %uint2 %v2 %u1"),
        ("OpUDiv %uint %u1 %u1", "OpUDiv %float %f1 %f1"),
        ("OpSNegate %uint %u1", "OpSNegate %float %f1"),
        ("OpFAdd %float %f1 %f1", "OpFAdd %uint %u1 %u1"),
        ("OpFNegate %float2 %f2", "OpFNegate %float2 %f1"),
        ("OpShiftLeftLogical %uint %u1 %ul1", "OpShiftLeftLogical %uint %ul1 %u1"),
        ("OpBitwiseAnd %uint %u1 %u1", "OpBitwiseAnd %bool %true %true"),
        ("OpBitCount %uint %ul1", "OpBitCount %float %u1"),
        ("OpVectorTimesScalar %float2 %f2 %f1", "OpVectorTimesScalar %float2 %f1 %f2"),
        ("OpDot %float %f2 %f2", "OpDot %float %f2 %f4"),
        ("OpIEqual %bool %u1 %u1", "OpIEqual %uint %u1 %u1"),
        ("OpULessThan %bool2 %v2 %v2", "OpULessThan %bool %v2 %v2"),
        ("OpFOrdLessThan %bool %f1 %f1", "OpFOrdLessThan %bool %u1 %u1"),
        ("OpIsNan %bool %f1", "OpIsNan %bool %u1"),
        ("OpLogicalAnd %bool %true %true", "OpLogicalAnd %uint %u1 %u1"),
        ("OpLogicalNot %bool %true", "OpLogicalNot %bool %u1"),
        ("OpAny %bool %b2", "OpAny %bool %true"),
        ("OpSelect %uint2 %b2 %v2 %v2", "OpSelect %uint %b2 %u1 %u1"),
        ("OpSelect %rec %true %rc %rc", "OpSelect %uint %u1 %u1 %u1"),
        ("OpUConvert %ulong %u1", "OpUConvert %ulong %f1"),
        ("OpSConvert %uint %s1", "OpSConvert %uint2 %s1"),
        ("OpFConvert %double %f1", "OpFConvert %uint %f1"),
        ("OpConvertFToS %uint %f1", "OpConvertFToS %float %f1"),
        ("OpConvertUToF %float %u1", "OpConvertUToF %float2 %u1"),
        ("OpConvertPtrToU %ulong %nl", "OpConvertPtrToU %ulong %ul1"),
        ("OpConvertUToPtr %pl %ul1", "OpConvertUToPtr %ulong %ul1"),
        ("OpPtrCastToGeneric %pg %nl", "OpPtrCastToGeneric %pg %nc"),
        ("OpGenericCastToPtr %pl %ng", "OpGenericCastToPtr %pc %ng"),
        ("OpGenericCastToPtrExplicit %pl %ng CrossWorkgroup", "OpGenericCastToPtrExplicit %pl %ng Workgroup"),
        ("OpBitcast %uint %f1", "OpBitcast %uint %ul1"),
        ("OpBitcast %ulong %v2", "OpBitcast %bool2 %s1"),
        ("OpBitcast %pf %nv", "OpBitcast %pl %nf"),
        ("OpBitcast %ulong %nf", "OpBitcast %uint %nf"),
        ("OpLoad %uint %nf", "OpLoad %float %nf"),
        ("OpLoad %uint %nf Aligned 4", "OpLoad %uint %nf Aligned 3"),
        ("OpLoad %rec %nr", "OpLoad %rec %nf"),
        ("OpAccessChain %pf %nr %u1 %u3", "OpAccessChain %pf %nr %u2"),
        ("OpAccessChain %pf %nr %u0", "OpAccessChain %pl %nr %u0"),
        ("OpPtrAccessChain %pf %nf %ul1", "OpPtrAccessChain %pf %nf %ul1 %u0"),
        ("OpInBoundsPtrAccessChain %pf %nr %u0 %u1 %ul1", "OpInBoundsPtrAccessChain %pf %nr %f1 %u1 %ul1"),
        ("OpPtrEqual %bool %nf %nf", "OpPtrEqual %bool %nf %nl"),
        ("OpPtrDiff %ulong %nf %nf", "OpPtrDiff %float %nf %nf"),
        ("OpCompositeExtract %uint %rc 1 3", "OpCompositeExtract %uint %rc 1 4"),
        ("OpCompositeExtract %arr %rc 1", "OpCompositeExtract %uint %rc 1"),
        ("OpCompositeInsert %rec %u1 %rc 0", "OpCompositeInsert %rec %f1 %rc 0"),
        ("OpCompositeConstruct %float4 %f2 %f1 %f1", "OpCompositeConstruct %float4 %f2 %f1"),
        ("OpCompositeConstruct %arr %u1 %u1 %u1 %u1", "OpCompositeConstruct %arr %u1 %u1 %u1"),
        ("OpVectorExtractDynamic %float %f4 %u1", "OpVectorExtractDynamic %float %f4 %f1"),
        ("OpVectorInsertDynamic %float4 %f4 %f1 %u1", "OpVectorInsertDynamic %float4 %f4 %u1 %u1"),
        ("OpVectorShuffle %float2 %f4 %f2 5 4294967295", "OpVectorShuffle %float2 %f4 %f2 6 0"),
        ("OpCopyObject %uint %u1", "OpCopyObject %uint %f1"),
        ("OpAtomicIAdd %uint %nl %u1 %u0 %u1", "OpAtomicIAdd %ulong %nl %u1 %u0 %ul1"),
        ("OpAtomicLoad %uint %nl %u1 %u0", "OpAtomicLoad %uint %nl %u1 %ul1"),
        (
            "OpAtomicCompareExchange %uint %nl %u1 %u0 %u0 %u1 %u1",
            "OpAtomicCompareExchange %uint %nl %u1 %u0 %u0 %u1 %f1",
        ),
        ("OpGroupIAdd %uint %u2 Reduce %u1", "OpGroupIAdd %float %u2 Reduce %f1"),
        ("OpGroupFAdd %float %u2 InclusiveScan %f1", "OpGroupFAdd %float %u2 Reduce %u1"),
        ("OpGroupAll %bool %u2 %true", "OpGroupAll %bool %u2 %u1"),
        ("OpGroupBroadcast %float2 %u3 %f2 %u1", "OpGroupBroadcast %float2 %u3 %f2 %f1"),
        ("OpExtInst %float %std sqrt %f1", "OpExtInst %uint %std sqrt %u1"),
        ("OpExtInst %float %std pow %f1 %f1", "OpExtInst %float %std pow %f1"),
        ("OpExtInst %float2 %std fma %f2 %f2 %f2", "OpExtInst %float2 %std fma %f2 %f2 %f1"),
        ("OpExtInst %uint %std s_max %u1 %u1", "OpExtInst %float %std s_max %f1 %f1"),
        ("OpExtInst %uint %std u_mul24 %u1 %u1", "OpExtInst %ulong %std u_mul24 %ul1 %ul1"),
        ("OpExtInst %float %std ldexp %f1 %u1", "OpExtInst %float %std ldexp %f1 %ul1"),
        ("OpExtInst %float %std fract %f1 %nv", "OpExtInst %float %std fract %f1 %nf"),
        ("OpExtInst %float %std frexp %f1 %nf", "OpExtInst %float %std frexp %f1 %nv"),
        ("OpExtInst %float %std length %f4", "OpExtInst %float4 %std length %f4"),
        ("OpExtInst %float4 %std cross %f4 %f4", "OpExtInst %float2 %std cross %f2 %f2"),
        ("OpExtInst %float %std select %f1 %f1 %u1", "OpExtInst %float %std select %f1 %f1 %ul1"),
        ("OpExtInst %float %std nan %u1", "OpExtInst %float %std nan %ul1"),
        ("OpExtInst %uint %std ilogb %f1", "OpExtInst %float %std ilogb %f1"),
        ("OpExtInst %uint %std u_upsample %s1 %s1", "OpExtInst %ulong %std u_upsample %s1 %s1"),
        ("OpExtInst %float2 %std vloadn %ul1 %nv 2", "OpExtInst %float2 %std vloadn %ul1 %nv 3"),
        ("OpExtInst %void %std vstoren %f2 %ul1 %nv", "OpExtInst %void %std vstoren %f2 %ul1 %nf"),
        ("OpExtInst %float %std vload_half %ul1 %nh", "OpExtInst %float %std vload_half %ul1 %nv"),
        (
            "OpExtInst %void %std vstore_half_r %f1 %ul1 %nh 1",
            "OpExtInst %void %std vstore_half_r %f1 %ul1 %nh 9",
        ),
        ("OpExtInst %float2 %std shuffle %f4 %v2", "OpExtInst %float2 %std shuffle %f4 %u1"),
    ];

    #[test]
    fn operands_agree_with_their_opcode() {
        for (good, bad) in CASES {
            assert_accepted(&kernel(TYPES, &format!("%r = {good}")));
            assert_rejected(&kernel(TYPES, &format!("%r = {bad}")), "types.operands");
        }
    }

    #[test]
    fn formats_of_printf_are_constant_strings_unless_the_module_says_otherwise() {
        let text = |class: &str| {
            let declarations = format!("%pt = OpTypePointer {class} %uchar\n%text = OpConstantNull %pt");
            kernel(&declarations, "%r = OpExtInst %uint %std printf %text %f1 %u1")
        };
        let relaxed = |class: &str| {
            let extension = "OpExtension \"SPV_EXT_relaxed_printf_string_address_space\"\n%std = ";
            text(class).replacen("%std = ", extension, 1)
        };
        assert_accepted(&text("UniformConstant"));
        for class in ["CrossWorkgroup", "Generic"] {
            assert_rejected(&text(class), "types.operands");
            assert_accepted(&relaxed(class));
        }
        for class in ["Function", "Workgroup"] {
            assert_rejected(&relaxed(class), "types.operands");
        }
        assert_rejected(&text("UniformConstant").replace("%uchar\n", "%uint\n"), "types.operands");
    }

    /// The same for instructions without a result.
    const EFFECTS: &[(&str, &str)] = &[
        ("OpStore %nf %u1", "OpStore %nf %f1"),
        ("OpStore %nl %u1", "OpStore %nc %u1"),
        ("OpCopyMemory %nf %nl", "OpCopyMemory %nf %nv"),
        ("OpCopyMemorySized %nf %nc %ul1", "OpCopyMemorySized %nf %nc %f1"),
        ("OpLifetimeStart %nf 4", "OpLifetimeStart %nl 4"),
        ("OpAtomicStore %nl %u1 %u0 %u1", "OpAtomicStore %nl %u1 %u0 %f1"),
        ("OpControlBarrier %u2 %u2 %u0", "OpControlBarrier %ul1 %u2 %u0"),
        ("OpBranchConditional %true %a %a\n%a = OpLabel", "OpBranchConditional %u1 %a %a\n%a = OpLabel"),
        ("OpSwitch %u1 %a 0 %a 1 %a\n%a = OpLabel", "OpSwitch %u1 %a 1 %a 1 %a\n%a = OpLabel"),
        ("OpReturn\n%a = OpLabel", "OpReturnValue %u1\n%a = OpLabel"),
        ("%c = OpFunctionCall %void %f %u1", "%c = OpFunctionCall %void %f %f1"),
        ("%c = OpFunctionCall %void %f %u1", "%c = OpFunctionCall %void %f"),
        ("%c = OpFunctionCall %void %f %u1", "%c = OpFunctionCall %uint %f %u1"),
    ];

    #[test]
    fn effects_agree_with_their_opcode() {
        let text = |inst: &str| {
            let function = "%ft = OpTypeFunction %void %uint\n%f = OpFunction %void None %ft\n%x = OpFunctionParameter %uint\n\
                %fl = OpLabel\nOpReturn\nOpFunctionEnd\n%main = OpFunction";
            kernel(TYPES, inst).replace("%main = OpFunction", function)
        };
        for (good, bad) in EFFECTS {
            assert_accepted(&text(good));
            assert_rejected(&text(bad), "types.operands");
        }
    }

    #[test]
    fn opcodes_without_a_check_are_rejected_by_name() {
        let text = kernel("", "%r = OpFwidth %float %f1");
        assert_rejected(&text, "module.opcode");
    }

    #[test]
    fn values_have_a_size_limit() {
        let load = |length: &str| {
            let types = format!(
                "%n = OpConstant %uint {length}\n%a = OpTypeArray %uint %n\n%p = OpTypePointer CrossWorkgroup %a\n%v = OpVariable %p CrossWorkgroup"
            );
            kernel(&types, "%r = OpLoad %a %v")
        };
        assert_accepted(&load("4097"));
        assert_accepted(&load("262144"));
        assert_rejected(&load("262145"), "types.operands");
    }

    #[test]
    fn the_engine_is_asked_about_what_is_reached() {
        let refuse = |_: &Module, inst: &Inst| match inst.op {
            Op::FMul => Err("OpFMul is not lowered".to_owned()),
            _ => Ok(()),
        };
        let profile = DeviceProfile::host();
        let env = Environment::new(&profile).with_engine(&refuse);
        let rules = |text: &str| {
            let bytes = assemble(text);
            build(&[ModuleInput::new(&bytes)], &env)
                .map_or_else(|error| error.diagnostics[0].rule, |_| "accepted")
        };
        assert_eq!(rules(&kernel("", "%r = OpFMul %float %f1 %f1")), "engine.unsupported");
        let unused = "%f = OpFunction %void None %fn\n%l = OpLabel\n%r = OpFMul %float %f1 %f1\nOpReturn\nOpFunctionEnd\n%main = OpFunction";
        assert_eq!(rules(&kernel("", "").replace("%main = OpFunction", unused)), "accepted");
    }
}
