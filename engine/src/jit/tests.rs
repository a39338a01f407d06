//! Object code of hand-written IR, loaded and called.

use super::pipeline::{self, Tier};
use super::size::Size;
use super::target::{Isa, Target};
use super::{Context, IrModule, JitError, constants, load, symbols};
use crate::builtins::libmvec;
use load::LoadedCode;
use spirv_env::Id;

fn object(text: &str, target: &Target, tier: Tier) -> Result<Vec<u8>, JitError> {
    let context = Context::new();
    let ir = IrModule::parse(&context, text, target)?;
    ir.verify()?;
    pipeline::optimise(&ir, target, tier)?;
    pipeline::object_code(ir, target, tier).map(|object| object.bytes)
}

pub(super) fn compile(text: &str, tier: Tier) -> Result<LoadedCode, JitError> {
    load::load(&object(text, &Target::host()?, tier)?, &symbols::function_address)
}

pub(super) fn function<F: Copy>(code: &LoadedCode, name: &str) -> F {
    let address = code.address(name).expect("defined");
    assert_eq!(size_of::<F>(), size_of_val(&address));
    // SAFETY: every caller asks for the type that its IR gives the function.
    unsafe { std::mem::transmute_copy(&address) }
}

#[test]
fn constants_jump_tables_and_addresses_of_functions_are_linked() {
    const TEXT: &str = "
    @table = private constant [4 x i32] [i32 10, i32 20, i32 30, i32 40]
    @names = private constant [2 x ptr] [ptr @one, ptr @two]
    define i32 @one() { ret i32 1 }
    define i32 @two() { ret i32 2 }
    define i32 @pick(i32 %i) { 
      %p = getelementptr [4 x i32], ptr @table, i32 0, i32 %i
      %v = load i32, ptr %p
      ret i32 %v
    }
    define i32 @call(i32 %i) {
      %p = getelementptr [2 x ptr], ptr @names, i32 0, i32 %i
      %f = load ptr, ptr %p
      %v = call i32 %f()
      ret i32 %v
    }
    define i32 @jump(i32 %i, ptr %p) {
      switch i32 %i, label %other [ i32 0, label %a i32 1, label %b i32 2, label %c i32 3, label %d i32 4, label %e ]
    a:
      store i32 1, ptr %p
      ret i32 17
    b:
      %x = load i32, ptr %p
      ret i32 %x
    c:
      ret i32 3
    d:
      store i64 9, ptr %p
      ret i32 5
    e:
      %y = load i32, ptr %p
      %z = mul i32 %y, %y
      ret i32 %z
    other:
      ret i32 -1
    }";
    for tier in [Tier::Fast, Tier::Optimising] {
        let code = compile(TEXT, tier).expect("compiles");
        let pick: extern "C" fn(i32) -> i32 = function(&code, "pick");
        let call: extern "C" fn(i32) -> i32 = function(&code, "call");
        let jump: extern "C" fn(i32, *mut i32) -> i32 = function(&code, "jump");
        assert_eq!([0, 1, 2, 3].map(|i| pick(i)), [10, 20, 30, 40]);
        assert_eq!([0, 1].map(|i| call(i)), [1, 2]);
        let mut value = [6, 0];
        assert_eq!([4, 2, 0, 1, 9].map(|i| jump(i, value.as_mut_ptr())), [36, 3, 17, 1, -1]);
    }
}

/// A function of as many vector constants of each of two types.
fn sums_of_constants(count: u32) -> String {
    let steps = |at: u32| {
        let (before, number) = (at, 3 * at + 1);
        let all = [format!("i32 {number}"), "i32 7".into(), "i32 0".into(), format!("i32 {at}")].join(", ");
        let half = [number, number + 1].map(|number| format!("double {number}.0")).join(", ");
        format!(
            "%a{at} = add <4 x i32> %x{before}, <{all}>\n%x{} = xor <4 x i32> %a{at}, <i32 -1, i32 -1, i32 -1, i32 -1>\n\
             %y{} = fadd <2 x double> %y{before}, <{half}>\n",
            at + 1,
            at + 1
        )
    };
    let all: String = (0..count).map(steps).collect();
    format!(
        "define void @sums(ptr %p, ptr %q) {{\n%x0 = load <4 x i32>, ptr %p\n%y0 = load <2 x double>, ptr %q\n{all}\
         store <4 x i32> %x{count}, ptr %p\nstore <2 x double> %y{count}, ptr %q\nret void\n}}"
    )
}

#[test]
fn vector_constants_are_loaded_from_a_table_where_they_are_many() {
    let target = Target::host().expect("a target machine");
    for (count, tables) in [(100, 0), (3000, 2)] {
        let context = Context::new();
        let ir = IrModule::parse(&context, &sums_of_constants(count), &target).expect("IR");
        constants::tabulate(&ir);
        ir.verify().expect("valid IR");
        let text = ir.text();
        assert_eq!(text.matches("private constant [").count(), tables, "{count}");
        // Other instructions than these may have all ones.
        assert!(text.contains("splat (i32 -1)") || text.contains("<i32 -1, i32 -1, i32 -1, i32 -1>"));
        let object = pipeline::object_code(ir, &target, Tier::Fast).expect("emits");
        let code = load::load(&object.bytes, &symbols::function_address).expect("loads");
        let sums: extern "C" fn(*mut [i32; 4], *mut [f64; 2]) = function(&code, "sums");
        let (mut x, mut y) = ([1, 2, 3, 4], [0.5, 0.25]);
        let (mut expected_x, mut expected_y) = (x, y);
        sums(&mut x, &mut y);
        for at in 0..count as i32 {
            let number = 3 * at + 1;
            let all = [number, 7, 0, at];
            expected_x = std::array::from_fn(|lane| !all[lane].wrapping_add(expected_x[lane]));
            expected_y = [expected_y[0] + f64::from(number), expected_y[1] + f64::from(number + 1)];
        }
        assert_eq!((x, y), (expected_x, expected_y), "{count}");
    }
}

