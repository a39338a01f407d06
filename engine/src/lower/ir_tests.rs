//! What code is made of, where no result shows it: accesses of vectors, prefetches, skips, values that are forgotten.

use super::opcode_tests::{build, kernel};
use super::{Options, lower_with};
use crate::abi::{Coarsening, LaneMapping, Variant};
use crate::analysis::inlining::Inlining;
use crate::jit::Context;
use crate::jit::pipeline::{self, Tier};
use crate::jit::target::{Isa, Target};

/// The IR of a kernel for full sub-groups of 16, before LLVM's passes. It has a built-in variable `%gsize` as well.
fn ir(body: &str) -> String {
    ir_of_mode("", body)
}

/// The same with an execution mode.
fn ir_of_mode(mode: &str, body: &str) -> String {
    ir_of(mode, body, Isa::Avx512, VARIANT)
}

/// Full sub-groups of 16.
const VARIANT: Variant = Variant::new(16, LaneMapping::Rows);

fn ir_of(mode: &str, body: &str, isa: Isa, variant: Variant) -> String {
    let id = "%gid = OpVariable %pi_ulong3 Input";
    let text = kernel(None, "", body)
        .replace("\"main\" %gid", "\"main\" %gid %gsize")
        .replace("OpDecorate %gid", &format!("{mode}\nOpDecorate %gsize BuiltIn GlobalSize\nOpDecorate %gid"))
        .replace(id, &format!("{id}\n%gsize = OpVariable %pi_ulong3 Input"));
    ir_of_module(&text, isa, variant)
}

fn ir_of_module(text: &str, isa: Isa, variant: Variant) -> String {
    let module = build(text);
    let target = Target::limited(isa).expect("a target machine");
    let kernel = module.kernel("main").expect("the kernel");
    let context = Context::new();
    let (ir, ..) = super::lower(&module, kernel, variant, Inlining::default(), &target, &context)
        .unwrap_or_else(|error| panic!("{error}\n{text}"));
    ir.verify().unwrap_or_else(|error| panic!("{error}\n{text}"));
    ir.text()
}

fn calls(text: &str, function: &str) -> usize {
    text.lines().filter(|line| line.contains(" call ") && line.contains(function)).count()
}

/// A value that differs between work-items, a condition on it, and an address for each of them.
const VALUES: &str = "%gx32 = OpUConvert %uint %gx
    %own = OpIMul %uint %gx32 %gx32
    %varying = OpULessThan %bool %own %u5
    %mine = OpInBoundsPtrAccessChain %pg_uint %out %gx
    %theirs = OpInBoundsPtrAccessChain %pg_uint %in %gx
";

fn under_a_mask(body: &str) -> String {
    format!(
        "{VALUES}OpBranchConditional %varying %inside %behind\n%inside = OpLabel\n{body}OpBranch %behind\n\
         %behind = OpLabel\n"
    )
}

#[test]
fn atomic_stores_side_by_side_are_one_store() {
    let store = "OpAtomicStore %mine %u1 %u0 %own\n";
    let text = ir(&format!("{VALUES}{store}"));
    assert_eq!((calls(&text, "@llvm.masked.store"), calls(&text, "@llvm.masked.scatter")), (0, 0), "{text}");
    let text = ir(&under_a_mask(store));
    assert_eq!((calls(&text, "@llvm.masked.store"), calls(&text, "@llvm.masked.scatter")), (1, 0), "{text}");
    let apart = "%place = OpUConvert %ulong %own\n%there = OpInBoundsPtrAccessChain %pg_uint %out %place\n\
                 OpAtomicStore %there %u1 %u0 %own\n";
    let text = ir(&format!("{VALUES}{apart}"));
    assert_eq!((calls(&text, "@llvm.masked.store"), calls(&text, "@llvm.masked.scatter")), (0, 1), "{text}");
}

#[test]
fn an_atomic_that_other_threads_see_is_a_loop_over_lanes_and_not_as_many_copies() {
    let exchange = "%place = OpInBoundsPtrAccessChain %pg_uint %out %own\n\
                    %old = OpAtomicExchange %uint %place %u1 %u0 %gx32\nOpStore %mine %old\n";
    let text = ir(&format!("{VALUES}{exchange}"));
    assert_eq!(text.lines().filter(|line| line.contains(" atomicrmw ")).count(), 1, "{text}");
}

#[test]
fn an_exchange_that_would_fail_is_only_a_load() {
    let exchange = "%place = OpInBoundsPtrAccessChain %pg_uint %out %own\n\
                    %old = OpAtomicCompareExchange %uint %place %u1 %u0 %u0 %gx32 %own\nOpStore %mine %old\n";
    let text = ir(&format!("{VALUES}{exchange}"));
    let lines = |what: &str| text.lines().filter(|line| line.contains(what)).count();
    assert_eq!((lines(" load atomic i32"), lines(" cmpxchg ")), (1, 1), "{text}");
    let block = text.split("\n\n").find(|block| block.contains(" cmpxchg ")).expect("a block");
    assert!(!block.contains(" load atomic i32"), "the exchange has a block of its own: {text}");
}

