//! Every conversion of OpenCL C's `printf`, as a module that prints them and as the C library's text of them.

use half::f16;
use std::ffi::{CString, c_char};
use std::fmt::Write;

/// A `printf` with its arguments.
pub struct Call {
    format: String,
    arguments: Vec<Argument>,
    /// What C's `snprintf` makes of the same values.
    pub text: String,
}

/// A scalar or vector constant: bits of each component.
struct Argument {
    /// `int` or `float`.
    kind: &'static str,
    width: u32,
    components: Vec<u64>,
}

const INTEGERS: [u64; 9] =
    [0, 1, 0x7f, 0x80, 0xffff, 123_456_789, 0xffff_ffff, 0x8000_0000_0000_0000, 0xfedc_ba98_7654_3210];
const FLOATS: [f64; 12] = [
    0.0,
    -0.0,
    1.0,
    -2.5,
    0.1,
    1234.5678,
    1e-5,
    65504.0,
    f64::INFINITY,
    f64::NEG_INFINITY,
    2.5e-7,
    0.999_999_9,
];

unsafe extern "C" {
    fn snprintf(to: *mut c_char, size: usize, format: *const c_char, ...) -> i32;
}

/// A number as C's `snprintf` prints it.
fn c_text(format: &str, is_float: bool, value: u64) -> String {
    let format = CString::new(format).expect("a format without NUL");
    let mut text = vec![0u8; 1024];
    let (to, size) = (text.as_mut_ptr().cast(), text.len());
    // SAFETY: the format has one conversion, of a `long long` or of a double as it says.
    let length = unsafe {
        if is_float {
            snprintf(to, size, format.as_ptr(), f64::from_bits(value))
        } else {
            snprintf(to, size, format.as_ptr(), value)
        }
    };
    text.truncate(length as usize);
    String::from_utf8(text).expect("ASCII")
}

/// The low bits of an integer, extended as `d` and `i`, or as the others want it.
fn extended(value: u64, width: u32, signed: bool) -> u64 {
    let unused = 64 - width;
    if signed { ((value << unused) as i64 >> unused) as u64 } else { value << unused >> unused }
}

/// A float of this width nearest to a value: its bits, and what it is.
fn rounded(value: f64, width: u32) -> (u64, f64) {
    match width {
        16 => (f16::from_f64(value).to_bits().into(), f16::from_f64(value).to_f64()),
        32 => ((value as f32).to_bits().into(), (value as f32).into()),
        _ => (value.to_bits(), value),
    }
}

/// Flags, width and precision that are defined for a conversion.
fn decorations(conversion: char) -> &'static [&'static str] {
    match conversion {
        'd' | 'i' => &["", "5", "-8", "08", "+", " ", "+6", ".3", "12.5", ".0", "-12.4", "+ .2"],
        'u' => &["", "5", "-8", "08", ".3", "12.5", ".0", "-12.4"],
        'o' | 'x' | 'X' => &["", "5", "-8", "08", "#", "#12", "-#12", "#012", ".3", "#12.5", ".0"],
        _ => &["", "10", "-12", "012", "+", " ", "#", ".3", "12.5", ".0", "#.0", "-+14.2", "+ 09.1", ".40"],
    }
}

/// All conversions, lengths and vectors.
pub fn calls() -> Vec<Call> {
    let mut calls = Vec::new();
    for conversion in "dioxXu".chars() {
        // The scalars' lengths, then the vectors': modifier, bits of the argument, bits that are printed.
        let scalars = [("", 32, 32), ("hh", 32, 8), ("h", 32, 16), ("l", 64, 64)].map(|length| (1, length));
        let vectors = [("hh", 8, 8), ("h", 16, 16), ("hl", 32, 32), ("l", 64, 64)];
        let vectors = [2, 3, 4, 8, 16].into_iter().flat_map(|count| vectors.map(|length| (count, length)));
        for (count, (length, width, printed)) in scalars.into_iter().chain(vectors) {
            let signed = "di".contains(conversion);
            let value = |at: usize| {
                let value = INTEGERS[at % INTEGERS.len()];
                let c = extended(value, printed, signed);
                (extended(value, width, false), c, false)
            };
            calls.push(call(conversion, count, length, "ll", ("int", width), &value));
        }
    }
    for conversion in "fFeEgGaA".chars() {
        let vectors = [("h", 16), ("hl", 32), ("l", 64)];
        let vectors = [2, 3, 4, 8, 16].into_iter().flat_map(|count| vectors.map(|length| (count, length)));
        let scalars = [("", 64), ("", 32), ("", 16), ("l", 64)].map(|length| (1, length));
        for (count, (length, width)) in scalars.into_iter().chain(vectors) {
            let value = |at: usize| {
                let (bits, value) = rounded(FLOATS[at % FLOATS.len()], width);
                (bits, value.to_bits(), true)
            };
            calls.push(call(conversion, count, length, "", ("float", width), &value));
        }
    }
    calls
}

