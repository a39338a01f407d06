//! Gathers and scatters under masks and predicated accesses against what they are specified to do, with pointers that lanes
//! share and with their own.

use super::{Random, Results, SUBGROUPS, run};

const ITEMS: usize = 2 * 64;

/// A kernel with vectors of pointers.
fn text(results: &Results, width: u32, before: &str) -> String {
    let types = "%vp = OpTypeVector %pg_uint 4\n%vf = OpTypeVector %pg_float 4\n%pf_vp = OpTypePointer Function %vp\n\
        %gv = OpTypeVector %gen 4\n%none = OpConstantNull %uint4\n";
    results
        .text(width, before)
        .replacen("OpCapability Kernel\n", "OpCapability Kernel\nOpCapability MaskedGatherScatterINTEL\n", 1)
        .replacen("%std = ", "OpExtension \"SPV_INTEL_masked_gather_scatter\"\n%std = ", 1)
        .replacen("%fn = OpTypeFunction", &format!("{types}%fn = OpTypeFunction"), 1)
        .replacen("%va = OpVariable", "%vv = OpVariable %pf_vp Function\n%va = OpVariable", 1)
}

/// Four addresses and a mask by the bits of a word: the work-item's, or the first one's for all.
fn operands(at: &str) -> String {
    let mut body = format!(
        "%pk = OpInBoundsPtrAccessChain %pg_uint %index {at}\n%key = OpLoad %uint %pk\n\
         %pb = OpInBoundsPtrAccessChain %pg_uint %in {at}\n"
    );
    for bit in 0..4 {
        body += &format!(
            "%m{bit}w = OpShiftRightLogical %uint %key %u{bit}\n%m{bit}b = OpBitwiseAnd %uint %m{bit}w %u1\n\
             %m{bit} = OpINotEqual %bool %m{bit}b %u0\n"
        );
    }
    body + "%mask = OpCompositeConstruct %bool4 %m0 %m1 %m2 %m3
%step0 = OpBitwiseAnd %uint %key %u3
%step = OpUConvert %ulong %step0
%steps = OpCompositeConstruct %ulong4 %step %ul2 %ul0 %ul5
%ptrs = OpInBoundsPtrAccessChain %vp %pb %steps
%fill = OpCompositeConstruct %uint4 %u7 %key %u1 %u2
"
}

fn input() -> (Vec<u32>, Vec<u32>) {
    let mut random = Random(1);
    let input: Vec<u32> = (0..ITEMS + 16).map(|_| random.next()).collect();
    let index = (0..ITEMS + 16).map(|at| if at == 1 { 0b0110 } else { random.next() }).collect();
    (input, index)
}

/// The element of the input, and the mask and steps, of a component.
fn component(index: &[u32], at: usize, component: usize) -> (usize, bool) {
    let key = index[at];
    let step = [(key & 3) as usize, 2, 0, 5][component];
    (at + step, key >> component & 1 == 1)
}