#[test]
fn a_minimum_that_is_there_already_is_not_written() {
    let counts = |instruction: &str, semantics: &str| {
        let text = ir(&format!(
            "{VALUES}%old = {instruction} %uint %out %u1 {semantics} %own\nOpStore %mine %old\n"
        ));
        [" load atomic i32", " atomicrmw "]
            .map(|what| text.lines().filter(|line| line.contains(what)).count())
    };
    assert_eq!(counts("OpAtomicUMin", "%u0"), [1, 1]);
    assert_eq!(counts("OpAtomicOr", "%u2"), [1, 1], "an acquiring one");
    // Another number, and one that publishes what was written before.
    assert_eq!(counts("OpAtomicIAdd", "%u0"), [0, 1]);
    assert_eq!(counts("OpAtomicUMin", "%u4"), [0, 1]);
    assert_eq!(counts("OpAtomicUMin", "%u16"), [0, 1]);
}

/// A branch that not all take, around a block that the numbers of `inside` go through; what it makes is used behind it.
fn hammock(inside: &str) -> String {
    hammock_behind("", inside)
}

fn hammock_behind(before: &str, inside: &str) -> String {
    ir(&format!(
        "{VALUES}{before}OpBranchConditional %varying %then %else
         %then = OpLabel
         {inside}
         OpBranch %behind
         %else = OpLabel
         %b = OpIAdd %uint %own %u5
         OpBranch %behind
         %behind = OpLabel
         %joined = OpPhi %uint %a %then %b %else
         OpStore %mine %joined
         "
    ))
}

fn skips(text: &str) -> usize {
    text.lines().filter(|line| line.starts_with('b') && line.contains(".body:")).count()
}

#[test]
fn a_few_cheap_instructions_run_for_nobody_rather_than_be_jumped_over() {
    assert_eq!(skips(&hammock("%a = OpIAdd %uint %own %u1")), 0);
    let chain = |length: usize| {
        let mut text = "%a0 = OpIAdd %uint %own %u1\n".to_owned();
        (1..length).for_each(|at| text += &format!("%a{at} = OpIAdd %uint %a{} %u1\n", at - 1));
        text.replace(&format!("%a{} =", length - 1), "%a =")
    };
    assert_eq!(skips(&hammock(&chain(12))), 0);
    assert_eq!(skips(&hammock(&chain(13))), 1);
    let wide = |length: usize| {
        let mut text = "%w0 = OpIMul %ulong %gx %gx\n".to_owned();
        (1..length).for_each(|at| text += &format!("%w{at} = OpIAdd %ulong %w{} %gx\n", at - 1));
        text + &format!("%a = OpUConvert %uint %w{}", length - 1)
    };
    assert_eq!(skips(&hammock(&wide(5))), 0);
    assert_eq!(skips(&hammock(&wide(6))), 1, "two registers each");
    assert_eq!(skips(&hammock("%a = OpExtInst %uint %std u_max %own %u1")), 0, "an instruction, too");
    assert_eq!(skips(&hammock("%a = OpExtInst %uint %std u_mul_hi %own %u1")), 1, "more than one");
}

#[test]
fn what_is_slow_or_has_effects_is_jumped_over_if_nobody_wants_it() {
    assert_eq!(skips(&hammock("%a = OpUDiv %uint %own %gx32")), 1);
    assert_eq!(skips(&hammock("%a = OpLoad %uint %theirs")), 1);
    assert_eq!(skips(&hammock("%a = OpIAdd %uint %own %u1\nOpStore %mine %a")), 1);
}

#[test]
fn a_row_beside_one_that_is_loaded_is_loaded_for_nobody_rather_than_jumped_over() {
    let load = |index: &str| {
        let inside = format!(
            "{index}\n%there = OpInBoundsPtrAccessChain %pg_uint %in %place\n%a = OpLoad %uint %there"
        );
        skips(&hammock_behind("%before = OpLoad %uint %theirs\n", &inside))
    };
    assert_eq!(load("%place = OpIAdd %ulong %gx %ul1"), 0);
    assert_eq!(load("%place = OpISub %ulong %gx %ul7"), 0);
    assert_eq!(load("%place = OpIAdd %ulong %gx %ul16"), 1, "the next line");
    assert_eq!(load("%place = OpIMul %ulong %gx %ul2"), 1, "no row");
    assert_eq!(load("%place = OpIAdd %ulong %gx %ul1\n%seen = OpLoad %uint %in"), 1, "what all lanes share");
}

#[test]
fn a_join_that_blends_forgets_its_lanes_and_no_other_phi_does() {
    let poison = |text: &str| text.matches("store <16 x i32> poison").count();
    let text = hammock("%a = OpUDiv %uint %own %u5");
    assert_eq!(poison(&text), 1, "{text}");
    let text = ir(&format!(
        "{VALUES}%same = OpLoad %uint %in\n%uniform = OpULessThan %bool %same %u5
         OpBranchConditional %uniform %then %else
         %then = OpLabel
         %a = OpUDiv %uint %own %u5
         OpBranch %behind
         %else = OpLabel
         OpBranch %behind
         %behind = OpLabel
         %joined = OpPhi %uint %a %then %own %else
         OpStore %mine %joined
         "
    ));
    assert_eq!(poison(&text), 0, "{text}");
}

