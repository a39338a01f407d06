//! Lowering of SPIR-V to SIMD LLVM IR: one instruction family a file.
//!
//! | file | what |
//! |---|---|
//! | `builder` | the LLVM IR builder: scalars and vectors of lanes alike |
//! | `values` | values as leaves; slots |
//! | `control` | blocks, edges, masks |
//! | `coarsening` | several sub-groups side by side |
//! | `entry` | the function that the scheduler calls: loops over work-groups and sub-groups |
//! | `calls` | functions that stay functions |
//! | `census` | counts accesses by their form |
//! | `iterations` | loops whose iterations become lanes |
//! | `dispatch` | calls through pointers |
//! | `work_item` | work-item built-ins |
//! | `arithmetic`, `dot`, `reinterpretation`, `conversion`, `composite`, `memory`, `atomics`, `barrier`, `groups`, `image`, `opencl_std`, `hints` | instruction families |
//! | `access`, `interleaved`, `speculation`, `butterflies`, `spaced`, `apart`, `read_ahead`, `invariant_loads`, `members`, `structures`, `narrow`, `rows`, `short_rows`, `copy`, `private` | what `memory` is made of |
//! | `packed` | vectors that are held as they are in memory |
//! | `float_modes`, `rounding` | what execution modes and decorations ask of floating-point arithmetic |

pub mod access;
mod apart;
pub mod arithmetic;
pub mod atomics;
mod barrier;
mod block_io;
mod bounds;
pub mod builder;
mod butterflies;
pub mod calls;
pub mod census;
mod clock;
pub mod coarsening;
mod columns;
pub mod composite;
mod control;
#[cfg(test)]
mod control_tests;
pub mod conversion;
mod copy;
mod dispatch;
mod division;
mod dot;
mod entry;
mod float_modes;
pub mod groups;
mod hints;
mod image;
mod interleaved;
mod invariant_loads;
#[cfg(test)]
mod ir_tests;
mod iterations;
mod matrices;
mod members;
pub mod memory;
mod narrow;
#[cfg(test)]
mod opcode_tests;
pub mod opencl_std;
mod outer_products;
mod packed;
mod prefetch;
mod private;
mod products;
mod read_ahead;
mod reinterpretation;
mod remembered;
mod rounding;
mod rows;
mod runs;
mod short_rows;
mod spaced;
mod speculation;
mod streaming;
mod structures;
mod tables;
mod turns;
pub mod values;
mod wide_division;
pub mod work_item;

use crate::abi::{Axis, CodeInfo, LaneMapping, Rivals, Variant};
use crate::analysis::Analysis;
use crate::analysis::atomic_runs::AtomicRuns;
pub use crate::analysis::axis::Shape;
use crate::analysis::calls::AnalysedKernel;
use crate::analysis::func::{BlockId, Func};
use crate::analysis::inlining::{Inlining, Plan};
use crate::analysis::interior::Split;
use crate::analysis::lengths::Length;
use crate::analysis::members::Members;
use crate::analysis::packed::Packing;
use crate::analysis::together;
use crate::analysis::{
    arguments, both_ways, branches, brought_loads, cas_loops, cfg, choices, elements, exits, handed_on, idle,
    in_turn, interior, invariants, joins, late_loads, loops, mem2reg, moves, narrow_counters, numbering,
    places, quotients, repetition, rotation, sides, simplify,
};
use crate::error::EngineError;
use crate::jit::choice::AtLeast;
use crate::jit::pipeline::Tier;
use crate::jit::target::Target;
use crate::jit::{Context, IrModule};
use builder::{Builder, Label};
use calls::CallTree;
use rustc_hash::FxHashMap;
use spirv::Op;
use spirv_env::opcodes::{self, Family};
use spirv_env::{ExtSet, Id, Inst, Kernel, Module, Supplied, op_name};
use std::rc::Rc;
use values::{Mask, Val};

