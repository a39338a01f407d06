//! Division by one number for all lanes, and by one for each, at the edges of what floating-point numbers are good for.

use super::{Random, SUBGROUPS, kernel, run};

const OPS: [&str; 5] = ["OpUDiv", "OpUMod", "OpSDiv", "OpSRem", "OpSMod"];

/// What an instruction makes of numbers of so many bits, if it is defined.
fn expected(op: &str, n: u64, d: u64, bits: u32) -> Option<u64> {
    let cut = |value: i128| value as u64 & u64::MAX >> (64 - bits);
    let signed = |value: u64| i128::from((value << (64 - bits)) as i64 >> (64 - bits));
    let (n, d) = match op {
        "OpUDiv" | "OpUMod" => (i128::from(n), i128::from(d)),
        _ => (signed(n), signed(d)),
    };
    let least = -1i128 << (bits - 1);
    if d == 0 || (n == least && d == -1) {
        return None;
    }
    Some(cut(match op {
        "OpUDiv" | "OpSDiv" => n / d,
        "OpUMod" | "OpSRem" => n % d,
        _ if n % d != 0 && (n % d < 0) != (d < 0) => n % d + d,
        _ => n % d,
    }))
}

/// A work-item divides its number by all divisors, or by those behind its own place.
fn text(width: u32, bits: u32, divisors: usize, is_uniform: bool) -> String {
    let first = if is_uniform { "%ul0" } else { "%gx" };
    let convert = if bits == 64 { "OpCopyObject" } else { "OpUConvert" };
    let results: String = OPS
        .iter()
        .enumerate()
        .map(|(at, op)| {
            format!(
                "%r{at} = {op} %t %n %d\n%w{at} = {convert} %ulong %r{at}\n%at{at} = OpIAdd %ulong %five_k %ul{at}\n\
                 %p{at} = OpInBoundsPtrAccessChain %pg_ulong %to %at{at}\nOpStore %p{at} %w{at} Aligned 4\n"
            )
        })
        .collect();
    let body = format!(
        "%numbers = OpBitcast %pg_ulong %in
%others = OpBitcast %pg_ulong %index
%to = OpBitcast %pg_ulong %out
%n_place = OpInBoundsPtrAccessChain %pg_ulong %numbers %gx
%n_wide = OpLoad %ulong %n_place Aligned 4
%n = {convert} %t %n_wide
%mine = OpIMul %ulong %gx %count
OpBranch %head
%head = OpLabel
%k = OpPhi %ulong %ul0 %entry %k1 %again
%more = OpULessThan %bool %k %count
OpBranchConditional %more %again %done
%again = OpLabel
%from = OpIAdd %ulong {first} %k
%turn = OpUMod %ulong %from %count
%d_place = OpInBoundsPtrAccessChain %pg_ulong %others %turn
%d_wide = OpLoad %ulong %d_place Aligned 4
%d = {convert} %t %d_wide
%own = OpIAdd %ulong %mine %k
%five_k = OpIMul %ulong %own %ul5
{results}%k1 = OpIAdd %ulong %k %ul1
OpBranch %head
%done = OpLabel
"
    );
    let ty = match bits {
        8 => "%uchar",
        16 => "%ushort",
        32 => "%uint",
        _ => "%ulong",
    };
    kernel((width > 1).then_some(width), "", &body)
        .replace(
            "%fn = OpTypeFunction",
            &format!("%count = OpConstant %ulong {divisors}\n%fn = OpTypeFunction"),
        )
        .replace("%t %", &format!("{ty} %"))
}

fn words(numbers: &[u64]) -> Vec<u32> {
    numbers.iter().flat_map(|number| [*number as u32, (*number >> 32) as u32]).collect()
}