/// A loop from the work-item's id in steps of `step`, that loads at `index`.
fn strided_loop(ty: &str, before: &str, step: &str, index: &str) -> String {
    ir(&format!(
        "{before}OpBranch %head
         %head = OpLabel
         %n = OpPhi %ulong %gx %entry %next %inside
         %more = OpULessThan %bool %n %limit
         OpBranchConditional %more %inside %exit
         %inside = OpLabel
         {index}
         %there = OpInBoundsPtrAccessChain %pg_{ty} %from %place
         %read = OpLoad %{ty} %there
         %next = OpIAdd %ulong %n {step}
         OpBranch %head
         %exit = OpLabel
         ",
    ))
}

#[test]
fn loads_in_long_strides_are_asked_for_ahead() {
    let before =
        "%small = OpLoad %uint %in\n%limit = OpUConvert %ulong %small\n%from = OpCopyObject %pg_uint %in\n";
    let prefetches = |before: &str, step: &str, index: &str| {
        let text = strided_loop("uint", before, step, index);
        text.lines().filter(|line| line.contains("call void @llvm.prefetch")).count()
    };
    let own = "%place = OpCopyObject %ulong %n";
    // 16 lanes of 4 bytes: one line, or two if they are not aligned to it; the lines from the first lane on count.
    assert_eq!(prefetches(before, "%limit", own), 1);
    // 7 elements are less than what the hardware follows.
    assert_eq!(prefetches(before, "%ul7", own), 0);
    let times = |factor: &str| format!("%place = OpIMul %ulong %n {factor}");
    assert_eq!(prefetches(before, "%limit", &times("%ul16")), 4);
    assert_eq!(prefetches(before, "%limit", &times("%ul2")), 2);
    // No lane at a fixed distance from the one before.
    assert_eq!(prefetches(before, "%limit", "%place = OpUMod %ulong %n %limit"), 0);
    // A sum moves on by what both parts do, and a difference of the same by nothing.
    let of_two = |op: &str| format!("%part = OpIMul %ulong %n %ul31\n%place = {op} %ulong %part %part");
    assert_eq!(prefetches(before, "%ul31", &of_two("OpIAdd")), 4);
    assert_eq!(prefetches(before, "%ul31", &of_two("OpISub")), 0);
}

#[test]
fn the_global_size_is_a_stride_wherever_it_is_loaded() {
    let before =
        "%small = OpLoad %uint %in\n%limit = OpUConvert %ulong %small\n%from = OpCopyObject %pg_uint %in\n";
    let prefetches = |inside: &str, step: &str| {
        let index = format!("{inside}\n%place = OpCopyObject %ulong %n");
        let text = strided_loop("uint", before, step, &index);
        text.lines().filter(|line| line.contains("call void @llvm.prefetch")).count()
    };
    assert_eq!(
        prefetches("%sizes = OpLoad %ulong3 %gsize\n%width = OpCompositeExtract %ulong %sizes 0", "%width"),
        1
    );
    // What may be another number next time is no stride.
    assert_eq!(
        prefetches("%number = OpLoad %uint %in Volatile\n%width = OpUConvert %ulong %number", "%width"),
        0
    );
}

/// Accesses in the IR: plain vectors of 16, masked, gathered or scattered, and shuffles that reverse lanes.
#[derive(Default, PartialEq, Eq, Debug)]
struct Accesses {
    loads: usize,
    masked_loads: usize,
    gathers: usize,
    stores: usize,
    masked_stores: usize,
    scatters: usize,
    reversals: usize,
}

/// Those of the kernel's pointers; values that cross blocks are in memory, too, but in that of the stack.
fn accesses(text: &str, element: &str) -> Accesses {
    let reversed: Vec<String> = (0..16).rev().map(|lane| format!("i32 {lane}")).collect();
    let lines = |of: &dyn Fn(&str) -> bool| text.lines().filter(|line| of(line)).count();
    let slots: Vec<&str> =
        text.lines().filter_map(|line| line.trim().split_once(" = alloca ").map(|(name, _)| name)).collect();
    let is_slot = |line: &str| {
        let pointer = line.split("ptr ").nth(1).unwrap_or_default().split(',').next().unwrap_or_default();
        slots.contains(&pointer)
    };
    Accesses {
        loads: lines(&|line| line.contains(&format!("= load {element},")) && !is_slot(line)),
        masked_loads: calls(text, "@llvm.masked.load"),
        gathers: calls(text, "@llvm.masked.gather"),
        stores: lines(&|line| line.contains(&format!("store {element} ")) && !is_slot(line)),
        masked_stores: calls(text, "@llvm.masked.store"),
        scatters: calls(text, "@llvm.masked.scatter"),
        reversals: lines(&|line| line.contains("shufflevector") && line.contains(&reversed.join(", "))),
    }
}

/// A load at `index` of the input and a store to `index` of the output.
fn copy_of(index: &str, ty: &str) -> String {
    format!(
        "%wanted = {index}
         %source = OpInBoundsPtrAccessChain %pg_{ty} %from %wanted
         %target = OpInBoundsPtrAccessChain %pg_{ty} %to %wanted
         %read = OpLoad %{ty} %source
         OpStore %target %read
         "
    )
}

fn as_pointers(ty: &str) -> String {
    format!(
        "{VALUES}%from = OpBitcast %pg_{ty} %in\n%to = OpBitcast %pg_{ty} %out\n\
         %gx2 = OpIMul %ulong %gx %ul2\n%gx4 = OpIMul %ulong %gx2 %ul2\n"
    )
}

