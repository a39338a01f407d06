//! Blocks of memory with two dimensions, element by element against what `SPV_INTEL_2d_block_io` says of its mapping, and
//! products of matrices that are in vectors (`SPV_INTEL_subgroup_matrix_multiply_accumulate`).

use super::Random;
use super::matrices::{best_isa, run, with};

const WIDTHS: [u32; 4] = [1, 8, 16, 32];

/// Bytes between two rows, bytes of a row, and rows.
const PITCH: usize = 136;
const ROW: i64 = 120;
const ROWS: i64 = 20;

#[derive(Clone, Copy, Debug)]
struct Case {
    bytes: usize,
    width: usize,
    height: usize,
    count: usize,
    /// In elements, and in rows.
    at: (i64, i64),
}

const CASES: [Case; 7] = [
    Case { bytes: 1, width: 32, height: 4, count: 1, at: (4, 1) },
    Case { bytes: 2, width: 16, height: 8, count: 2, at: (2, 3) },
    Case { bytes: 2, width: 8, height: 5, count: 1, at: (56, 17) },
    Case { bytes: 4, width: 16, height: 3, count: 1, at: (-4, -1) },
    Case { bytes: 4, width: 3, height: 9, count: 2, at: (25, 2) },
    Case { bytes: 8, width: 4, height: 4, count: 1, at: (3, 0) },
    Case { bytes: 1, width: 4, height: 7, count: 3, at: (112, 15) },
];

fn memory() -> Vec<u8> {
    let mut random = Random(42);
    (0..PITCH * (ROWS as usize + 2)).map(|_| random.next() as u8).collect()
}

/// An element of the memory; nothing out of its bounds.
fn element(memory: &[u8], case: Case, column: usize, row: usize) -> Option<u64> {
    let (x, y) = (case.at.0 + column as i64, case.at.1 + row as i64);
    let end = (x + 1) * case.bytes as i64;
    if x < 0 || !(0..ROWS).contains(&y) || end > ROW {
        return None;
    }
    let at = y as usize * PITCH + x as usize * case.bytes;
    let mut bits = [0; 8];
    bits[..case.bytes].copy_from_slice(&memory[at..at + case.bytes]);
    Some(u64::from_le_bytes(bits))
}

/// Element by element of what a lane has, block by block: row after row, and a row is dealt out to lanes in pieces.
fn dealt(
    case: Case,
    (width, height): (usize, usize),
    lanes: usize,
    lane: usize,
    of: &dyn Fn(usize, usize, usize) -> u64,
) -> Vec<u64> {
    let padded = width.next_power_of_two();
    let mut list = Vec::new();
    for block in 0..case.count {
        let get = |column, row| if column < width && row < height { of(block, column, row) } else { 0 };
        if padded >= lanes {
            let each = padded / lanes;
            for row in 0..height {
                list.extend((0..each).map(|at| get(lane * each + at, row)));
            }
        } else {
            let rows = lanes / padded;
            for first in (0..height).step_by(rows) {
                list.push(get(lane % padded, first + lane / padded));
            }
        }
    }
    list
}

fn constants(case: Case) -> String {
    format!("%n{} %n{} %n{} %n{}", case.bytes, case.width, case.height, case.count)
}

fn declarations(case: Case, bits: usize, len: usize) -> String {
    let ty = ["uchar", "ushort", "uint", "ulong"][bits.trailing_zeros() as usize - 3];
    format!(
        "%pitch = OpConstant %uint {PITCH}\n%row = OpConstant %uint {ROW}\n%rows = OpConstant %uint {ROWS}\n\
         %x = OpConstant %uint {}\n%y = OpConstant %uint {}\n%xy = OpConstantComposite %uint2 %x %y\n\
         %part = OpTypeArray %{ty} %n{len}\n%pf_part = OpTypePointer Function %part\n\
         %pf_elem = OpTypePointer Function %{ty}\n%pg_part = OpTypePointer CrossWorkgroup %part\n",
        case.at.0 as i32 as u32, case.at.1 as i32 as u32,
    )
}