#[test]
fn scalar_and_vector_math_and_memory_functions_are_found() {
    const TEXT: &str = "
    declare float @sinf(float)
    declare float @llvm.pow.f32(float, float)
    declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
    define float @sine(float %x) { %y = call float @sinf(float %x) ret float %y }
    define float @power(float %x, float %y) { %z = call float @llvm.pow.f32(float %x, float %y) ret float %z }
    define void @copy(ptr %to, ptr %from, i64 %n) {
      call void @llvm.memcpy.p0.p0.i64(ptr %to, ptr %from, i64 %n, i1 false)
      ret void
    }";
    let code = compile(TEXT, Tier::Optimising).expect("compiles");
    let sine: extern "C" fn(f32) -> f32 = function(&code, "sine");
    let power: extern "C" fn(f32, f32) -> f32 = function(&code, "power");
    let copy: extern "C" fn(*mut u8, *const u8, usize) = function(&code, "copy");
    assert_eq!(sine(0.5).to_bits(), 0.5f32.sin().to_bits());
    assert_eq!(power(2.0, 10.0), 1024.0);
    let mut to = [0; 5];
    copy(to.as_mut_ptr(), b"bytes".as_ptr(), 5);
    assert_eq!(&to, b"bytes");
}

#[test]
fn libmvec_functions_take_and_return_vectors() {
    let Some(symbol) = libmvec::lookup("cos", false, 4) else { return };
    let text = format!(
        "declare <4 x float> @{symbol}(<4 x float>)
        define void @apply(ptr %p) {{
          %x = load <4 x float>, ptr %p, align 4
          %y = call <4 x float> @{symbol}(<4 x float> %x)
          store <4 x float> %y, ptr %p, align 4
          ret void
        }}"
    );
    let code = compile(&text, Tier::Optimising).expect("compiles");
    let apply: extern "C" fn(*mut f32) = function(&code, "apply");
    let mut values = [0.0, 0.5, -1.0, 3.0f32];
    apply(values.as_mut_ptr());
    for (value, x) in values.into_iter().zip([0.0, 0.5, -1.0, 3.0f32]) {
        assert!((value - x.cos()).abs() < 1e-6);
    }
}

#[test]
fn module_scope_variables_are_reached_by_their_symbols() {
    let text = format!(
        "@{0} = external global i32
        define i32 @next() {{
          %old = load i32, ptr @{0}
          %new = add i32 %old, 1
          store i32 %new, ptr @{0}
          ret i32 %new
        }}",
        symbols::global_symbol(Id(5))
    );
    let target = Target::host().expect("target");
    let object = object(&text, &target, Tier::Optimising).expect("object");
    let mut storage = 41;
    let address = &raw mut storage as usize;
    let resolve = |symbol: &str| (symbols::global_id(symbol) == Some(Id(5))).then_some(address);
    let code = load::load(&object, &resolve).expect("loads");
    let next: extern "C" fn() -> i32 = function(&code, "next");
    assert_eq!(next(), 42);
    assert_eq!(storage, 42);
}

#[test]
fn stack_that_code_takes_is_known_and_probed() {
    const TEXT: &str = "
    define void @small(ptr %p) { store i32 1, ptr %p ret void }
    define void @large(ptr %p) {
      %a = alloca [100000 x i8]
      %b = ptrtoint ptr %a to i64
      store volatile i64 %b, ptr %p
      store volatile i8 1, ptr %a
      ret void
    }";
    let target = Target::host().expect("target");
    for tier in [Tier::Fast, Tier::Optimising] {
        let context = Context::new();
        let ir = IrModule::parse(&context, TEXT, &target).expect("IR");
        pipeline::optimise(&ir, &target, tier).expect("passes");
        // Code that is made twice counts once.
        let text = pipeline::assembly(&ir, &target, tier).expect("assembly");
        assert!(text.contains("4096"), "no probes: {text}");
        let object = pipeline::object_code(ir, &target, tier).expect("object");
        let large = object.frames.iter().find(|(name, _)| name == "large").map(|(_, bytes)| *bytes);
        assert!(large.is_some_and(|bytes| (100_000..102_000).contains(&bytes)), "{:?}", object.frames);
    }
}

/// The loop that probes a frame has a register of its own only where the function begins.
#[test]
fn a_frame_is_probed_where_its_function_begins() {
    const TEXT: &str = "
    define void @f(ptr %p, i64 %n) {
      %a = alloca [32768 x i8], align 64
      %none = icmp eq i64 %n, 0
      br i1 %none, label %out, label %in
    in:
      %q = getelementptr i8, ptr %a, i64 %n
      store volatile i8 1, ptr %q
      %v = load volatile i8, ptr %a
      store volatile i8 %v, ptr %p
      br label %out
    out:
      ret void
    }";
    let target = Target::host().expect("target");
    for tier in [Tier::Fast, Tier::Optimising] {
        let context = Context::new();
        let ir = IrModule::parse(&context, TEXT, &target).expect("IR");
        pipeline::optimise(&ir, &target, tier).expect("passes");
        let text = pipeline::assembly(&ir, &target, tier).expect("assembly");
        let (probe, jump) = (text.find("4096").expect("probes"), text.find("\tj").expect("a jump"));
        assert!(probe < jump, "{text}");
    }
}

