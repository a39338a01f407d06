//! Which calls are inlined: the code is counted before any of it is copied.
//!
//! Inlining lets every analysis see through calls, so a kernel whose whole call tree is small has no calls left. A
//! tree that grows beyond a budget keeps some of its functions: each of them is compiled once (`analysis::calls`).
//! Sizes are summed from the leaves of the call graph to its root, with saturation: a tree of twenty levels that
//! doubles at each has a million calls and twenty functions, and takes twenty additions.

use super::leaves::LeafTable;
use crate::error::EngineError;
use rustc_hash::{FxHashMap, FxHashSet};
use spirv::{Op, StorageClass};
use spirv_env::{Function, Id, Kernel, Module, Type, TypeId};
use std::collections::hash_map::Entry;
use ze_extensions::limits::KERNEL_INSTRUCTIONS;

/// How calls are treated. Other than by default only in tests: results may not depend on it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Inlining {
    /// Everything is inlined while the kernel stays within a budget.
    #[default]
    WithinBudget,
    /// No function is inlined that can be called.
    Never,
    /// Every function is inlined.
    Always,
}

/// Instructions of a kernel with everything inlined, up to which that is done; beyond it, as many may be added by
/// copies of functions that are called more than once.
const BUDGET: u64 = 20_000;
/// Beyond it, instructions that a function may have with what is inlined into it: code generation takes more than
/// twice as long for one function that is twice as large.
const GROWN: u64 = 5_000;
/// Of the budget, what is kept for functions that take pointers to private objects: called, their objects would
/// lose the layout in rows of lanes, and registers.
const FOR_PRIVATE_POINTERS: u64 = BUDGET / 2;
/// Functions of up to this many instructions are not worth a call, which passes a mask, the place of the sub-group
/// and the arguments, and spills every vector register.
const TINY: u64 = 16;
/// Calls within inlined calls within inlined calls: copying recurses.
const MOST_NESTED: u32 = 500;

/// What is inlined into a kernel, and what is not.
#[derive(Debug, Default)]
pub struct Plan {
    kept: FxHashSet<Id>,
    /// The functions that stay functions, callers before callees. Those that only the kernel leads to come before those
    /// that calls through pointers lead to.
    order: Vec<Id>,
    /// Those of them that calls through pointers lead to.
    indirect: FxHashSet<Id>,
    /// The kernel, or a function that it reaches, has calls through pointers.
    calls_pointers: bool,
}

/// A function of the call graph.
struct Node<'m> {
    function: &'m Function,
    /// Instructions of its own.
    own: u64,
    /// Places of callees in the graph, once for each call.
    calls: Vec<usize>,
    /// Calls of it.
    sites: u64,
    /// Calls through pointers lead to it.
    indirect: bool,
}