/// Who made the code, for who reads its debug information.
const PRODUCER: &str = concat!("ze_cpu ", env!("CARGO_PKG_VERSION"));

/// Whether LLVM IR says which source lines it was made from.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum SourceLines {
    #[default]
    Unknown,
    Recorded,
}

/// Lowers one variant of a kernel to LLVM IR.
pub fn lower(
    module: &Module,
    kernel: &Kernel,
    variant: Variant,
    inlining: Inlining,
    target: &Target,
    llvm: &Context,
) -> Result<(IrModule, CodeInfo, CallTree), EngineError> {
    lower_with(module, kernel, variant, inlining, Options::default(), target, llvm)
}

/// What lowering can do beside what it has to. No result depends on it.
#[derive(Clone, Copy, Default, Debug)]
pub struct Options {
    pub lines: SourceLines,
    /// Guarded parts may be there twice, for masks that are full and for others, where that is worth its time.
    pub bypasses: bool,
}

impl Options {
    /// What code of a tier is worth.
    pub fn of(tier: Tier) -> Options {
        Options { bypasses: tier == Tier::Optimising, ..Options::default() }
    }
}

/// The same, with options.
pub fn lower_with(
    module: &Module,
    kernel: &Kernel,
    variant: Variant,
    inlining: Inlining,
    options: Options,
    target: &Target,
    llvm: &Context,
) -> Result<(IrModule, CodeInfo, CallTree), EngineError> {
    let unit = analysed(module, kernel, variant, inlining, options, target)?;
    tracing::trace!("{:?} of {:?}", unit.kernel.variant.coarsening, variant.coarsening);
    let ir = IrModule::new(llvm, &kernel.name, target);
    // SAFETY: `ir` and its context outlive the builder, which is gone when `entry::emit` returns.
    let mut builder = unsafe { Builder::new(llvm.raw(), ir.raw(), variant.width, target) };
    if options.lines == SourceLines::Recorded {
        builder.record_lines(PRODUCER, &module.lines);
    }
    let (info, calls) = entry::emit(&unit, builder, target, options)?;
    Ok((ir, info, calls))
}

/// The analysis of a kernel, with the coarsening that serves it best.
fn analysed<'m>(
    module: &'m Module,
    kernel: &'m Kernel,
    variant: Variant,
    inlining: Inlining,
    options: Options,
    target: &Target,
) -> Result<AnalysedKernel<'m>, EngineError> {
    let plan = Rc::new(Plan::new(module, kernel, inlining)?);
    let func = prepared(Func::build(module, kernel, &plan)?);
    if plan.is_flat() {
        let mut analysis = widened(Analysis::new(func, variant), target);
        let variant = analysis.variant;
        if options.bypasses {
            match interior::split(analysis) {
                Ok(Split { func, inside }) => {
                    let best = interior::coarsened(coarsening::best(&inside, target));
                    let settled = variant.with_factor(best.factor());
                    return Ok(AnalysedKernel::flat(Analysis::new(func, settled)));
                }
                Err(whole) => analysis = *whole,
            }
        }
        let coarsening = coarsening::best(&analysis, target);
        let settled = variant.with_factor(coarsening.factor());
        if options.bypasses {
            match together::split(analysis) {
                // What serves a kernel serves it with loops that are there twice.
                Ok(func) => return Ok(AnalysedKernel::flat(Analysis::new(func, settled))),
                Err(whole) => analysis = *whole,
            }
            match in_turn::split(analysis, settled, target) {
                Ok(func) => return Ok(AnalysedKernel::flat(Analysis::new(func, settled))),
                Err(whole) => analysis = *whole,
            }
        }
        if !variant.coarsening.is_alike(coarsening) {
            analysis = Analysis::new(analysis.func, settled);
        }
        analysis.variant = settled;
        return Ok(AnalysedKernel::flat(analysis));
    }
    // A function is compiled for one sub-group.
    let alone = variant.simplest();
    let callees = plan.functions().iter().map(|id| Func::of(module, kernel, *id, &plan).map(prepared));
    Ok(AnalysedKernel::new(func, callees.collect::<Result<Vec<_>, _>>()?, alone))
}