#[test]
fn what_is_not_in_the_table_is_named_in_the_error() {
    let text = "declare i32 @system(ptr) define i32 @f(ptr %p) { %r = call i32 @system(ptr %p) ret i32 %r }";
    let error = compile(text, Tier::Optimising).expect_err("refused");
    assert!(matches!(&error, JitError::MissingSymbol(name) if name == "system"), "{error}");
}

#[test]
fn code_with_data_of_its_own_is_refused() {
    let text = "@state = internal global i32 1
    define i32 @f() { %v = load volatile i32, ptr @state store volatile i32 3, ptr @state ret i32 %v }";
    assert!(matches!(compile(text, Tier::Optimising), Err(JitError::Object(_))));
}

#[test]
fn invalid_ir_is_an_error_and_no_abort() {
    let (target, context) = (Target::host().expect("target"), Context::new());
    assert!(IrModule::parse(&context, "define i32 @f() { ret i64 1 }", &target).is_err());
    assert!(matches!(compile("define void @f() { br label %x", Tier::Fast), Err(JitError::Verification(_))));
}

#[test]
fn damaged_object_code_is_refused_without_a_crash() {
    let text = "declare float @sinf(float)
    @t = private constant [2 x float] [float 1.0, float 2.0]
    define float @f(i32 %i) {
      %p = getelementptr [2 x float], ptr @t, i32 0, i32 %i
      %x = load float, ptr %p %y = call float @sinf(float %x) ret float %y }";
    let target = Target::host().expect("target");
    let object = object(text, &target, Tier::Optimising).expect("object");
    for len in 0..object.len() {
        // Cut files fail or load; what they must not do is crash.
        let _ = load::load(&object[..len], &symbols::function_address);
    }
    for at in 0..object.len() {
        let mut damaged = object.clone();
        damaged[at] ^= 0x55;
        let _ = load::load(&damaged, &symbols::function_address);
    }
}

/// Offsets and sizes of the ELF-64 structures (System V ABI, chapter 4).
mod layout {
    pub const E_TYPE: usize = 16;
    pub const E_MACHINE: usize = 18;
    pub const E_SHOFF: usize = 40;
    pub const SECTION_BYTES: usize = 64;
    pub const SH_TYPE: usize = 4;
    pub const SH_FLAGS: usize = 8;
    pub const SH_OFFSET: usize = 24;
    pub const SH_SIZE: usize = 32;
    pub const SH_LINK: usize = 40;
    pub const SYMBOL_BYTES: usize = 24;
    pub const ST_INFO: usize = 4;
    pub const ST_SHNDX: usize = 6;
    pub const ST_VALUE: usize = 8;
}

#[test]
fn object_code_that_is_not_as_llvm_makes_it_is_refused() {
    use layout::*;
    let text = "declare float @sinf(float)
    define float @f(float %x) { %y = call float @sinf(float %x) ret float %y }";
    let target = Target::host().expect("target");
    let object = object(text, &target, Tier::Optimising).expect("object");
    let word = |at: usize| u64::from_le_bytes(object[at..at + 8].try_into().expect("inside")) as usize;
    let kind =
        |section: usize| u32::from_le_bytes(object[section + SH_TYPE..][..4].try_into().expect("inside"));
    let sections: Vec<usize> =
        (word(E_SHOFF)..=object.len() - SECTION_BYTES).step_by(SECTION_BYTES).collect();
    // PROGBITS that is executable, SYMTAB and RELA with a symbol table.
    let code = *sections.iter().find(|&&at| kind(at) == 1 && word(at + SH_FLAGS) & 4 != 0).expect("code");
    let table = *sections.iter().find(|&&at| kind(at) == 2).expect("symbols");
    let relocations = *sections.iter().find(|&&at| kind(at) == 4).expect("relocations");
    let symbols =
        (word(table + SH_OFFSET)..).step_by(SYMBOL_BYTES).take(word(table + SH_SIZE) / SYMBOL_BYTES);
    let is_function = |&at: &usize| object[at + ST_INFO] & 15 == 2;
    let function = symbols.into_iter().find(is_function).expect("a function");
    let reason = |changes: &[(usize, u8)]| {
        let mut changed = object.clone();
        changes.iter().for_each(|&(at, byte)| changed[at] = byte);
        match load::load(&changed, &symbols::function_address) {
            Ok(_) => String::new(),
            Err(JitError::Object(reason)) => reason,
            Err(error) => panic!("{error}"),
        }
    };
    assert_eq!(reason(&[]), "");
    let cases: [(&str, &[(usize, u8)]); 9] = [
        ("not a relocatable file", &[(E_TYPE, 3)]),
        ("made for ELF machine 183", &[(E_MACHINE, 183)]),
        // A note, a compressed section, and variables that begin as zero.
        ("section .text of type 7", &[(code + SH_TYPE, 7)]),
        ("section .text of type 1", &[(code + SH_FLAGS + 1, 8)]),
        ("writable data in section .text", &[(code + SH_TYPE, 8)]),
        ("symbol 'f' outside its section", &[(function + ST_VALUE + 3, 1)]),
        // An indirect function, and one in common memory.
        ("symbol 'f' of type 10", &[(function + ST_INFO, 0x1a)]),
        ("symbol 'f' in section 65522", &[(function + ST_SHNDX, 0xf2), (function + ST_SHNDX + 1, 0xff)]),
        ("relocations of another table's symbols", &[(relocations + SH_LINK, 1)]),
    ];
    for (want, changes) in cases {
        assert_eq!(reason(changes), want);
    }
}

