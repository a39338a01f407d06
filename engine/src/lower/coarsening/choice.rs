//! The choice of a bundle: how many sub-groups side by side serve a kernel best.
//!
//! Iterations that wait for each other leave a CPU without work, which other sub-groups have; too many of them need more registers than
//! there are, and more code. Where a work-group has barriers, the best bundle is often the whole of it.

use super::{in_pieces, width};
use crate::abi::{Coarsening, MOST_SUBGROUPS};
use crate::analysis::Analysis;
use crate::analysis::func::{BlockId, Phi};
use crate::analysis::guards::Worth;
use crate::analysis::loops::{Loop, LoopId};
use crate::analysis::pointers::Pointers;
use crate::analysis::shapes::Shape;
use crate::jit::target::Target;
use crate::lower::opencl_std::table;
use rustc_hash::{FxHashMap, FxHashSet};
use spirv::Op;
use spirv_env::opcodes::{Convergence, Cost, Derives, Family, Memory, divides_integers};
use spirv_env::{Id, Inst};
use std::cell::LazyCell;

/// The coarsening that serves a kernel best, up to the one that it was analysed for.
pub fn best(a: &Analysis<'_>, target: &Target) -> Coarsening {
    let most = a.factor();
    if most == 1 || !is_possible(a) || parts_in_loops(a) {
        return Coarsening::Off;
    }
    let worth = target.bypasses_masks();
    let at_barriers = at_barriers_alone(a, target, worth.is_some());
    let fits_whole = worth == Some(Worth::Less)
        && a.variant.one_bundle
        && at_barriers_alone(a, target, false).is_some_and(|part| part.fits(target, most as usize));
    let fits = |bundle: u32| {
        (bundle == most && fits_whole)
            || at_barriers.as_ref().is_some_and(|part| part.fits(target, bundle as usize))
    };
    let alike = alike(a, target);
    // What would be gained by neighbours is less than what is lost where arrays are memory for them.
    let with_arrays = a.largest_with_arrays().unwrap_or(most);
    // A piece of each row of a column is worth more than to wait for nobody.
    let most = match a.variant.coarsening {
        Coarsening::Whole([_, rows, _]) if rows >= LEAST_OF_COLUMN && a.has_columns_along_y() => rows,
        _ => with_arrays,
    };
    let mut bundles = a.variant.coarsening.factors();
    // A whole work-group may be more than that, of sub-groups that turned out not to become wider.
    let most = most.min(with_arrays).min(MOST_SUBGROUPS);
    let is_best = |bundle: &u32| *bundle <= most && (*bundle <= alike || fits(*bundle));
    let bundle = bundles.find(is_best).unwrap_or(1);
    a.variant.coarsening.with_factor(bundle)
}

/// How many sub-groups at most a bundle may have that serves a kernel whose sub-groups all do much the same.
pub(super) fn alike(a: &Analysis<'_>, target: &Target) -> u32 {
    let own = a.func.block_ids().map(|block| own_insts(a, block)).sum::<usize>();
    if own > MOST_INSTS {
        return 1;
    }
    let simd_bits = target.simd_bits();
    let wanted = match fills_gaps(a, target) {
        true => wanted(a, simd_bits).max(wanted_for_straight(a, simd_bits)),
        false => wanted(a, simd_bits),
    };
    let live = pressure(a, simd_bits);
    let fits = |bundle: u32| {
        let bundle = bundle as usize;
        // Of twice as many as are wanted, half would do nothing but take time to compile.
        bundle < 2 * wanted && own * bundle <= MOST_INSTS && has_room(target, live, bundle)
    };
    let most = a.factor().min(width::most_subgroups(a, target));
    (1..=most).rev().find(|bundle| fits(*bundle)).unwrap_or(1)
}

/// Whether the registers of so many sub-groups are there.
fn has_room(target: &Target, live: usize, bundle: usize) -> bool {
    live * bundle + SHARED_REGISTERS <= target.vector_registers()
}

/// What a sub-group is made of in a kernel with barriers, which gains from bundles that are the whole work-group: nobody waits for anybody
/// then, and what its rows have in common is loaded once.
struct Part {
    insts: usize,
    /// Vector registers that it needs at once, where sub-groups are in step, if that is known. In loops alone, where they do nothing but combine
    /// values: what each brings is loaded when it is combined.
    live: Option<usize>,
    /// Those more that a function of numbers needs, which sub-groups go through one after the other.
    in_function: usize,
    /// Sub-groups of the whole work-group, if that may be one bundle. It is known then who has a part in what.
    whole: Option<Whole>,
    /// The largest bundle that has the guarded parts which a smaller one would have.
    guarded: usize,
}

/// The sub-groups of a work-group, and the instructions and registers of all of them.
#[derive(Clone, Copy)]
struct Whole {
    subgroups: usize,
    insts: usize,
    live: usize,
    /// Instructions that it may have.
    most_insts: usize,
}

impl Part {
    fn fits(&self, target: &Target, bundle: usize) -> bool {
        let fits = |insts: usize, live: usize, most: usize| insts <= most && has_room(target, live, 1);
        let whole = self.whole.filter(|whole| whole.subgroups == bundle);
        let fits_whole = whole.is_some_and(|whole| fits(whole.insts, whole.live, whole.most_insts));
        let fits_part =
            |live: usize| fits(self.insts * bundle, live * bundle + self.in_function, MOST_INSTS_AT_BARRIERS);
        let fits_part = self.live.is_some_and(fits_part);
        (fits_whole || fits_part) && bundle <= self.guarded
    }
}