impl Plan {
    pub fn new(module: &Module, kernel: &Kernel, inlining: Inlining) -> Result<Plan, EngineError> {
        let unsupported = |what: String| EngineError::Unsupported { kernel: kernel.name.clone(), what };
        // Callees before callers; the kernel is the last.
        let mut graph = graph(module, kernel).map_err(unsupported)?;
        let too_large = |insts: u64| match insts {
            0..=KERNEL_INSTRUCTIONS => Ok(()),
            _ => Err(unsupported(format!("a call tree of more than {KERNEL_INSTRUCTIONS} instructions"))),
        };
        let leaves = LeafTable::new(module);
        let calls_pointers = graph.iter().any(|node| calls_pointers(node.function));
        // One that cannot be called is none that a pointer leads to.
        graph.iter_mut().for_each(|node| node.indirect &= can_be_called(module, &leaves, node.function));
        let last = graph.len() - 1;
        let is_root = |at: &usize| *at == last || graph[*at].indirect;
        let whole = sizes(&graph, |_| true);
        let roots = || (0..graph.len()).filter(is_root).map(|at| whole[at]);
        let kernel_size = roots().fold(0, |total: u64, (size, _)| total.saturating_add(size));
        let nested = roots().map(|(_, nested)| nested).max().unwrap_or(0);
        let functions_of = |graph: &[Node<'_>], kept: &dyn Fn(usize) -> bool| -> (Vec<Id>, FxHashSet<Id>) {
            let places = (0..last).rev().filter(|at| kept(*at) || graph[*at].indirect);
            let indirect = graph.iter().filter(|node| node.indirect).map(|node| node.function.id);
            (places.map(|at| graph[at].function.id).collect(), indirect.collect())
        };
        let too_deep = |nested: u32| match nested {
            0..=MOST_NESTED => Ok(()),
            _ => Err(unsupported(format!("calls that nest {nested} deep and have to be inlined"))),
        };
        let all = match inlining {
            Inlining::Always => true,
            Inlining::WithinBudget => kernel_size <= BUDGET && nested <= MOST_NESTED,
            Inlining::Never => false,
        };
        if all {
            too_deep(nested)?;
            too_large(kernel_size)?;
            let (order, indirect) = functions_of(&graph, &|_| false);
            return Ok(Plan { kept: FxHashSet::default(), order, indirect, calls_pointers });
        }
        let can_be_called: Vec<bool> =
            graph.iter().map(|node| can_be_called(module, &leaves, node.function)).collect();
        let inlined = match inlining {
            Inlining::WithinBudget => within_budget(module, &graph, &can_be_called),
            _ => can_be_called.iter().map(|can| !can).collect(),
        };
        let sizes = sizes(&graph, |at| inlined[at]);
        let is_function = |at: &usize| is_root(at) || !inlined[*at];
        let functions = || (0..graph.len()).filter(is_function).map(|at| sizes[at]);
        too_deep(functions().map(|(_, nested)| nested).max().unwrap_or(0))?;
        too_large(functions().fold(0, |total, (size, _)| total.saturating_add(size)))?;
        let kept = (0..last).filter(|at| !inlined[*at]).map(|at| graph[at].function.id).collect();
        let (order, indirect) = functions_of(&graph, &|at| !inlined[at]);
        Ok(Plan { kept, order, indirect, calls_pointers })
    }

    /// Whether calls of a function stay calls.
    pub fn keeps(&self, function: Id) -> bool {
        self.kept.contains(&function)
    }

    /// The functions that stay functions, callers before callees. Those that only the kernel leads to come before those
    /// that calls through pointers lead to.
    pub fn functions(&self) -> &[Id] {
        &self.order
    }

    /// Whether calls through pointers lead to a function.
    pub fn is_indirect(&self, function: Id) -> bool {
        self.indirect.contains(&function)
    }

    /// Whether the kernel has no calls left: everything is inlined.
    pub fn is_flat(&self) -> bool {
        self.order.is_empty() && !self.calls_pointers
    }
}

/// The functions that a kernel reaches, callees before callers.
fn graph<'m>(module: &'m Module, kernel: &Kernel) -> Result<Vec<Node<'m>>, String> {
    const OPEN: usize = usize::MAX;
    let find = |id: Id| module.function(id).ok_or("a call of something that is not a function");
    let mut graph: Vec<Node<'m>> = Vec::new();
    // A function's place in the graph, or that it is not finished.
    let mut places: FxHashMap<Id, usize> = FxHashMap::default();
    // The kernel comes last.
    let mut roots = kernel.indirect.iter().copied().chain([kernel.function]);
    let mut work: Vec<(&'m Function, Vec<Id>, usize)> = Vec::new();
    loop {
        let Some((function, callees_of, next)) = work.last_mut() else {
            let Some(root) = roots.next() else { break };
            if let Entry::Vacant(place) = places.entry(root) {
                place.insert(OPEN);
                work.push((find(root)?, callees(find(root)?), 0));
            }
            continue;
        };
        let Some(&callee) = callees_of.get(*next) else {
            let calls: Vec<usize> = callees_of.iter().map(|callee| places[callee]).collect();
            calls.iter().for_each(|&at| graph[at].sites += 1);
            let own = function.blocks.iter().map(|block| block.insts.len() as u64).sum();
            places.insert(function.id, graph.len());
            let indirect = kernel.indirect.binary_search(&function.id).is_ok();
            graph.push(Node { function, own, calls, sites: 0, indirect });
            work.pop();
            continue;
        };
        *next += 1;
        match places.get(&callee) {
            Some(&OPEN) => return Err("a function that calls itself".into()),
            Some(_) => {}
            None => {
                let function = find(callee)?;
                places.insert(callee, OPEN);
                work.push((function, callees(function), 0));
            }
        }
    }
    Ok(graph)
}

