//! Functions that stay functions: how their parameters and results vary, found over all of their calls.
//!
//! A function is compiled once for a kernel's variant, so what it is passed is joined over the places that call it: a
//! parameter is uniform if each of them passes a uniform value, and has a stride if all pass the same one. The call
//! graph has no cycles, so two passes find everything. From the leaves up, each function is analysed as if all of its
//! parameters were uniform, which says whether its result then is. That holds for every call with uniform arguments,
//! whatever other calls pass, since it is said of the program and not of the code that is made. From the kernel
//! down, the shapes of arguments are joined, and functions that are passed anything else are analysed once more.
//! Functions that calls through pointers lead to are passed anything, for some of the lanes.

use super::Analysis;
use super::func::{BlockId, Func};
use super::shapes::{Shape, Shapes, Trust};
use crate::abi::Variant;
use rustc_hash::FxHashMap;
use smallvec::smallvec;
use spirv::Op;
use spirv_env::{CallShape, Id, Inst, TypeId};
use std::cell::RefCell;
use std::rc::Rc;

/// What the analysis of one function takes from those of others.
#[derive(Clone, Debug, Default)]
pub struct Interface {
    /// How the parameters of a function that is called vary.
    pub(super) params: FxHashMap<Id, Shapes>,
    /// How the results of called functions vary where all arguments are uniform.
    results: Rc<RefCell<FxHashMap<Id, Shapes>>>,
}

/// A kernel and the functions that stay functions.
pub struct AnalysedKernel<'m> {
    pub kernel: Analysis<'m>,
    /// Callers before callees.
    pub callees: Vec<Callee<'m>>,
}

/// A function that is called.
pub struct Callee<'m> {
    pub analysis: Analysis<'m>,
    /// Some call is made for a part of the lanes only.
    pub masked: bool,
    /// Calls through pointers lead to it: all that it is passed and that it returns varies.
    pub indirect: bool,
    /// It may be called again while it runs, through pointers.
    pub recursive: bool,
    /// It is called while a function that is called through a pointer runs, or is one.
    pub behind_pointer: bool,
    /// It has calls through pointers, or calls functions that do.
    pub reaches_pointers: bool,
}

/// What is known of a function's calls so far.
struct Calls {
    params: FxHashMap<Id, Shapes>,
    masked: bool,
}

impl<'m> AnalysedKernel<'m> {
    /// A kernel that has no calls left.
    pub fn flat(kernel: Analysis<'m>) -> Self {
        AnalysedKernel { kernel, callees: Vec::new() }
    }

    /// Analyses a kernel and the functions that it calls, given callers before callees. All loops are canonical.
    pub fn new(kernel: Func<'m>, callees: Vec<Func<'m>>, variant: Variant) -> Self {
        let interface = Interface::default();
        let mut analyses: Vec<Analysis<'m>> = Vec::with_capacity(callees.len());
        for func in callees.into_iter().rev() {
            let analysis = Analysis::with_calls(func, variant, interface.clone());
            let returned = analysis.returned().into_iter();
            let result =
                returned.map(|shape| if shape.is_uniform() { Shape::Uniform } else { Shape::Varying });
            interface.results.borrow_mut().insert(analysis.func.function, result.collect());
            analyses.push(analysis);
        }
        let partial = variant.width > 1 && !variant.mapping.fills_subgroups();
        let kernel = Analysis::with_calls(kernel, variant, interface.clone());
        let mut calls: FxHashMap<Id, Calls> = FxHashMap::default();
        kernel.note_calls(partial, &mut calls);
        let mut callees = Vec::with_capacity(analyses.len());
        for mut analysis in analyses.into_iter().rev() {
            let of = calls.remove(&analysis.func.function);
            let Calls { mut params, masked } =
                of.unwrap_or(Calls { params: FxHashMap::default(), masked: partial });
            let is_undefined = |shape: &&mut Shape| **shape == Shape::Undefined;
            let indirect = analysis.func.plan.is_indirect(analysis.func.function);
            if indirect {
                let shape = if variant.width == 1 { Shape::Uniform } else { Shape::Varying };
                let of = |&(param, ty): &(Id, TypeId)| (param, smallvec![shape; analysis.leaves.count(ty)]);
                params = analysis.func.params.iter().map(of).collect();
            }
            let masked = masked || indirect;
            let undefined = params.values_mut().flat_map(|leaves| leaves.iter_mut()).filter(is_undefined);
            undefined.for_each(|shape| *shape = Shape::Uniform);
            if params.values().flatten().any(|shape| *shape != Shape::Uniform) {
                let interface = Interface { params, ..interface.clone() };
                analysis = Analysis::with_calls(analysis.func, variant, interface);
            }
            analysis.note_calls(masked, &mut calls);
            callees.push(Callee {
                analysis,
                masked,
                indirect,
                recursive: false,
                behind_pointer: indirect,
                reaches_pointers: false,
            });
        }
        find_recursive(&mut callees);
        AnalysedKernel { kernel, callees }
    }

