//! What the rows of `spirv_env::opcodes` promise: every opcode is lowered, and computes what an independent reference does.

mod apart;
mod arithmetic;
mod bfloat;
mod blocks;
mod bounds;
mod division;
mod examples;
#[cfg(target_arch = "x86_64")]
mod float_modes;
mod geometric;
mod groups;
mod guarded;
mod integers;
mod invariant_loads;
mod lane_masks;
mod lowering;
mod masked;
mod matrices;
mod narrow_builtins;
mod opencl_c;
mod pieces;
mod read_ahead;
mod shuffles;
mod std_examples;
mod structures;
mod tables;
mod wraps;

use crate::jit::target::Isa;
use crate::{Dispatch, Engine, EngineConfig};
use spirv::Capability;
use spirv_env::{Environment, Module, ModuleInput};
use std::collections::BTreeSet;
use std::sync::Arc;
use ze_extensions::{CAPABILITIES, DeviceProfile};
use ze_tests::assembler::assemble;

/// Capabilities that only tests of their own declare: one changes what arithmetic without decorations may do, the other one is of a
/// later version than that of the tests' modules.
const APART: [Capability; 2] = [Capability::FloatControls2, Capability::UniformDecoration];

/// Declares all other capabilities that a device of this machine accepts, with their extensions.
fn declarations() -> String {
    let profile = DeviceProfile::host();
    let declared = CAPABILITIES.iter().filter(|support| {
        let known = Capability::from_u32(support.capability.0);
        support.need.met_by(&profile) && known.is_some_and(|known| !APART.contains(&known))
    });
    let mut extensions: BTreeSet<&str> = BTreeSet::new();
    let mut text = String::new();
    for support in declared {
        extensions.extend(support.declared_by.first().copied());
        text += &format!("OpCapability {}\n", support.capability.name().expect("it is one of SPIR-V's"));
    }
    extensions.iter().fold(text, |text, name| text + &format!("OpExtension \"{name}\"\n"))
}

/// Types whose values kernels put into memory.
const STORED: [&str; 17] = [
    "uchar", "ushort", "uint", "ulong", "half", "float", "double", "uint2", "uint4", "ulong2", "ulong4",
    "float2", "float4", "double4", "half4", "uchar4", "two",
];

/// A kernel of three pointers to `uint` in global memory, `%in`, `%index` and `%out`: instructions in front of the
/// entry block's others, and the rest.
pub(super) fn kernel(width: Option<u32>, variables: &str, body: &str) -> String {
    let declarations = declarations();
    let mode = width.map_or(String::new(), |width| format!("OpExecutionMode %main SubgroupSize {width}\n"));
    let pointers: String =
        STORED.iter().map(|ty| format!("%pg_{ty} = OpTypePointer CrossWorkgroup %{ty}\n")).collect();
    let numbers: String = [0, 1, 2, 3, 4, 5, 7, 8, 16, 31, 32]
        .iter()
        .map(|n| format!("%u{n} = OpConstant %uint {n}\n%ul{n} = OpConstant %ulong {n}\n"))
        .collect();
    format!(
        "{declarations}%std = OpExtInstImport \"OpenCL.std\"
OpMemoryModel Physical64 OpenCL
OpEntryPoint Kernel %main \"main\" %gid
{mode}OpDecorate %gid BuiltIn GlobalInvocationId
%void = OpTypeVoid
%bool = OpTypeBool
%uchar = OpTypeInt 8 0
%ushort = OpTypeInt 16 0
%uint = OpTypeInt 32 0
%ulong = OpTypeInt 64 0
%half = OpTypeFloat 16
%float = OpTypeFloat 32
%double = OpTypeFloat 64
%event = OpTypeEvent
%img2 = OpTypeImage %void 2D 0 0 0 0 Unknown ReadOnly
%wimg2 = OpTypeImage %void 2D 0 0 0 0 Unknown WriteOnly
%si2 = OpTypeSampledImage %img2
%sampler = OpTypeSampler
%bool4 = OpTypeVector %bool 4
%uint2 = OpTypeVector %uint 2
%uint4 = OpTypeVector %uint 4
%ulong2 = OpTypeVector %ulong 2
%ulong3 = OpTypeVector %ulong 3
%ulong4 = OpTypeVector %ulong 4
%uchar4 = OpTypeVector %uchar 4
%ushort4 = OpTypeVector %ushort 4
%half4 = OpTypeVector %half 4
%float2 = OpTypeVector %float 2
%float4 = OpTypeVector %float 4
%double4 = OpTypeVector %double 4
%two = OpTypeStruct %uint %uint
{pointers}{numbers}%arr = OpTypeArray %uint %u4
%pf_uint = OpTypePointer Function %uint
%pf_float = OpTypePointer Function %float
%pf_event = OpTypePointer Function %event
%pf_arr = OpTypePointer Function %arr
%pl_uint = OpTypePointer Workgroup %uint
%gen = OpTypePointer Generic %uint
%pi_ulong3 = OpTypePointer Input %ulong3
%fn = OpTypeFunction %void %pg_uint %pg_uint %pg_uint
%callee_fn = OpTypeFunction %uint %uint
%callee_ptr = OpTypePointer CodeSectionINTEL %callee_fn
%callee_pointer = OpConstantFunctionPointerINTEL %callee_ptr %callee
%nobody = OpConstantNull %callee_ptr
%f1 = OpConstant %float 0x3F800000
%noevent = OpConstantNull %event
%gid = OpVariable %pi_ulong3 Input
%local = OpVariable %pl_uint Workgroup
%pc_uchar = OpTypePointer UniformConstant %uchar
%percent = OpConstant %uchar 37
%text = OpVariable %pc_uchar UniformConstant %percent
%callee = OpFunction %uint None %callee_fn
%callee_x = OpFunctionParameter %uint
%callee_entry = OpLabel
OpReturnValue %callee_x
OpFunctionEnd
%main = OpFunction %void None %fn
%in = OpFunctionParameter %pg_uint
%index = OpFunctionParameter %pg_uint
%out = OpFunctionParameter %pg_uint
%entry = OpLabel
{variables}%ids = OpLoad %ulong3 %gid
%gx = OpCompositeExtract %ulong %ids 0
{body}OpReturn
OpFunctionEnd
"
    )
}

