//! The passes over a kernel's IR, in two tiers, and its translation to object code or assembly.

use super::JitError;
use super::addresses;
use super::blocks;
use super::constants;
use super::context::{IrModule, REPORT_FRAME, take_message};
use super::contraction;
use super::conversions;
use super::extracts;
use super::fission;
use super::halves;
use super::lanes;
use super::masks;
use super::narrowed_loads;
use super::outer_sums;
use super::outlined;
use super::picks;
use super::shared_conditions;
use super::size::Size;
use super::stack;
use super::target::Target;
use super::vectors;
use super::wide_masks;
use super::word_products;
use llvm_sys::LLVMAttributeFunctionIndex;
use llvm_sys::core::*;
use llvm_sys::error::{LLVMDisposeErrorMessage, LLVMGetErrorMessage};
use llvm_sys::prelude::*;
use llvm_sys::target_machine::*;
use llvm_sys::transforms::pass_builder::*;
use std::ffi::CStr;

/// How much time goes into making code.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Tier {
    /// Code soon: for kernels that run once. A fifth of the other's time.
    Fast,
    /// Code that runs fast.
    #[default]
    Optimising,
}

/// Which tiers' code kernels run.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Tiering {
    Only(Tier),
    /// That of the fast tier, and once it has run for a while that of the optimising one.
    FastFirst,
}

impl Default for Tiering {
    fn default() -> Tiering {
        Tiering::Only(Tier::Optimising)
    }
}

/// Text that ends with a zero, as C takes it.
const fn c_text(text: &'static str) -> &'static CStr {
    match CStr::from_bytes_with_nul(text.as_bytes()) {
        Ok(text) => text,
        Err(_) => panic!("a zero ends it, and only that"),
    }
}

/// What becomes of the loops of code.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Loops {
    /// They stay: the code is vector code already.
    Kept,
    /// They stay, and those that end nobody knows when are not unrolled: each time that ends between two multiples, a branch is mispredicted that
    /// costs more than the branches saved.
    Rolled,
    /// LLVM makes vectors of their iterations where that pays.
    Vectorised,
}

impl Tier {
    /// The passes of both tiers, before and after products and sums are fused. Variables become registers before the code of a sub-group
    /// comes into the loop over all of them: behind that, what a lane that is off leaves in one would be kept for the next sub-group.
    /// In that loop some ids are constants, if the variant knows them, and products of those have been rounded: fusing comes before.
    fn first_passes(size: &Size) -> [&'static CStr; 2] {
        match size.can_simplify() {
            true => [
                c"function(sroa<modify-cfg>)",
                c"always-inline,function(sroa<modify-cfg>,early-cse,simplifycfg)",
            ],
            false => [c"function(sroa)", c"always-inline,function(sroa,early-cse)"],
        }
    }

    /// The others, which begin where those ended: variables are registers and the graph is simple. Lowering emits vector code,
    /// so neither tier has a vectoriser, but for loops that vectors are to be made of. What is worth inlining is inlined when the
    /// kernel is lowered, so there is no interprocedural pass.
    /// Some are run in two parts: it is asked between them which loops have become vectors.
    fn passes(self, size: &Size, loops: Loops) -> &'static [&'static CStr] {
        macro_rules! front {
            ($unswitch:literal, $loops:literal) => {
                concat!(
                    "function(early-cse<memssa>,instcombine<no-verify-fixpoint>,",
                    "loop-mssa(loop-rotate,licm",
                    $unswitch,
                    "),simplifycfg,instcombine<no-verify-fixpoint>,",
                    "loop(indvars,",
                    $loops,
                    "loop-deletion),",
                )
            };
        }
        macro_rules! back {
            ($vectors:literal, $unroll:literal) => {
                concat!(
                    "loop-unroll-full,",
                    "sroa,gvn,sccp,bdce,instcombine<no-verify-fixpoint>,dse,loop-mssa(licm),adce,",
                    $vectors,
                    $unroll,
                    ",early-cse<memssa>,instcombine<no-verify-fixpoint>,",
                    "simplifycfg<sink-common-insts;hoist-common-insts>)\0"
                )
            };
        }
        const ALL: &CStr = c_text(concat!(front!("", "loop-idiom,"), back!("", "loop-unroll<O2>")));
        const WITHOUT_COMPARED_STORES: &CStr = c_text(concat!(front!("", ""), back!("", "loop-unroll<O2>")));
        const ROLLED: &CStr = c_text(concat!(
            front!(",simple-loop-unswitch<nontrivial>", "loop-idiom,"),
            back!("slp-vectorizer,", "loop-unroll<O2;no-runtime>")
        ));
        // Inner loops that are long enough are vectors before they would be straight code, of which only pieces become vectors.
        const INNER_VECTORS: &CStr = c_text(concat!(
            front!("", "loop-idiom,"),
            "loop-vectorize,instcombine<no-verify-fixpoint>,simplifycfg)\0"
        ));
        const VECTORS: &CStr = c_text(concat!(
            "function(",
            back!(
                "loop-vectorize,early-cse<memssa>,instcombine<no-verify-fixpoint>,simplifycfg,slp-vectorizer,",
                "loop-unroll<O2>"
            )
        ));
        match (self, loops) {
            (Tier::Fast, _) => &[],
            (Tier::Optimising, _) if !size.can_compare_stores() => &[WITHOUT_COMPARED_STORES],
            (Tier::Optimising, Loops::Kept) => &[ALL],
            (Tier::Optimising, Loops::Rolled) => &[ROLLED],
            (Tier::Optimising, Loops::Vectorised) => &[INNER_VECTORS, VECTORS],
        }
    }

    pub(super) fn codegen_level(self) -> LLVMCodeGenOptLevel {
        match self {
            Tier::Fast => LLVMCodeGenOptLevel::LLVMCodeGenLevelNone,
            Tier::Optimising => LLVMCodeGenOptLevel::LLVMCodeGenLevelDefault,
        }
    }
}