#[test]
fn blocks_are_dealt_out_to_work_items() {
    let memory = memory();
    for width in WIDTHS {
        for case in CASES {
            for (name, op) in [("", 0), ("Transform", 1), ("Transpose", 2)] {
                let lanes = width as usize;
                let packed = if op == 1 { (4 / case.bytes).max(1) } else { 1 };
                let seen = match op {
                    1 => (case.width, case.height.div_ceil(packed)),
                    2 => (case.height, case.width),
                    _ => (case.width, case.height),
                };
                let of = |block: usize, column: usize, row: usize| match op {
                    2 => element(&memory, case, row + block * case.width, column).unwrap_or(0),
                    _ => (0..packed)
                        .filter(|at| row * packed + at < case.height)
                        .map(|at| {
                            let part = element(&memory, case, column + block * case.width, row * packed + at);
                            part.unwrap_or(0) << (8 * case.bytes * at)
                        })
                        .fold(0, |all, part| all | part),
                };
                let bytes = if op == 1 { case.bytes.max(4) } else { case.bytes };
                let len = dealt(case, seen, lanes, 0, &of).len();
                let body = format!(
                    "%to = OpAccessChain %pf_elem %mine %n0\n\
                     OpSubgroup2DBlockLoad{name}INTEL {} %in %row %rows %pitch %xy %to\n\
                     %all = OpLoad %part %mine\n%out_part = OpBitcast %pg_part %out\n\
                     %place = OpInBoundsPtrAccessChain %pg_part %out_part %gx\nOpStore %place %all Aligned 1\n",
                    constants(case)
                );
                let text = with(
                    width,
                    &declarations(case, 8 * bytes, len),
                    "%mine = OpVariable %pf_part Function\n",
                    &body,
                );
                let mut out = vec![0xEEu8; len * bytes * lanes];
                run(best_isa(), width, &text, [&mut memory.clone(), &mut [0; 64], &mut out]);
                for lane in 0..lanes {
                    for (at, expected) in dealt(case, seen, lanes, lane, &of).into_iter().enumerate() {
                        let mut bits = [0; 8];
                        let place = (lane * len + at) * bytes;
                        bits[..bytes].copy_from_slice(&out[place..place + bytes]);
                        assert_eq!(
                            u64::from_le_bytes(bits),
                            expected,
                            "element {at} of lane {lane} of {width}, {name}, {case:?}"
                        );
                    }
                }
            }
        }
    }
}

#[test]
fn blocks_are_stored_in_bounds_only() {
    for width in WIDTHS {
        for case in CASES {
            let lanes = width as usize;
            let none = |_: usize, _: usize, _: usize| 0;
            let len = dealt(case, (case.width, case.height), lanes, 0, &none).len();
            let mut values: Vec<u8> = Vec::new();
            // Column and row of each element, so that it is known afterwards.
            let value = |block: usize, column: usize, row: usize| {
                (block as u64 * 89 + column as u64 * 7 + row as u64 * 31 + 1) & 0x7F
            };
            for lane in 0..lanes {
                for element in dealt(case, (case.width, case.height), lanes, lane, &value) {
                    values.extend(&element.to_le_bytes()[..case.bytes]);
                }
            }
            let body = format!(
                "%in_part = OpBitcast %pg_part %in\n%place = OpInBoundsPtrAccessChain %pg_part %in_part %gx\n\
                 %all = OpLoad %part %place Aligned 1\nOpStore %mine %all\n%from = OpAccessChain %pf_elem %mine %n0\n\
                 OpSubgroup2DBlockStoreINTEL {} %from %out %row %rows %pitch %xy\n",
                constants(case)
            );
            let variable = "%mine = OpVariable %pf_part Function\n";
            let text = with(width, &declarations(case, 8 * case.bytes, len), variable, &body);
            let mut expected = memory();
            let mut found = expected.clone();
            run(best_isa(), width, &text, [&mut values, &mut [0; 64], &mut found]);
            for block in 0..case.count {
                for row in 0..case.height {
                    for column in 0..case.width {
                        let x = column + block * case.width;
                        if element(&expected, case, x, row).is_some() {
                            let (x, y) = (case.at.0 + x as i64, case.at.1 + row as i64);
                            let at = y as usize * PITCH + x as usize * case.bytes;
                            let bits = value(block, column, row).to_le_bytes();
                            expected[at..at + case.bytes].copy_from_slice(&bits[..case.bytes]);
                        }
                    }
                }
            }
            assert!(found == expected, "{width} lanes, {case:?}");
        }
    }
}

/// Bits of the operands' elements, what they are, and the flags that say so.
#[derive(Clone, Copy, Debug)]
struct Packed {
    bits: u32,
    float: Option<fn(f32) -> u64>,
    signed: bool,
    flags: u32,
    sum: &'static str,
}

