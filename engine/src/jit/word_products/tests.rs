//! Products of words and of what looks like them, computed and read.

use super::super::pipeline::{self, Tier};
use super::super::target::{Isa, Target};
use super::super::tests::{compile, function};
use super::super::{Context, IrModule};

/// A function that multiplies eight pairs, made of words so.
fn text(made: &str) -> String {
    format!(
        "define void @f(ptr %out, ptr %in, ptr %others) {{
           %a = load <8 x i16>, ptr %in
           %b = load <8 x i16>, ptr %others
           %one = load i16, ptr %others
           %signed = sext <8 x i16> %a to <8 x i32>
           {made}
           store <8 x i32> %product, ptr %out
           ret void
         }}"
    )
}

/// How often there is the instruction for words.
fn count(made: &str, isa: Isa) -> usize {
    let target = Target::limited(isa).expect("a target machine");
    let context = Context::new();
    let ir = IrModule::parse(&context, &text(made), &target).expect("IR");
    ir.verify().expect("right");
    pipeline::optimise(&ir, &target, Tier::Optimising).expect("optimised");
    ir.verify().expect("right");
    ir.text().matches("= call <8 x i32> @llvm.x86.avx2.pmadd.wd").count()
}

const OTHERS: &str = "%other = sext <8 x i16> %b to <8 x i32>
    %product = mul <8 x i32> %other, %signed";
const ONE: &str = "%wide = sext i16 %one to i32
    %first = insertelement <8 x i32> poison, i32 %wide, i64 0
    %all = shufflevector <8 x i32> %first, <8 x i32> poison, <8 x i32> zeroinitializer
    %product = mul <8 x i32> %signed, %all";
const SHIFTED: &str = "%words = load <8 x i32>, ptr %others
    %upper = ashr <8 x i32> %words, splat (i32 16)
    %product = mul <8 x i32> %signed, %upper";
const BYTES: &str = "%bytes = load <8 x i8>, ptr %others
    %small = zext <8 x i8> %bytes to <8 x i32>
    %more = sext <8 x i8> %bytes to <8 x i32>
    %difference = sub <8 x i32> %small, %more
    %product = mul <8 x i32> %difference, %signed";

#[test]
fn products_of_words_are_what_they_were() {
    let edges = [i16::MIN, -1, 0, 1, i16::MAX, 255, -256, 12345];
    for made in [OTHERS, ONE, SHIFTED, BYTES] {
        let code = compile(&text(made), Tier::Optimising).expect("compiled");
        let f: extern "C" fn(*mut i32, *const i16, *const i16) = function(&code, "f");
        for turn in 0..edges.len() {
            let others: [i16; 16] = std::array::from_fn(|at| edges[(at * 3 + turn) % edges.len()]);
            let mut out = [0; 8];
            f(out.as_mut_ptr(), edges.as_ptr(), others.as_ptr());
            let want: [i32; 8] = std::array::from_fn(|at| {
                let byte = others[at / 2].to_le_bytes()[at % 2];
                let other = match made {
                    OTHERS => others[at].into(),
                    ONE => others[0].into(),
                    SHIFTED => others[2 * at + 1].into(),
                    _ => i32::from(byte) - i32::from(byte as i8),
                };
                i32::from(edges[at]) * other
            });
            assert_eq!(out, want, "{made}");
        }
    }
}

#[test]
fn factors_that_are_words_are_multiplied_as_words() {
    for made in [OTHERS, ONE, SHIFTED, BYTES] {
        assert_eq!([Isa::Sse, Isa::Avx2].map(|isa| count(made, isa)), [0, 1], "{made}");
    }
    let added = format!("{}\n%product = xor <8 x i32> %part, %other", OTHERS.replace("%product", "%part"));
    assert_eq!(
        count(&added.replace("%other, %signed", "%signed, %other"), Isa::Avx2),
        1,
        "one factor is enough"
    );
    for other in [
        "%product = mul <8 x i32> %signed, %signed",
        "%wide = load <8 x i32>, ptr %others\n%product = mul <8 x i32> %signed, %wide",
        "%wide = load <8 x i32>, ptr %others\n%some = ashr <8 x i32> %wide, splat (i32 15)\n%product = mul <8 x i32> %signed, %some",
        "%other = zext <8 x i16> %b to <8 x i32>\n%product = mul <8 x i32> %signed, %other",
    ] {
        assert_eq!(count(other, Isa::Avx2), 0, "{other}");
    }
}