/// What that is, with guarded parts that are there without masks, too, or not.
fn at_barriers_alone(a: &Analysis<'_>, target: &Target, bypasses_masks: bool) -> Option<Part> {
    let has_barriers = has_barriers(a);
    if !has_barriers && !a.variant.one_bundle {
        return None;
    }
    let (simd_bits, in_step) = (target.simd_bits(), a.lockstep());
    let (parts, guarded) = if bypasses_masks { a.all_guarded() } else { (Vec::new(), usize::MAX) };
    let in_pieces = in_pieces(a, &in_step, &parts);
    let blocks =
        || a.func.block_ids().filter(|block| in_step.contains(*block) && in_pieces.of(*block).is_none());
    let blocks = || blocks().filter(|_| has_barriers);
    let in_loops = pressure(a, simd_bits);
    let of_blocks: Option<Vec<Live>> =
        blocks().map(|block| live_in_block(a, block, simd_bits, Straight(false))).collect();
    let most = |of: fn(&Live) -> usize| Some(of_blocks.as_ref()?.iter().map(of).max().unwrap_or(0));
    Some(Part {
        in_function: most(|live| live.in_function).unwrap_or(0),
        insts: a.func.block_ids().map(|block| own_vector_insts(a, block, simd_bits)).sum(),
        live: most(|live| live.values).map(|live| live.max(in_loops)),
        whole: if a.variant.one_bundle { whole(a, blocks(), simd_bits) } else { None },
        guarded,
    })
}

/// All sub-groups of a work-group, which run these blocks in step.
fn whole(a: &Analysis<'_>, in_step: impl Iterator<Item = BlockId>, simd_bits: u32) -> Option<Whole> {
    let parts = |block: BlockId| a.participants(block) as usize;
    let is_straight = |block: BlockId| Straight(a.loops.of(block).is_none_or(|id| a.unrolls(id)));
    // What one sub-group does alone is the same with others and without.
    let in_step = in_step.filter(|block| parts(*block) > 1);
    let of_block = |block: BlockId| {
        let Live { values, in_function, at_meetings } =
            live_in_block(a, block, simd_bits, is_straight(block))?;
        let (values, at_meetings) = (values * parts(block), at_meetings * parts(block));
        Some((block, Live { values, in_function, at_meetings }))
    };
    let blocks = in_step.map(of_block).collect::<Option<Vec<_>>>()?;
    // Whoever meets others saves all that it has, and takes it up again. It is no worse to do so with what there are too few registers for, and
    // to have some more of that costs less than to go from stack to stack.
    let meets = |id: LoopId| a.meets_in(&a.loops.loops[id].blocks);
    let at_meetings = blocks.iter().map(|(_, live)| live.at_meetings).max().unwrap_or(0);
    let saved = at_meetings + OF_A_SWITCH;
    let kept = |block: BlockId, live: usize| {
        if a.loops.of(block).is_none_or(meets) { live.saturating_sub(saved) } else { live }
    };
    let in_blocks =
        blocks.iter().map(|(block, live)| kept(*block, live.values + live.in_function)).max().unwrap_or(0);
    let in_loops = pressures(a, simd_bits, a.variant.width)
        .map(|(id, live)| {
            let header = a.loops.loops[id].header;
            kept(header, live * parts(header))
        })
        .max()
        .unwrap_or(0);
    let lane_by_lane = |block: BlockId| -> usize {
        let of_inst = |inst: &Inst| match inst.row().memory {
            memory if memory.is_atomic() => ATOMIC,
            Memory::Read { .. } | Memory::Write { .. } if a.builtins.contains_key(&inst.id(0)) => 0,
            Memory::Read { .. } | Memory::Write { .. }
                if a.shape(block, inst.id(0)).contains(&Shape::Varying) =>
            {
                LANE_BY_LANE
            }
            _ => 0,
        };
        a.func.blocks[block].insts.iter().map(of_inst).sum()
    };
    // What is done once is worth half as many.
    let insts = |block: BlockId| {
        let insts = own_vector_insts(a, block, simd_bits) + lane_by_lane(block);
        if a.loops.of(block).is_none() { insts / 2 } else { insts }
    };
    Some(Whole {
        subgroups: a.factor() as usize,
        insts: a.func.block_ids().map(|block| insts(block) * parts(block)).sum(),
        live: in_blocks.max(in_loops),
        most_insts: MOST_INSTS_AT_BARRIERS + OF_A_MEETING * meetings(a).count(),
    })
}

/// Whether chains of instructions without a loop around them are a reason for bundles.
pub(super) fn fills_gaps(a: &Analysis<'_>, target: &Target) -> bool {
    a.loops.loops.is_empty() && target.make.interleaves_chains()
}