    /// The analyses of all functions, callers before callees.
    pub fn analyses(&self) -> impl Iterator<Item = &Analysis<'m>> {
        std::iter::once(&self.kernel).chain(self.callees.iter().map(|callee| &callee.analysis))
    }
}

/// Finds the functions that may be active more than once: those behind a call through a pointer that have such calls, or
/// reach them. That is more than there are, since not every pointer leads to every function.
fn find_recursive(callees: &mut [Callee<'_>]) {
    let places: FxHashMap<Id, usize> =
        callees.iter().enumerate().map(|(at, callee)| (callee.analysis.func.function, at)).collect();
    let calls: Vec<Vec<usize>> = callees
        .iter()
        .map(|callee| {
            callee.analysis.calls().filter_map(|(_, inst)| places.get(&inst.id(0)).copied()).collect()
        })
        .collect();
    for at in 0..callees.len() {
        if callees[at].behind_pointer {
            calls[at].iter().for_each(|callee| callees[*callee].behind_pointer = true);
        }
    }
    for at in (0..callees.len()).rev() {
        let inner = calls[at].iter().any(|callee| callees[*callee].reaches_pointers);
        let own = callees[at].analysis.pointer_calls().next().is_some();
        callees[at].reaches_pointers = inner || own;
        callees[at].recursive = callees[at].behind_pointer && callees[at].reaches_pointers;
    }
}

impl Analysis<'_> {
    /// The calls through pointers, and their blocks.
    pub fn pointer_calls(&self) -> impl Iterator<Item = (BlockId, &Inst)> {
        let of_block = |block: BlockId| self.func.blocks[block].insts.iter().map(move |inst| (block, inst));
        let all = self.func.block_ids().flat_map(of_block);
        all.filter(|(_, inst)| inst.op == Op::FunctionPointerCallINTEL)
    }

    /// What a call through a pointer hands over.
    pub fn call_shape_of(&self, call: &Inst) -> Option<CallShape> {
        let arguments: Option<Vec<TypeId>> = call.ids().skip(1).map(|id| self.func.type_of(id)).collect();
        CallShape::new(&self.func.module.types, call.ty, arguments?)
    }

    /// The calls that were not inlined, and their blocks.
    pub fn calls(&self) -> impl Iterator<Item = (BlockId, &Inst)> {
        let of_block = |block: BlockId| self.func.blocks[block].insts.iter().map(move |inst| (block, inst));
        self.func.block_ids().flat_map(of_block).filter(|(_, inst)| inst.op == Op::FunctionCall)
    }

    /// How the leaves of what the function returns vary; none if it returns nothing, or never.
    pub fn returned(&self) -> Shapes {
        let returns = |block: BlockId| {
            let last = self.func.blocks[block].insts.last()?;
            (last.op == Op::ReturnValue).then(|| self.shape(block, last.id(0)))
        };
        self.func.block_ids().find_map(returns).unwrap_or_default()
    }

    /// The shapes of the result of a call. A result with a stride is taken for varying: the lanes that are off, of
    /// which lane 0 may be one, return nothing.
    pub(super) fn call_shape(&self, block: BlockId, inst: &Inst, count: usize) -> Shapes {
        let mut arguments = inst.ids().skip(1);
        let uniform = arguments.all(|id| self.shape(block, id).iter().all(|shape| shape.is_uniform()));
        match self.interface.results.borrow().get(&inst.id(0)) {
            Some(result) if uniform && result.len() == count => result.clone(),
            // A function that never returns.
            Some(result) if result.is_empty() => smallvec![Shape::Uniform; count],
            _ => smallvec![Shape::Varying; count],
        }
    }

    /// Joins what the function passes to those that it calls into what is known of them.
    fn note_calls(&self, masked: bool, calls: &mut FxHashMap<Id, Calls>) {
        for (block, inst) in self.calls() {
            let of = calls
                .entry(inst.id(0))
                .or_insert_with(|| Calls { params: FxHashMap::default(), masked: false });
            of.masked |= masked || self.control.class[block].is_some();
            let params = self.func.params_of(inst.id(0));
            for ((param, _), argument) in params.iter().zip(inst.ids().skip(1)) {
                let mut shapes = self.shape(block, argument);
                if self.trust(argument) > Trust::Proven {
                    // Such a step is good for addresses, and nobody knows what the function does with it.
                    let strided = shapes.iter_mut().filter(|shape| matches!(shape, Shape::Strided(_)));
                    strided.for_each(|shape| *shape = Shape::Varying);
                }
                match of.params.get_mut(param) {
                    None => {
                        of.params.insert(*param, shapes);
                    }
                    Some(known) => {
                        known.iter_mut().zip(shapes).for_each(|(known, new)| *known = known.join(new));
                    }
                }
            }
        }
    }
}