#[test]
fn gathers_read_where_the_mask_is_set_and_nowhere_else() {
    let (input, index) = input();
    for (at, uniform) in [("%gx", false), ("%ul1", true)] {
        for (width, subgroups) in SUBGROUPS {
            let mut results = Results::default();
            // Where the mask is not set, the pointer leads nowhere.
            results.push(
                "%nowhere = OpConvertUToPtr %vp %ones\n%safe = OpSelect %vp %mask %ptrs %nowhere\n\
                 %r = OpMaskedGatherINTEL %uint4 %safe 4 %mask %fill\nOpStore %vv %safe\n%again = OpLoad %vp %vv\n\
                 %floats = OpBitcast %vf %again\n%g = OpPtrCastToGeneric %gv %again\n%back = OpGenericCastToPtr %vp %g\n\
                 %filled = OpMaskedGatherINTEL %uint4 %back 0 %mask %r\n%sum = OpIAdd %uint4 %r %filled\n\
                 %one = OpCompositeExtract %pg_uint %floats_as 2\n%p2 = OpConvertPtrToU %ulong4 %floats\n\
                 %same = OpPtrEqual %bool4 %safe %back\n%both = OpAll %bool %same\n%b = OpSelect %uint %both %u1 %u0",
            );
            let fixed = results.body.replace("%floats_as", "%again");
            results.body = fixed;
            for component in 0..4 {
                results.push(&format!("%r{component} = OpCompositeExtract %uint %sum {component}"));
                results.keep(&format!("%r{component}"));
            }
            results.keep("%b");
            let group = width * subgroups;
            let before =
                format!("%ones = OpCompositeConstruct %ulong4 %ul1 %ul1 %ul1 %ul1\n{}", operands(at));
            let output = run(&text(&results, width, &before), group, &input, &index, results.words);
            for (item, words) in output.chunks(results.words).enumerate() {
                let from = if uniform { 1 } else { item };
                let fill = [7, index[from], 1, 2];
                for part in 0..4 {
                    let (place, set) = component(&index, from, part);
                    let value = if set { input[place] } else { fill[part] };
                    assert_eq!(words[part], value.wrapping_mul(2), "{width} {uniform} {item} {part}");
                }
                assert_eq!(words[4], 1);
            }
        }
    }
}

#[test]
fn scatters_write_where_the_mask_is_set_and_in_order() {
    const WORDS: usize = 8;
    let (input, index) = input();
    for (at, uniform) in [("%gx", false), ("%ul1", true)] {
        for (width, subgroups) in SUBGROUPS {
            let mut results = Results { body: String::new(), words: WORDS };
            results.push(
                "%values = OpCompositeConstruct %uint4 %key %u2 %u3 %u4\n%own = OpInBoundsPtrAccessChain %vp %mine %steps\n\
                 OpMaskedScatterINTEL %values %own 4 %mask",
            );
            let group = width * subgroups;
            let output = run(&text(&results, width, &operands(at)), group, &input, &index, WORDS);
            for (item, words) in output.chunks(WORDS).enumerate() {
                let from = if uniform { 1 } else { item };
                let mut expected = [0u32; WORDS];
                for (part, value) in [index[from], 2, 3, 4].into_iter().enumerate() {
                    let (place, set) = component(&index, from, part);
                    if set {
                        expected[place - from] = value;
                    }
                }
                assert_eq!(words, expected, "{width} {uniform} {item}");
            }
        }
    }
}

/// In a branch and a loop, whose phis have to find the blocks that the accesses make.
#[test]
fn gathers_in_divergent_loops_are_made_for_the_lanes_that_are_there() {
    let (input, index) = input();
    for (width, subgroups) in SUBGROUPS {
        let mut results = Results::default();
        results.push(
            "%times0 = OpBitwiseAnd %uint %key %u7\nOpBranch %loop\n%loop = OpLabel\n\
             %i = OpPhi %uint %u0 %entry %next %body\n%acc = OpPhi %uint4 %none %entry %r %body\n\
             %more = OpULessThan %bool %i %times0\nOpBranchConditional %more %body %end\n%body = OpLabel\n\
             %g = OpMaskedGatherINTEL %uint4 %ptrs 4 %mask %fill\n%r = OpIAdd %uint4 %acc %g\n\
             %next = OpIAdd %uint %i %u1\nOpBranch %loop\n%end = OpLabel",
        );
        for component in 0..4 {
            results.push(&format!("%r{component} = OpCompositeExtract %uint %acc {component}"));
            results.keep(&format!("%r{component}"));
        }
        let group = width * subgroups;
        let text = text(&results, width, &operands("%gx"));
        let output = run(&text, group, &input, &index, results.words);
        for (item, words) in output.chunks(results.words).enumerate() {
            let (times, fill) = (index[item] & 7, [7, index[item], 1, 2]);
            for part in 0..4 {
                let (place, set) = component(&index, item, part);
                let value = if set { input[place] } else { fill[part] };
                assert_eq!(words[part], value.wrapping_mul(times), "{width} {item} {part}");
            }
        }
    }
}
