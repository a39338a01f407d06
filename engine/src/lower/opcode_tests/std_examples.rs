//! One instruction for each function of `OpenCL.std`, generated from its signature.

use super::examples::Example;
use spirv_env::opcodes::opencl_std::{Function, Signature};

/// The operands of a function, by the type of its result. None for what the engine refuses.
pub fn examples(function: &Function) -> Vec<Example> {
    use Signature as S;
    let repeated = |types: &[(&'static str, &str)], count: usize| -> Vec<(&'static str, String)> {
        types.iter().map(|(ty, value)| (*ty, vec![*value; count].join(" "))).collect()
    };
    let floats =
        |count| repeated(&[("float", "%f"), ("half", "%h"), ("double", "%d"), ("float4", "%f4")], count);
    let ints = |count| repeated(&[("uint", "%i"), ("ulong", "%l"), ("uchar", "%c"), ("uint4", "%i4")], count);
    let one = |ty: &'static str, operands: &str| vec![(ty, operands.to_owned())];
    let operands = match function.signature {
        S::Float(count) => floats(count),
        S::Int(count) => ints(count),
        S::Int32(count) => repeated(&[("uint", "%i"), ("uint4", "%i4")], count),
        S::Any(count) => repeated(&[("uint", "%i"), ("float", "%f"), ("uint4", "%i4")], count),
        S::FloatAndPointer(1) => vec![("float", "%f %vf".into()), ("float", "%f %pfl".into())],
        S::FloatAndPointer(count) => one("float", &(["%f"].repeat(count).join(" ") + " %vf")),
        S::FloatAndIntPointer(count) => one("float", &(["%f"].repeat(count).join(" ") + " %v")),
        S::FloatAndInt => one("float", "%f %i"),
        S::IntOfFloat => one("uint", "%f"),
        S::FloatOfInt => one("float", "%i"),
        S::Upsample => vec![("uint", "%s %s".into()), ("ulong", "%i %i".into())],
        S::Select => vec![("float", "%f %f %i".into()), ("float4", "%f4 %f4 %i4".into())],
        S::Cross => one("float4", "%f4 %f4"),
        S::Length(count) => repeated(&[("float", "%f4")], count),
        S::VectorLoad => vec![("uint4", "%l %pi 4".into()), ("uint4", "%l %v 4".into())],
        S::VectorStore => one("void", "%i4 %l %pi"),
        S::HalfLoad => one("float", "%l %ph"),
        S::HalfVectorLoad => one("float4", "%l %ph 4"),
        S::HalfStore => one("void", "%f %l %ph"),
        S::HalfVectorStore => one("void", "%f4 %l %ph"),
        S::HalfStoreRounded => one("void", "%f %l %ph 1"),
        S::HalfVectorStoreRounded => one("void", "%f4 %l %ph 2"),
        S::Shuffle => one("uint4", "%i4 %i4"),
        S::Shuffle2 => one("uint4", "%i4 %i4 %i4"),
        S::Prefetch => one("void", "%pi %l"),
        S::Printf => one("uint", "%text %i %f4"),
    };
    let name = format!("{:?}", function.op);
    operands
        .into_iter()
        .map(|(ty, operands)| Example::new(ty, format!("OpExtInst %{ty} %std {name} {operands}")))
        .collect()
}
