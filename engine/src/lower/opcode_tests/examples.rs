//! Instructions for each opcode, generated from the signature of its row.

use spirv_env::op_name;
use spirv_env::opcodes::{Convergence, Opcode, Signature};

/// An instruction inside the kernel of [`super::kernel`], with operands from [`operands`].
pub struct Example {
    /// The type of the result; `void` and none are not stored.
    pub ty: Option<&'static str>,
    /// The instruction without its result.
    pub text: String,
    /// It makes blocks of its own, or all work-items have to come to it.
    pub everyone: bool,
}

impl Example {
    pub fn new(ty: &'static str, text: String) -> Self {
        Self { ty: Some(ty), text, everyone: false }
    }

    fn effect(text: String) -> Self {
        Self { ty: None, text, everyone: false }
    }

    fn for_everyone(self) -> Self {
        Self { everyone: true, ..self }
    }
}

/// Variables for operands.
pub const VARIABLES: &str = "%v = OpVariable %pf_uint Function
%vf = OpVariable %pf_float Function
%va = OpVariable %pf_arr Function
%ve = OpVariable %pf_event Function
";

/// Values of all types: of the element `at` of the input.
pub fn operands(at: &str) -> String {
    let four = |ty: &str, value: &str| format!("OpCompositeConstruct %{ty} {}", [value; 4].join(" "));
    format!(
        "%pi = OpInBoundsPtrAccessChain %pg_uint %in {at}
%i = OpLoad %uint %pi
%c = OpUConvert %uchar %i
%s = OpUConvert %ushort %i
%l = OpUConvert %ulong %i
%f = OpConvertUToF %float %i
%h = OpFConvert %half %f
%d = OpFConvert %double %f
%b = OpINotEqual %bool %i %u1
%i2 = OpCompositeConstruct %uint2 %i %i
%i4 = {}
%l4 = {}
%c4 = {}
%f4 = {}
%b4 = {}
%tv = OpCompositeConstruct %two %i %i
%pfl = OpBitcast %pg_float %pi
%ph = OpBitcast %pg_half %pi
%g = OpPtrCastToGeneric %gen %pi
%f2 = OpCompositeConstruct %float2 %f %f
%img = OpConvertHandleToImageINTEL %img2 %l
%wimg = OpConvertHandleToImageINTEL %wimg2 %l
%smp = OpConvertHandleToSamplerINTEL %sampler %l
%sampled = OpConvertHandleToSampledImageINTEL %si2 %l
",
        four("uint4", "%i"),
        four("ulong4", "%l"),
        four("uchar4", "%c"),
        four("float4", "%f"),
        four("bool4", "%b"),
    )
}