#[test]
fn object_code_may_begin_at_any_address() {
    let object = object("define i32 @f() { ret i32 7 }", &Target::host().expect("target"), Tier::Fast);
    let object = object.expect("object");
    for shift in 0..8 {
        let mut bytes = vec![0; shift];
        bytes.extend_from_slice(&object);
        let code = load::load(&bytes[shift..], &symbols::function_address).expect("loads");
        let f: extern "C" fn() -> i32 = function(&code, "f");
        assert_eq!(f(), 7);
    }
}

#[test]
fn lesser_isa_has_no_wide_registers() {
    let text = "define void @f(ptr %p) {
      %x = load <16 x float>, ptr %p, align 4 
      %y = fadd <16 x float> %x, %x
      store <16 x float> %y, ptr %p, align 4 
      ret void }";
    let assembly = |isa| {
        let (target, context) = (Target::limited(isa).expect("target"), Context::new());
        let ir = IrModule::parse(&context, text, &target).expect("IR");
        pipeline::assembly(&ir, &target, Tier::Optimising).expect("assembly")
    };
    assert!(assembly(Isa::Avx512).contains("zmm"));
    assert!(!assembly(Isa::Avx2).contains("zmm") && assembly(Isa::Avx2).contains("ymm"));
    assert!(!assembly(Isa::Sse).contains("ymm"));
}

#[test]
fn addresses_from_another_block_are_a_base_and_indices_of_32_bits() {
    if !Target::host().expect("target").has_feature("avx512f") {
        return;
    }
    const TEXT: &str = "
    declare <16 x i32> @llvm.masked.gather.v16i32.v16p0(<16 x ptr>, i32, <16 x i1>, <16 x i32>)
    declare void @llvm.masked.scatter.v16i32.v16p0(<16 x i32>, <16 x ptr>, i32, <16 x i1>)
    define void @f(ptr %places, ptr %numbers) {
      %at = load <16 x i32>, ptr %places, align 4
      %wide = sext <16 x i32> %at to <16 x i64>
      %addresses = getelementptr i32, ptr %numbers, <16 x i64> %wide
      %old = call <16 x i32> @llvm.masked.gather.v16i32.v16p0(<16 x ptr> %addresses, i32 4, <16 x i1> splat (i1 true),
        <16 x i32> zeroinitializer)
      %free = icmp slt <16 x i32> %old, zeroinitializer
      %bits = bitcast <16 x i1> %free to i16
      %none = icmp eq i16 %bits, 0
      br i1 %none, label %done, label %write
    write:
      %new = xor <16 x i32> %old, splat (i32 -1)
      call void @llvm.masked.scatter.v16i32.v16p0(<16 x i32> %new, <16 x ptr> %addresses, i32 4, <16 x i1> %free)
      br label %done
    done:
      ret void
    }";
    let assembly = |isa| {
        let (target, context) = (Target::limited(isa).expect("target"), Context::new());
        let ir = IrModule::parse(&context, TEXT, &target).expect("IR");
        pipeline::optimise(&ir, &target, Tier::Optimising).expect("passes");
        pipeline::assembly(&ir, &target, Tier::Optimising).expect("assembly")
    };
    let count = |text: &str, name: &str| text.matches(name).count();
    let text = assembly(Isa::Avx512);
    let found = ["vpgatherdd", "vpscatterdd", "vpgatherqd", "vpscatterqd", "vpmovsxdq"]
        .map(|name| count(&text, name));
    assert_eq!(found, [1, 1, 0, 0, 0], "{text}");
    // What has no scatter takes the addresses apart, and has them once.
    let text = assembly(Isa::Avx2);
    assert_eq!(count(&text, "vpscatter"), 0, "{text}");

    let code = compile(TEXT, Tier::Optimising).expect("code");
    let f: extern "C" fn(*const i32, *mut i32) = function(&code, "f");
    let mut numbers: Vec<i32> = (0..64).map(|n| if n % 3 == 0 { -n } else { n }).collect();
    let expected: Vec<i32> =
        numbers.iter().enumerate().map(|(at, &n)| if at < 16 && n < 0 { !n } else { n }).collect();
    let places: Vec<i32> = (0..16).rev().collect();
    f(places.as_ptr(), numbers.as_mut_ptr());
    assert_eq!(numbers, expected);
}

/// Two objects of eight lanes, the second one the same way behind the first.
#[test]
fn lanes_of_addresses_are_taken_out_once() {
    let lanes = |from: &str, name: &str| -> String {
        let lane = |at: u32| {
            format!(
                "%{name}_at_{at} = extractelement <8 x ptr> %{from}, i64 {at}
                 %{name}_{at} = load i64, ptr %{name}_at_{at}, align 8
                 %{name}_sum_{at} = add i64 %{name}_{at}, %distance
                 store i64 %{name}_sum_{at}, ptr %{name}_at_{at}, align 8\n"
            )
        };
        (0..8).map(lane).collect()
    };
    let text = format!(
        "define void @f(ptr %places, ptr %numbers, i64 %distance) {{
           %at = load <8 x i64>, ptr %places, align 8
           %first = getelementptr i64, ptr %numbers, <8 x i64> %at
           %second = getelementptr i64, <8 x ptr> %first, i64 %distance
           {}{}ret void }}",
        lanes("first", "a"),
        lanes("second", "b")
    );
    let (target, context) = (Target::limited(Isa::Avx2).expect("target"), Context::new());
    let ir = IrModule::parse(&context, &text, &target).expect("IR");
    pipeline::optimise(&ir, &target, Tier::Optimising).expect("passes");
    let made = ir.text();
    assert_eq!(made.matches("extractelement").count(), 8, "{made}");
    assert!(!made.contains("<8 x ptr>"), "{made}");

    let code = compile(&text, Tier::Optimising).expect("code");
    let f: extern "C" fn(*const u64, *mut u64, u64) = function(&code, "f");
    let mut numbers: Vec<u64> = (0..64).collect();
    let places: Vec<u64> = (0..8).map(|at| 5 * at % 16).collect();
    f(places.as_ptr(), numbers.as_mut_ptr(), 20);
    let moved = |at: u64| places.contains(&at) || places.contains(&at.wrapping_sub(20));
    assert!((0..64).all(|at| numbers[at as usize] == at + if moved(at) { 20 } else { 0 }), "{numbers:?}");
}