/// Instructions that a coarsened kernel may have, sub-groups of a bundle counted one by one.
const MOST_INSTS: usize = 600;
/// Instructions of the CPU, of vectors, for larger bundles of a kernel with barriers.
const MOST_INSTS_AT_BARRIERS: usize = 1300;
/// Those more that they may have for each time that sub-groups meet, for a bundle which spares them that.
const OF_A_MEETING: usize = 60;
/// Vector registers too many that take no longer than to go from one sub-group's stack to another's at each barrier.
const OF_A_SWITCH: usize = 32;
/// Vector registers that a function of numbers needs beside its argument.
const OF_A_FUNCTION: usize = 3;
/// What an access to an image counts for: its code has a piece for each common format.
const IMAGE_ACCESS: usize = 30;
/// Vector registers that are left for what a bundle shares, and for intermediate results.
pub(super) const SHARED_REGISTERS: usize = 4;
/// Cycles until a result can be used, of most vector instructions.
const LATENCY: usize = 4;
/// The same of those of integers, and what is made of them by way of masks.
const LATENCY_OF_INTEGERS: usize = 2;
/// Instructions that wait for each other which take as long as a gather.
const GATHER: usize = 5;
/// The same of a row of which some lanes are on.
const ROW: usize = 2;
/// What a loop's mask is from a comparison to what is kept for those who are in it, in instructions of vectors, and how many wait for each other: where that is in one register, and
/// where it is in several, for which masks are put together and taken apart.
const MASK: (usize, usize) = (4, 2);
const MASK_OF_SEVERAL: (usize, usize) = (12, 4);
/// Instructions that it takes as long as to load what was stored just now.
const FORWARD: usize = 2;
/// Vector instructions that a CPU begins in a cycle.
const ISSUE: usize = 2;
/// The instructions of a division of integers, by one of floats, and how many of them wait for each other.
const INTEGER_DIVISION: (usize, usize) = (9, 6);
/// The instructions of an atomic operation, which each lane does for itself, and of another access to memory that lanes make each for itself.
const ATOMIC: usize = 80;
const LANE_BY_LANE: usize = 20;
/// The bundle that is wanted at most for a loop that sub-groups go through a different number of times.
const IF_DIVERGENT: usize = 4;
/// Vector instructions of such a loop from which on the waste outweighs the gain, and the time to compile, too.
const LARGE_IF_DIVERGENT: usize = 40;
/// Lines that lanes walk through for themselves, at most: so many are in a first cache of eight ways also where all of them are
/// a kilobyte apart, which is what rows of matrices are.
const MOST_LINES: usize = 32;
/// Bytes next to each other that sub-groups access together where each iteration is in another row, and instructions of a loop that waits for those.
const PIECE_BYTES: u64 = 256;
const MOST_AT_A_PIECE: usize = 24;
/// The bundle that is wanted where sub-groups share so many times as much as each does for itself.
const TO_SHARE: usize = 4;
const SHARED_OF_OWN: usize = 2;
/// The least bundle that makes up for what a barrier costs.
const AT_A_BARRIER: usize = 4;
/// The same where a work-group combines values: bundles also have them in registers, and a work-group that is one bundle
/// needs no stacks.
const AT_A_COLLECTIVE: usize = 8;
/// The same where it has a piece of each row of a column (`columns`).
const AT_A_COLUMN: usize = 8;
/// The rows from which on bundles of them are better than the whole work-group where they have a piece of each row of a column.
const LEAST_OF_COLUMN: u32 = 4;

/// Instructions that a CPU looks at ahead for those whose operands are there.
const WINDOW: usize = 96;
/// The bundle that is wanted at most for straight code, and the instructions that it may be.
const IF_STRAIGHT: usize = 4;
const MOST_OF_STRAIGHT: usize = 700;

/// Instructions, one of the other, that a branch's condition is looked through.
const MOST_DEPTH: u32 = 5;

/// Whether an instruction looks at memory for what another sub-group writes meanwhile.
fn may_wait(inst: &Inst) -> bool {
    inst.row().synchronizes() || inst.is_volatile()
}

/// How a work-group meets at the instructions at which its sub-groups wait for each other.
fn meetings<'a>(a: &'a Analysis<'_>) -> impl Iterator<Item = Convergence> + 'a {
    let insts = a.func.blocks.values().flat_map(|block| &block.insts);
    insts.filter(|inst| inst.waits_for_work_group(a.func.module)).map(|inst| inst.row().convergence)
}

/// Whether sub-groups wait for each other without combining values.
pub(super) fn has_barriers(a: &Analysis<'_>) -> bool {
    meetings(a).any(|convergence| convergence == Convergence::Barrier)
}

/// Whether a block accesses a column of memory.
pub(super) fn has_column(a: &Analysis<'_>, block: BlockId) -> bool {
    let is_access = |inst: &&Inst| matches!(inst.op, Op::Load | Op::Store);
    a.func.blocks[block].insts.iter().filter(is_access).any(|inst| a.columns().contains(&inst.id(0)))
}