pub(super) fn build(text: &str) -> Module {
    let bytes = assemble(text);
    let profile = DeviceProfile::host();
    let environment = Environment::new(&profile).with_engine(&super::supports);
    spirv_env::build(&[ModuleInput::new(&bytes)], &environment)
        .unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// Sub-group sizes, and how many of them a work-group has; one work-item is a sub-group of its own.
const SUBGROUPS: [(u32, u32); 4] = [(1, 1), (8, 2), (16, 2), (32, 2)];

/// Runs a kernel in two work-groups; `words` are written by each work-item.
fn run(text: &str, group_size: u32, input: &[u32], index: &[u32], words: usize) -> Vec<u32> {
    run_on(None, text, group_size, input, index, words)
}

/// The same with code for a lesser CPU.
fn run_on(
    isa: Option<Isa>,
    text: &str,
    group_size: u32,
    input: &[u32],
    index: &[u32],
    words: usize,
) -> Vec<u32> {
    const GROUPS: u32 = 2;
    let engine =
        Engine::new(EngineConfig { threads: 1, isa, joins_groups: false, ..EngineConfig::default() });
    let key = crate::jit::hash::digest(&[text.as_bytes()]);
    let program = engine.load(Arc::new(build(text)), key).expect("loads");
    let items = (GROUPS * group_size) as usize;
    assert!(input.len() >= items && index.len() >= items);
    let mut output = vec![0u32; items * words];
    let pointers = [input.as_ptr() as u64, index.as_ptr() as u64, output.as_mut_ptr() as u64];
    let args: Vec<u8> = pointers.iter().flat_map(|pointer| pointer.to_le_bytes()).collect();
    let dispatch = Dispatch {
        group_count: [GROUPS, 1, 1],
        group_size: [group_size, 1, 1],
        global_offset: [0; 3],
        args: &args,
    };
    program
        .kernel("main")
        .expect("the kernel")
        .launch(&dispatch)
        .unwrap_or_else(|error| panic!("{error}\n{text}"));
    output
}

/// A kernel that writes results one after the other, as words of the work-item.
#[derive(Default)]
struct Results {
    body: String,
    words: usize,
}

impl Results {
    fn push(&mut self, text: &str) {
        self.body.push_str(text);
        self.body.push('\n');
    }

    /// Keeps a value of type `uint` as the next word.
    fn keep(&mut self, value: &str) {
        let word = self.words;
        self.words += 1;
        self.push(&format!(
            "%word{word} = OpInBoundsPtrAccessChain %pg_uint %mine %place{word}\nOpStore %word{word} {value}"
        ));
    }

    fn text(&self, width: u32, before: &str) -> String {
        let constants: String =
            (0..=self.words).map(|word| format!("%place{word} = OpConstant %ulong {word}\n")).collect();
        let mine = format!(
            "%first = OpIMul %ulong %gx %place{}\n%mine = OpInBoundsPtrAccessChain %pg_uint %out %first\n",
            self.words
        );
        let width = (width > 1).then_some(width);
        kernel(width, "%va = OpVariable %pf_arr Function\n", &format!("{mine}{before}{}", self.body))
            .replace("%fn = OpTypeFunction", &format!("{constants}%fn = OpTypeFunction"))
    }
}

/// xorshift64*: the tests need reproducible variety, not statistics.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u32 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 32) as u32
    }
}