#[test]
fn products_and_sums_are_fused_once_for_all_tiers() {
    if !Target::host().expect("target").has_feature("fma") {
        return;
    }
    const TEXT: &str = "
    define float @sum(float %a, float %b, float %c) {
      %p = fmul contract float %a, %b
      %s = fadd contract float %c, %p
      ret float %s
    }
    define float @before(float %a, float %b, float %c, i1 %far) {
      %p = fmul contract float %a, %b
      br i1 %far, label %next, label %next
    next:
      %s = fsub contract float %p, %c
      ret float %s
    }
    define double @behind(double %a, double %b, double %c) {
      %p = fmul contract double %a, %b
      %s = fsub contract double %c, %p
      ret double %s
    }
    define float @rounded(float %a, float %b, float %c) {
      %p = fmul float %a, %b
      %s = fadd contract float %p, %c
      ret float %s
    }
    define void @lanes(ptr %x) {
      %a = load <8 x float>, ptr %x, align 4
      %p = fmul contract <8 x float> %a, %a
      %s = fsub contract <8 x float> %p, %a
      store <8 x float> %s, ptr %x, align 4
      ret void
    }";
    let (a, b, c) = (1.000_000_1f32, 1.000_000_2f32, -1.000_000_3f32);
    let (da, db) = (1.0 + f64::EPSILON, 1.0 - f64::EPSILON);
    assert_ne!(a.mul_add(b, c), a * b + c, "the numbers show the difference");
    for tier in [Tier::Fast, Tier::Optimising] {
        let code = compile(TEXT, tier).expect("compiles");
        let of = |name| function::<extern "C" fn(f32, f32, f32) -> f32>(&code, name)(a, b, c);
        assert_eq!(of("sum"), a.mul_add(b, c));
        assert_eq!(of("rounded"), a * b + c);
        let before: extern "C" fn(f32, f32, f32, bool) -> f32 = function(&code, "before");
        assert_eq!(before(a, b, -c, true), a.mul_add(b, c));
        let behind: extern "C" fn(f64, f64, f64) -> f64 = function(&code, "behind");
        assert_eq!(behind(da, db, 1.0), (-da).mul_add(db, 1.0));
        let lanes: extern "C" fn(*mut f32) = function(&code, "lanes");
        let mut x = [a; 8];
        lanes(x.as_mut_ptr());
        assert_eq!(x, [a.mul_add(a, -a); 8]);
    }
}

#[test]
fn large_blocks_of_arithmetic_get_registers() {
    use std::fmt::Write;
    let target = Target::limited(Isa::Avx2).expect("a target machine");
    // Sixteen chains of products and sums, and what stands between them.
    let tier = |operation: &str, between: &str| {
        let mut text = String::from("define void @chains(ptr %p) {\n");
        for chain in 0..16 {
            writeln!(text, "%at{chain} = getelementptr i8, ptr %p, i64 {}", chain * 32).expect("text");
            writeln!(text, "%v{chain}.0 = load <8 x i32>, ptr %at{chain}, align 4").expect("text");
        }
        for step in 0..200 {
            for chain in 0..16 {
                let next = step + 1;
                let lines = format!(
                    "{between}%m#.{step} = {operation} <8 x i32> %v#.{step}, %v#.{step}\n\
                     %v#.{next} = add <8 x i32> %m#.{step}, %v#.{step}\n"
                );
                let name = format!("{chain}.{step}");
                text += &lines
                    .replace("%m#", &format!("%m{chain}"))
                    .replace("%v#", &format!("%v{chain}"))
                    .replace('@', &name);
            }
        }
        for chain in 0..16 {
            writeln!(text, "store <8 x i32> %v{chain}.200, ptr %at{chain}, align 4").expect("text");
        }
        text += "ret void\n}";
        let context = Context::new();
        let ir = IrModule::parse(&context, &text, &target).expect("parses");
        ir.verify().expect("valid IR");
        Size::of(&ir, &target).code_tier(Tier::Optimising)
    };
    assert_eq!(tier("mul", ""), Tier::Optimising);
    assert_eq!(tier("sdiv", ""), Tier::Fast, "divisions are many instructions");
    assert_eq!(
        tier("mul", "%l@ = load volatile i32, ptr %p\n"),
        Tier::Fast,
        "each access is looked for from others"
    );
}

/// Counters that fill a register of AVX-512 are counted by ones from memory.
#[test]
fn no_register_is_made_of_ones_to_count_by() {
    let target = Target::host().expect("a target machine");
    let context = Context::new();
    let text = "define void @count(ptr %p) {\n%a = load <16 x i32>, ptr %p, align 4\n%q = getelementptr i8, ptr %p, i64 64\n\
                %w = add <16 x i32> %a, splat (i32 1)\n\
                %x = add <16 x i32> %w, splat (i32 1)\n%y = sub <16 x i32> splat (i32 -1), %x\n\
                %z = xor <16 x i32> %y, splat (i32 -1)\nstore <16 x i32> %z, ptr %p, align 4\n\
                %b = load <4 x i32>, ptr %q, align 4\n%c = add <4 x i32> %b, splat (i32 1)\nstore <4 x i32> %c, ptr %q, align 4\nret void\n}";
    let ir = IrModule::parse(&context, text, &target).expect("IR");
    constants::hide_ones(&ir);
    ir.verify().expect("valid IR");
    let hidden = ir.text();
    assert_eq!(hidden.matches("private constant [2 x <16 x i32>]").count(), 1, "{hidden}");
    assert_eq!(hidden.matches("load <16 x i32>").count(), 3, "each once: {hidden}");
    let object = pipeline::object_code(ir, &target, Tier::Optimising).expect("emits");
    let code = load::load(&object.bytes, &symbols::function_address).expect("loads");
    let count: extern "C" fn(*mut [i32; 20]) = function(&code, "count");
    let mut numbers = std::array::from_fn(|at| at as i32);
    count(&mut numbers);
    assert_eq!(numbers, std::array::from_fn(|at| at as i32 + if at < 16 { 2 } else { 1 }));
}