#[test]
fn lanes_side_by_side_are_one_access_in_either_direction() {
    let all = |index: &str| {
        accesses(&ir(&format!("{}{}", as_pointers("uint"), copy_of(index, "uint"))), "<16 x i32>")
    };
    let none = Accesses::default;
    assert_eq!(all("OpCopyObject %ulong %gx"), Accesses { loads: 1, stores: 1, ..none() });
    assert_eq!(all("OpSNegate %ulong %gx"), Accesses { loads: 1, stores: 1, reversals: 2, ..none() });
    assert_eq!(all("OpIMul %ulong %gx4 %ul2"), Accesses { gathers: 1, scatters: 1, ..none() });
}

#[test]
fn lanes_that_go_downwards_begin_at_the_address_of_the_last_one() {
    for (ty, back) in [("uchar", 15), ("ushort", 30), ("uint", 60), ("ulong", 120)] {
        let text = ir(&format!("{}{}", as_pointers(ty), copy_of("OpSNegate %ulong %gx", ty)));
        assert_eq!(text.matches(&format!(", i64 -{back}")).count(), 2, "{text}");
    }
}

#[test]
fn lanes_side_by_side_under_a_mask_are_one_access_with_the_mask_turned_as_they_are() {
    let some = |index: &str| {
        let body = format!(
            "{}OpBranchConditional %varying %inside %behind\n%inside = OpLabel\n{}OpBranch %behind\n%behind = OpLabel\n",
            as_pointers("uint"),
            copy_of(index, "uint")
        );
        accesses(&ir(&body), "<16 x i32>")
    };
    let none = Accesses::default;
    assert_eq!(some("OpCopyObject %ulong %gx"), Accesses { masked_loads: 1, masked_stores: 1, ..none() });
    // The value and the mask of each.
    let downwards = Accesses { masked_loads: 1, masked_stores: 1, reversals: 4, ..none() };
    assert_eq!(some("OpSNegate %ulong %gx"), downwards);
    assert_eq!(some("OpIMul %ulong %gx4 %ul2"), Accesses { gathers: 1, scatters: 1, ..none() });
}

#[test]
fn rows_that_no_instruction_loads_under_a_mask_are_loaded_whole() {
    let of = |ty: &str, element: &str, isa: Isa| {
        let body = format!(
            "{}OpBranchConditional %varying %inside %behind\n%inside = OpLabel\n{}OpBranch %behind\n%behind = OpLabel\n",
            as_pointers(ty),
            copy_of("OpCopyObject %ulong %gx", ty)
        );
        let found = accesses(&ir_of("", &body, isa, VARIANT), element);
        assert_eq!(found.masked_loads, 1, "where they are not in a page");
        found.loads == 1
    };
    let isas = [Isa::Sse, Isa::Avx2, Isa::Avx512];
    assert_eq!(isas.map(|isa| of("uchar", "<16 x i8>", isa)), [true, true, false]);
    assert_eq!(isas.map(|isa| of("ushort", "<16 x i16>", isa)), [true, true, false]);
    assert_eq!(isas.map(|isa| of("uint", "<16 x i32>", isa)), [true, false, false]);
    assert_eq!(isas.map(|isa| of("double", "<16 x double>", isa)), [true, false, false]);
}

#[test]
fn elements_with_small_gaps_are_a_few_accesses() {
    let body = |index: &str| format!("{}{}", as_pointers("uint"), copy_of(index, "uint"));
    let all = |index: &str| accesses(&ir(&body(index)), "<16 x i32>");
    // From the first element to the last, and no further; of what is stored, a mask has the gaps.
    assert_eq!(
        all("OpCopyObject %ulong %gx2"),
        Accesses { loads: 1, masked_loads: 1, masked_stores: 2, ..Accesses::default() }
    );
    assert_eq!(
        all("OpCopyObject %ulong %gx4"),
        Accesses { loads: 3, masked_loads: 1, masked_stores: 4, ..Accesses::default() }
    );
    // Without masks, the last vector ends with the last element.
    let text = ir_of("", &body("OpCopyObject %ulong %gx2"), Isa::Avx2, VARIANT);
    assert!(text.contains(", i64 60"), "{text}");
    // Vectors of the second one of two elements end with it, and begin with the first one where they are stored.
    let text = ir(&body("OpIAdd %ulong %gx2 %ul1"));
    assert_eq!(calls(&text, "<16 x i1> <i1 false, i1 true, i1 false, i1 true,"), 2, "{text}");
    assert!(text.contains(", i64 -4"), "{text}");
    // Without masked stores of its own, a CPU does not profit.
    let text = ir_of("", &body("OpCopyObject %ulong %gx2"), Isa::Sse, VARIANT);
    let expected = Accesses { loads: 2, scatters: 1, ..Accesses::default() };
    assert_eq!(accesses(&text, "<16 x i32>"), expected);
}

