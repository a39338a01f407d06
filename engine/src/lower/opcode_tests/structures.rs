//! Members of structures (`lower::structures`): steps of each size, elements of each width, some of the members, all work-items and
//! some of them.

use super::{Random, kernel, run_on};
use crate::jit::target::Isa;

/// Types of elements, their bytes, and the greatest step.
const ELEMENTS: [(&str, usize, usize); 4] =
    [("uchar", 1, 8), ("ushort", 2, 8), ("uint", 4, 8), ("ulong", 8, 4)];

/// Doubles some members of each work-item's structure, and leaves the others alone.
fn doubled(ty: &str, step: usize, members: &[usize], masked: bool) -> String {
    let mut body = format!("%from = OpBitcast %pg_{ty} %in\n%to = OpBitcast %pg_{ty} %out\n");
    if masked {
        body += "%pi = OpInBoundsPtrAccessChain %pg_uint %index %gx\n%own = OpLoad %uint %pi\n\
                 %on = OpINotEqual %bool %own %u0\nOpBranchConditional %on %inside %behind\n%inside = OpLabel\n";
    }
    body += "%base = OpIMul %ulong %gx %step\n";
    let place = |pointer: &str, member: &usize| {
        format!(
            "%at_{pointer}{member} = OpIAdd %ulong %base %member{member}\n\
             %p_{pointer}{member} = OpInBoundsPtrAccessChain %pg_{ty} %{pointer} %at_{pointer}{member}\n"
        )
    };
    for member in members {
        body += &place("from", member);
        body += &format!("%v{member} = OpLoad %{ty} %p_from{member}\n");
    }
    for member in members {
        body += &place("to", member);
        body += &format!(
            "%twice{member} = OpIAdd %{ty} %v{member} %v{member}\nOpStore %p_to{member} %twice{member}\n"
        );
    }
    if masked {
        body += "OpBranch %behind\n%behind = OpLabel\n";
    }
    let members: String =
        members.iter().map(|member| format!("%member{member} = OpConstant %ulong {member}\n")).collect();
    kernel(None, "", &body).replace(
        "%fn = OpTypeFunction",
        &format!("{members}%step = OpConstant %ulong {step}\n%fn = OpTypeFunction"),
    )
}

fn check(isa: Option<Isa>, random: &mut Random) {
    const GROUP: u32 = 32;
    const ITEMS: usize = 2 * GROUP as usize;
    for (ty, bytes, greatest) in ELEMENTS {
        for step in 2..=greatest {
            let some: Vec<usize> = (0..step).filter(|_| random.next().is_multiple_of(2)).collect();
            let subsets = [(0..step).collect(), vec![0], vec![0, step - 1], vec![step - 1], some];
            for members in subsets.into_iter().filter(|members: &Vec<usize>| !members.is_empty()) {
                let masked = random.next().is_multiple_of(2);
                let text = doubled(ty, step, &members, masked);
                let words = (step * bytes).div_ceil(4).max(1);
                let input: Vec<u32> = (0..ITEMS * words).map(|_| random.next()).collect();
                let on: Vec<u32> = (0..ITEMS).map(|_| random.next() % 2).collect();
                let found = run_on(isa, &text, GROUP, &input, &on, words);
                let input: Vec<u8> = input.iter().flat_map(|word| word.to_le_bytes()).collect();
                let mut expected = vec![0u8; input.len()];
                for item in (0..ITEMS).filter(|item| !masked || on[*item] != 0) {
                    for member in &members {
                        let at = (item * step + member) * bytes;
                        let mut number = [0; 8];
                        number[..bytes].copy_from_slice(&input[at..at + bytes]);
                        let twice = u64::from_le_bytes(number).wrapping_mul(2).to_le_bytes();
                        expected[at..at + bytes].copy_from_slice(&twice[..bytes]);
                    }
                }
                let found: Vec<u8> = found.iter().flat_map(|word| word.to_le_bytes()).collect();
                assert_eq!(
                    found, expected,
                    "members {members:?} of {step} of {ty}, masked: {masked}\n{text}"
                );
            }
        }
    }
}

#[test]
fn members_of_structures_with_the_vectors_of_this_cpu() {
    check(None, &mut Random(5));
}

#[test]
fn members_of_structures_with_avx2() {
    check(Some(Isa::Avx2), &mut Random(6));
}

#[test]
fn members_of_structures_with_sse() {
    check(Some(Isa::Sse), &mut Random(7));
}