/// Elements of a type moved from, or to, indices of 32 bits that are widened in this way. Under a mask, lanes whose index is 5 are off.
fn moved_by_index(element: &str, widen: &str, scatters: bool, masked: bool) -> String {
    let suffix = element.replace("half", "f16").replace("float", "f32").replace("double", "f64");
    let ones = "i1 true, ".repeat(15);
    let mask = if masked { "<16 x i1> %on".into() } else { format!("<16 x i1> <{ones}i1 true>") };
    let access = match scatters {
        false => format!(
            "%old = load <16 x {element}>, ptr %side, align 1
             %v = call <16 x {element}> @llvm.masked.gather.v16{suffix}.v16p0(<16 x ptr> %at, i32 1, {mask}, <16 x {element}> %old)
             store <16 x {element}> %v, ptr %side, align 1"
        ),
        true => format!(
            "%v = load <16 x {element}>, ptr %side, align 1
             call void @llvm.masked.scatter.v16{suffix}.v16p0(<16 x {element}> %v, <16 x ptr> %at, i32 1, {mask})"
        ),
    };
    format!(
        "define void @move(ptr %base, ptr %indices, ptr %side) {{
           %i = load <16 x i32>, ptr %indices, align 4
           %wide = {widen} <16 x i32> %i to <16 x i64>
           %on = icmp ne <16 x i32> %i, splat (i32 5)
           %at = getelementptr {element}, ptr %base, <16 x i64> %wide
           {access}
           ret void
         }}
         declare <16 x {element}> @llvm.masked.gather.v16{suffix}.v16p0(<16 x ptr>, i32, <16 x i1>, <16 x {element}>)
         declare void @llvm.masked.scatter.v16{suffix}.v16p0(<16 x {element}>, <16 x ptr>, i32, <16 x i1>)"
    )
}

#[test]
fn accesses_by_index_reach_the_elements_of_their_lanes() {
    const MIDDLE: usize = 64;
    let mut targets = vec![Target::limited(Isa::Sse), Target::host()];
    if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
        targets.push(Target::limited(Isa::Avx2));
    }
    // Twice the same index: the last lane's value stays.
    let signed: [i32; 16] = [-64, 63, 0, -1, 1, 17, -30, 5, 5, 40, -41, 2, 62, -63, 33, -2];
    let cases = [("i8", 1), ("i16", 2), ("half", 2), ("i32", 4), ("float", 4), ("i64", 8), ("double", 8)];
    for target in targets.into_iter().map(|target| target.expect("a target machine")) {
        for ((element, size), widen, scatters, masked) in cases
            .into_iter()
            .flat_map(|case| {
                [("sext", false), ("zext", false), ("sext", true), ("zext", true)]
                    .map(|(widen, scatters)| (case, widen, scatters))
            })
            .flat_map(|(case, widen, scatters)| [false, true].map(|masked| (case, widen, scatters, masked)))
        {
            let text = moved_by_index(element, widen, scatters, masked);
            let indices = signed.map(|index| if widen == "sext" { index } else { index & 63 });
            let object =
                object(&text, &target, Tier::Optimising).unwrap_or_else(|error| panic!("{element}: {error}"));
            let code = load::load(&object, &symbols::function_address).expect("loads");
            let run: extern "C" fn(*mut u8, *const i32, *mut u8) = function(&code, "move");
            let mut memory: Vec<u8> = (0..2 * MIDDLE * size).map(|at| (at * 7 + at / 256) as u8).collect();
            let mut side: Vec<u8> = (0..16 * size).map(|at| 255 - at as u8).collect();
            let before = (memory.clone(), side.clone());
            // SAFETY: the middle of the memory.
            let base = unsafe { memory.as_mut_ptr().add(MIDDLE * size) };
            run(base, indices.as_ptr(), side.as_mut_ptr());
            let place = |index: i32| (MIDDLE as i64 + i64::from(index)) as usize * size;
            let mut expected = before;
            for (lane, index) in indices.into_iter().enumerate().filter(|(_, index)| !masked || *index != 5) {
                let (there, here) = (place(index)..place(index) + size, lane * size..(lane + 1) * size);
                match scatters {
                    false => expected.1[here].copy_from_slice(&expected.0[there]),
                    true => expected.0[there].copy_from_slice(&expected.1[here]),
                }
            }
            assert!(
                (memory, side) == expected,
                "{element} {widen} scatters: {scatters}, masked: {masked}, {}",
                target.cpu()
            );
        }
    }
}

#[test]
fn what_no_instruction_gathers_is_taken_apart_by_two_indices_at_once() {
    let target = Target::limited(Isa::Avx2).expect("a target machine");
    let context = Context::new();
    let text = moved_by_index("i8", "sext", false, false);
    let ir = IrModule::parse(&context, &text, &target).expect("IR");
    pipeline::optimise(&ir, &target, Tier::Optimising).expect("passes");
    let text = ir.text();
    assert!(!text.contains("call <16 x i8> @llvm.masked.gather"), "{text}");
    assert_eq!(text.matches("extractelement <8 x i64>").count(), 8, "{text}");
}