/// Sub-groups side by side that keep the CPU busy: in a loop whose iterations wait for each other, as many as
/// the latency of that chain has room for.
fn wanted(a: &Analysis<'_>, simd_bits: u32) -> usize {
    let lockstep = a.lockstep();
    let at_meetings = meetings(a).map(|convergence| match convergence {
        Convergence::Barrier => AT_A_BARRIER,
        _ => AT_A_COLLECTIVE,
    });
    let in_step = |block: BlockId| lockstep.contains(block) && has_column(a, block);
    let at_columns = if a.func.block_ids().any(in_step) { AT_A_COLUMN } else { 1 };
    let pointers = LazyCell::new(|| Pointers::new(&a.func));
    let left = left_with(a);
    let in_loop = |(id, this): (LoopId, &Loop)| {
        let inside = |block: &BlockId| lockstep.contains(*block);
        if !this.blocks.iter().all(inside) {
            return 1;
        }
        let own: usize = this.blocks.iter().map(|block| own_vector_insts(a, *block, simd_bits)).sum();
        let Chains { recurrence, longest } = chains(a, this);
        let (mut through_masks, mut of_leaving) = (0, 0);
        if own <= LARGE_IF_DIVERGENT {
            through_masks = self::through_masks(a, id, this);
            of_leaving = left.get(&id).map_or(0, |left| wanted_to_leave(a, this, left, own, simd_bits));
        }
        let recurrence = recurrence.max(through_memory(a, this, &pointers)).max(through_masks);
        let from_iterations = (recurrence * LATENCY * ISSUE + own / 2) / own.max(1);
        let wanted = from_iterations.max(wanted_for_chain(longest, own)).max(of_leaving);
        let wanted = match wanted {
            0 | 1 => 1,
            _ => wanted.min(MOST_LINES / (a.lines_of_a_lane(id) * a.variant.width as usize).max(1)).max(1),
        };
        match a.control.divergent_loops.contains(id) && !a.is_grid_stride(id) {
            true if own > LARGE_IF_DIVERGENT => 1,
            true => wanted.min(IF_DIVERGENT),
            false => wanted.max(wanted_for_pieces(a, id, own)).max(wanted_to_share(a, this, own, simd_bits)),
        }
    };
    let in_loops = a.loops.loops.iter().map(in_loop).max().unwrap_or(1);
    in_loops.max(at_meetings.max().unwrap_or(1)).max(at_columns)
}

/// Sub-groups side by side that have a piece of memory worth a look of the hardware ahead, in a loop that goes down columns: each iteration is in
/// another row, as far away as it likes.
fn wanted_for_pieces(a: &Analysis<'_>, id: LoopId, own: usize) -> usize {
    let this = &a.loops.loops[id];
    let class = a.control.class[this.header];
    let is_straight = this.blocks.iter().all(|block| a.control.class[*block] == class);
    if !matches!(a.variant.coarsening, Coarsening::AlongX(_)) || own > MOST_AT_A_PIECE || !is_straight {
        return 1;
    }
    let piece = |block: BlockId, inst: &Inst| -> Option<u64> {
        let pointer = matches!(inst.op, Op::Load | Op::Store).then(|| inst.id(0))?;
        let is_of_loop = a.def.get(&pointer).is_some_and(|block| this.blocks.contains(block));
        if !is_of_loop || !a.is_in_memory(pointer) {
            return None;
        }
        let bytes = a.func.pointee_bytes(pointer)?;
        match *a.shape(block, pointer) {
            [Shape::Uniform] => None,
            [Shape::Strided(step)] if step.unsigned_abs() == bytes => {
                Some(bytes * u64::from(a.variant.width))
            }
            // Lanes with lines of their own have enough to wait for.
            _ => Some(PIECE_BYTES),
        }
    };
    let pieces = this.blocks.iter().flat_map(|block| {
        let insts = a.func.blocks[*block].insts.iter();
        insts.filter_map(|inst| piece(*block, inst)).map(|bytes| PIECE_BYTES.div_ceil(bytes) as usize)
    });
    pieces.min().unwrap_or(1)
}

/// The same where much of an iteration is done once for all of them, such as a gather of what rows above each other have in common.
fn wanted_to_share(a: &Analysis<'_>, this: &Loop, own: usize, simd_bits: u32) -> usize {
    let cost = |block: BlockId, inst: &Inst| -> usize {
        let Some(id) = inst.result.filter(|id| a.is_common(block, *id)) else { return 0 };
        if a.shape(block, id).iter().all(|shape| shape.is_uniform()) {
            return 0;
        }
        let is_gather = || match *a.shape(block, inst.id(0)) {
            [Shape::Strided(step)] => {
                let bytes = a.func.pointee_bytes(inst.id(0));
                bytes.is_some_and(|bytes| step.unsigned_abs() > 4 * bytes)
            }
            [Shape::Varying] => true,
            _ => false,
        };
        match inst.op {
            Op::Load if !a.builtins.contains_key(&inst.id(0)) && is_gather() => LANE_BY_LANE,
            _ => extent(a, inst).0 * registers(a, id, simd_bits),
        }
    };
    let shared = this.blocks.iter().flat_map(|block| {
        let insts = a.func.blocks[*block].insts.iter();
        insts.map(|inst| cost(*block, inst))
    });
    if shared.sum::<usize>() >= SHARED_OF_OWN * own { TO_SHARE } else { 1 }
}

/// The same for code without loops. The CPU begins the next sub-groups before one ends, as far as it looks ahead; of more instructions
/// it sees too few that do not wait.
fn wanted_for_straight(a: &Analysis<'_>, simd_bits: u32) -> usize {
    let mut depth: FxHashMap<Id, usize> = FxHashMap::default();
    let (mut own, mut longest) = (0, 0);
    for &block in &a.regions.order {
        let code = &a.func.blocks[block];
        for phi in &code.phis {
            let most = phi.incoming.iter().filter_map(|(_, id)| depth.get(id)).max().copied();
            depth.extend(most.map(|most| (phi.result, most)));
        }
        let is_vector = |id: Id| !a.shape(block, id).iter().all(|shape| shape.is_uniform());
        for inst in &code.insts {
            let Some(result) = inst.result.filter(|id| is_vector(*id)) else { continue };
            let (insts, steps) = extent(a, inst);
            let most = inst.ids().filter_map(|id| depth.get(&id).copied()).max().unwrap_or(0) + steps;
            depth.insert(result, most);
            own += insts * registers(a, result, simd_bits);
            longest = longest.max(most);
        }
    }
    let wanted = wanted_for_chain(longest, own);
    wanted.min(IF_STRAIGHT).min(MOST_OF_STRAIGHT / own.max(1)).max(1)
}

