//! Matrices of sub-groups against sums of products of small numbers, which are exact in every type, for all sizes of sub-groups.

use super::{Random, kernel};
use crate::jit::target::{Isa, Target};
use crate::{Dispatch, Engine, EngineConfig};
use spirv_env::{Environment, Module, ModuleInput};
use std::sync::Arc;
use ze_extensions::DeviceProfile;
use ze_tests::assembler::assemble;

const WIDTHS: [u32; 4] = [1, 8, 16, 32];

/// A type of components.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Number {
    Half,
    /// In 16-bit integers.
    BFloat16,
    Float,
    Double,
    SignedByte,
    Byte,
    Int,
    Short,
}

impl Number {
    fn spirv(self) -> &'static str {
        match self {
            Number::Half => "half",
            Number::BFloat16 | Number::Short => "ushort",
            Number::Float => "float",
            Number::Double => "double",
            Number::SignedByte | Number::Byte => "uchar",
            Number::Int => "uint",
        }
    }

    fn bytes(self) -> usize {
        match self {
            Number::Half | Number::BFloat16 | Number::Short => 2,
            Number::Float | Number::Int => 4,
            Number::Double => 8,
            Number::SignedByte | Number::Byte => 1,
        }
    }

    /// A small number's bits. Its halves and quarters are exact, too.
    fn encode(self, value: f64) -> u64 {
        match self {
            Number::Half => {
                if value == 0.0 {
                    return 0;
                }
                // The number's exponent and significand, cut to those of a half.
                let bits = value.to_bits();
                let exponent = (bits >> 52 & 0x7FF) as i64 - 1023 + 15;
                assert!((1..31).contains(&exponent), "{value} is no normal half");
                bits >> 63 << 15 | (exponent as u64) << 10 | bits >> 42 & 0x3FF
            }
            Number::BFloat16 => u64::from((value as f32).to_bits() >> 16),
            Number::Float => u64::from((value as f32).to_bits()),
            Number::Double => value.to_bits(),
            _ => value as i64 as u64,
        }
    }
}

/// A matrix in memory with a few bytes around each row.
struct Stored {
    bytes: Vec<u8>,
    stride: usize,
}

/// `layout`: 0 rows, 1 columns, 2 packed. `b` is for the right side of a product, the only one that packing changes.
fn place(layout: u32, b: bool, number: Number, stride: usize, (row, column): (usize, usize)) -> usize {
    match layout {
        1 => column * stride + row,
        2 if b && number.bytes() < 4 => {
            let rows = 4 / number.bytes();
            row / rows * stride + column * rows + row % rows
        }
        _ => row * stride + column,
    }
}

fn store(
    layout: u32,
    b: bool,
    number: Number,
    (rows, columns): (usize, usize),
    value: &dyn Fn(usize, usize) -> f64,
) -> Stored {
    let stride = (rows.max(columns) + 3) * if b && layout == 2 { (4 / number.bytes()).max(1) } else { 1 };
    let mut bytes = vec![0xA5; (stride * (rows.max(columns) + 1) + 16) * number.bytes()];
    for row in 0..rows {
        for column in 0..columns {
            let at = place(layout, b, number, stride, (row, column)) * number.bytes();
            let bits = number.encode(value(row, column)).to_le_bytes();
            bytes[at..at + number.bytes()].copy_from_slice(&bits[..number.bytes()]);
        }
    }
    Stored { bytes, stride }
}

fn read(stored: &Stored, number: Number, at: usize) -> u64 {
    let mut bits = [0; 8];
    bits[..number.bytes()].copy_from_slice(&stored.bytes[at * number.bytes()..(at + 1) * number.bytes()]);
    u64::from_le_bytes(bits)
}

fn mask(number: Number) -> u64 {
    u64::MAX >> (64 - 8 * number.bytes())
}