/// Examples of an opcode; none for what stands outside of functions, and for what the engine refuses.
pub fn examples(row: &Opcode) -> Vec<Example> {
    use Signature as S;
    let name = op_name(row.op);
    let one = |ty: &'static str, operands: &str| Example::new(ty, format!("{name} %{ty} {operands}"));
    let all = |list: &[(&'static str, &str)]| list.iter().map(|(ty, operands)| one(ty, operands)).collect();
    let effect = |operands: &str| Example::effect(format!("{name} {operands}"));
    let scopes: &[&str] = match row.convergence {
        Convergence::Group | Convergence::Barrier => &["%u2", "%u3"],
        Convergence::Workgroup => &["%u2"],
        _ => &["%u3"],
    };
    // Work-groups are not to meet where some are absent.
    let scoped = |ty: &'static str, operands: &[String]| -> Vec<Example> {
        let each = |scope: &&str| {
            let meets = **scope == *"%u2";
            let of =
                |operands: &String| Example { everyone: meets, ..one(ty, &format!("{scope} {operands}")) };
            operands.iter().map(of).collect::<Vec<_>>()
        };
        scopes.iter().flat_map(each).collect()
    };
    let operations = |value: &str| -> Vec<String> {
        let mut operations = vec!["Reduce", "InclusiveScan", "ExclusiveScan"];
        let clustered = row.convergence == Convergence::Subgroup && row.signature != S::BallotBitCount;
        operations.extend(clustered.then_some("ClusteredReduce"));
        let size = |operation: &str| if operation == "ClusteredReduce" { " %u4" } else { "" };
        operations.iter().map(|operation| format!("{operation} {value}{}", size(operation))).collect()
    };
    match row.signature {
        S::Layout | S::Extended => Vec::new(),
        S::IntUnary | S::BitCount => {
            all(&[("uint", "%i"), ("ulong", "%l"), ("uchar", "%c"), ("uint4", "%i4")])
        }
        S::IntBinary => all(&[
            ("uint", "%i %i"),
            ("ulong", "%l %l"),
            ("uchar", "%c %c"),
            ("uint4", "%i4 %i4"),
            ("uint", "%i %u7"),
        ]),
        S::Shift => all(&[("uint", "%i %i"), ("ulong", "%l %i"), ("uint", "%i %u2")]),
        S::BitFieldInsert => {
            all(&[("uint", "%i %i %i %i"), ("uint4", "%i4 %i4 %u1 %u2"), ("ulong", "%l %l %u1 %i")])
        }
        S::BitFieldExtract => all(&[("uint", "%i %i %i"), ("uint4", "%i4 %u1 %u2"), ("ulong", "%l %u1 %i")]),
        S::BitwiseFunction => {
            all(&[("uint", "%i %i %u7 %u31"), ("uint4", "%i4 %i4 %i4 %u16"), ("ulong", "%l %l %l %u0")])
        }
        S::FloatUnary => all(&[("float", "%f"), ("half", "%h"), ("double", "%d"), ("float4", "%f4")]),
        S::FloatBinary => {
            all(&[("float", "%f %f"), ("half", "%h %h"), ("double", "%d %d"), ("float4", "%f4 %f4")])
        }
        S::FloatTernary => all(&[
            ("float", "%f %f %f"),
            ("half", "%h %h %h"),
            ("double", "%d %d %d"),
            ("float4", "%f4 %f4 %f4"),
        ]),
        S::VectorTimesScalar => all(&[("float4", "%f4 %f")]),
        S::FloatDot => all(&[("float", "%f4 %f4")]),
        S::TwoInts => all(&[("two", "%i %i")]),
        S::IntCompare => all(&[("bool", "%i %i"), ("bool", "%l %l"), ("bool4", "%i4 %i4")]),
        S::FloatCompare => all(&[("bool", "%f %f"), ("bool", "%h %h"), ("bool4", "%f4 %f4")]),
        S::FloatClassify => all(&[("bool", "%f"), ("bool", "%h"), ("bool", "%d"), ("bool4", "%f4")]),
        S::BoolUnary => all(&[("bool", "%b"), ("bool4", "%b4")]),
        S::BoolBinary => all(&[("bool", "%b %b"), ("bool4", "%b4 %b4")]),
        S::BoolReduce => all(&[("bool", "%b4")]),
        S::Select => all(&[("uint", "%b %i %u1"), ("float4", "%b4 %f4 %f4"), ("pg_uint", "%b %pi %in")]),
        S::Expect => all(&[("uint", "%i %u1"), ("bool", "%b %b")]),
        S::Assume => vec![effect("%b")],
        S::IntDot => all(&[("uint", "%c4 %c4"), ("uint", "%i %i 0"), ("ulong", "%i4 %i4")]),
        S::IntDotAccumulate => {
            all(&[("uint", "%c4 %c4 %i"), ("uint", "%i %i %i 0"), ("ulong", "%i4 %i4 %l")])
        }
        S::IntToInt => all(&[("ulong", "%i"), ("uchar", "%i"), ("uint4", "%l4")]),
        S::FloatToFloat => all(&[("double", "%f"), ("half", "%f"), ("half", "%d"), ("double4", "%f4")]),
        S::FloatToInt => all(&[("uint", "%f"), ("ulong", "%d"), ("uchar", "%h"), ("uint4", "%f4")]),
        S::IntToFloat => all(&[("float", "%i"), ("double", "%l"), ("half", "%c"), ("float4", "%i4")]),
        S::FloatToBFloat16 => all(&[("ushort", "%f")]),
        S::BFloat16ToFloat => all(&[("float", "%s")]),
        S::RoundToTf32 => all(&[("float", "%f"), ("float4", "%f4")]),
        S::PointerToInt => all(&[("ulong", "%pi"), ("uint", "%v")]),
        S::IntToPointer => all(&[("pg_uint", "%l"), ("pg_uint", "%i")]),
        S::PointerToGeneric => all(&[("gen", "%pi"), ("gen", "%v")]),
        S::GenericToPointer => all(&[("pg_uint", "%g")]),
        S::GenericToPointerExplicit => {
            all(&[("pg_uint", "%g CrossWorkgroup"), ("pf_uint", "%g Function"), ("pl_uint", "%g Workgroup")])
        }
        S::Bitcast => {
            all(&[("uint", "%f"), ("float2", "%l"), ("ulong", "%i2"), ("pg_float", "%pi"), ("ulong", "%pi")])
        }
        S::Extract => all(&[("uint", "%i4 1"), ("uint", "%tv 1")]),
        S::Insert => all(&[("uint4", "%i %i4 2"), ("two", "%i %tv 0")]),
        S::Construct => all(&[("uint4", "%i2 %i %u1"), ("two", "%i %u1")]),
        S::ExtractDynamic => all(&[("uint", "%i4 %i")]),
        S::InsertDynamic => all(&[("uint4", "%i4 %u1 %i")]),
        S::VectorShuffle => all(&[("uint2", "%i4 %i4 1 6"), ("uint2", "%i4 %i4 4294967295 0")]),
        S::CopyObject => all(&[("uint", "%i"), ("two", "%tv"), ("pg_uint", "%pi")]),
        S::CopyLogical => all(&[("two", "%tv")]),
        S::Undef => all(&[("uint", ""), ("two", "")]),
        S::Load => all(&[("uint", "%pi"), ("uint", "%pi Volatile"), ("uint", "%v"), ("ulong3", "%gid")]),
        S::Store => vec![effect("%pi %i"), effect("%v %i"), effect("%pi %i Volatile")],
        // `VARIABLES` has them.
        S::Variable => vec![Example::new("uint", "OpLoad %uint %v".into())],
        S::CopyMemory => vec![effect("%v %pi"), effect("%pi %v"), effect("%pi %in Aligned 4")],
        S::CopyMemorySized => vec![effect("%v %pi %ul4"), effect("%pi %in %l")],
        S::AccessChain => all(&[("pf_uint", "%va %i"), ("pf_uint", "%va %u1")]),
        S::ElementAccessChain => {
            all(&[("pg_uint", "%pi %i"), ("pg_uint", "%in %ul1"), ("pf_uint", "%va %u0 %i")])
        }
        S::PointerCompare => all(&[("bool", "%pi %in")]),
        S::PointerDifference => all(&[("ulong", "%pi %in")]),
        S::Lifetime => vec![effect("%v 4")],
        S::GenericSemantics => all(&[("uint", "%g")]),
        S::SizeOf => all(&[("uint", "%pi"), ("uint", "%va")]),
        S::Clock => all(&[("ulong", "%u1"), ("uint2", "%u3")]),
        S::BlockPrefetch => vec![effect("%pi %u4"), effect("%pi %u4 Aligned 4")],
        S::AtomicLoad => all(&[("uint", "%pi %u1 %u0"), ("uint", "%in %u1 %u0"), ("uint", "%local %u1 %u0")]),
        S::AtomicStore => {
            vec![effect("%pi %u1 %u0 %i"), effect("%in %u1 %u16 %i"), effect("%local %u1 %u0 %i")]
        }
        S::AtomicExchange | S::AtomicInt => {
            all(&[("uint", "%pi %u1 %u0 %i"), ("uint", "%in %u1 %u0 %i"), ("uint", "%local %u1 %u0 %u1")])
        }
        S::AtomicCompareExchange => {
            all(&[("uint", "%pi %u1 %u0 %u0 %i %u1"), ("uint", "%in %u1 %u0 %u0 %i %u1")])
        }
        S::AtomicStep => all(&[("uint", "%pi %u1 %u0"), ("uint", "%in %u1 %u0"), ("uint", "%local %u1 %u0")]),
        S::AtomicFloat => all(&[("float", "%pfl %u1 %u0 %f")]),
        S::AtomicFlagTest => all(&[("bool", "%pi %u1 %u0")]),
        S::AtomicFlagClear => vec![effect("%pi %u1 %u0")],
        S::ControlBarrier => {
            scopes.iter().map(|scope| effect(&format!("{scope} %u2 %u0")).for_everyone()).collect()
        }
        S::MemoryBarrier => vec![effect("%u2 %u0"), effect("%u1 %u16"), effect("%u0 %u2")],
        S::GroupVote => scoped("bool", &["%b".into()]),
        S::GroupBroadcast => scoped("uint", &["%i %u0".into()]),
        S::GroupInt => {
            let mut examples = scoped("uint", &operations("%i"));
            examples.extend(scoped("uchar", &operations("%c")));
            examples
        }
        S::GroupFloat => {
            let mut examples = scoped("float", &operations("%f"));
            examples.extend(scoped("half", &operations("%h")));
            examples
        }
        S::GroupBool => scoped("bool", &operations("%b")),
        S::AsyncCopy => vec![one("event", "%u2 %local %in %ul1 %ul1 %noevent").for_everyone()],
        S::WaitEvents => vec![effect("%u2 %u1 %ve").for_everyone()],
        S::Elect => scoped("bool", &["".into()]),
        S::AllEqual => scoped("bool", &["%i".into(), "%f".into()]),
        S::BroadcastFirst => scoped("uint", &["%i".into()]),
        S::Ballot => scoped("uint4", &["%b".into()]),
        S::InverseBallot => scoped("bool", &["%i4".into()]),
        S::BallotBitExtract => scoped("bool", &["%i4 %i".into(), "%i4 %u1".into()]),
        S::BallotBitCount => scoped("uint", &operations("%i4")),
        S::BallotFind => scoped("uint", &["%i4".into()]),
        S::Shuffle => scoped("uint", &["%i %i".into(), "%i %u1".into(), "%u1 %i".into()]),
        S::Rotate => scoped("uint", &["%i %u1".into(), "%i %i %u4".into()]),
        S::KhrVote => all(&[("bool", "%b")]),
        S::KhrBallot => all(&[("uint4", "%b")]),
        S::KhrFirst => all(&[("uint", "%i"), ("float4", "%f4")]),
        S::IntelShuffle => all(&[("uint", "%i %u1"), ("uint", "%i %i"), ("float4", "%f4 %u1")]),
        S::IntelShufflePair => all(&[("uint", "%i %i %u1"), ("uint", "%i %u1 %i")]),
        S::BlockRead => all(&[("uint", "%in"), ("uint4", "%in")]),
        S::BlockWrite => vec![effect("%in %i"), effect("%in %i4")],
        S::Branch => vec![effect("%next\n%next = OpLabel").for_everyone()],
        S::BranchConditional => {
            vec![effect("%b %next %other\n%other = OpLabel\nOpBranch %next\n%next = OpLabel").for_everyone()]
        }
        S::Switch => vec![
            effect("%i %next 1 %other 7 %other\n%other = OpLabel\nOpBranch %next\n%next = OpLabel")
                .for_everyone(),
        ],
        // The kernel's own, and the function's that is called.
        S::Return => vec![Example::effect("OpNop".into())],
        S::ReturnValue => vec![Example::new("uint", "OpFunctionCall %uint %callee %i".into())],
        S::Unreachable => {
            let text =
                "OpBranchConditional %b %next %other\n%other = OpLabel\nOpUnreachable\n%next = OpLabel";
            vec![Example::effect(text.into()).for_everyone()]
        }
        S::Phi => {
            let text = "OpBranchConditional %b %next %other\n%other = OpLabel\nOpBranch %next\n%next = OpLabel\n\
                        %phi = OpPhi %uint %i %entry %u1 %other";
            vec![Example::effect(text.into()).for_everyone()]
        }
        S::Call => vec![one("uint", "%callee %i")],
        S::VariableLengthArray | S::SaveMemory | S::RestoreMemory | S::Untyped | S::Replaced => Vec::new(),
        S::PointerCall => vec![one("uint", "%callee_pointer %i"), one("uint", "%nobody %i")],
        S::SampledImage => all(&[("si2", "%img %smp")]),
        S::Sample => all(&[
            ("float4", "%sampled %f2 Lod %f"),
            ("float4", "%sampled %i2 Lod %f1"),
            ("uint4", "%sampled %f2 Lod %f1"),
            ("float4", "%sampled %f2 Grad %f2 %f2"),
            ("half4", "%sampled %f2 Lod %f"),
        ]),
        S::ImageRead => all(&[("float4", "%img %i2"), ("uint4", "%img %i2"), ("half4", "%img %i2 Lod %i")]),
        S::ImageFetch => all(&[("float4", "%img %i2"), ("uint", "%img %i2"), ("float", "%sampled %i2")]),
        S::ImageWrite => {
            ["%f4", "%i4", "%c4", "%h"].map(|color| effect(&format!("%wimg %i2 {color}"))).into()
        }
        S::ImageOf => all(&[("img2", "%sampled")]),
        S::QuerySize => all(&[("uint2", "%img"), ("ulong2", "%img")]),
        S::QuerySizeLod => all(&[("uint2", "%img %i")]),
        S::QueryWord => all(&[("uint", "%img")]),
        S::ImageBlockRead => all(&[("uint4", "%img %i2"), ("ushort", "%img %i2")]),
        S::ImageBlockWrite => vec![effect("%wimg %i2 %i4"), effect("%wimg %i2 %s")],
        S::MediaBlockRead => all(&[("uint4", "%img %i2 %u4 %i"), ("uchar", "%img %i2 %i %u4")]),
        S::MediaBlockWrite => vec![effect("%wimg %i2 %u4 %i %i4"), effect("%wimg %i2 %i %i %c")],
        // They need types and sub-groups of their own: `matrices`.
        S::MatrixLoad
        | S::MatrixStore
        | S::MatrixMultiplyAdd
        | S::MatrixConstruct
        | S::MatrixCoordinate
        | S::MatrixLength
        | S::MatrixTimesScalar
        | S::SubgroupMultiplyAdd
        | S::BlockLoad2D
        | S::BlockStore2D => Vec::new(),
        // The tests' assembler has no name for it.
        S::MatrixPrefetch => Vec::new(),
        S::BlockPrefetch2D => vec![effect("%u4 %u4 %u4 %u1 %in %i %i %i %i2")],
        S::HandleToImage => all(&[("img2", "%l")]),
        S::HandleToSampler => all(&[("sampler", "%l")]),
        S::HandleToSampledImage => all(&[("si2", "%l")]),
    }
}