/// The analysis with as many lanes as serve a kernel best, up to the variant's widest.
fn widened<'m>(mut analysis: Analysis<'m>, target: &Target) -> Analysis<'m> {
    let variant = analysis.variant;
    if variant.is_settled() {
        return analysis;
    }
    let natural = variant.with_width(variant.width);
    let wide = variant.with_width(coarsening::best_width(&analysis, target));
    if wide.width == variant.width {
        analysis.variant = natural;
        return analysis;
    }
    // What runs side by side between two barriers is worth more than lanes that are a line.
    let lanes = |a: &Analysis<'_>| coarsening::best(a, target).factor() * a.variant.width;
    let lanes_of_natural = if analysis.func.kernel.uses_barrier { lanes(&analysis) } else { 0 };
    let widened = Analysis::new(analysis.func, wide);
    if lanes_of_natural > lanes(&widened) {
        return Analysis::new(widened.func, natural);
    }
    widened
}

/// The variant that serves a kernel best, with up to so many lanes and sub-groups side by side: the one that is worth compiling.
pub fn best_variant(
    module: &Module,
    kernel: &Kernel,
    variant: Variant,
    inlining: Inlining,
    target: &Target,
) -> Result<Variant, EngineError> {
    let plan = Rc::new(Plan::new(module, kernel, inlining)?);
    if !plan.is_flat() {
        return Ok(variant.simplest());
    }
    let analysis = widened(Analysis::new(prepared(Func::build(module, kernel, &plan)?), variant), target);
    let variant = analysis.variant;
    let best = match interior::split(analysis) {
        Ok(Split { inside, .. }) => interior::coarsened(coarsening::best(&inside, target)),
        Err(whole) => coarsening::best(&whole, target),
    };
    Ok(variant.with_factor(best.factor()))
}

/// How a kernel's work-items are best put together in sub-groups, where work-groups allow it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Form {
    /// The dimension that lanes go along; none if it has to be x.
    pub axis: Option<Axis>,
    pub lanes: u32,
    pub shape: Shape,
}

impl Form {
    /// That of a kernel of which nothing is known.
    pub fn of_width(lanes: u32) -> Form {
        Form { axis: None, lanes, shape: Shape::Own }
    }
}

/// The form that serves a kernel best, whose sub-groups have so many lanes, or as many as its values have room for up to the widest.
pub fn best_form(
    module: &Module,
    kernel: &Kernel,
    [width, widest]: [u32; 2],
    inlining: Inlining,
    target: &Target,
) -> Result<Form, EngineError> {
    let plan = Rc::new(Plan::new(module, kernel, inlining)?);
    if !plan.is_flat() {
        return Ok(Form::of_width(width));
    }
    let variant = Variant::new(width, LaneMapping::Rows).up_to(widest);
    let analysis = Analysis::new(prepared(Func::build(module, kernel, &plan)?), variant);
    let (axis, lanes) = (analysis.best_axis(), coarsening::best_width(&analysis, target));
    let shape = match analysis.best_shape(axis.unwrap_or_default()) {
        // Nearly all groups are in the interior, if there is one, and neighbours are rows there.
        Shape::Own => match interior::split(analysis) {
            Ok(Split { inside, .. }) if !inside.accesses_large_objects() => {
                inside.best_shape(axis.unwrap_or_default())
            }
            _ => Shape::Own,
        },
        shape => shape,
    };
    Ok(Form { axis, lanes, shape })
}

/// Code for one work-item after the other.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Single {
    /// Its vectors are iterations of loops (`analysis::walks`); under these conditions.
    Iterations(Vec<AtLeast>),
    /// It has no vectors (`analysis::lists`).
    Scalars,
}

