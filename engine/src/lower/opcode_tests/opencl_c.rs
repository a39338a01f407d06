//! OpenCL C's forms that LLVM's SPIR-V backend passes on: votes of integers and scalars for vectors, against Rust.

use super::{Random, SUBGROUPS, kernel, run};

const WORDS: usize = 4;

fn body() -> String {
    let votes = ["OpAny %bool %v", "OpAll %bool %v", "OpAny %bool %x", "OpAll %bool %y"];
    let mut body = "%px = OpInBoundsPtrAccessChain %pg_uint %in %gx\n%x = OpLoad %uint %px\n\
        %py = OpInBoundsPtrAccessChain %pg_uint %index %gx\n%y = OpLoad %uint %py\n\
        %v = OpCompositeConstruct %uint2 %x %y\n%first = OpIMul %ulong %gx %ul4\n"
        .to_owned();
    for (at, vote) in votes.iter().enumerate() {
        let bit = [1, 2, 4, 16][at];
        body += &format!(
            "%vote{at} = {vote}\n%bit{at} = OpSelect %uint %vote{at} %u{bit} %u0\n\
             %bits{at} = OpBitwiseOr %uint %{} %bit{at}\n",
            if at == 0 { "u0".to_owned() } else { format!("bits{}", at - 1) },
        );
    }
    body += "%m = OpExtInst %uint2 %std s_max %v %y\n%low = OpExtInst %uint2 %std u_clamp %m %u5 %x\n\
        %m0 = OpCompositeExtract %uint %m 0\n%l1 = OpCompositeExtract %uint %low 1\n\
        %f = OpConvertUToF %float2 %v\n%n = OpBitwiseAnd %uint %y %u7\n\
        %scaled = OpExtInst %float2 %std ldexp %f %n\n%s = OpExtInst %float2 %std fmin %scaled %f1\n\
        %q = OpFSub %float2 %scaled %s\n%q0 = OpCompositeExtract %float %q 0\n%r3 = OpBitcast %uint %q0\n\
        %r0 = OpCopyObject %uint %bits3\n%r1 = OpCopyObject %uint %m0\n%r2 = OpCopyObject %uint %l1\n";
    for at in 0..WORDS {
        body += &format!(
            "%place{at} = OpIAdd %ulong %first %ul{at}\n\
             %to{at} = OpInBoundsPtrAccessChain %pg_uint %out %place{at}\nOpStore %to{at} %r{at}\n"
        );
    }
    body
}

fn expected(x: u32, y: u32) -> [u32; WORDS] {
    let [a, b] = [x, y].map(|word| word >> 31);
    let votes = (a | b) | (a & b) << 1 | a << 2 | b << 4;
    // Where the bounds are the wrong way round, the result is undefined.
    let clamped = y.max(5).min(x);
    let scaled = x as f32 * f32::powi(2.0, (y & 7) as i32);
    [votes, (x as i32).max(y as i32) as u32, clamped, (scaled - scaled.min(1.0)).to_bits()]
}

#[test]
fn votes_of_integers_and_scalars_for_vectors_are_those_of_opencl_c() {
    for (width, subgroups) in SUBGROUPS {
        let group_size = width * subgroups;
        let mut random = Random(11);
        let items = 2 * group_size as usize;
        let x: Vec<u32> = (0..items).map(|_| random.next() | 8).collect();
        let y: Vec<u32> = (0..items).map(|_| random.next()).collect();
        let found = run(&kernel((width > 1).then_some(width), "", &body()), group_size, &x, &y, WORDS);
        for (at, words) in found.chunks_exact(WORDS).enumerate() {
            assert_eq!(words, expected(x[at], y[at]), "{width}: {:x} {:x}", x[at], y[at]);
        }
    }
}