fn build(text: &str) -> Module {
    let mut profile = DeviceProfile::host();
    profile.compute.sub_group_sizes = WIDTHS.to_vec();
    let supports = |module: &Module, inst: &spirv_env::Inst| crate::lower::supports(module, inst);
    let environment = Environment::new(&profile).with_engine(&supports);
    spirv_env::build(&[ModuleInput::new(&assemble(text))], &environment)
        .unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// Runs a kernel in one sub-group.
pub(super) fn run(isa: Isa, width: u32, text: &str, memory: [&mut [u8]; 3]) {
    run_on(Some(isa), width, text, memory);
}

/// With all instructions of this CPU, unless only some shall be used.
fn run_on(isa: Option<Isa>, width: u32, text: &str, memory: [&mut [u8]; 3]) {
    let engine = Engine::new(EngineConfig { threads: 1, isa, ..EngineConfig::default() });
    let key =
        crate::jit::hash::digest(&[text.as_bytes(), &width.to_le_bytes(), format!("{isa:?}").as_bytes()]);
    let program = engine.load(Arc::new(build(text)), key).expect("loads");
    let args: Vec<u8> =
        memory.into_iter().flat_map(|memory| (memory.as_mut_ptr() as u64).to_le_bytes()).collect();
    let dispatch =
        Dispatch { group_count: [1, 1, 1], group_size: [width, 1, 1], global_offset: [0; 3], args: &args };
    let launched = program.kernel("main").expect("the kernel").launch(&dispatch);
    launched.unwrap_or_else(|error| panic!("{error}\n{text}"));
}

/// A kernel with these declarations behind the usual ones.
pub(super) fn with(width: u32, declarations: &str, variables: &str, body: &str) -> String {
    let numbers: String = (0..=256).map(|n| format!("%n{n} = OpConstant %uint {n}\n")).collect();
    kernel(Some(width), variables, body)
        .replace("%fn = OpTypeFunction", &format!("{numbers}{declarations}%fn = OpTypeFunction"))
}

#[derive(Clone, Copy, Debug)]
struct Product {
    shape: (usize, usize, usize),
    input: Number,
    sum: Number,
    flags: u32,
    layouts: [u32; 3],
}

fn check_product(isa: Isa, width: u32, product: Product) {
    let unsigned = product.input == Number::Byte;
    let small = |random: &mut Random, _| (random.next() % 9) as f64 - if unsigned { 0.0 } else { 4.0 };
    check_products(Some(isa), width, product, 1, &small);
}

/// A product that is added to the third matrix so many times in a row. `number` makes numbers of the matrix with this number.
fn check_products(
    isa: Option<Isa>,
    width: u32,
    product: Product,
    times: usize,
    number: &dyn Fn(&mut Random, u32) -> f64,
) {
    let Product { shape: (rows, columns, depth), input, sum, flags, layouts } = product;
    let mut random = Random(rows as u64 * 7919 + columns as u64 * 31 + depth as u64 + 1);
    let mut numbers =
        |count: usize, of: u32| -> Vec<f64> { (0..count).map(|_| number(&mut random, of)).collect() };
    let (a, b, c) = (numbers(rows * depth, 0), numbers(depth * columns, 1), numbers(rows * columns, 2));
    let mut left = store(layouts[0], false, input, (rows, depth), &|row, k| a[row * depth + k]);
    let mut right = store(layouts[1], true, input, (depth, columns), &|k, column| b[k * columns + column]);
    let mut out = store(layouts[2], false, sum, (rows, columns), &|row, column| c[row * columns + column]);
    let before = Stored { bytes: out.bytes.clone(), stride: out.stride };
    let declarations = format!(
        "%A = OpTypeCooperativeMatrixKHR %{input} %n3 %n{rows} %n{depth} %n0\n\
         %B = OpTypeCooperativeMatrixKHR %{input} %n3 %n{depth} %n{columns} %n1\n\
         %C = OpTypeCooperativeMatrixKHR %{sum} %n3 %n{rows} %n{columns} %n2\n\
         %sa = OpConstant %ulong {}\n%sb = OpConstant %uint {}\n%sc = OpConstant %ulong {}\n",
        left.stride,
        right.stride,
        out.stride,
        input = input.spirv(),
        sum = sum.spirv(),
    );
    let instruction = |at: usize| {
        let name = |at: usize| match at {
            0 => "c".to_owned(),
            at if at == times => "d".to_owned(),
            at => format!("c{at}"),
        };
        format!("%{} = OpCooperativeMatrixMulAddKHR %C %a %b %{} {flags}\n", name(at + 1), name(at))
    };
    let products: String = (0..times).map(instruction).collect();
    let body = format!(
        "%pa = OpBitcast %pg_uchar %in\n%pb = OpBitcast %pg_{} %index\n%pc = OpBitcast %pg_{} %out\n\
         %a = OpCooperativeMatrixLoadKHR %A %pa %n{} %sa\n\
         %b = OpCooperativeMatrixLoadKHR %B %pb %n{} %sb\n\
         %c = OpCooperativeMatrixLoadKHR %C %pc %n{} %sc\n\
         {products}OpCooperativeMatrixStoreKHR %pc %d %n{} %sc\n",
        input.spirv(),
        sum.spirv(),
        layouts[0],
        layouts[1],
        layouts[2],
        layouts[2],
    );
    let text = with(width, &declarations, "", &body);
    run_on(isa, width, &text, [&mut left.bytes, &mut right.bytes, &mut out.bytes]);
    let mut expected = before;
    for row in 0..rows {
        for column in 0..columns {
            let products = (0..depth).map(|k| a[row * depth + k] * b[k * columns + column]);
            let value = c[row * columns + column] + times as f64 * products.sum::<f64>();
            let at = place(layouts[2], false, sum, expected.stride, (row, column));
            let found = read(&out, sum, at);
            assert_eq!(
                found,
                sum.encode(value) & mask(sum),
                "{row}, {column}: {value} expected; {width} lanes, {isa:?}, {product:?}"
            );
            let range = at * sum.bytes()..(at + 1) * sum.bytes();
            expected.bytes[range.clone()].copy_from_slice(&out.bytes[range]);
        }
    }
    assert_eq!(out.bytes, expected.bytes, "something else was written: {width} lanes, {product:?}");
}

const KINDS: [(Number, Number, u32); 8] = [
    (Number::Half, Number::Float, 0),
    (Number::Half, Number::Half, 0),
    (Number::BFloat16, Number::Float, 0x40),
    (Number::BFloat16, Number::BFloat16, 0x1C0),
    (Number::Float, Number::Float, 0x20),
    (Number::Double, Number::Double, 0),
    (Number::SignedByte, Number::Int, 0xF),
    (Number::Byte, Number::Int, 0),
];

#[test]
fn products_of_matrices_are_sums_of_products() {
    for width in WIDTHS {
        for shape in [(8, 16, 16), (1, 16, 32), (4, 5, 3)] {
            for (input, sum, flags) in KINDS {
                check_product(best_isa(), width, Product { shape, input, sum, flags, layouts: [0; 3] });
            }
        }
    }
}

#[test]
fn matrices_lie_in_memory_by_rows_columns_or_packed() {
    for width in WIDTHS {
        for layouts in [[1, 1, 1], [2, 2, 0], [0, 1, 0], [1, 0, 1]] {
            for (shape, input, sum, flags) in [
                ((8, 16, 16), Number::Half, Number::Float, 0),
                ((8, 16, 32), Number::SignedByte, Number::Int, 0xF),
                ((16, 8, 8), Number::Float, Number::Float, 0),
                ((2, 64, 4), Number::BFloat16, Number::Float, 0x40),
                ((3, 6, 5), Number::Short, Number::Int, 0xF),
            ] {
                check_product(best_isa(), width, Product { shape, input, sum, flags, layouts });
            }
        }
    }
}

#[test]
fn products_of_matrices_are_the_same_on_every_instruction_set() {
    for isa in [Isa::Sse, Isa::Avx2] {
        for (input, sum, flags) in KINDS {
            let product = Product { shape: (8, 16, 16), input, sum, flags, layouts: [0, 2, 0] };
            check_product(isa, 16, product);
        }
    }
}

/// Instructions that add products of several bytes or halves at once differ in which have signs, and in how much they hold.
#[test]
fn products_of_integers_are_exact_with_all_signs_on_every_instruction_set() {
    let limited = [Isa::Sse, Isa::Avx2, best_isa()].map(|isa| (Some(isa), 16));
    for (isa, width) in limited.into_iter().chain([8, 16, 32].map(|width| (None, width))) {
        for (input, signs) in
            [Number::Byte, Number::Short].into_iter().flat_map(|of| [0, 1, 2, 3].map(|at| (of, at)))
        {
            let bits = 8 * input.bytes() as u32;
            let number = |random: &mut Random, of: u32| {
                let all = 1i64 << bits;
                let number = match random.next() % 4 {
                    0 => all / 2,
                    1 => all - 1,
                    _ => i64::from(random.next()) % all,
                };
                let signed = of < 2 && signs >> of & 1 != 0;
                (number - if signed && number >= all / 2 { all } else { 0 }) as f64
            };
            for (shape, layout) in [((8, 16, 32), 2), ((3, 16, 7), 0)] {
                let product =
                    Product { shape, input, sum: Number::Int, flags: signs, layouts: [0, layout, 0] };
                check_products(isa, width, product, 1, &number);
            }
        }
    }
}

/// So many that each is a loop.
#[test]
fn many_products_in_a_row_are_what_one_after_the_other_is() {
    let small = |random: &mut Random, _| (random.next() % 3) as f64;
    for (isa, width) in [(Some(Isa::Avx2), 8), (None, 16), (None, 32)] {
        for shape in [(8, 16, 32), (1, 64, 16)] {
            // Sums of bfloat16 are rounded by each product.
            for (input, sum, flags) in KINDS.into_iter().filter(|(_, sum, _)| *sum != Number::BFloat16) {
                let product = Product { shape, input, sum, flags, layouts: [0; 3] };
                check_products(isa, width, product, 5, &small);
            }
        }
    }
}

/// The best instruction set that code is made for here.
pub(super) fn best_isa() -> Isa {
    match Target::host().expect("a target machine").simd_bits() {
        512.. => Isa::Avx512,
        256 => Isa::Avx2,
        _ => Isa::Sse,
    }
}

/// Words of a matrix of 8 x 16 floats in `out`, after `body` made `%d` of `%c`, which has `value` in each place.
fn elementwise(
    width: u32,
    value: &dyn Fn(usize) -> f32,
    more: &str,
    variables: &str,
    body: &str,
) -> Vec<f32> {
    let declarations = format!(
        "%C = OpTypeCooperativeMatrixKHR %float %n3 %n8 %n16 %n2\n%H = OpTypeCooperativeMatrixKHR %half %n3 %n8 %n16 %n2\n\
         %I = OpTypeCooperativeMatrixKHR %uint %n3 %n8 %n16 %n2\n%f3 = OpConstant %float 0x40400000\n\
         %threes = OpConstantComposite %C %f3\n%none = OpConstantNull %C\n{more}"
    );
    let body = format!(
        "%pc = OpBitcast %pg_float %out\n%c = OpCooperativeMatrixLoadKHR %C %pc %n0 %n16\n{body}\
         OpCooperativeMatrixStoreKHR %pc %d %n0 %n16\n"
    );
    let mut bytes: Vec<u8> = (0..128).flat_map(|at| value(at).to_le_bytes()).collect();
    let text = with(width, &declarations, variables, &body);
    run(best_isa(), width, &text, [&mut [0; 64], &mut [0; 64], &mut bytes]);
    bytes.chunks(4).map(|bytes| f32::from_le_bytes(bytes.try_into().expect("four bytes"))).collect()
}

#[test]
fn arithmetic_on_matrices_is_of_each_element() {
    type Elementwise = fn(f32) -> f32;
    let cases: [(&str, Elementwise); 10] = [
        ("%d = OpFAdd %C %c %threes\n", |x| x + 3.0),
        ("%d = OpFSub %C %threes %c\n", |x| 3.0 - x),
        ("%d = OpFMul %C %c %c\n", |x| x * x),
        ("%d = OpFDiv %C %c %threes\n", |x| x / 3.0),
        ("%d = OpFNegate %C %c\n", |x| -x),
        ("%d = OpMatrixTimesScalar %C %c %f3\n", |x| 3.0 * x),
        ("%h = OpFConvert %H %c\n%d = OpFConvert %C %h\n", |x| x),
        ("%i = OpConvertFToS %I %c\n%j = OpIAdd %I %i %i\n%d = OpConvertSToF %C %j\n", |x| 2.0 * x.trunc()),
        ("%i = OpBitcast %I %c\n%d = OpBitcast %C %i\n", |x| x),
        ("%e = OpCompositeConstruct %C %f3\n%d = OpFAdd %C %e %none\n", |_| 3.0),
    ];
    for width in WIDTHS {
        for (body, expected) in cases {
            let value = |at: usize| at as f32 * 0.5 - 20.0;
            for (at, found) in elementwise(width, &value, "", "", body).into_iter().enumerate() {
                assert_eq!(found, expected(value(at)), "{body} of element {at}, {width} lanes");
            }
        }
    }
}

/// The elements of a private matrix after a loop over all that a work-item has: %new, which `new` makes of the pointer %element
/// and the number %at. They are counted by a matrix or by its type.
fn one_by_one(width: u32, value: &dyn Fn(usize) -> f32, counted: &str, new: &str) -> Vec<f32> {
    let body = format!(
        "OpStore %variable %c
OpBranch %head
%head = OpLabel
%at = OpPhi %uint %n0 %entry %next %again
%length = OpCooperativeMatrixLengthKHR %uint {counted}
%more = OpULessThan %bool %at %length
OpBranchConditional %more %again %done
%again = OpLabel
%element = OpAccessChain %pf_float %variable %at
{new}OpStore %element %new
%next = OpIAdd %uint %at %n1
OpBranch %head
%done = OpLabel
%d = OpLoad %C %variable
"
    );
    let variable = "%variable = OpVariable %pf_C Function\n";
    elementwise(width, value, "%pf_C = OpTypePointer Function %C\n", variable, &body)
}

/// As `joint_matrix_apply` of SYCL does it: through pointers to the elements of a private matrix, as many as there are.
#[test]
fn work_items_reach_all_elements_together() {
    let new = "%old = OpLoad %float %element\n%new = OpFAdd %float %old %f3\n";
    for width in WIDTHS {
        let found = one_by_one(width, &|at| at as f32, "%c", new);
        assert!(
            found.iter().enumerate().all(|(at, found)| *found == at as f32 + 3.0),
            "{width} lanes: {found:?}"
        );
    }
}

#[test]
fn sums_saturate_where_that_is_asked_for() {
    for (flags, first, expected) in [(0x1F, 0x7FFF_FFF0u32, 0x7FFF_FFFF), (0xF, 0x7FFF_FFF0, 0x8000_0010u32)]
    {
        let declarations = "%A = OpTypeCooperativeMatrixKHR %uchar %n3 %n2 %n8 %n0\n\
            %B = OpTypeCooperativeMatrixKHR %uchar %n3 %n8 %n8 %n1\n\
            %C = OpTypeCooperativeMatrixKHR %uint %n3 %n2 %n8 %n2\n%two = OpConstant %uchar 2\n";
        let declarations = &declarations.replace("%two", "%pair");
        let body = format!(
            "%a = OpCompositeConstruct %A %pair\n%b = OpCompositeConstruct %B %pair\n\
             %c = OpCooperativeMatrixLoadKHR %C %out %n0 %n8\n\
             %d = OpCooperativeMatrixMulAddKHR %C %a %b %c {flags}\nOpCooperativeMatrixStoreKHR %out %d %n0 %n8\n"
        );
        for width in WIDTHS {
            let mut bytes: Vec<u8> = (0..16).flat_map(|_| first.to_le_bytes()).collect();
            let text = with(width, declarations, "", &body);
            run(best_isa(), width, &text, [&mut [0; 64], &mut [0; 64], &mut bytes]);
            let words = bytes.chunks(4).map(|word| u32::from_le_bytes(word.try_into().expect("four")));
            words.for_each(|word| assert_eq!(word, expected, "{width} lanes, flags {flags:#x}"));
        }
    }
}

/// No lane comes to the load, whose pointer is null.
#[test]
fn matrices_are_not_touched_by_sub_groups_that_do_not_come_to_them() {
    let declarations =
        "%C = OpTypeCooperativeMatrixKHR %float %n3 %n8 %n16 %n2\n%nowhere = OpConstantNull %pg_float\n";
    for layout in [0, 1] {
        let body = format!(
            "%pi = OpInBoundsPtrAccessChain %pg_uint %in %gx\n%i = OpLoad %uint %pi\n%odd = OpINotEqual %bool %i %u0\n\
             OpBranchConditional %odd %then %join\n%then = OpLabel\n\
             %c = OpCooperativeMatrixLoadKHR %C %nowhere %n{layout} %n16\n\
             OpCooperativeMatrixStoreKHR %nowhere %c %n{layout} %n16\nOpBranch %join\n%join = OpLabel\n"
        );
        for width in WIDTHS {
            let text = with(width, declarations, "", &body);
            run(best_isa(), width, &text, [&mut [0; 256], &mut [0; 64], &mut [0; 64]]);
        }
    }
}

/// Rows and columns of the larger matrix, and where the smaller one of 8 x 16 begins in it.
const LARGER: (usize, usize) = (21, 37);

fn larger(at: (i64, i64), row: usize, column: usize) -> Option<usize> {
    let (row, column) = (at.0 + row as i64, at.1 + column as i64);
    let inside = (0..LARGER.0 as i64).contains(&row) && (0..LARGER.1 as i64).contains(&column);
    inside.then(|| row as usize * LARGER.1 + column as usize)
}

#[test]
fn parts_of_larger_matrices_are_read_and_written_in_bounds() {
    for width in WIDTHS {
        for at in [(0, 0), (3, 21), (16, 30), (-2, -5), (20, 36), (40, 0)] {
            let declarations = format!(
                "%C = OpTypeCooperativeMatrixKHR %float %n3 %n8 %n16 %n2\n%x = OpConstant %uint {}\n\
                 %y = OpConstant %uint {}\n%f3 = OpConstant %float 0x40400000\n",
                at.0 as u32, at.1 as u32
            );
            let size = format!("%n{} %n{}", LARGER.0, LARGER.1);
            let body = format!(
                "%pa = OpBitcast %pg_float %in\n%pb = OpBitcast %pg_float %out\n\
                 OpCooperativeMatrixPrefetchINTEL %pa %x %y %n8 %n16 0 %n0 %n{stride}\n\
                 %a = OpCooperativeMatrixLoadCheckedINTEL %C %pa %x %y %n0 {size} %n{stride}\n\
                 %t = OpCooperativeMatrixConstructCheckedINTEL %C %x %y {size} %f3\n\
                 %d = OpFAdd %C %a %t\n\
                 OpCooperativeMatrixStoreCheckedINTEL %pb %x %y %d %n0 {size} %n{stride}\n",
                stride = LARGER.1
            );
            let text = with(width, &declarations, "", &body).replacen(
                "%std = ",
                "OpExtension \"SPV_INTEL_joint_matrix\"\n%std = ",
                1,
            );
            let count = LARGER.0 * LARGER.1;
            let words = |value: &dyn Fn(usize) -> f32| -> Vec<u8> {
                (0..count).flat_map(|at| value(at).to_le_bytes()).collect()
            };
            let mut input = words(&|at| at as f32);
            let mut out = words(&|_| -1.0);
            run(best_isa(), width, &text, [&mut input, &mut [0; 64], &mut out]);
            let mut expected = vec![-1.0; count];
            for row in 0..8 {
                for column in 0..16 {
                    if let Some(place) = larger(at, row, column) {
                        expected[place] = place as f32 + 3.0;
                    }
                }
            }
            for (place, expected) in expected.into_iter().enumerate() {
                let found = f32::from_le_bytes(out[4 * place..4 * place + 4].try_into().expect("four"));
                assert_eq!(found, expected, "element {place}, {width} lanes, at {at:?}");
            }
        }
    }
}

/// Without extents a place is one behind the pointer, in any layout.
#[test]
fn parts_of_larger_matrices_have_a_place() {
    for width in WIDTHS {
        for (layout, stride, at) in [(0, 37, 5 * 37 + 11), (1, 21, 11 * 21 + 5)] {
            let declarations = "%C = OpTypeCooperativeMatrixKHR %float %n3 %n8 %n16 %n2\n";
            let body = format!(
                "%pa = OpBitcast %pg_float %in\n%pb = OpBitcast %pg_float %out\n\
                 %a = OpCooperativeMatrixLoadOffsetINTEL %C %pa %n5 %n11 %n{layout} %n{stride}\n\
                 OpCooperativeMatrixStoreOffsetINTEL %pb %n5 %n11 %a %n{layout} %n{stride}\n"
            );
            let text = with(width, declarations, "", &body);
            let mut input: Vec<u8> = (0..1000).flat_map(|at| (at as f32).to_le_bytes()).collect();
            let mut out = vec![0; 4000];
            run(best_isa(), width, &text, [&mut input, &mut [0; 64], &mut out]);
            let (across, along) = if layout == 0 { (8, 16) } else { (16, 8) };
            for place in 0..1000 {
                let from = place as i64 - at as i64;
                let (line, column) = (from.div_euclid(stride), from.rem_euclid(stride));
                let inside = (0..across).contains(&line) && column < along;
                let found = f32::from_le_bytes(out[4 * place..4 * place + 4].try_into().expect("four"));
                assert_eq!(
                    found,
                    if inside { place as f32 } else { 0.0 },
                    "{place}, {width} lanes, layout {layout}"
                );
            }
        }
    }
}

/// Each element is told its row and column: they are those from which it is stored.
#[test]
fn elements_know_their_coordinates() {
    let new = "%rc = OpCooperativeMatrixGetElementCoordINTEL %uint2 %c %at
%row = OpCompositeExtract %uint %rc 0
%column = OpCompositeExtract %uint %rc 1
%scaled = OpIMul %uint %row %n100
%both = OpIAdd %uint %scaled %column
%new = OpConvertUToF %float %both
";
    for width in WIDTHS {
        for (at, found) in one_by_one(width, &|_| 0.0, "%C", new).into_iter().enumerate() {
            assert_eq!(found, (at / 16 * 100 + at % 16) as f32, "{width} lanes");
        }
    }
}