/// Where such code may serve a kernel better than the variant's, whose vectors are work-items.
pub fn single(
    module: &Module,
    kernel: &Kernel,
    variant: Variant,
    inlining: Inlining,
    target: &Target,
) -> Result<Option<Single>, EngineError> {
    if !kernel.has_loops || !may_be_single(kernel, variant) {
        return Ok(None);
    }
    let plan = Rc::new(Plan::new(module, kernel, inlining)?);
    if !plan.is_flat() {
        return Ok(None);
    }
    let alone = variant.with_factor(1);
    let analysis = Analysis::new(prepared(Func::build(module, kernel, &plan)?), alone);
    let Some(walks) = analysis.walks() else {
        let is_list = !target.make.gathers_fast() && analysis.goes_through_lists();
        // Where lanes decide for themselves what they do, it depends on the data whether branches are foreseen: launches find out.
        let is_tried = || analysis.decides_in_loops() && may_be_alone(&analysis, target);
        return Ok((is_list && !is_tried()).then_some(Single::Scalars));
    };
    let mut conditions = Vec::new();
    for walk in walks {
        match walk.length {
            Length::Constant(length) if length < walk.least => return Ok(None),
            Length::Constant(_) => {}
            Length::Parameter(place) => {
                let argument = &kernel.args[place];
                let (offset, bytes) = (argument.offset, argument.size);
                conditions.push(AtLeast { offset, bytes, least: walk.least });
            }
        }
    }
    Ok(Some(Single::Iterations(conditions)))
}

/// What may be faster than code with bundles of so many sub-groups, and does the same.
fn rivals(a: &Analysis<'_>, target: &Target, factor: u32) -> Rivals {
    let unbundled =
        factor > 1 && !a.func.kernel.uses_barrier && !a.func.kernel.prints && a.waits_in_bundles();
    Rivals { alone: may_be_alone(a, target), unbundled }
}

/// Whether code for one work-item after the other may be faster than this, and does the same.
fn may_be_alone(a: &Analysis<'_>, target: &Target) -> bool {
    may_be_single(a.func.kernel, a.variant) && a.may_be_faster_alone(target)
}

/// Whether a kernel may be executed as one work-item after the other, and is not: nothing is done in an order among work-items, or by
/// several of them together.
fn may_be_single(kernel: &Kernel, variant: Variant) -> bool {
    let has_order = kernel.sees_width() || kernel.uses_barrier || kernel.prints;
    variant.width > 1 && !has_order
}