#[test]
fn quotients_are_exact_at_every_edge() {
    let mut random = Random(0xD1_71DE);
    for bits in [8, 16, 32, 64] {
        let all = u64::MAX >> (64 - bits);
        let mut draw = || {
            let number = u64::from(random.next()) << 32 | u64::from(random.next());
            number >> (random.next() % 64) & all
        };
        let mut divisors: Vec<u64> = vec![1, 2, 3, 5, 7, 10, 100, all, all >> 1, (all >> 1) + 1, all - 1, 0];
        divisors.extend((0..12).map(|_| draw()));
        if bits == 64 {
            divisors.extend([43, 44, 45, 51, 52, 53].map(|bit| (1u64 << bit) - 1));
        }
        for (width, subgroups) in SUBGROUPS {
            for (is_uniform, small) in [(true, false), (false, false), (false, true)] {
                // Divisors of which each is small enough for a quotient of double precision.
                let divisors: Vec<u64> =
                    divisors.iter().copied().filter(|divisor| !small || divisor >> 51 == 0).collect();
                let items = (2 * width * subgroups) as usize;
                // Multiples of divisors and their neighbours; in their order, so that there are sub-groups of small ones.
                let mut numbers: Vec<u64> = (0..items)
                    .map(|item| {
                        let divisor = divisors[item % divisors.len()].max(1);
                        let number = draw();
                        let multiple = number / divisor * divisor;
                        match item % 4 {
                            0 => multiple,
                            1 => multiple.wrapping_sub(1) & all,
                            2 => multiple.wrapping_add(1) & all,
                            _ if item % 8 == 3 => {
                                1u64.checked_shl(bits - 1).unwrap_or(0) - ((item as u64 / 8) & 1)
                            }
                            _ => number,
                        }
                    })
                    .collect();
                numbers.sort_unstable();
                let text = text(width, bits, divisors.len(), is_uniform);
                let output = run(
                    &text,
                    width * subgroups,
                    &words(&numbers),
                    &words(&[divisors.clone(), vec![1; items]].concat()),
                    2 * OPS.len() * divisors.len(),
                );
                let results: Vec<u64> = output
                    .chunks_exact(2)
                    .map(|pair| u64::from(pair[0]) | u64::from(pair[1]) << 32)
                    .collect();
                for (item, &n) in numbers.iter().enumerate() {
                    for turn in 0..divisors.len() {
                        let own = if is_uniform { turn } else { (item + turn) % divisors.len() };
                        let d = divisors[own];
                        for (at, op) in OPS.iter().enumerate() {
                            let Some(expected) = expected(op, n, d, bits) else { continue };
                            let found = results[(item * divisors.len() + turn) * OPS.len() + at];
                            assert_eq!(
                                found, expected,
                                "{op} of {bits} bits: {n:#x} by {d:#x}, sub-groups of {width}, item {item}"
                            );
                        }
                    }
                }
            }
        }
    }
}

/// A work-item divides its number by each of these.
fn text_of_constants(width: u32, divisors: &[u64]) -> String {
    let mut constants = String::new();
    let mut results = String::new();
    for (at, d) in divisors.iter().enumerate() {
        constants += &format!("%d{at} = OpConstant %ulong {d}\n");
        for (op, name) in OPS.iter().enumerate() {
            let place = at * OPS.len() + op;
            constants += &format!("%place{place} = OpConstant %ulong {place}\n");
            results += &format!(
                "%r{place} = {name} %ulong %n %d{at}\n%at{place} = OpIAdd %ulong %begin %place{place}\n\
                 %p{place} = OpInBoundsPtrAccessChain %pg_ulong %to %at{place}\nOpStore %p{place} %r{place} Aligned 4\n"
            );
        }
    }
    let body = format!(
        "%numbers = OpBitcast %pg_ulong %in\n%to = OpBitcast %pg_ulong %out\n\
         %n_place = OpInBoundsPtrAccessChain %pg_ulong %numbers %gx\n%n = OpLoad %ulong %n_place Aligned 4\n\
         %begin = OpIMul %ulong %gx %count\n{results}"
    );
    let count = divisors.len() * OPS.len();
    let constants = format!("{constants}%count = OpConstant %ulong {count}\n%fn = OpTypeFunction");
    kernel((width > 1).then_some(width), "", &body).replace("%fn = OpTypeFunction", &constants)
}