/// Sub-groups side by side that keep the CPU busy where so many of a sub-group's instructions wait for each other: it sees no more than
/// those of its window.
fn wanted_for_chain(longest: usize, own: usize) -> usize {
    let seen = own.max(WINDOW);
    (longest * LATENCY * ISSUE + seen / 2) / seen
}

/// The instructions that one is made of, and how many of them wait for each other.
pub(super) fn extent(a: &Analysis<'_>, inst: &Inst) -> (usize, usize) {
    let row = inst.row();
    match row.family {
        Family::Extended => {
            inst.opencl_std(a.func.module).map_or((1, 1), |function| table::length(function.op))
        }
        Family::Composite | Family::Reinterpretation => (0, 0),
        _ if row.derives != Derives::Nothing => (0, 0),
        _ if inst.op == Op::FDiv => (1, 3),
        _ if divides_integers(inst.op) => INTEGER_DIVISION,
        _ => (1, 1),
    }
}

/// Instructions of a loop that wait for each other.
#[derive(Clone, Copy)]
struct Chains {
    /// From one iteration to the next, of an iteration. What is only handed on to a sum is no part of it: the CPU begins the next
    /// iteration meanwhile.
    recurrence: usize,
    /// In one iteration.
    longest: usize,
}

fn chains(a: &Analysis<'_>, this: &Loop) -> Chains {
    let header = &a.func.blocks[this.header];
    let own: Vec<&Phi> = header.phis.iter().filter(|phi| !a.is_common(this.header, phi.result)).collect();
    let lengths: Vec<Vec<Option<usize>>> =
        own.iter().map(|from| lengths(a, this, from.result, &own)).collect();
    let there_and_back = |(from, to): (usize, usize)| match (lengths[from][to], lengths[to][from]) {
        (Some(there), Some(back)) => (there + back).div_ceil(2),
        _ => 0,
    };
    let pairs = (0..own.len()).flat_map(|from| (from..own.len()).map(move |to| (from, to)));
    Chains {
        recurrence: pairs.map(there_and_back).max().unwrap_or(0),
        longest: lengths.iter().flatten().copied().flatten().max().unwrap_or(0),
    }
}

/// What an iteration loads that the one before has stored, as in `sum[id] += ...`: instructions from the load to the store, and the way
/// through memory.
fn through_memory<'f>(
    a: &Analysis<'_>,
    this: &Loop,
    pointers: &LazyCell<Pointers<'f>, impl FnOnce() -> Pointers<'f>>,
) -> usize {
    let insts = || this.blocks.iter().flat_map(|block| &a.func.blocks[*block].insts);
    let stores: Vec<(Id, Id)> = insts()
        .filter(|inst| inst.op == Op::Store && a.is_in_memory(inst.id(0)))
        .map(|inst| (inst.id(0), inst.id(1)))
        .collect();
    if stores.is_empty() {
        return 0;
    }
    let is_of_iteration = |pointer: Id| a.def.get(&pointer).is_some_and(|block| this.blocks.contains(block));
    let loads = insts().filter(|inst| inst.op == Op::Load && a.is_in_memory(inst.id(0)));
    let of_load = |load: &Inst| {
        let place = load.id(0);
        // The same element in each iteration, or another one of the same memory.
        let is_next = |stored: Id| {
            if stored == place {
                !is_of_iteration(place)
            } else {
                pointers.root(stored) == pointers.root(place)
            }
        };
        let mut next = stores.iter().filter(|(stored, _)| is_next(*stored)).peekable();
        next.peek()?;
        let depth = depths(a, this, load.result?);
        next.filter_map(|(_, value)| depth.get(value)).max().map(|length| length + FORWARD)
    };
    loads.filter_map(of_load).max().unwrap_or(0)
}

/// Instructions of the longest way through an iteration from one value that it begins with to each that it hands on.
fn lengths(a: &Analysis<'_>, this: &Loop, from: Id, to: &[&Phi]) -> Vec<Option<usize>> {
    let depth = depths(a, this, from);
    let handed_on = |phi: &&Phi| phi.incoming.iter().filter_map(|(_, id)| depth.get(id)).max().copied();
    to.iter().map(handed_on).collect()
}

