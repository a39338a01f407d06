//! bfloat16 against its definition: f32 whose lower half is rounded away, to nearest even.

use super::{Random, Results, SUBGROUPS, run};

const ITEMS: usize = 2 * 64;

fn text(results: &Results, width: u32, before: &str) -> String {
    let types = "%bf = OpTypeFloat 16 0\n%bf4 = OpTypeVector %bf 4\n%pf_bf = OpTypePointer Function %bf\n\
        %pg_bf = OpTypePointer CrossWorkgroup %bf\n%half_of_three = OpConstant %bf 0x3FC0\n";
    results
        .text(width, before)
        .replacen(
            "OpCapability Kernel\n",
            "OpCapability Kernel\nOpCapability BFloat16TypeKHR\nOpCapability BFloat16DotProductKHR\n",
            1,
        )
        .replacen(
            "%std = ",
            "OpExtension \"SPV_KHR_bfloat16\"\nOpExtension \"SPV_INTEL_bfloat16_arithmetic\"\n%std = ",
            1,
        )
        .replacen("%fn = OpTypeFunction", &format!("{types}%fn = OpTypeFunction"), 1)
        .replacen("%va = OpVariable", "%vb = OpVariable %pf_bf Function\n%va = OpVariable", 1)
}

fn wide(bits: u16) -> f32 {
    f32::from_bits(u32::from(bits) << 16)
}

fn narrow(x: f32) -> u16 {
    let bits = x.to_bits();
    if x.is_nan() {
        return (bits >> 16) as u16 | 0x40;
    }
    ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16) as u16
}

/// A pair of numbers of a word: the work-item's, or the second one's for all.
fn operands(at: &str) -> String {
    format!(
        "%px = OpInBoundsPtrAccessChain %pg_uint %in {at}\n%pxb = OpBitcast %pg_bf %px\n%x = OpLoad %bf %pxb\n\
         %py = OpInBoundsPtrAccessChain %pg_bf %pxb %ul1\n%y = OpLoad %bf %py\n\
         %pw = OpInBoundsPtrAccessChain %pg_uint %index {at}\n%w = OpLoad %uint %pw\n%wf = OpBitcast %float %w\n"
    )
}

fn numbers() -> (Vec<u32>, Vec<u32>) {
    let special = [0u32, 0x8000, 0x3F80, 0xBF80, 0x7F80, 0xFF80, 0x7FC1, 1, 0x8001, 0x7F7F, 0x0080, 0x3F81];
    let mut random = Random(3);
    let mut draw = || match random.next() % 3 {
        0 => special[random.next() as usize % special.len()],
        1 => 0x3F00 + random.next() % 0x180,
        _ => random.next() & 0xFFFF,
    };
    let pairs: Vec<u32> = (0..ITEMS).map(|_| draw() | draw() << 16).collect();
    let mut random = Random(4);
    let words =
        (0..ITEMS).map(|at| if at % 3 == 0 { random.next() & 0xFFFF_8000 } else { random.next() }).collect();
    (pairs, words)
}

/// Two NaNs are the same.
fn same(got: u16, want: u16) -> bool {
    got == want || wide(got).is_nan() && wide(want).is_nan()
}

#[test]
fn bfloat16_computes_in_single_precision_and_rounds_to_nearest_even() {
    type Reference = fn(f32, f32, u32) -> f32;
    let functions: [(&str, Reference); 16] = [
        ("OpFNegate %bf %x", |x, _, _| -x),
        ("OpFAdd %bf %x %y", |x, y, _| x + y),
        ("OpFSub %bf %x %y", |x, y, _| x - y),
        ("OpFMul %bf %x %y", |x, y, _| x * y),
        ("OpFDiv %bf %x %y", |x, y, _| x / y),
        ("OpFRem %bf %x %y", |x, y, _| x % y),
        ("OpFConvert %bf %wf", |_, _, w| f32::from_bits(w)),
        ("OpConvertUToF %bf %w", |_, _, w| w as f32),
        ("OpConvertSToF %bf %w", |_, _, w| w as i32 as f32),
        ("OpExtInst %bf %std fabs %x", |x, _, _| x.abs()),
        ("OpExtInst %bf %std fmax %x %y", |x, y, _| if y.is_nan() || x >= y { x } else { y }),
        ("OpExtInst %bf %std native_sqrt %x", |x, _, _| x.sqrt()),
        ("OpExtInst %bf %std fma %x %y %half_of_three", |x, y, _| x.mul_add(y, 1.5)),
        ("OpDot %bf %xx %yy", |x, y, _| x * y + x * y),
        ("OpSelect %bf %less %x %half_of_three", |x, y, _| if x < y { x } else { 1.5 }),
        ("OpLoad %bf %vb", |_, y, _| y),
    ];
    let (pairs, words) = numbers();
    for (at, uniform) in [("%gx", false), ("%ul1", true)] {
        for (width, subgroups) in SUBGROUPS {
            let mut results = Results::default();
            results.push(
                "OpStore %vb %y\n%less = OpFOrdLessThan %bool %x %y\n%bf2 = OpCompositeConstruct %bf4 %x %x %y %y\n\
                 %xx = OpVectorShuffle %v2 %bf2 %bf2 0 1\n%yy = OpVectorShuffle %v2 %bf2 %bf2 2 3",
            );
            for (number, (inst, _)) in functions.iter().enumerate() {
                results.push(&format!(
                    "%r{number} = {inst}\n%b{number} = OpBitcast %ushort %r{number}\n%k{number} = OpUConvert %uint %b{number}"
                ));
                results.keep(&format!("%k{number}"));
            }
            results.push("%less_w = OpSelect %uint %less %u1 %u0\n%unordered = OpUnordered %bool %x %y");
            results.keep("%less_w");
            results.push("%unordered_w = OpSelect %uint %unordered %u1 %u0\n%wide = OpFConvert %float %x");
            results.keep("%unordered_w");
            results.push("%wide_w = OpBitcast %uint %wide");
            results.keep("%wide_w");
            let text = text(&results, width, &operands(at)).replacen(
                "%bf4 = OpTypeVector",
                "%v2 = OpTypeVector %bf 2\n%bf4 = OpTypeVector",
                1,
            );
            let group = width * subgroups;
            let output = run(&text, group, &pairs, &words, results.words);
            for (item, got) in output.chunks(results.words).enumerate() {
                let from = if uniform { 1 } else { item };
                let (x, y) = (wide(pairs[from] as u16), wide((pairs[from] >> 16) as u16));
                for ((inst, reference), got) in functions.iter().zip(got) {
                    let want = narrow(reference(x, y, words[from]));
                    assert!(
                        same(*got as u16, want),
                        "{inst} of {x:e}, {y:e}, {:#x}: {got:#x}, not {want:#x}; width {width}",
                        words[from]
                    );
                }
                let rest = &got[functions.len()..];
                let unordered = x.is_nan() || y.is_nan();
                assert_eq!(rest[..2], [u32::from(x < y), u32::from(unordered)], "{x:e} {y:e}");
                assert!(rest[2] == x.to_bits() || x.is_nan());
            }
        }
    }
}