/// The functions that a function calls, as often as it does.
fn callees(function: &Function) -> Vec<Id> {
    let insts = function.blocks.iter().flat_map(|block| &block.insts);
    insts.filter(|inst| inst.op == Op::FunctionCall).map(|inst| inst.id(0)).collect()
}

fn calls_pointers(function: &Function) -> bool {
    let mut insts = function.blocks.iter().flat_map(|block| &block.insts);
    insts.any(|inst| inst.op == Op::FunctionPointerCallINTEL)
}

/// Instructions of each function with what is inlined into it, and how deep that nests.
fn sizes(graph: &[Node<'_>], inlined: impl Fn(usize) -> bool) -> Vec<(u64, u32)> {
    let mut sizes: Vec<(u64, u32)> = Vec::with_capacity(graph.len());
    for node in graph {
        sizes.push(size(node, &sizes, &inlined));
    }
    sizes
}

fn size(node: &Node<'_>, callees: &[(u64, u32)], inlined: impl Fn(usize) -> bool) -> (u64, u32) {
    let inside = node.calls.iter().filter(|at| inlined(**at)).map(|at| callees[*at]);
    inside.fold((node.own, 0), |(size, nested), (of, depth)| (size.saturating_add(of), nested.max(depth + 1)))
}

/// Decides for each function, callees before callers, as long as there is something left of the budget.
fn within_budget(module: &Module, graph: &[Node<'_>], can_be_called: &[bool]) -> Vec<bool> {
    let mut inlined: Vec<bool> = Vec::with_capacity(graph.len());
    let mut sizes: Vec<(u64, u32)> = Vec::with_capacity(graph.len());
    // What has been inlined into each function so far.
    let mut grown = vec![0u64; graph.len()];
    let mut left = BUDGET;
    let mut callers: Vec<Vec<usize>> = vec![Vec::new(); graph.len()];
    for (at, node) in graph.iter().enumerate() {
        node.calls.iter().for_each(|callee| callers[*callee].push(at));
    }
    for (at, node) in graph.iter().enumerate() {
        let (size, nested) = size(node, &sizes, |callee| inlined[callee]);
        sizes.push((size, nested));
        let copies = size.saturating_mul(node.sites.saturating_sub(1));
        let reserved = if takes_private_pointer(module, node.function) { 0 } else { FOR_PRIVATE_POINTERS };
        let affordable = size <= TINY || copies <= left.saturating_sub(reserved);
        // Callers are sorted: each stands once for each of its calls.
        let has_room = |calls: &[usize]| {
            let caller = calls[0];
            let new = size.saturating_mul(calls.len() as u64);
            graph[caller].own.saturating_add(grown[caller]).saturating_add(new) <= GROWN
        };
        let fits = callers[at].chunk_by(|a, b| a == b).all(has_room);
        let inline = !can_be_called[at] || (affordable && fits && nested < MOST_NESTED);
        if inline {
            left = left.saturating_sub(copies);
            callers[at].iter().for_each(|caller| grown[*caller] = grown[*caller].saturating_add(size));
        }
        inlined.push(inline);
    }
    inlined
}

/// Whether a function's parameters and result can be handed over. A pointer to a built-in variable is no value.
fn can_be_called(module: &Module, leaves: &LeafTable<'_>, function: &Function) -> bool {
    let is_value = |ty: TypeId| {
        leaves.get(ty).is_some()
            && !matches!(module.types.get(ty), Type::Pointer { class: StorageClass::Input, .. })
    };
    function.params.iter().all(|(_, ty)| is_value(*ty)) && is_value(function.result)
}

fn takes_private_pointer(module: &Module, function: &Function) -> bool {
    let is_private = |ty: TypeId| {
        let class = match module.types.get(ty) {
            Type::Pointer { class, .. } => *class,
            _ => return false,
        };
        matches!(class, StorageClass::Function | StorageClass::Generic)
    };
    function.params.iter().any(|(_, ty)| is_private(*ty))
}

#[cfg(test)]
mod tests;