/// Those from a value to each that is made of it in an iteration.
fn depths(a: &Analysis<'_>, this: &Loop, from: Id) -> FxHashMap<Id, usize> {
    let mut depth: FxHashMap<Id, usize> = FxHashMap::from_iter([(from, 0)]);
    let waits_for_gathers = may_wait_for_gathers(a, this);
    // A loop's blocks are together in the order, its header first.
    let first = a.regions.position[this.header] as usize;
    for &block in &a.regions.order[first..first + this.blocks.len()] {
        let code = &a.func.blocks[block];
        if block != this.header {
            // What lanes choose waits for what decides, and is blended.
            let decides = |block: &BlockId| a.func.blocks[*block].term.condition();
            let is_blended = a.control.blended.contains(block);
            let deciding = is_blended.then(|| a.cfg.preds[block].iter().copied().chain([a.doms.idom(block)]));
            let deciding = deciding.into_iter().flatten().filter(|by| a.control.varying.contains(*by));
            let decided = deciding.filter_map(|by| depth.get(&decides(&by)?)).max().copied();
            for phi in &code.phis {
                let brought = phi.incoming.iter().filter_map(|(_, id)| depth.get(id)).copied();
                if let Some(most) = brought.chain(decided).max() {
                    depth.insert(phi.result, most + usize::from(is_blended));
                }
            }
        }
        for inst in &code.insts {
            let (Some(result), Some(most)) =
                (inst.result, inst.ids().filter_map(|id| depth.get(&id).copied()).max())
            else {
                continue;
            };
            let waits = waits_for_gathers && is_gather(a, block, inst);
            depth.insert(result, most + if waits { GATHER } else { extent(a, inst).1 });
        }
    }
    depth
}

/// Whether gathers that iterations wait for are a reason for larger bundles. Where lanes leave a loop at different times that is in another one, all
/// wait for the slowest of them again and again: common neighbours of nodes were counted in 1.3 times the time.
fn may_wait_for_gathers(a: &Analysis<'_>, this: &Loop) -> bool {
    this.parent.is_none()
        || !a.loops.headed_by(this.header).is_some_and(|id| a.control.divergent_loops.contains(id))
}

/// Whether an instruction loads what lies anywhere for each lane.
fn is_gather(a: &Analysis<'_>, block: BlockId, inst: &Inst) -> bool {
    inst.op == Op::Load && a.is_in_memory(inst.id(0)) && a.shape(block, inst.id(0)).contains(&Shape::Varying)
}

/// Whether an instruction loads a row for the lanes that are on.
fn is_row_under_mask(a: &Analysis<'_>, block: BlockId, inst: &Inst) -> bool {
    inst.op == Op::Load
        && a.is_in_memory(inst.id(0))
        && a.control.class[block].is_some()
        && matches!(a.shape(block, inst.id(0))[0], Shape::Strided(_))
}

/// What says who goes on with a loop is made of what is loaded for those who are in it, as in searches: instructions from one load to the next.
fn through_masks(a: &Analysis<'_>, id: LoopId, this: &Loop) -> usize {
    if !a.control.divergent_loops.contains(id) || !may_wait_for_gathers(a, this) {
        return 0;
    }
    let loads = this.blocks.iter().flat_map(|block| {
        let insts = a.func.blocks[*block].insts.iter();
        let steps = |inst: &Inst| match (is_gather(a, *block, inst), is_row_under_mask(a, *block, inst)) {
            (true, _) => Some(GATHER),
            (false, true) => Some(ROW),
            (false, false) => None,
        };
        insts.filter_map(move |inst| Some((inst.result?, steps(inst)?)))
    });
    let conditions = || this.exits.iter().filter_map(|(block, _)| a.func.blocks[*block].term.condition());
    let to_question = |(loaded, of_load): (Id, usize)| {
        let depth = depths(a, this, loaded);
        conditions().filter_map(|cond| depth.get(&cond)).max().map(|steps| of_load + steps)
    };
    loads.filter_map(to_question).max().unwrap_or(0)
}

/// Sub-groups side by side that keep the CPU busy where what says who goes on with a loop is made of what lanes keep when they leave it, as a sum that has converged: what it is
/// in the next iteration, for those who are in it, waits for that.
fn wanted_to_leave(a: &Analysis<'_>, this: &Loop, left: &FxHashSet<Id>, own: usize, simd_bits: u32) -> usize {
    let conditions = || this.exits.iter().filter_map(|(block, _)| a.func.blocks[*block].term.condition());
    let phis = &a.func.blocks[this.header].phis;
    let is_kept = |phi: &&Phi| {
        let next = phi.from(this.latch).into_iter();
        !a.is_common(this.header, phi.result) && next.chain([phi.result]).any(|id| left.contains(&id))
    };
    let of_phi = |phi: &Phi| {
        let depth = depths(a, this, phi.result);
        let asked = conditions().filter_map(|cond| depth.get(&cond)).max()?;
        let (insts, steps) = if registers(a, phi.result, simd_bits) > 1 { MASK_OF_SEVERAL } else { MASK };
        let all = own + insts;
        let leaves = a.leaves.get(phi.ty);
        let is_float = leaves.is_some_and(|leaves| leaves.iter().any(|leaf| leaf.scalar.is_float()));
        let latency = if is_float { LATENCY } else { LATENCY_OF_INTEGERS };
        Some(((asked + steps) * latency * ISSUE + all / 2) / all)
    };
    phis.iter().filter(is_kept).filter_map(of_phi).max().unwrap_or(0)
}

/// Whether a bundle can run the kernel: no sub-group waits for another in a way that lockstep would not end.
fn is_possible(a: &Analysis<'_>) -> bool {
    if a.func.kernel.prints {
        return false;
    }
    // Who left a loop waits for those inside, which may not wait for him: no spinning on what he writes next.
    let may_spin = |id: LoopId| {
        let blocks = &a.loops.loops[id].blocks;
        blocks.iter().flat_map(|block| &a.func.blocks[*block].insts).any(may_wait)
    };
    !a.control.divergent_loops.iter().any(may_spin)
        && a.func.block_ids().all(|block| a.is_in_lockstep(block) || !a.meets_in([&block]))
}

