//! The interior of grids, where every neighbour is there, gets code of its own.
//!
//! Whoever reads the neighbours of an element says what those beyond an edge are: `in[min(max(x - 1, 0), w - 1)]`, `x > 0 ? in[x - 1] : 0`,
//! `in[(x + w - 1) % w]`. For nearly all sub-groups that changes nothing, and without it the neighbours of lanes that are next to each other are next to
//! each other, too. A kernel with several such accesses is there twice. Where it begins, all lanes are asked at once whether they are in the interior:
//! whether comparisons with edges come out as they do there, and whether numbers that are kept within bounds are within them anyway. Those who
//! are go on by code in which that is known: without masks, with rows of memory for neighbours.
//!
//! What is asked is made of ids and arguments alone, so that it can be asked in front of everything. Of what depends on the counter of a loop, as
//! `x + d` for `d` from `-r` to `r`, the first and the last iteration are asked about: a number that grows by one from one to the next, and ends above
//! where it began, is between the two in all others.
//!
//! No result depends on it. Which numbers are fused (products with sums) depends on what lies between them, so phis of floating-point numbers stay phis
//! in the interior, and a product that a selection is made of stays apart from what comes behind.

mod copy;
mod counters;
mod plan;
mod sources;

use super::Analysis;
use super::cfg;
use super::func::{ENTRY, Func, Terminator};
use super::loops;
use super::repetition;
use crate::abi::{Coarsening, LaneMapping};
use plan::Plan;

/// Sub-groups that are asked together, at most: if one of them is at an edge, all of them go the long way.
const MOST_SUBGROUPS: u32 = 2;

/// What a loop of neighbours may become when it is laid out, at most, each instruction counted as what it costs: rather more than elsewhere.
const MOST_LAID_OUT: usize = 480;

/// The coarsening of a kernel that was split, given what serves its interior best.
pub fn coarsened(best: Coarsening) -> Coarsening {
    let few = best.factors().find(|bundle| *bundle <= MOST_SUBGROUPS);
    best.with_factor(few.unwrap_or(1))
}

/// A kernel with code of its own for the interior.
pub struct Split<'m> {
    pub func: Func<'m>,
    /// The interior by itself: nearly all sub-groups execute that, so it says what serves the kernel best.
    pub inside: Analysis<'m>,
}

/// Splits a kernel, where that is worth its place; else its analysis, as it was.
pub fn split(a: Analysis<'_>) -> Result<Split<'_>, Box<Analysis<'_>>> {
    let Some(plan) = plan(&a) else { return Err(Box::new(a)) };
    let (mut func, is_decided) = (a.func.clone(), plan.is_decided);
    copy::apply(&mut func, plan);
    let mut func = canonical(func);
    let mut inside = Analysis::new(alone(&func), a.variant);
    if !is_decided && plan::gathers(&inside) + plan::LEAST > plan::gathers(&a) {
        return Err(Box::new(a));
    }
    // Without what keeps neighbours within bounds, loops over them are shorter.
    let blocks = func.blocks.len();
    repetition::lay_out_up_to(&mut func, MOST_LAID_OUT);
    if func.blocks.len() != blocks {
        func.sort_phis();
        inside = Analysis::new(alone(&func), a.variant);
    }
    Ok(Split { func, inside })
}

fn alone<'m>(split: &Func<'m>) -> Func<'m> {
    let mut func = split.clone();
    if let Terminator::IfAll { then, .. } = func.blocks[ENTRY].term {
        func.blocks[ENTRY].term = Terminator::Branch(then);
    }
    canonical(func)
}

fn canonical(mut func: Func<'_>) -> Func<'_> {
    cfg::remove_unreachable(&mut func);
    loops::canonicalize(&mut func);
    func.sort_phis();
    func
}

fn plan(a: &Analysis<'_>) -> Option<Plan> {
    let has_rows = a.variant.width > 1
        && !a.variant.mapping.crosses_rows()
        && a.variant.mapping != LaneMapping::Iterations;
    if !has_rows || !a.func.is_kernel() || !plan::may_be_split(a) {
        return None;
    }
    Plan::of(a)
}

#[cfg(test)]
mod tests;