fn bfloat16(value: f32) -> u64 {
    u64::from(value.to_bits() >> 16)
}

fn single(value: f32) -> u64 {
    u64::from(value.to_bits())
}

fn half(value: f32) -> u64 {
    match value {
        0.0 => 0,
        _ => {
            u64::from(value.to_bits() >> 31) << 15
                | (u64::from(value.to_bits() >> 13 & 0x3FFFF) - (112 << 10)) & 0x7FFF
        }
    }
}

const PACKED: [Packed; 6] = [
    Packed { bits: 8, float: None, signed: true, flags: 0x33, sum: "uint" },
    Packed { bits: 8, float: None, signed: false, flags: 0x30, sum: "uint" },
    Packed { bits: 4, float: None, signed: true, flags: 0xC3, sum: "uint" },
    Packed { bits: 16, float: Some(half), signed: true, flags: 0xC00, sum: "float" },
    Packed { bits: 16, float: Some(bfloat16), signed: true, flags: 0x3000, sum: "float" },
    Packed { bits: 32, float: Some(single), signed: true, flags: 0x300, sum: "float" },
];

/// As the examples of the extension have it: lanes hold columns of A, one each or several in a component, or rows of one;
/// and a column of B, of which as many rows as fit 32 bits are in a component.
#[test]
fn products_of_vectors_are_products_of_the_matrices_that_lanes_hold() {
    for width in WIDTHS {
        for packed in PACKED {
            for rows in [1usize, 2, 4, 8] {
                for depth in [packed.bits, 8, 256 / packed.bits].map(|depth| depth.min(64) as usize) {
                    check_vectors(width, packed, rows, depth);
                }
            }
        }
    }
}