/// What is run where there are so many blocks that promoting their variables would take too long: each variable is
/// looked for in all blocks below its definition.
const PASSES_OVER_MANY_BLOCKS: &CStr = c"function(early-cse)";

/// Runs the tier's passes over the module, or fewer if it is large.
pub fn optimise(module: &IrModule, target: &Target, tier: Tier) -> Result<(), JitError> {
    run_all(module, target, tier, Loops::Kept).map(|_| ())
}

/// The same with loops in this form; whether they have it now.
pub fn optimise_loops(
    module: &IrModule,
    target: &Target,
    tier: Tier,
    loops: Loops,
) -> Result<bool, JitError> {
    let had_vectors = run_all(module, target, tier, loops)?;
    Ok(loops != Loops::Vectorised || had_vectors || vectors::of_iterations(module))
}

/// Runs them, and says whether inner loops were vectors of iterations before the last ones, which may have left no loop of them.
fn run_all(module: &IrModule, target: &Target, tier: Tier, loops: Loops) -> Result<bool, JitError> {
    set_up_stacks(module, target);
    let mut size = Size::of(module, target);
    let tier = size.tier(tier);
    if !size.can_promote() {
        blocks::merge_rows(module);
        size = Size::of(module, target);
        if size.has_large_blocks() {
            blocks::split_blocks(module);
            size = Size::of(module, target);
        }
    }
    if !size.can_promote() {
        run(module, target, tier, PASSES_OVER_MANY_BLOCKS)?;
        contraction::contract(module, target);
        return Ok(false);
    }
    let [before, behind] = Tier::first_passes(&size);
    run(module, target, tier, before)?;
    contraction::contract(module, target);
    run(module, target, tier, behind)?;
    let Some((last, inner)) = tier.passes(&size, loops).split_last() else { return Ok(false) };
    masks::constant(module);
    stack::tell_apart(module);
    let mut has_vectors = false;
    for passes in inner {
        run(module, target, tier, passes)?;
        has_vectors |= vectors::of_iterations(module);
        outer_sums::keep(module);
    }
    run(module, target, tier, last)?;
    if fission::split_loops(module, target) {
        run(module, target, tier, c"function(simplifycfg,adce)")?;
    }
    word_products::multiply(module, target);
    shared_conditions::conjoin(module, target);
    conversions::join(module, target);
    picks::load_lanes(module);
    addresses::sink(module, target);
    extracts::by_lanes(module);
    lanes::take_apart(module, target);
    Ok(has_vectors)
}

fn run(module: &IrModule, target: &Target, tier: Tier, passes: &CStr) -> Result<(), JitError> {
    target.with_machine(tier, |machine| {
        // SAFETY: module and machine are alive and used by this thread only; the options are ours; an error
        // is consumed by the call that takes its message.
        let error = unsafe {
            let options = LLVMCreatePassBuilderOptions();
            LLVMPassBuilderOptionsSetLoopVectorization(options, 0);
            LLVMPassBuilderOptionsSetLoopInterleaving(options, 0);
            LLVMPassBuilderOptionsSetSLPVectorization(options, 0);
            let error = LLVMRunPasses(module.raw(), passes.as_ptr(), machine, options);
            LLVMDisposePassBuilderOptions(options);
            (!error.is_null()).then(|| {
                let message = LLVMGetErrorMessage(error);
                let text = CStr::from_ptr(message).to_string_lossy().into_owned();
                LLVMDisposeErrorMessage(message);
                text
            })
        };
        error.map_or(Ok(()), |text| Err(JitError::Llvm(text)))
    })?;
    module.context().check()
}