#[test]
fn masked_accesses_without_an_instruction_have_no_branches() {
    for (isa, element) in [(Isa::Avx512, "i8"), (Isa::Avx2, "float"), (Isa::Sse, "half")] {
        let target = Target::limited(isa).expect("a target machine");
        let context = Context::new();
        let text = moved_by_index(element, "sext", true, true);
        let ir = IrModule::parse(&context, &text, &target).expect("IR");
        pipeline::optimise(&ir, &target, Tier::Optimising).expect("passes");
        let text = ir.text();
        assert_eq!((text.matches("call void").count(), text.matches(" br ").count()), (0, 0), "{text}");
        assert_eq!(text.matches(&format!("store {element} ")).count(), 16, "{text}");
    }
}

#[test]
fn what_lies_at_known_distances_is_displaced_from_its_base() {
    const TEXT: &str = "
    declare <4 x i8> @llvm.masked.gather.v4i8.v4p0(<4 x ptr>, i32, <4 x i1>, <4 x i8>)
    declare void @llvm.masked.scatter.v4i8.v4p0(<4 x i8>, <4 x ptr>, i32, <4 x i1>)
    define void @f(ptr %from, ptr %to) {
      %p = getelementptr i16, ptr %from, <4 x i64> <i64 0, i64 9, i64 -3, i64 31>
      %v = call <4 x i8> @llvm.masked.gather.v4i8.v4p0(<4 x ptr> %p, i32 1, <4 x i1> splat (i1 true), <4 x i8> poison)
      %q = getelementptr i8, ptr %to, <4 x i64> <i64 5, i64 0, i64 20, i64 10>
      call void @llvm.masked.scatter.v4i8.v4p0(<4 x i8> %v, <4 x ptr> %q, i32 1, <4 x i1> splat (i1 true))
      ret void
    }";
    let target = Target::host().expect("target");
    let context = Context::new();
    let ir = IrModule::parse(&context, TEXT, &target).expect("IR");
    pipeline::optimise(&ir, &target, Tier::Optimising).expect("passes");
    let text = ir.text();
    assert!(!text.contains("call <4 x i8> @llvm.masked.gather"), "{text}");
    assert!(!text.contains("extractelement <4 x ptr>"), "{text}");

    let code = compile(TEXT, Tier::Optimising).expect("code");
    let f: extern "C" fn(*const u8, *mut u8) = function(&code, "f");
    let from: Vec<u8> = (0..80).collect();
    let mut to = [0u8; 21];
    f(from[6..].as_ptr(), to.as_mut_ptr());
    let mut expected = [0u8; 21];
    for (at, value) in [(5, 6), (0, 24), (20, 0), (10, 68)] {
        expected[at] = value;
    }
    assert_eq!(to, expected);
}

/// Compares 16 halves with others each way that there is, and rounds what is the larger.
const HALVES: &str = "
declare <16 x half> @llvm.floor.v16f16(<16 x half>)
declare <16 x half> @llvm.sqrt.v16f16(<16 x half>)
declare <16 x half> @llvm.maxnum.v16f16(<16 x half>, <16 x half>)
define void @f(ptr %a, ptr %b, ptr %flags, ptr %values) {
  %x = load <16 x half>, ptr %a, align 2
  %y = load <16 x half>, ptr %b, align 2
  %olt = fcmp olt <16 x half> %x, %y
  %uge = fcmp uge <16 x half> %x, %y
  %uno = fcmp uno <16 x half> %x, %x
  %one = fcmp one <16 x half> %x, <half 0.0, half 0.0, half 0.0, half 0.0, half 0.0, half 0.0, half 0.0, half 0.0,
    half 1.0, half 1.0, half 1.0, half 1.0, half 1.0, half 1.0, half 1.0, half 1.0>
  %o = zext <16 x i1> %olt to <16 x i8>
  %u = select <16 x i1> %uge, <16 x i8> splat (i8 2), <16 x i8> zeroinitializer
  %n = select <16 x i1> %uno, <16 x i8> splat (i8 4), <16 x i8> zeroinitializer
  %d = select <16 x i1> %one, <16 x i8> splat (i8 8), <16 x i8> zeroinitializer
  %ou = or <16 x i8> %o, %u
  %nd = or <16 x i8> %n, %d
  %all = or <16 x i8> %ou, %nd
  store <16 x i8> %all, ptr %flags, align 1
  %larger = call <16 x half> @llvm.maxnum.v16f16(<16 x half> %x, <16 x half> %y)
  %root = call <16 x half> @llvm.sqrt.v16f16(<16 x half> %larger)
  %low = call <16 x half> @llvm.floor.v16f16(<16 x half> %root)
  store <16 x half> %low, ptr %values, align 2
  ret void
}";