/// A function in the form that analyses take.
pub(crate) fn prepared(mut func: Func<'_>) -> Func<'_> {
    cfg::remove_unreachable(&mut func);
    simplify::expand_products(&mut func);
    elements::access_elements(&mut func);
    moves::join_copies(&mut func);
    places::choose_indices(&mut func);
    choices::access_both(&mut func);
    mem2reg::promote(&mut func);
    arguments::load_first(&mut func);
    joins::compute_behind(&mut func);
    simplify::propagate_copies(&mut func);
    cfg::join_rows(&mut func);
    cas_loops::add_at_once(&mut func);
    both_ways::do_in_front(&mut func);
    branches::ask_at_once(&mut func);
    loops::canonicalize(&mut func);
    rotation::ask_at_end(&mut func);
    repetition::compute_bits(&mut func);
    repetition::lay_out_nests(&mut func);
    repetition::lay_out(&mut func);
    narrow_counters::widen(&mut func);
    invariants::bring_in_front(&mut func);
    numbering::compute_once(&mut func);
    quotients::put_together(&mut func);
    repetition::run_once(&mut func);
    late_loads::load_late(&mut func);
    handed_on::hand_on(&mut func);
    brought_loads::take_from_ways(&mut func);
    exits::leave_together(&mut func);
    exits::bring_out(&mut func);
    idle::leave_where_idle(&mut func);
    sides::make_where_used(&mut func);
    // So that an edge finds its operand.
    func.sort_phis();
    func
}

/// Whether the engine implements an instruction; the error names what is missing.
pub fn supports(module: &Module, inst: &Inst) -> Result<(), String> {
    let row = opcodes::row(inst.op).filter(|row| row.family.is_lowered());
    let row = row.ok_or_else(|| op_name(inst.op))?;
    if row.family == Family::Extended {
        return match module.ext_sets.get(&inst.id(0)) {
            Some(ExtSet::OpenClStd) => opencl_std::supports(inst, module),
            Some(ExtSet::NonSemantic | ExtSet::Driver) => Ok(()),
            None => Err("an unknown extended instruction set".into()),
        };
    }
    arithmetic::supports_rounding(inst, module)?;
    groups::supports_scope(inst, module)
}

/// The state of lowering one body of a kernel, or a function that it calls.
///
/// Instruction families use what is public: the analysis that says what to make, the builder that makes it, and methods. The
/// rest belongs to one file each.
pub struct Lowerer<'a, 'm> {
    pub a: &'a Analysis<'m>,
    pub b: Rc<Builder>,
    pub target: &'a Target,
    /// Lanes of a sub-group.
    pub w: u32,
    /// How operands are read: as lanes, or packed.
    packing: Option<Packing>,
    position: Position,
    bundle: coarsening::Bundle,
    flow: control::Flow,
    uses: values::DistantUses,
    storage: Storage,
    calls: calls::Linkage,
    float_modes: float_modes::FloatModes,
}

/// Where code goes.
struct Position {
    function: builder::Function,
    prologue: Label,
    /// The block being lowered.
    block: BlockId,
    /// Values go to those of the edge that is being made.
    on_edge: bool,
    /// Accesses of the block that are made together.
    members: Rc<Members>,
    /// The block's atomic instructions that are made together.
    atomic_runs: Rc<AtomicRuns>,
}

/// Where memory of the function is.
struct Storage {
    /// Byte offsets of `Workgroup` variables in local memory.
    local_offsets: Rc<FxHashMap<Id, u64>>,
    /// Where private variables are.
    private: Rc<private::Layout>,
    /// Accesses that may still be made twice, see `speculation`.
    speculations: std::cell::Cell<u32>,
    /// Registers of tables that may still be looked up in, each counted as often as it is.
    table_registers: std::cell::Cell<u64>,
    /// Memory for what one instruction prints.
    print_words: Option<builder::Value>,
    /// What functions of numbers that all lanes share have made, where that can be kept.
    remembered: Option<remembered::Remembered>,
    /// Memory that the factors of products of matrices go through.
    factors: Option<outer_products::Factors>,
}

impl<'a, 'm> Lowerer<'a, 'm> {
    pub fn unsupported(&self, what: String) -> EngineError {
        self.a.func.unsupported(what)
    }

    /// An instruction whose row leads to a file that does not know it: a bug of the engine.
    pub fn no_lowering(&self, inst: &Inst) -> EngineError {
        let kernel = self.a.func.kernel.name.clone();
        let name = match inst.opencl_std(self.a.func.module) {
            Some(function) => format!("OpenCL.std {:?}", function.op),
            None => op_name(inst.op),
        };
        EngineError::CodeGeneration { kernel, reason: format!("{name} has no lowering") }
    }

    /// The sub-group being lowered.
    fn subgroup(&self) -> &coarsening::Subgroup {
        &self.bundle.subgroups[self.bundle.at]
    }

    fn subgroup_mut(&mut self) -> &mut coarsening::Subgroup {
        &mut self.bundle.subgroups[self.bundle.at]
    }

    /// Where the sub-group is.
    pub fn items(&self) -> &work_item::WorkItems {
        &self.subgroup().items
    }

    /// The mask that code runs under, a lane for each work-item: packed components have none.
    pub fn mask(&self) -> Mask {
        debug_assert!(self.packing.is_none(), "a mask of work-items for components");
        self.bundle.mask_of_all.unwrap_or(self.subgroup().mask)
    }

    /// Has what comes next done for other lanes, and returns those it was to be done for.
    fn replace_mask(&mut self, mask: Mask) -> Mask {
        let at = self.bundle.at;
        let own = self.bundle.mask_of_all.as_mut().unwrap_or(&mut self.bundle.subgroups[at].mask);
        std::mem::replace(own, mask)
    }

    /// The lanes whose values change where those of others stay; see [`coarsening::Subgroup`].
    pub(in crate::lower) fn blended(&self) -> Mask {
        match (self.bundle.mask_of_all, self.flow.full()) {
            (Some(Mask::All), Some(full)) => full.blended,
            (Some(mask), _) => mask,
            (None, _) => self.subgroup().blended,
        }
    }

    /// Lowers an instruction and keeps its result.
    fn inst(&mut self, inst: &Inst) -> Result<(), EngineError> {
        self.b.at_line(inst.line);
        if let Some(result) = inst.result
            && let Some(packing) = self.packing_of(result)
            && let Some(val) = packed::compute(self, inst, packing)?
        {
            return self.define_held(result, val);
        }
        let val = self.compute(inst)?;
        match (val, inst.result) {
            (Some(val), Some(result)) => self.define(result, val),
            _ => Ok(()),
        }
    }

    /// Lowers an instruction; `None` if it has no result, or one that is never a value of its own.
    fn compute(&mut self, inst: &Inst) -> Result<Option<Val>, EngineError> {
        self.compute_flushed(inst)
    }

    /// The same with denormals as they are.
    fn compute_kept(&mut self, inst: &Inst) -> Result<Option<Val>, EngineError> {
        // A pointer to a built-in is no value; its loads are recognized.
        if self.a.func.derived_from(inst).is_some_and(|base| self.a.builtins.contains_key(&base)) {
            return Ok(None);
        }
        match inst.row().family {
            Family::Arithmetic => arithmetic::lower(self, inst).map(Some),
            Family::IntegerDot => dot::lower(self, inst).map(Some),
            Family::Reinterpretation => reinterpretation::lower(self, inst).map(Some),
            Family::Conversion => conversion::lower(self, inst).map(Some),
            Family::Composite => composite::lower(self, inst).map(Some),
            Family::Memory => memory::lower(self, inst),
            Family::Atomic => atomics::lower(self, inst),
            Family::Barrier => barrier::lower(self, inst).map(|()| None),
            Family::Vote => groups::vote::lower(self, inst).map(Some),
            Family::Shuffle => groups::shuffle::lower(self, inst),
            Family::Reduction => groups::reduction::lower(self, inst).map(Some),
            Family::Collective => groups::collective::lower(self, inst),
            Family::Hint => hints::lower(self, inst),
            Family::Clock => clock::lower(self, inst).map(Some),
            Family::Image => image::lower(self, inst),
            Family::Matrix => matrices::lower(self, inst),
            Family::Extended => {
                let module = self.a.func.module;
                match (inst.opencl_std(module), inst.supplied(module)) {
                    (Some(function), _) => opencl_std::lower(self, inst, function),
                    (None, Some(Supplied::AssertFail)) => opencl_std::print::assert_fail(self, inst),
                    (None, None) => Ok(None),
                }
            }
            Family::Call if inst.op == Op::FunctionPointerCallINTEL => self.call_pointer(inst),
            Family::Call => self.call(inst),
            Family::Terminator if inst.op == Op::ReturnValue => self.return_value(inst).map(|()| None),
            Family::Declaration
            | Family::Type
            | Family::Structure
            | Family::Merge
            | Family::Terminator
            | Family::Phi
            | Family::VariableArray
            | Family::Untyped
            | Family::Replaced => Err(self.no_lowering(inst)),
        }
    }
}