#[test]
fn quotients_by_constants_of_64_bits_are_exact() {
    let mut random = Random(0xC0_57A7);
    let mut draw = || (u64::from(random.next()) << 32 | u64::from(random.next())) >> (random.next() % 64);
    let mut divisors = vec![3, 7, 10, 14, 1000, 1_000_000_007, 86_400_000, 1 << 63, (1 << 63) - 1, 0];
    divisors.extend([3u64, 7, 1000, 1 << 40].map(u64::wrapping_neg));
    divisors.extend((0..6).map(|_| draw()));
    for (width, subgroups) in SUBGROUPS {
        let items = (2 * width * subgroups) as usize;
        let numbers: Vec<u64> = (0..items)
            .map(|item| {
                let divisor = divisors[item % divisors.len()].max(1);
                let multiple = draw() / divisor * divisor;
                match item % 5 {
                    0 => multiple,
                    1 => multiple.wrapping_sub(1),
                    2 => multiple.wrapping_add(1),
                    3 => [0, 1, u64::MAX, 1 << 63, (1 << 63) - 1][item / 5 % 5],
                    _ => draw(),
                }
            })
            .collect();
        let each = divisors.len() * OPS.len();
        let text = text_of_constants(width, &divisors);
        let output = run(&text, width * subgroups, &words(&numbers), &words(&vec![1; items]), 2 * each);
        for (item, &n) in numbers.iter().enumerate() {
            for (place, (d, op)) in
                divisors.iter().flat_map(|d| OPS.iter().map(move |op| (*d, *op))).enumerate()
            {
                let Some(expected) = expected(op, n, d, 64) else { continue };
                let at = 2 * (item * each + place);
                let found = u64::from(output[at]) | u64::from(output[at + 1]) << 32;
                assert_eq!(found, expected, "{op}: {n:#x} by {d:#x}, sub-groups of {width}, item {item}");
            }
        }
    }
}

#[test]
fn quotients_of_numbers_that_are_known_to_be_short_are_exact() {
    let mut random = Random(0x5_0217);
    let mut divisors: Vec<u64> = vec![0, 1, 2, 3, 7, 10, 255, 256, 32767, 32768, 65535];
    divisors.extend((0..6).map(|_| u64::from(random.next() & 0xffff)));
    for (width, subgroups) in SUBGROUPS {
        let items = (2 * width * subgroups) as usize;
        let numbers: Vec<u64> = (0..items)
            .map(|item| {
                let number = u64::from(random.next() & 0xffff);
                let divisor = divisors[item % divisors.len()].max(1);
                [number / divisor * divisor, (number / divisor * divisor).saturating_sub(1), number, 65535]
                    [item % 4]
            })
            .collect();
        let mut text = text(width, 32, divisors.len(), false);
        for name in ["n", "d"] {
            let whole = format!("%{name} = OpUConvert %uint %{name}_wide");
            assert!(text.contains(&whole));
            let short = format!(
                "%{name}_short = OpUConvert %ushort %{name}_wide\n%{name} = OpUConvert %uint %{name}_short"
            );
            text = text.replace(&whole, &short);
        }
        let others = words(&[divisors.clone(), vec![1; items]].concat());
        let count = 2 * OPS.len() * divisors.len();
        let output = run(&text, width * subgroups, &words(&numbers), &others, count);
        for (item, &n) in numbers.iter().enumerate() {
            for turn in 0..divisors.len() {
                let d = divisors[(item + turn) % divisors.len()];
                for (at, op) in OPS.iter().enumerate() {
                    let Some(expected) = expected(op, n, d, 32) else { continue };
                    let found = output[2 * ((item * divisors.len() + turn) * OPS.len() + at)];
                    assert_eq!(
                        u64::from(found),
                        expected,
                        "{op}: {n} by {d}, sub-groups of {width}, item {item}"
                    );
                }
            }
        }
    }
}