#[test]
fn addresses_that_may_follow_each_other_are_looked_at() {
    let body = |index: &str| format!("{}{}", as_pointers("uint"), copy_of(index, "uint"));
    let both = Accesses { loads: 1, gathers: 1, stores: 1, scatters: 1, ..Accesses::default() };
    let compares =
        |text: &str| ["icmp ne <16 x i64>", "icmp eq i64"].map(|compare| text.matches(compare).count());
    // A row, or no further from the first lane's than there are lanes.
    let text = ir(&body("OpUDiv %ulong %gx %ul2"));
    assert_eq!(accesses(&text, "<16 x i32>"), Accesses { loads: 2, ..both }, "{text}");
    assert_eq!(compares(&text), [2, 0], "{text}");
    assert_eq!(text.matches("icmp uge <16 x i64>").count(), 1, "{text}");
    let wraps = "OpIAdd %uint %gx32 %u5\n%wide = OpUConvert %ulong %wanted";
    let text = ir(&body(wraps)
        .replace("%pg_uint %from %wanted", "%pg_uint %from %wide")
        .replace("%to %wanted", "%to %wide"));
    assert_eq!(accesses(&text, "<16 x i32>"), both, "{text}");
    assert_eq!((compares(&text), text.matches("icmp ule i32").count()), ([0, 0], 2), "{text}");
    let data = "OpLoad %uint %theirs\n%wide = OpUConvert %ulong %wanted";
    let text = ir(&body(data).replace("%from %wanted", "%from %wide").replace("%to %wanted", "%to %wide"));
    assert_eq!(compares(&text), [0, 0], "a place that memory says: {text}");
    // Indices of 32 bits are looked at as such, but in another block than that which makes the address.
    let narrow_by = |op: &str| {
        format!(
            "{VALUES}%wanted = {op} %uint %gx32 %u4\n%wide = OpUConvert %ulong %wanted\n\
             %there = OpInBoundsPtrAccessChain %pg_uint %in %wide\n"
        )
    };
    let narrow = narrow_by("OpUMod");
    let narrow_compares = |text: &str| text.matches("icmp ne <16 x i32>").count();
    let read = "%value = OpLoad %uint %there\nOpStore %mine %value\n";
    let text = ir_of("", &format!("{narrow}{read}"), Isa::Sse, VARIANT);
    assert_eq!((compares(&text), narrow_compares(&text)), ([0, 0], 1), "{text}");
    // Where registers are permuted, a look for one piece of memory is behind that.
    let text = ir_of("", &format!("{narrow}{read}"), Isa::Avx2, VARIANT);
    assert_eq!((compares(&text), narrow_compares(&text)), ([0, 0], 1), "{text}");
    assert_eq!(text.matches("icmp uge <16 x i32>").count(), 1, "{text}");
    let elsewhere = |op: &str| {
        let narrow = narrow_by(op);
        ir(&format!(
            "{narrow}OpBranchConditional %varying %inside %behind\n%inside = OpLabel\n{read}OpBranch %behind\n\
             %behind = OpLabel\n"
        ))
    };
    let text = elsewhere("OpUDiv");
    assert_eq!((compares(&text), narrow_compares(&text)), ([1, 0], 0), "{text}");
    // That of a side of butterflies is made in the block that uses it.
    let text = elsewhere("OpUMod");
    assert_eq!((compares(&text), narrow_compares(&text)), ([0, 0], 1), "{text}");
}

#[test]
fn vectors_at_offsets_that_may_follow_each_other_are_looked_at() {
    let loads = |offset: &str| {
        let text = ir(&format!(
            "{VALUES}{offset}\n%wide = OpUConvert %ulong %offset\n%value = OpExtInst %uint4 %std vloadn %wide %in 4\n"
        ));
        [
            text.matches("load <16 x i32>").count(),
            text.matches("icmp eq i64").count(),
            text.matches("load <4 x i32>").count(),
        ]
    };
    // An index of 32 bits may wrap around, and then the last lane's is not as far from the first one's as it should be.
    assert_eq!(loads("%offset = OpIAdd %uint %gx32 %u5"), [4, 1, 16]);
    assert_eq!(loads("%offset = OpCopyObject %uint %gx32"), [4, 0, 0]);
    assert_eq!(loads("%offset = OpCopyObject %uint %own"), [0, 0, 16]);
}

#[test]
fn what_is_read_of_an_image_becomes_what_the_kernel_asks_for() {
    let rounded = |ty: &str| {
        let body = format!(
            "{VALUES}%image = OpConvertHandleToImageINTEL %img2 %gx\n%place = OpCompositeConstruct %uint2 %own %own\n\
             %value = OpImageRead %{ty} %image %place\n%there = OpBitcast %pg_{ty} %mine\nOpStore %there %value\n"
        );
        ir(&body).matches("fptrunc <16 x float>").count()
    };
    assert_eq!((rounded("half4"), rounded("float4")), (4, 0));
}

#[test]
fn a_short_run_of_equal_elements_in_each_lane_is_a_few_vectors() {
    let of = |ty: &str, element: &str| {
        accesses(&ir(&format!("{}{}", as_pointers(ty), copy_of("OpCopyObject %ulong %gx", ty))), element)
    };
    let both = |count| Accesses { loads: count, stores: count, ..Accesses::default() };
    assert_eq!(of("uint2", "<16 x i32>"), both(2));
    assert_eq!(of("float4", "<16 x float>"), both(4));
    // Small ones are one.
    assert_eq!(of("uchar4", "<64 x i8>"), both(1));
    // Objects that do not fill the step are one access each, those of 8 bytes lanes of one.
    let apart = copy_of("OpIMul %ulong %gx4 %ul2", "uint2");
    let found = accesses(&ir(&format!("{}{apart}", as_pointers("uint2"))), "<16 x i32>");
    assert_eq!(found, Accesses { gathers: 1, scatters: 1, ..Accesses::default() });
}