/// Whether sub-groups, each of which goes one way as a whole, go different ways in a loop by what their lanes vote for, or compute together. By itself
/// a sub-group needs no masks there, and numbers that its lanes share are no vectors (a search that lanes do together as long as they decide
/// alike takes 0.7 of the time).
fn parts_in_loops(a: &Analysis<'_>) -> bool {
    let is_joint = |_: Id, inst: &Inst| {
        matches!(inst.row().family, Family::Vote | Family::Shuffle | Family::Reduction | Family::Collective)
    };
    let is_own = |block: BlockId| {
        a.func.blocks[block].term.condition().is_some_and(|condition| {
            a.shape(block, condition)[0].is_uniform()
                && !a.is_common(block, condition)
                && a.is_made_of(condition, MOST_DEPTH, &is_joint)
        })
    };
    a.loops.loops.values().any(|this| this.blocks.iter().any(|block| is_own(*block)))
}

/// Instructions of a block that each sub-group has for itself.
fn own_insts(a: &Analysis<'_>, block: BlockId) -> usize {
    let insts = a.func.blocks[block].insts.iter().filter(|inst| !a.is_shared(block, inst));
    insts.map(|inst| if inst.row().memory.is_of_images() { IMAGE_ACCESS } else { 1 }).sum()
}

/// Those of the CPU that make its vectors.
fn own_vector_insts(a: &Analysis<'_>, block: BlockId, simd_bits: u32) -> usize {
    let is_vector = |id: Id| !a.is_common(block, id) && !a.shape(block, id).iter().all(|s| s.is_uniform());
    let insts = a.func.blocks[block].insts.iter();
    insts.filter(|inst| inst.result.is_some_and(is_vector)).map(|inst| vector_insts(a, inst, simd_bits)).sum()
}

/// Instructions of the CPU, of vectors, that one for a sub-group is, if it is no access to memory.
pub fn vector_insts(a: &Analysis<'_>, inst: &Inst, simd_bits: u32) -> usize {
    extent(a, inst).0 * inst.result.map_or(1, |result| registers(a, result, simd_bits))
}

/// Vector registers that a value takes, if it is in some.
fn registers(a: &Analysis<'_>, id: Id, simd_bits: u32) -> usize {
    registers_of(a, id, simd_bits, a.variant.width)
}

/// The same for so many lanes.
pub(super) fn registers_of(a: &Analysis<'_>, id: Id, simd_bits: u32, width: u32) -> usize {
    // The engine's own values have no type of the module.
    let ty = a.func.type_of(id).filter(|_| !a.func.selectors.contains(&id));
    let leaves = ty.and_then(|ty| a.leaves.get(ty));
    let bits = leaves.iter().flat_map(|leaves| leaves.iter()).map(|leaf| leaf.scalar.bits() * width);
    bits.map(|bits| bits.div_ceil(simd_bits) as usize).sum::<usize>().max(1)
}

/// Vector registers that each sub-group keeps through a loop, in the loop that has most of them.
fn pressure(a: &Analysis<'_>, simd_bits: u32) -> usize {
    pressure_at(a, simd_bits, a.variant.width)
}

/// The same of sub-groups of so many lanes.
pub(super) fn pressure_at(a: &Analysis<'_>, simd_bits: u32, width: u32) -> usize {
    pressures(a, simd_bits, width).map(|(_, live)| live).max().unwrap_or(0)
}

/// Those of each loop.
fn pressures(a: &Analysis<'_>, simd_bits: u32, width: u32) -> impl Iterator<Item = (LoopId, usize)> {
    let is_vector =
        |block: BlockId, id: Id| !a.is_common(block, id) && a.shape(block, id).contains(&Shape::Varying);
    let left_with = left_with(a);
    let of_loop = move |(id, this): (LoopId, &Loop)| {
        let inside = |block: BlockId| a.loops.encloses(Some(id), a.loops.of(block));
        let mut live: FxHashSet<Id> = FxHashSet::default();
        let header = &a.func.blocks[this.header];
        live.extend(header.phis.iter().map(|phi| phi.result).filter(|id| is_vector(this.header, *id)));
        for &block in &this.blocks {
            let used = a.func.blocks[block].insts.iter().flat_map(|inst| inst.ids());
            let outside = |id: &Id| a.def.get(id).is_some_and(|def| !inside(*def));
            live.extend(used.filter(outside).filter(|id| is_vector(block, *id)));
        }
        let registers = |id: Id| registers_of(a, id, simd_bits, width);
        let live: usize = live.into_iter().map(registers).sum();
        let left = left_with.get(&id).into_iter().flatten();
        let left = left.copied().filter(|id| a.def.get(id).is_some_and(|block| is_vector(*block, *id)));
        let left: usize = left.map(registers).filter(|registers| *registers > 1).sum();
        (id, live + left)
    };
    a.loops.loops.iter().map(of_loop)
}