impl<'m> Func<'m> {
    /// The parameters of a function that is called.
    pub fn params_of(&self, function: Id) -> &'m [(Id, TypeId)] {
        self.module.function(function).map_or(&[], |function| &function.params)
    }

    /// The type of what a function returns.
    pub fn result_of(&self, function: Id) -> Option<TypeId> {
        self.module.function(function).map(|function| function.result)
    }
}

#[cfg(test)]
mod tests {
    use super::super::inlining::{Inlining, Plan};
    use super::super::testing::{VARIANT, module};
    use super::*;

    /// How the parameter of `%callee` varies, and whether some calls of it are for a part of the lanes only. Calls through pointers do
    /// not lead to it.
    fn parameter(body: &str) -> (Shape, bool) {
        let ids = "%ids = OpLoad %ulong3 %GlobalInvocationId\n%x = OpCompositeExtract %ulong %ids 0\n\
                   %i = OpUConvert %uint %x\n";
        let module = module(&format!("{ids}{body}"));
        let kernel = module.kernel("main").expect("the module has it");
        let plan = Rc::new(Plan::new(&module, kernel, Inlining::Never).expect("it is small"));
        let prepared = |func| crate::lower::prepared(func);
        let callees = plan
            .functions()
            .iter()
            .map(|id| prepared(Func::of(&module, kernel, *id, &plan).expect("it is small")));
        let func = prepared(Func::build(&module, kernel, &plan).expect("it is small"));
        let analysed = AnalysedKernel::new(func, callees.collect(), VARIANT);
        let [callee] = analysed.callees.as_slice() else { panic!("one function stays one") };
        assert!(!callee.indirect && !callee.behind_pointer && !callee.recursive);
        let (parameter, _) = callee.analysis.func.params[0];
        (callee.analysis.shape(super::super::func::ENTRY, parameter)[0], callee.masked)
    }

    #[test]
    fn a_function_is_made_for_what_its_calls_pass() {
        const UNIFORM: &str = "%a = OpFunctionCall %uint %callee %any_uint";
        const STRIDED: &str = "%b = OpFunctionCall %uint %callee %i";
        const VARYING: &str = "%square = OpIMul %uint %i %i\n%c = OpFunctionCall %uint %callee %square";
        assert_eq!(parameter(UNIFORM), (Shape::Uniform, false));
        assert_eq!(parameter(STRIDED), (Shape::Strided(1), false));
        assert_eq!(parameter(VARYING), (Shape::Varying, false));
        assert_eq!(parameter(&format!("{UNIFORM}\n{VARYING}")), (Shape::Varying, false));
    }

    #[test]
    fn a_call_that_some_lanes_make_has_a_mask() {
        let branch = "%own = OpULessThan %bool %i %any_uint\nOpBranchConditional %own %inside %exit\n%inside = OpLabel\n\
                      %a = OpFunctionCall %uint %callee %any_uint\nOpBranch %exit\n%exit = OpLabel";
        assert_eq!(parameter(branch), (Shape::Uniform, true));
    }
}