#[test]
fn a_row_of_a_matrix_is_one_access_also_where_not_every_sub_group_comes() {
    let matrix = "%inf = OpBitcast %pg_float %in\n%outf = OpBitcast %pg_float %out\n\
                  %m = OpCooperativeMatrixLoadKHR %matrix %inf %u0 %u16\n";
    let store = "OpCooperativeMatrixStoreKHR %outf %m %u0 %u16\n";
    let accesses = |body: &str| {
        let text = kernel(Some(16), "", body).replace(
            "%fn = OpTypeFunction",
            "%matrix = OpTypeCooperativeMatrixKHR %float %u3 %u4 %u16 %u2\n%fn = OpTypeFunction",
        );
        let ir = ir_of_module(&text, Isa::Avx512, VARIANT);
        ["masked.store", "masked.scatter", "masked.gather"].map(|function| calls(&ir, function))
    };
    assert_eq!(accesses(&format!("{matrix}{store}")), [0, 0, 0]);
    assert_eq!(accesses(&under_a_mask(&format!("{matrix}{store}"))), [4, 0, 0]);
}

#[test]
fn a_power_by_a_small_constant_is_products() {
    let text = ir(&format!(
        "{VALUES}%x = OpConvertUToF %float %own
         %cube = OpExtInst %float %std pown %x %u3
         %bits = OpBitcast %uint %cube
         OpStore %mine %bits\n"
    ));
    let products = text.lines().filter(|line| line.contains(" fmul ")).count();
    assert_eq!((products, calls(&text, "@llvm.fma"), calls(&text, "pow")), (2, 0, 0), "{text}");
}

#[test]
fn what_is_small_becomes_a_float_as_a_signed_number() {
    for (value, signed) in [("OpCopyObject %uint %own", false), ("OpBitwiseAnd %uint %own %u3", true)] {
        let text = ir(&format!(
            "{VALUES}%n = {value}\n%x = OpConvertUToF %float %n\n%bits = OpBitcast %uint %x\nOpStore %mine %bits\n"
        ));
        assert_eq!([text.contains("uitofp"), text.contains("sitofp")], [!signed, signed], "{text}");
    }
}

#[test]
fn products_and_sums_are_contracted_where_the_kernel_allows_it() {
    let body = format!(
        "{VALUES}%f = OpConvertUToF %float %own\n%m = OpFMul %float %f %f\n%s = OpFAdd %float %m %f\n\
         %w = OpBitcast %uint %s\nOpStore %mine %w\n"
    );
    let contracts =
        |text: &str| text.matches("fmul contract").count() + text.matches("fadd contract").count();
    assert_eq!(contracts(&ir(&body)), 2);
    assert_eq!(contracts(&ir_of_mode("OpExecutionMode %main ContractionOff", &body)), 0);
    let elsewhere = body.replace("%s =", "OpBranch %behind\n%behind = OpLabel\n%s =");
    assert_eq!(contracts(&ir(&elsewhere)), 2, "one row");
    let asked = "%odd = OpUGreaterThan %bool %own %u2\n\
         OpBranchConditional %odd %then %behind\n%then = OpLabel\nOpStore %mine %own\nOpBranch %behind\n%behind = OpLabel\n%s =";
    assert_eq!(contracts(&ir(&body.replace("%s =", asked))), 1, "the sum of another block");
}

#[test]
fn a_product_and_a_sum_are_fused_where_the_cpu_does_that() {
    let body = format!(
        "{VALUES}%x = OpConvertUToF %float %own\n%sum = OpExtInst %float %std mad %x %x %x\n\
         %bits = OpBitcast %uint %sum\nOpStore %mine %bits\n"
    );
    let fused = |isa| calls(&ir_of("", &body, isa, VARIANT), "@llvm.fma");
    assert_eq!([Isa::Sse, Isa::Avx2, Isa::Avx512].map(fused), [0, 1, 1]);
}

#[test]
fn a_lane_that_is_picked_at_run_time_comes_by_the_instruction_that_the_cpu_has() {
    // Work-items of a group of any shape run under a mask: who is the first of them is not known.
    let body = format!(
        "{VALUES}%apart = OpUConvert %ulong %own\n%from = OpInBoundsPtrAccessChain %pg_uint %in %apart\n\
         %e = OpGroupAsyncCopy %event %u2 %local %from %ul1 %ul1 %noevent\n"
    );
    for width in [4, 8, 16] {
        let variant = Variant { width, mapping: LaneMapping::Any, ..VARIANT };
        let picks = |isa: Isa| {
            let text = ir_of("", &body, isa, variant);
            ["permvar.di.256", "permvar.di.512", "vpermi2var.q.512", "llvm.x86.avx512"]
                .map(|name| calls(&text, name))
        };
        let expected = match width {
            4 => [1, 0, 0, 1],
            8 => [0, 1, 0, 1],
            _ => [0, 0, 2, 2],
        };
        assert_eq!(picks(Isa::Avx512), expected, "{width} lanes");
        assert_eq!(picks(Isa::Avx2), [0; 4], "{width} lanes");
    }
}