fn check_vectors(width: u32, packed: Packed, rows: usize, depth: usize) {
    let lanes = width as usize;
    let columns = depth.div_ceil(lanes);
    let container = [8usize, 16, 32, 64].into_iter().find(|bits| *bits >= columns * packed.bits as usize);
    // Elements of A that no type of the module holds, which no device has.
    let Some(container) = container.map(|bits| bits.max(packed.bits as usize)) else { return };
    let interleaved = (lanes / depth).max(1);
    if !rows.is_multiple_of(interleaved.min(rows)) {
        return;
    }
    let mut random = Random(rows as u64 * 131 + depth as u64 * 17 + lanes as u64);
    let mut small = || match packed.signed {
        true => (random.next() % 9) as i64 - 4,
        false => (random.next() % 9) as i64,
    };
    let a: Vec<i64> = (0..rows * depth).map(|_| small()).collect();
    let b: Vec<i64> = (0..depth * lanes).map(|_| small()).collect();
    let c: Vec<i64> = (0..rows * lanes).map(|_| small()).collect();
    let bits = |value: i64| match packed.float {
        Some(encode) => encode(value as f32),
        None => value as u64 & (u64::MAX >> (64 - packed.bits)),
    };
    let sum_bits = |value: i64| match packed.float {
        Some(_) => (value as f32).to_bits(),
        None => value as u32,
    };
    let of_a = rows.div_ceil(interleaved);
    let words = (depth * packed.bits as usize).div_ceil(32);
    if ![1, 2, 3, 4, 8, 16].contains(&words) {
        return;
    }
    let mut left = vec![0u8; lanes * of_a * container / 8];
    for row in 0..rows {
        for k in 0..depth {
            let (component, lane, at) = match columns {
                1 => (row / interleaved, row % interleaved * depth + k, 0),
                _ => (row, k / columns, k % columns),
            };
            let value = bits(a[row * depth + k]) << (at * packed.bits as usize);
            let place = (lane * of_a + component) * container / 8;
            let mut old = [0; 8];
            old[..container / 8].copy_from_slice(&left[place..place + container / 8]);
            let new = (u64::from_le_bytes(old) | value).to_le_bytes();
            left[place..place + container / 8].copy_from_slice(&new[..container / 8]);
        }
    }
    let mut right = vec![0u32; lanes * words];
    for k in 0..depth {
        for lane in 0..lanes {
            let bit = k * packed.bits as usize;
            right[lane * words + bit / 32] |= (bits(b[k * lanes + lane]) << (bit % 32)) as u32;
        }
    }
    let mut out: Vec<u8> = Vec::new();
    for lane in 0..lanes {
        out.extend((0..rows).flat_map(|row| sum_bits(c[row * lanes + lane]).to_le_bytes()));
    }
    let tf32 = packed.bits == 32;
    let scalar_of_a = match container {
        _ if tf32 => "float",
        8 => "uchar",
        16 => "ushort",
        32 => "uint",
        _ => "ulong",
    };
    let scalar_of_b = if tf32 { "float" } else { "uint" };
    let vector = |name: &str, scalar: &str, count: usize| match count {
        1 => format!("%{name} = OpCopyObject %{scalar} %{name}_0\n"),
        _ => {
            let parts: String = (0..count).map(|at| format!(" %{name}_{at}")).collect();
            format!("%{name} = OpCompositeConstruct %v{count}_{scalar}{parts}\n")
        }
    };
    let load = |name: &str, scalar: &str, count: usize, from: &str| {
        let loads: String = (0..count)
            .map(|at| {
                format!(
                    "%{name}_p{at} = OpInBoundsPtrAccessChain %pt_{scalar} %{name}_first %n{at}\n\
                     %{name}_{at} = OpLoad %{scalar} %{name}_p{at}\n"
                )
            })
            .collect();
        format!(
            "%{name}_base = OpBitcast %pt_{scalar} {from}\n%{name}_at = OpIMul %ulong %gx %many_{count}\n\
             %{name}_first = OpInBoundsPtrAccessChain %pt_{scalar} %{name}_base %{name}_at\n{loads}{}",
            vector(name, scalar, count)
        )
    };
    let mut types: Vec<String> = Vec::new();
    let mut declare = |line: String| {
        if !types.contains(&line) {
            types.push(line);
        }
    };
    for (scalar, count) in [(scalar_of_a, of_a), (scalar_of_b, words), (packed.sum, rows)] {
        declare(format!("%pt_{scalar} = OpTypePointer CrossWorkgroup %{scalar}\n"));
        declare(format!("%many_{count} = OpConstant %ulong {count}\n"));
        let known = ["uint2", "uint4", "float2", "float4", "ulong2", "ulong3", "ulong4", "uchar4", "ushort4"];
        let name = format!("{scalar}{count}");
        if count > 1 && known.contains(&name.as_str()) {
            declare(format!("%v{count}_{scalar}x = OpConstantNull %{name}\n"));
        } else if count > 1 {
            declare(format!("%v{count}_{scalar} = OpTypeVector %{scalar} {count}\n"));
        }
    }
    let result = if rows == 1 { packed.sum.to_owned() } else { format!("v{rows}_{}", packed.sum) };
    let stores: String = (0..rows)
        .map(|row| {
            let value = match rows {
                1 => format!("%r_{row} = OpCopyObject %{} %d\n", packed.sum),
                _ => format!("%r_{row} = OpCompositeExtract %{} %d {row}\n", packed.sum),
            };
            format!("{value}OpStore %c_p{row} %r_{row}\n")
        })
        .collect();
    let body = format!(
        "{}{}{}%d = OpSubgroupMatrixMultiplyAccumulateINTEL %{result} %n{depth} %a %b %c {}\n{stores}",
        load("a", scalar_of_a, of_a, "%in"),
        load("b", scalar_of_b, words, "%index"),
        load("c", packed.sum, rows, "%out"),
        packed.flags,
    );
    // Vectors that all kernels of these tests have keep their names.
    let mut text = with(width, &types.concat(), "", &body);
    for (count, scalar) in [
        (2, "uint"),
        (4, "uint"),
        (2, "float"),
        (4, "float"),
        (2, "ulong"),
        (4, "ulong"),
        (4, "uchar"),
        (4, "ushort"),
    ] {
        text = text.replace(&format!("%v{count}_{scalar} "), &format!("%{scalar}{count} "));
    }
    let mut right: Vec<u8> = right.iter().flat_map(|word| word.to_le_bytes()).collect();
    run(best_isa(), width, &text, [&mut left, &mut right, &mut out]);
    for lane in 0..lanes {
        for row in 0..rows {
            let products = (0..depth).map(|k| a[row * depth + k] * b[k * lanes + lane]);
            let expected = c[row * lanes + lane] + products.sum::<i64>();
            let place = (lane * rows + row) * 4;
            let found = u32::from_le_bytes(out[place..place + 4].try_into().expect("four bytes"));
            assert_eq!(
                found,
                sum_bits(expected),
                "row {row} of lane {lane} of {width}: {expected} expected, {rows} rows, depth {depth}, {packed:?}"
            );
        }
    }
}