/// What is used behind loops that lanes leave at different times, of what they make. Those that have left keep it, beside what the others go on with:
/// a register waits in memory for that, but the several of a pointer are compared and chosen by halves of masks, of which there are few.
fn left_with(a: &Analysis<'_>) -> FxHashMap<LoopId, FxHashSet<Id>> {
    let mut left: FxHashMap<LoopId, FxHashSet<Id>> = FxHashMap::default();
    if a.control.divergent_loops.is_empty() {
        return left;
    }
    let mut uses = |user: BlockId, id: Id| {
        let Some(&block) = a.def.get(&id) else { return };
        let around =
            a.loops.around(block).take_while(|this| !a.loops.encloses(Some(*this), a.loops.of(user)));
        let is_left = |this: &LoopId| a.control.divergent_loops.contains(*this) && !a.is_grid_stride(*this);
        for this in around.filter(is_left) {
            left.entry(this).or_default().insert(id);
        }
    };
    for (at, block) in &a.func.blocks {
        let of_insts = block.insts.iter().flat_map(|inst| inst.ids()).chain(block.term.used());
        of_insts.for_each(|id| uses(at, id));
        let of_phis = block.phis.iter().flat_map(|phi| &phi.incoming);
        of_phis.for_each(|(_, id)| uses(at, *id));
    }
    left
}

/// What is loaded as rows for one instruction, of which that takes one operand from memory.
fn operands_in_memory(a: &Analysis<'_>, block: BlockId) -> FxHashSet<Id> {
    let insts = || a.func.blocks[block].insts.iter();
    let mut uses: FxHashMap<Id, usize> = FxHashMap::default();
    insts().flat_map(|inst| inst.ids()).for_each(|id| *uses.entry(id).or_default() += 1);
    let is_row = |id: &Id| {
        a.definition(*id).is_some_and(|inst| {
            inst.op == Op::Load
                && a.def.get(id) == Some(&block)
                && uses.get(id) == Some(&1)
                && matches!(*a.shape(block, inst.id(0)), [Shape::Strided(_)])
        })
    };
    let takes_operand = |inst: &&Inst| match inst.row().family {
        Family::Arithmetic => inst.row().cost == Cost::Low,
        Family::Extended => extent(a, inst).0 <= 1,
        _ => false,
    };
    insts().filter(takes_operand).filter_map(|inst| inst.ids().filter(is_row).last()).collect()
}

/// No loop is around a block, or one whose iterations are code of their own.
#[derive(Clone, Copy)]
struct Straight(bool);

/// Vector registers that each sub-group needs at once in a block, for what the block uses itself.
#[derive(Clone, Copy)]
struct Live {
    values: usize,
    /// More than those, in a function of numbers.
    in_function: usize,
    /// Where it waits for others.
    at_meetings: usize,
}

/// Those of a block. None where values are of several,
/// unless sub-groups share nothing that is loaded for straight code: LLVM loads that early, and spills it.
fn live_in_block(
    a: &Analysis<'_>,
    block: BlockId,
    simd_bits: u32,
    Straight(is_straight): Straight,
) -> Option<Live> {
    let is_vector = |id: &Id| !a.is_common(block, *id) && a.shape(block, *id).contains(&Shape::Varying);
    let code = &a.func.blocks[block];
    let mut live: FxHashSet<Id> = FxHashSet::default();
    for succ in &a.cfg.succs[block] {
        let handed_on = a.func.blocks[*succ].phis.iter().filter_map(|phi| phi.from(block));
        live.extend(handed_on.filter(is_vector));
    }
    let reads = |inst: &Inst| if inst.op == Op::Store { Some(inst.id(0)) } else { None };
    let is_read: FxHashSet<Id> = (code.insts.iter())
        .flat_map(|inst| inst.ids().filter(move |id| reads(inst).is_none_or(|pointer| pointer == *id)))
        .collect();
    let operands = if is_straight { operands_in_memory(a, block) } else { FxHashSet::default() };
    // A product becomes part of the sum that it is for, and what is loaded to be stored is one instruction behind the other.
    let takes_register = |id: &&Id| match a.definition(**id).map(|inst| inst.op) {
        Some(Op::FMul) => false,
        Some(Op::Load) => is_read.contains(*id) && !operands.contains(*id),
        _ => true,
    };
    let is_load = |inst: &Inst| inst.op == Op::Load && !a.builtins.contains_key(&inst.id(0));
    let counts = is_straight && !code.insts.iter().any(|inst| is_load(inst) && a.is_shared(block, inst));
    // Indices and addresses are not what an access takes in the end.
    let is_index = |inst: &Inst| {
        inst.row().derives != Derives::Nothing || matches!(inst.op, Op::UConvert | Op::SConvert)
    };
    let registers_of = |id: &Id| match a.definition(*id) {
        Some(inst) if is_straight && is_index(inst) => 1,
        _ => registers(a, *id, simd_bits).max(1),
    };
    let of_all = |live: &FxHashSet<Id>| live.iter().filter(takes_register).map(registers_of).sum::<usize>();
    let (mut values, mut in_function, mut at_meetings) = (of_all(&live), 0, 0);
    for inst in code.insts.iter().rev() {
        if let Some(result) = inst.result {
            if !counts && is_vector(&result) && registers_of(&result) > 1 {
                return None;
            }
            live.remove(&result);
        }
        live.extend(inst.ids().filter(|id| a.def.contains_key(id)).filter(is_vector));
        let all = of_all(&live);
        values = values.max(all);
        if extent(a, inst).0 > 1 {
            in_function = OF_A_FUNCTION;
        }
        if inst.waits_for_work_group(a.func.module) {
            at_meetings = at_meetings.max(all);
        }
    }
    Some(Live { values, in_function, at_meetings })
}