/// A vector that a loop does not make is stored in front of it, and each round takes a lane from there (`jit/picks.rs`); one that the loop makes is permuted.
#[test]
fn lanes_of_a_vector_from_outside_a_loop_come_from_memory() {
    let of = |vector: &str| {
        let body = format!(
            "{VALUES}%rounds = OpLoad %uint %in\nOpBranch %head\n%head = OpLabel\n\
             %n = OpPhi %uint %u0 %entry %next %head\n%sum = OpPhi %uint %u0 %entry %more %head\n\
             %made = OpIAdd %uint %own %sum\n\
             %from = OpSubgroupShuffleINTEL %uint {vector} %n\n%more = OpBitwiseXor %uint %from %gx32\n\
             %next = OpIAdd %uint %n %u1\n%goes_on = OpULessThan %bool %next %rounds\n\
             OpBranchConditional %goes_on %head %behind\n%behind = OpLabel\nOpStore %mine %more\n"
        );
        let text = ir(&body);
        let is_extract =
            |line: &&str| line.contains("= extractelement <16 x i32>") && line.contains(", i32 %");
        [calls(&text, "permvar.si.512"), text.lines().filter(is_extract).count()]
    };
    assert_eq!(of("%own"), [0, 1]);
    assert_eq!(of("%made"), [1, 0]);
}

/// Four products of bytes are one instruction, or two of halves are, and with the sums they are added to for processors with VNNI.
#[test]
fn products_of_bytes_are_added_by_the_instructions_for_it() {
    let body = |op: &str| {
        format!(
            "%gx32 = OpUConvert %uint %gx\n%own = OpIMul %uint %gx32 %gx32\n%dot = {op} %uint %own %gx32 0\n\
             %mine = OpInBoundsPtrAccessChain %pg_uint %out %gx\nOpStore %mine %dot\n"
        )
    };
    let wide = "+avx512f,+avx512bw,+avx512cd,+avx512dq,+avx512vl,+avx512vnni,+avx2,+fma,+f16c";
    let targets = [
        (Target::limited(Isa::Sse), "llvm.x86.sse2.pmadd.wd", 8),
        (Target::limited(Isa::Avx2), "llvm.x86.avx2.pmadd.wd", 4),
        (Target::limited(Isa::Avx512), "llvm.x86.avx512.pmaddw.d.512", 2),
        (Target::named("alderlake", "+avx2,+fma,+f16c,+avxvnni"), "llvm.x86.avx512.vpdpbusd.256", 2),
        (Target::named("cascadelake", wide), "llvm.x86.avx512.vpdpbusd.512", 1),
    ];
    for (target, name, count) in targets {
        let target = target.expect("a target machine");
        // One that has a sign and one that has none is what the instruction takes.
        for (op, more) in [("OpSUDot", 1), ("OpSDot", 2), ("OpUDot", 2)] {
            let module = build(&kernel(None, "", &body(op)));
            let context = Context::new();
            let of = module.kernel("main").expect("the kernel");
            let (ir, ..) =
                super::lower(&module, of, VARIANT, Inlining::default(), &target, &context).expect("IR");
            ir.verify().expect("valid IR");
            let text = ir.text();
            let calls = calls(&text, name);
            let expected = if name.contains("vpdpbusd") { count * more } else { count };
            assert_eq!(calls, expected, "{op} with {name}:\n{text}");
            // Which the CPU that it is for has.
            let code = pipeline::object_code(ir, &target, Tier::Optimising).expect("code");
            assert!(!code.bytes.is_empty());
        }
    }
}

#[test]
fn bounds_of_ids_are_compared_in_32_bits() {
    let compare = |op: &str| {
        let text = ir(&format!(
            "%wide = OpBitcast %pg_ulong %in\n%bound = OpLoad %ulong %wide\n%is = {op} %bool %gx %bound\n\
             %bit = OpSelect %uint %is %u1 %u0\n%mine = OpInBoundsPtrAccessChain %pg_uint %out %gx\n\
             OpStore %mine %bit\n"
        ));
        let lines = |wanted: &str| text.lines().filter(|line| line.contains(wanted)).count();
        assert_eq!((lines("icmp ult <16 x i64>"), lines("icmp ult <16 x i32>")), (0, 1), "{text}");
    };
    compare("OpULessThan");
    compare("OpSLessThanEqual");
}