/// Says what stack frames shall be like.
///
/// Functions align theirs to a vector register: the calling convention aligns it to 16 bytes, and every spilled
/// register would lie across two cache lines. Frames of more than a page are touched page by page, so that they
/// cannot miss the guard page below the stack.
fn set_up_stacks(module: &IrModule, target: &Target) {
    for function in blocks::functions(module) {
        // SAFETY: a function of the module.
        if unsafe { LLVMIsDeclaration(function) } == 0 {
            set_up_stack(module, target, function);
        }
    }
}

/// Says it of one of the module's functions.
pub(super) fn set_up_stack(module: &IrModule, target: &Target, function: LLVMValueRef) {
    const KIND: &str = "alignstack";
    const PROBES: [&str; 2] = ["probe-stack", "inline-asm"];
    let context = module.context().raw();
    // SAFETY: context and function are alive; the attributes are LLVM's for functions.
    unsafe {
        let kind = LLVMGetEnumAttributeKindForName(KIND.as_ptr().cast(), KIND.len());
        let bytes = u64::from(target.simd_bits() / 8);
        let text = |[name, value]: [&str; 2]| {
            let (name_len, value_len) = (name.len() as u32, value.len() as u32);
            LLVMCreateStringAttribute(
                context,
                name.as_ptr().cast(),
                name_len,
                value.as_ptr().cast(),
                value_len,
            )
        };
        for attribute in [LLVMCreateEnumAttribute(context, kind, bytes), text(PROBES), text(REPORT_FRAME)] {
            LLVMAddAttributeAtIndex(function, LLVMAttributeFunctionIndex, attribute);
        }
    }
}

/// Relocatable object code, and what it needs.
pub struct ObjectCode {
    pub bytes: Vec<u8>,
    /// Its functions that have a stack frame, and the frames' sizes in bytes.
    pub frames: Vec<(String, u64)>,
}

/// Object code of the module. Code generation changes the module; it is of no use afterwards.
pub fn object_code(module: IrModule, target: &Target, tier: Tier) -> Result<ObjectCode, JitError> {
    module.context().take_frames();
    let bytes = emit(&module, target, tier, LLVMCodeGenFileType::LLVMObjectFile)?;
    Ok(ObjectCode { bytes, frames: module.context().take_frames() })
}

/// Whether the optimising tier has no passes for a module, because it is too large.
pub fn is_without_passes(module: &IrModule, target: &Target) -> bool {
    Size::of(module, target).tier(Tier::Optimising) == Tier::Fast
}

/// Whether it has no code generation of its own for what passes have left.
pub fn is_without_code(module: &IrModule, target: &Target) -> bool {
    Size::of(module, target).code_tier(Tier::Optimising) == Tier::Fast
}

/// Assembly of the module, for people.
pub fn assembly(module: &IrModule, target: &Target, tier: Tier) -> Result<String, JitError> {
    let text = emit(&module.clone(), target, tier, LLVMCodeGenFileType::LLVMAssemblyFile)?;
    Ok(String::from_utf8_lossy(&text).into_owned())
}

fn emit(
    module: &IrModule,
    target: &Target,
    tier: Tier,
    kind: LLVMCodeGenFileType,
) -> Result<Vec<u8>, JitError> {
    let size = Size::of(module, target);
    let tier = size.code_tier(tier);
    halves::widen(module, target);
    outlined::outline(module, target);
    wide_masks::widen(module, target);
    narrowed_loads::hide(module, target);
    if tier == Tier::Fast {
        constants::tabulate(module);
        if size.is_slow_to_select() {
            blocks::split_blocks(module);
        }
    } else if target.has_avx512() {
        constants::hide_ones(module);
    }
    let bytes = target.with_machine(tier, |machine| {
        let mut message = std::ptr::null_mut();
        let mut buffer = std::ptr::null_mut();
        // SAFETY: module and machine are alive and used by this thread only; results are read only where
        // the call says it wrote them; the buffer is copied before it is disposed of.
        unsafe {
            if LLVMTargetMachineEmitToMemoryBuffer(machine, module.raw(), kind, &mut message, &mut buffer)
                != 0
            {
                return Err(JitError::Llvm(take_message(message)));
            }
            let (start, len) = (LLVMGetBufferStart(buffer), LLVMGetBufferSize(buffer));
            let mut bytes = Vec::new();
            let room = bytes.try_reserve_exact(len);
            if room.is_ok() {
                bytes.extend_from_slice(std::slice::from_raw_parts(start.cast::<u8>(), len));
            }
            LLVMDisposeMemoryBuffer(buffer);
            room.map(|()| bytes).map_err(|_| JitError::Memory(std::io::ErrorKind::OutOfMemory))
        }
    })?;
    module.context().check()?;
    Ok(bytes)
}