#[test]
fn halves_are_compared_and_rounded_as_floats() {
    let numbers =
        [0.0, -0.0, 1.0, -1.0, 65504.0, 6e-8, f32::INFINITY, f32::NEG_INFINITY, f32::NAN, 1.5, 17.0];
    let all: Vec<half::f16> = numbers.iter().map(|number| half::f16::from_f32(*number)).collect();
    for tier in [Tier::Fast, Tier::Optimising] {
        let code = compile(HALVES, tier).expect("code");
        let f: extern "C" fn(*const half::f16, *const half::f16, *mut u8, *mut half::f16) =
            function(&code, "f");
        for shift in 0..all.len() {
            let x: [half::f16; 16] = std::array::from_fn(|lane| all[lane % all.len()]);
            let y: [half::f16; 16] = std::array::from_fn(|lane| all[(lane + shift) % all.len()]);
            let (mut flags, mut values) = ([0; 16], [half::f16::ZERO; 16]);
            f(x.as_ptr(), y.as_ptr(), flags.as_mut_ptr(), values.as_mut_ptr());
            for lane in 0..16 {
                let (a, b) = (x[lane].to_f32(), y[lane].to_f32());
                let one = if lane < 8 { 0.0 } else { 1.0 };
                let expected = u8::from(a < b)
                    | u8::from(a.partial_cmp(&b) != Some(std::cmp::Ordering::Less)) << 1
                    | u8::from(a.is_nan()) << 2
                    | u8::from(a.partial_cmp(&one).is_some_and(|order| order.is_ne())) << 3;
                assert_eq!(flags[lane], expected, "{a} and {b} by {tier:?}");
                let low = half::f16::from_f32(a.max(b).sqrt()).to_f32().floor();
                let value = values[lane].to_f32();
                assert!(
                    value == low || value.is_nan() && low.is_nan(),
                    "{a} and {b}: {value} for {low} by {tier:?}"
                );
            }
        }
    }
}

/// The least of three halves.
const HALF: &str = "
declare half @llvm.minnum.f16(half, half)
define half @f(half %a, half %b, half %c) {
  %ab = call half @llvm.minnum.f16(half %a, half %b)
  %abc = call half @llvm.minnum.f16(half %ab, half %c)
  ret half %abc
}";

#[test]
fn the_least_of_halves_is_no_call_and_is_rounded_once() {
    let target = Target::limited(Isa::Avx512).expect("a target machine");
    let context = Context::new();
    let ir = IrModule::parse(&context, HALF, &target).expect("IR");
    let text = pipeline::assembly(&ir, &target, Tier::Optimising).expect("assembly");
    assert!(!text.contains("fmin"), "{text}");
    assert_eq!(text.matches("vcvtps2ph").count(), 1, "{text}");
}

#[test]
fn halves_are_compared_without_going_from_lane_to_lane() {
    for isa in [Isa::Avx2, Isa::Avx512] {
        let target = Target::limited(isa).expect("a target machine");
        let context = Context::new();
        let ir = IrModule::parse(&context, HALVES, &target).expect("IR");
        for tier in [Tier::Fast, Tier::Optimising] {
            let text = pipeline::assembly(&ir, &target, tier).expect("assembly");
            assert!(!text.contains("ucomiss") && !text.contains("sqrtss"), "{isa:?}, {tier:?}: {text}");
        }
    }
}

/// Where there are many, masked accesses that are branches for each lane are in a function of their own, whose code is there once.
#[test]
fn many_masked_accesses_are_calls() {
    for (isa, element, stays) in
        [(Isa::Sse, "float", false), (Isa::Avx2, "float", true), (Isa::Avx2, "i8", false)]
    {
        let target = Target::limited(isa).expect("target");
        let text = |count: usize| {
            let kind = if element == "float" { "f32" } else { "i8" };
            let load = format!("@llvm.masked.load.v8{kind}.p0");
            let store = format!("@llvm.masked.store.v8{kind}.p0");
            let one = |at: usize| {
                format!(
                    "%p{at} = getelementptr <8 x {element}>, ptr %in, i64 {at}\n\
                     %q{at} = getelementptr <8 x {element}>, ptr %out, i64 {at}\n\
                     %v{at} = call <8 x {element}> {load}(ptr %p{at}, i32 1, <8 x i1> %mask, <8 x {element}> zeroinitializer)\n\
                     call void {store}(<8 x {element}> %v{at}, ptr %q{at}, i32 1, <8 x i1> %mask)\n"
                )
            };
            let body: String = (0..count).map(one).collect();
            format!(
                "declare <8 x {element}> {load}(ptr, i32, <8 x i1>, <8 x {element}>)\n\
                 declare void {store}(<8 x {element}>, ptr, i32, <8 x i1>)\n\
                 define void @copy(ptr %in, ptr %out, ptr %masks) {{\n%word = load i8, ptr %masks\n\
                 %mask = bitcast i8 %word to <8 x i1>\n{body}ret void\n}}"
            )
        };
        let assembly = |count: usize| {
            let context = Context::new();
            let ir = IrModule::parse(&context, &text(count), &target).expect("IR");
            pipeline::assembly(&ir, &target, Tier::Fast).expect("assembly")
        };
        let calls = |count: usize| assembly(count).matches("\tcallq\t").count();
        assert_eq!(calls(8), 0, "{isa:?}, {element}");
        assert_eq!(calls(100), if stays { 0 } else { 200 }, "{isa:?}, {element}");
        // What is called does what it stands for.
        let code =
            load::load(&object(&text(100), &target, Tier::Fast).expect("code"), &symbols::function_address);
        let code = code.expect("loads");
        let copy: extern "C" fn(*const u8, *mut u8, *const u8) = function(&code, "copy");
        let input: Vec<u8> = (0..3200).map(|at| (at * 7 % 251) as u8).collect();
        let mut out = vec![9u8; 3200];
        copy(input.as_ptr(), out.as_mut_ptr(), [0b1011_0010].as_ptr());
        let size = if element == "float" { 4 } else { 1 };
        for (at, got) in out.iter().enumerate().take(100 * 8 * size) {
            let is_on = 0b1011_0010 >> (at / size % 8) & 1 == 1;
            assert_eq!(*got, if is_on { input[at] } else { 9 }, "{isa:?}, byte {at}");
        }
    }
}