#[test]
fn what_ids_within_a_bound_do_is_there_without_masks_where_they_cost() {
    let body = format!(
        "{}%bound = OpLoad %uint %in\n%within = OpULessThan %bool %gx %wide_bound\n\
         OpBranchConditional %within %inside %behind\n%inside = OpLabel\n{}OpBranch %behind\n%behind = OpLabel\n",
        as_pointers("uint"),
        copy_of("OpCopyObject %ulong %gx", "uint")
    );
    let body = body.replace("%within =", "%wide_bound = OpUConvert %ulong %bound\n%within =");
    let of = |isa: Isa, bypasses: bool| {
        let module = build(&kernel(None, "", &body));
        let target = Target::limited(isa).expect("a target machine");
        let of = module.kernel("main").expect("the kernel");
        let options = Options { bypasses, ..Options::default() };
        let context = Context::new();
        let (ir, ..) =
            lower_with(&module, of, VARIANT, Inlining::default(), options, &target, &context).expect("IR");
        ir.verify().expect("valid IR");
        let found = accesses(&ir.text(), "<16 x i32>");
        [found.loads, found.masked_loads, found.stores, found.masked_stores]
    };
    assert_eq!(of(Isa::Avx512, true), [0, 1, 0, 1]);
    // Where a store under a mask is slow, it is looked whether the mask is full.
    assert_eq!(of(Isa::Avx2, false), [0, 1, 1, 1]);
    assert_eq!(of(Isa::Avx2, true), [1, 1, 2, 1]);
}

/// What was on the stack would be numbers that lanes which are off compute with, and denormal ones cost much on some processors.
#[test]
fn what_is_loaded_for_nobody_is_zero() {
    let variant = Variant { coarsening: Coarsening::AlongY(2), ..VARIANT };
    let body = under_a_mask("%one = OpLoad %uint %theirs\nOpStore %mine %one\n");
    let text = ir_of("", &body, Isa::Avx512, variant);
    let mut slots = text.lines().filter_map(|line| line.trim().strip_suffix(" = alloca i64, align 8"));
    let is_zeroed = |slot: &str| text.contains(&format!("store i64 0, ptr {slot},"));
    assert!(slots.any(is_zeroed), "{text}");
}

/// As scalars they would be calls of the C library, which spill all vectors that live.
#[test]
fn functions_of_uniform_values_are_no_calls_where_those_of_lanes_are_none() {
    let text = |ty: &str, function: &str, isa: Isa, width: u32| {
        let operands = if matches!(function, "pow" | "atan2" | "fmod") { "%x %x" } else { "%x" };
        let body = format!(
            "%n = OpLoad %uint %in\n%x = OpConvertUToF %{ty} %n\n%y = OpExtInst %{ty} %std {function} {operands}\n\
             %back = OpConvertFToU %uint %y\nOpStore %out %back\n"
        );
        ir_of("", &body, isa, Variant::new(width, LaneMapping::Rows))
    };
    let is_called = |text: &str, symbol: &str| calls(text, &format!("@{symbol}(")) > 0;
    for (ty, function, symbol) in [
        ("float", "exp", "expf"),
        ("float", "native_exp", "expf"),
        ("half", "log", "logf"),
        ("float", "pow", "powf"),
        ("float", "atan2", "atan2f"),
        ("float", "tanh", "tanhf"),
        ("float", "cos", "cosf"),
        ("float", "lgamma", "lgammaf"),
        ("double", "exp", "exp"),
        ("double", "log", "log"),
        ("double", "atan", "atan"),
    ] {
        // One work-item gets what it would get among others.
        for width in [16, 1] {
            assert!(
                !is_called(&text(ty, function, Isa::Avx512, width), symbol),
                "{function} of {ty}, {width}"
            );
        }
    }
    assert!(!is_called(&text("double", "log", Isa::Avx2, 8), "log"));
    assert!(is_called(&text("double", "log", Isa::Sse, 8), "log"), "nothing is fused");
    assert!(is_called(&text("double", "lgamma", Isa::Avx512, 16), "lgamma"), "there is none for lanes");
}

/// Addresses that are computed with products of 24 bits are rows.
#[test]
fn products_of_24_bits_have_strides() {
    let text = |function: &str, operands: &str| {
        ir(&format!(
            "%gx32 = OpUConvert %uint %gx\n%i = OpExtInst %uint %std {function} {operands}\n%place = OpSConvert %ulong %i\n\
             %there = OpInBoundsPtrAccessChain %pg_uint %in %place\n%x = OpLoad %uint %there\nOpStore %out %x\n"
        ))
    };
    for (function, operands) in [
        ("s_mad24", "%gx32 %u1 %u7"),
        ("u_mad24", "%u1 %gx32 %u7"),
        ("s_mul24", "%gx32 %u1"),
        ("u_mul24", "%u1 %gx32"),
    ] {
        let text = text(function, operands);
        assert!(text.contains("load <16 x i32>"), "{function}: {text}");
    }
}

/// How often code looks whether a function was asked for the same numbers before.
#[test]
fn functions_of_numbers_that_all_load_are_remembered() {
    let looks = |body: &str| {
        let text = ir(&format!("{VALUES}{body}\nOpStore %mine %result\n"));
        text.matches("icmp ne i64").count()
    };
    let result = "%result = OpConvertFToU %uint %y";
    let function = |x: &str, operands: &str| {
        format!(
            "%shared = OpLoad %uint %in\n%x = OpConvertUToF %float {x}\n%y = OpExtInst %float %std {operands}\n{result}"
        )
    };
    let none = looks(&function("%shared", "sqrt %x"));
    assert_eq!(looks(&function("%shared", "pown %x %u3")), none + 1);
    assert_eq!(looks(&function("%shared", "exp %x")), none + 1);
    assert_eq!(looks(&function("%own", "exp %x")), none, "each lane's own");
    assert_eq!(looks(&function("%u3", "exp %x")), none, "a constant's");
}