/// One call with all decorations of a conversion, each with the next values.
fn call(
    conversion: char,
    count: usize,
    length: &str,
    c_length: &str,
    (kind, width): (&'static str, u32),
    value: &dyn Fn(usize) -> (u64, u64, bool),
) -> Call {
    let mut made = Call { format: String::new(), arguments: Vec::new(), text: String::new() };
    for (at, decoration) in decorations(conversion).iter().enumerate() {
        let vector = if count > 1 { format!("v{count}") } else { String::new() };
        let _ = write!(made.format, "%{decoration}{vector}{length}{conversion}|");
        let values: Vec<_> = (0..count).map(|component| value(at + component)).collect();
        let c_format = format!("%{decoration}{c_length}{conversion}");
        let texts: Vec<String> =
            values.iter().map(|(_, value, is_float)| c_text(&c_format, *is_float, *value)).collect();
        made.text += &(texts.join(",") + "|");
        let components = values.iter().map(|(bits, ..)| *bits).collect();
        made.arguments.push(Argument { kind, width, components });
    }
    made.format.push('\n');
    made.text.push('\n');
    made
}

/// Constants and types are declared once.
#[derive(Default)]
struct Declarations {
    text: String,
    known: std::collections::HashSet<String>,
}

impl Declarations {
    fn add(&mut self, name: &str, value: &str) -> String {
        if self.known.insert(name.to_owned()) {
            let _ = writeln!(self.text, "{name} = {value}");
        }
        name.to_owned()
    }

    fn scalar(&mut self, argument: &Argument, bits: u64) -> String {
        let (kind, width) = (argument.kind, argument.width);
        let name = format!("%{kind}{width}_{bits:x}");
        self.add(&name, &format!("OpConstant %{kind}{width} {bits}"))
    }

    fn constant(&mut self, argument: &Argument) -> String {
        let parts: Vec<String> =
            argument.components.iter().map(|bits| self.scalar(argument, *bits)).collect();
        if let [only] = parts.as_slice() {
            return only.clone();
        }
        let scalar = format!("{}{}", argument.kind, argument.width);
        let ty = format!("%{scalar}x{}", parts.len());
        self.add(&ty, &format!("OpTypeVector %{scalar} {}", parts.len()));
        let name = format!("%vector_{}_{}", ty.trim_start_matches('%'), parts.join("_").replace('%', ""));
        self.add(&name, &format!("OpConstantComposite {ty} {}", parts.join(" ")))
    }

    /// A string of this storage class.
    fn string(&mut self, class: &str, text: &str) -> String {
        let byte = |byte: u8| Argument { kind: "int", width: 8, components: vec![byte.into()] };
        let parts: Vec<String> = text.bytes().chain([0]).map(|at| self.constant(&byte(at))).collect();
        let index = Argument { kind: "int", width: 32, components: vec![] };
        let length = self.scalar(&index, parts.len() as u64);
        let (array, number) = (format!("%array_{}", parts.len()), self.known.len());
        self.add(&array, &format!("OpTypeArray %int8 {length}"));
        let pointer = format!("%pointer_{class}_{}", parts.len());
        self.add(&pointer, &format!("OpTypePointer {class} {array}"));
        let value =
            self.add(&format!("%text_{number}"), &format!("OpConstantComposite {array} {}", parts.join(" ")));
        self.add(&format!("%string_{number}"), &format!("OpVariable {pointer} {class} {value}"))
    }
}

const HEAD: &str = "OpCapability Addresses
    OpCapability Kernel
    OpCapability Linkage
    OpCapability Vector16
    OpCapability Int64
    OpCapability Int16
    OpCapability Int8
    OpCapability Float16
    OpCapability Float64
    OpCapability GenericPointer
    %std = OpExtInstImport \"OpenCL.std\"
    OpMemoryModel Physical64 OpenCL
";
const TYPES: &str = "%void = OpTypeVoid
    %int8 = OpTypeInt 8 0
    %int16 = OpTypeInt 16 0
    %int32 = OpTypeInt 32 0
    %int64 = OpTypeInt 64 0
    %float16 = OpTypeFloat 16
    %float32 = OpTypeFloat 32
    %float64 = OpTypeFloat 64
    %bool = OpTypeBool
";

/// A module whose kernel `formats` makes all calls. Formats are arrays of characters themselves, as LLVM 21 passes them.
pub fn module() -> String {
    let (mut declarations, mut body) = (Declarations::default(), String::new());
    for (at, call) in calls().iter().enumerate() {
        let format = declarations.string("UniformConstant", &call.format);
        let arguments: Vec<String> = call.arguments.iter().map(|of| declarations.constant(of)).collect();
        let _ = writeln!(body, "%r{at} = OpExtInst %int32 %std printf {format} {}", arguments.join(" "));
    }
    format!(
        "{HEAD}OpEntryPoint Kernel %main \"formats\"\n{TYPES}%function = OpTypeFunction %void\n{}\
         %main = OpFunction %void None %function\n%entry = OpLabel\n{body}OpReturn\nOpFunctionEnd\n",
        declarations.text
    )
}

/// The expression that fails, its file and its function.
pub const ASSERTION: [&str; 3] = ["x < 3 && \"too large\"", "some/file.cpp", "void f(int)"];
pub const ASSERTION_LINE: u32 = 27;

/// A module whose kernel `assertion` fails in the work-items from its argument on, as SYCL's compiler has it: strings in
/// global memory, behind generic pointers, and the call of an import. All print before.
pub fn assertion_module() -> String {
    let mut declarations = Declarations::default();
    let format = declarations.string("UniformConstant", "item %u\n");
    let strings = ASSERTION.map(|text| declarations.string("CrossWorkgroup", text));
    let line = declarations.add("%line", &format!("OpConstant %int32 {ASSERTION_LINE}"));
    let casts: String = (0..3)
        .map(|at| {
            format!(
                "%c{at} = OpBitcast %global {}\n%g{at} = OpPtrCastToGeneric %generic %c{at}\n",
                strings[at]
            )
        })
        .collect();
    let components = |name: &str| {
        let part = |at: usize| format!("%{name}{at} = OpCompositeExtract %int64 %{name} {at}\n");
        format!("%{name} = OpLoad %ids %{name}s\n{}{}{}", part(0), part(1), part(2))
    };
    format!(
        "{HEAD}OpEntryPoint Kernel %main \"assertion\" %gids %lids
         OpDecorate %gids BuiltIn GlobalInvocationId
         OpDecorate %gids Constant
         OpDecorate %lids BuiltIn LocalInvocationId
         OpDecorate %lids Constant
         OpDecorate %fail LinkageAttributes \"__devicelib_assert_fail\" Import
         {TYPES}%function = OpTypeFunction %void %int32
         %generic = OpTypePointer Generic %int8
         %global = OpTypePointer CrossWorkgroup %int8
         %ids = OpTypeVector %int64 3
         %input = OpTypePointer Input %ids
         %failure = OpTypeFunction %void %generic %generic %int32 %generic %int64 %int64 %int64 %int64 %int64 %int64
         {}%gids = OpVariable %input Input
         %lids = OpVariable %input Input
         %fail = OpFunction %void None %failure
         %p0 = OpFunctionParameter %generic
         %p1 = OpFunctionParameter %generic
         %p2 = OpFunctionParameter %int32
         %p3 = OpFunctionParameter %generic
         %p4 = OpFunctionParameter %int64
         %p5 = OpFunctionParameter %int64
         %p6 = OpFunctionParameter %int64
         %p7 = OpFunctionParameter %int64
         %p8 = OpFunctionParameter %int64
         %p9 = OpFunctionParameter %int64
         OpFunctionEnd
         %main = OpFunction %void None %function
         %first = OpFunctionParameter %int32
         %entry = OpLabel
         {}{}%item = OpUConvert %int32 %gid0
         %r = OpExtInst %int32 %std printf {format} %item
         %fails = OpUGreaterThanEqual %bool %item %first
         OpBranchConditional %fails %then %end
         %then = OpLabel
         {casts}%none = OpFunctionCall %void %fail %g0 %g1 {line} %g2 %gid0 %gid1 %gid2 %lid0 %lid1 %lid2
         OpUnreachable
         %end = OpLabel
         OpReturn
         OpFunctionEnd\n",
        declarations.text,
        components("gid"),
        components("lid"),
    )
}
