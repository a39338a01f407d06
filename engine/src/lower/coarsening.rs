//! Thread coarsening: one instruction stream for several sub-groups, a *bundle* (`abi::Coarsening`).
//!
//! Where a kernel goes through loops or barriers, sub-groups side by side share what they have in common (loop
//! counters, addresses, loads of the same elements), their independent work hides each other's latencies, and
//! a barrier switches stacks once for all of them. To memory it looks like any order in which sub-groups may run.
//!
//! A block is run *in lockstep*, each instruction for one sub-group after the other, if it runs for all
//! work-items or does no harm to a sub-group that is not there. Other blocks under a mask are run for one
//! sub-group after the other as a whole, each only if some lane of it is on, or for a few of them, where a
//! work-group has barriers and so the others may be idle.

use super::builder::{Builder, Opcode, Value};
use super::opencl_std::table;
use super::values::{Mask, Reg, Val, Values};
use super::work_item::WorkItems;
use super::{Lowerer, interleaved};
use crate::abi::{Coarsening, LaunchInfo, Variant};
use crate::analysis::Analysis;
use crate::analysis::func::{BlockId, Phi};
use crate::analysis::leaves::Scalar;
use crate::analysis::loops::{Loop, LoopId};
use crate::analysis::shapes::Shape;
use crate::error::EngineError;
use crate::exec::group_size;
use crate::jit::target::Target;
use cranelift_entity::EntitySet;
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::{SmallVec, smallvec};
use spirv::Op;
use spirv_env::opcodes::{Convergence, Cost, Derives, Family, Memory};
use spirv_env::{Id, Inst};
use std::collections::VecDeque;
use std::mem::offset_of;

/// The state of lowering one sub-group of a bundle.
pub struct Subgroup {
    pub items: WorkItems,
    /// The mask of the block being lowered.
    pub mask: Mask,
    /// The lanes whose values change where those of others stay in registers or private variables. They are those of the mask, but in
    /// code for full masks, too: products and sums are fused by what lies next to each other, and a blend lies between.
    pub blended: Mask,
    pub(super) values: Values,
    /// Its interleaved private variables.
    pub(super) interleaved: FxHashMap<Id, interleaved::Object>,
    /// Private objects that pointers may lead to.
    pub(super) private_base: FxHashMap<Id, Value>,
    /// Accesses of the block being lowered that are made together.
    pub(super) members: super::members::Known,
}

/// The sub-groups that one instruction stream is made for.
pub(super) struct Bundle {
    pub subgroups: Vec<Subgroup>,
    /// Which of them is being lowered.
    pub at: usize,
    /// The values that they have in common.
    pub common: Values,
    /// The lanes that are on in any of them, while code for all of them is made.
    pub mask_of_all: Option<Mask>,
    /// The blocks that they all run in lockstep.
    pub lockstep: EntitySet<BlockId>,
    /// The blocks that they run in lockstep with their neighbours ([`Bundle::piece`]).
    in_pieces: EntitySet<BlockId>,
    /// They run side by side so that their chains of instructions, which have no loop around them, fill each other's gaps.
    pub fills_gaps: bool,
    /// What an instruction gives the members after the one being lowered, if one of them made it for all.
    pub ahead: VecDeque<Val>,
    /// Memory for loads that are for nobody.
    nowhere: Value,
}

impl Bundle {
    /// The bundle whose first sub-group is given, and runs under this mask.
    pub fn new(
        a: &Analysis<'_>,
        b: &Builder,
        target: &Target,
        first: WorkItems,
        mask: Mask,
        guarded: &[Vec<BlockId>],
    ) -> Self {
        let mut lockstep = lockstep(a);
        let in_pieces =
            if a.factor() > alike(a, target) { in_pieces(a, &lockstep, guarded) } else { EntitySet::new() };
        for block in a.func.block_ids().filter(|block| in_pieces.contains(*block)) {
            lockstep.remove(block);
        }
        Bundle {
            subgroups: members(b, first, a.variant, mask),
            at: 0,
            common: Values::default(),
            mask_of_all: None,
            lockstep,
            in_pieces,
            fills_gaps: a.factor() > 1 && fills_gaps(a, target),
            ahead: VecDeque::new(),
            nowhere: b.alloca(Scalar::I64, 1),
        }
    }

    /// How many sub-groups run a block, which not all of them run in lockstep, if any of these has a lane on.
    pub fn piece(&self, block: BlockId) -> usize {
        if self.in_pieces.contains(block) { PIECE } else { 1 }
    }
}

/// The sub-groups of a bundle, given the first of them.
fn members(b: &Builder, first: WorkItems, variant: Variant, mask: Mask) -> Vec<Subgroup> {
    let width = u64::from(variant.width);
    let [x, y, z] = first.local;
    let row = || {
        let size = b.offset_const(first.info, offset_of!(LaunchInfo, group_size) as u64);
        let size = b.zext_or_trunc(b.load_invariant(Scalar::I32, size, 4), Scalar::I64);
        b.bin(Opcode::LLVMUDiv, size, b.i64(width))
    };
    let member = |at: u64| {
        let (local, subgroup) = match variant.coarsening {
            _ if at == 0 => (first.local, first.subgroup),
            Coarsening::AlongY(_) => {
                ([x, b.add(y, b.i64(at)), z], b.add(first.subgroup, b.mul(row(), b.i64(at))))
            }
            _ => ([b.add(x, b.i64(at * width)), y, z], b.add(first.subgroup, b.i64(at))),
        };
        let items = WorkItems { local, subgroup, cache: FxHashMap::default(), ..first };
        Subgroup {
            items,
            mask,
            blended: mask,
            values: Values::default(),
            interleaved: FxHashMap::default(),
            private_base: FxHashMap::default(),
            members: Default::default(),
        }
    };
    (0..u64::from(variant.coarsening.factor())).map(member).collect()
}

/// The coarsening that serves a kernel best, up to the one that it was analysed for.
pub fn best(a: &Analysis<'_>, target: &Target) -> Coarsening {
    let most = a.factor();
    if most == 1 || !is_possible(a) {
        return Coarsening::Off;
    }
    let mut bundles = std::iter::successors(Some(most), |bundle| Some(bundle / 2));
    let at_barriers = at_barriers_alone(a, target);
    let fits = |bundle: u32| at_barriers.as_ref().is_some_and(|part| part.fits(a, target, bundle as usize));
    let alike = alike(a, target);
    let bundle = bundles.find(|bundle| *bundle <= alike || fits(*bundle)).unwrap_or(1);
    a.variant.coarsening.with_factor(bundle)
}

/// The largest bundle that serves a kernel whose sub-groups all do much the same.
fn alike(a: &Analysis<'_>, target: &Target) -> u32 {
    let own = a.func.block_ids().map(|block| own_insts(a, block)).sum::<usize>();
    if own > MOST_INSTS {
        return 1;
    }
    let simd_bits = target.simd_bits();
    let wanted = match fills_gaps(a, target) {
        true => wanted(a, simd_bits).max(wanted_for_straight(a)),
        false => wanted(a, simd_bits),
    };
    let live = pressure(a, simd_bits);
    let fits = |bundle: u32| {
        let bundle = bundle as usize;
        // Of twice as many as are wanted, half would do nothing but take time to compile.
        bundle < 2 * wanted && own * bundle <= MOST_INSTS && has_room(target, live, bundle)
    };
    group_size::FACTORS.into_iter().find(|bundle| *bundle <= a.factor() && fits(*bundle)).unwrap_or(1)
}

/// Whether the registers of so many sub-groups are there.
fn has_room(target: &Target, live: usize, bundle: usize) -> bool {
    live * bundle + SHARED_REGISTERS <= target.vector_registers()
}

/// What a sub-group is made of in a kernel with barriers, which gains from bundles that are the whole work-group: nobody waits for anybody
/// then, and what its rows have in common is loaded once.
struct Part {
    insts: usize,
    /// Vector registers that it needs at once, where sub-groups are in step.
    live: usize,
}

impl Part {
    fn fits(&self, a: &Analysis<'_>, target: &Target, bundle: usize) -> bool {
        self.insts * bundle <= MOST_INSTS_AT_BARRIERS
            && has_room(target, self.live, bundle)
            && (!target.bypasses_masks() || a.can_guard(bundle))
    }
}

fn at_barriers_alone(a: &Analysis<'_>, target: &Target) -> Option<Part> {
    if !has_barriers(a) {
        return None;
    }
    let (simd_bits, in_step) = (target.simd_bits(), lockstep(a));
    let guarded = if target.bypasses_masks() { a.guarded() } else { Vec::new() };
    let in_pieces = in_pieces(a, &in_step, &guarded);
    let blocks =
        || a.func.block_ids().filter(|block| in_step.contains(*block) && !in_pieces.contains(*block));
    let live = blocks().map(|block| live_in_block(a, block, simd_bits)).collect::<Option<Vec<_>>>()?;
    Some(Part {
        insts: a.func.block_ids().map(|block| own_vector_insts(a, block, simd_bits)).sum(),
        live: live.into_iter().max().unwrap_or(0).max(pressure(a, simd_bits)),
    })
}

/// Whether chains of instructions without a loop around them are a reason for bundles.
fn fills_gaps(a: &Analysis<'_>, target: &Target) -> bool {
    a.loops.loops.is_empty() && target.make.interleaves_chains()
}

/// Instructions that a coarsened kernel may have, sub-groups of a bundle counted one by one.
const MOST_INSTS: usize = 500;
/// Instructions of the CPU, of vectors, for larger bundles of a kernel with barriers.
const MOST_INSTS_AT_BARRIERS: usize = 1300;
/// Vector registers that a function of numbers needs beside its argument.
const OF_A_FUNCTION: usize = 3;
/// What an access to an image counts for: its code has a piece for each common format.
const IMAGE_ACCESS: usize = 30;
/// Vector registers that are left for what a bundle shares, and for intermediate results.
const SHARED_REGISTERS: usize = 4;
/// Cycles until a result can be used, of most vector instructions.
const LATENCY: usize = 4;
/// Vector instructions that a CPU begins in a cycle.
const ISSUE: usize = 2;
/// The instructions of a division of integers, by one of floats, and how many of them wait for each other.
const INTEGER_DIVISION: (usize, usize) = (9, 6);
/// The bundle that is wanted at most for a loop that sub-groups go through a different number of times.
const IF_DIVERGENT: usize = 2;
/// Vector instructions of such a loop from which on the waste outweighs the gain, and the time to compile, too.
const LARGE_IF_DIVERGENT: usize = 40;
/// Lines that lanes walk through for themselves, at most: so many are in a first cache of eight ways also where all of them are
/// a kilobyte apart, which is what rows of matrices are.
const MOST_LINES: usize = 32;
/// The least bundle that makes up for what a barrier costs.
const AT_A_BARRIER: usize = 4;
/// Sub-groups of a larger bundle that run a block under a mask together.
const PIECE: usize = 4;
/// The same where a work-group combines values: bundles also have them in registers, and a work-group that is one bundle
/// needs no stacks.
const AT_A_COLLECTIVE: usize = 8;
/// The same where it has a piece of each row of a column (`columns`).
const AT_A_COLUMN: usize = 8;

/// Instructions that a CPU looks at ahead for those whose operands are there.
const WINDOW: usize = 96;
/// The bundle that is wanted at most for straight code, and the instructions that it may be.
const IF_STRAIGHT: usize = 4;
const MOST_OF_STRAIGHT: usize = 700;

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
fn has_barriers(a: &Analysis<'_>) -> bool {
    meetings(a).any(|convergence| convergence == Convergence::Barrier)
}

/// Whether a block accesses a column of memory.
fn has_column(a: &Analysis<'_>, block: BlockId) -> bool {
    let is_access = |inst: &&Inst| matches!(inst.op, Op::Load | Op::Store);
    a.func.blocks[block].insts.iter().filter(is_access).any(|inst| a.columns().contains(&inst.id(0)))
}

/// Sub-groups side by side that keep the CPU busy: in a loop whose iterations wait for each other, as many as
/// the latency of that chain has room for.
fn wanted(a: &Analysis<'_>, simd_bits: u32) -> usize {
    let lockstep = lockstep(a);
    let at_meetings = meetings(a).map(|convergence| match convergence {
        Convergence::Barrier => AT_A_BARRIER,
        _ => AT_A_COLLECTIVE,
    });
    let in_step = |block: BlockId| lockstep.contains(block) && has_column(a, block);
    let at_columns = if a.func.block_ids().any(in_step) { AT_A_COLUMN } else { 1 };
    let in_loop = |(id, this): (LoopId, &Loop)| {
        let inside = |block: &BlockId| lockstep.contains(*block);
        if !this.blocks.iter().all(inside) {
            return 1;
        }
        let own: usize = this.blocks.iter().map(|block| own_vector_insts(a, *block, simd_bits)).sum();
        let Chains { recurrence, longest } = chains(a, this);
        let from_iterations = (recurrence * LATENCY * ISSUE + own / 2) / own.max(1);
        let wanted = from_iterations.max(wanted_for_chain(longest, own));
        let wanted = match wanted {
            0 | 1 => 1,
            _ => wanted.min(MOST_LINES / (a.lines_of_a_lane(id) * a.variant.width as usize).max(1)).max(1),
        };
        match a.control.divergent_loops.contains(id) {
            true if own > LARGE_IF_DIVERGENT => 1,
            true => wanted.min(IF_DIVERGENT),
            false => wanted,
        }
    };
    let in_loops = a.loops.loops.iter().map(in_loop).max().unwrap_or(1);
    in_loops.max(at_meetings.max().unwrap_or(1)).max(at_columns)
}

/// The same for code without loops. The CPU begins the next sub-groups before one ends, as far as it looks ahead; of more instructions
/// it sees too few that do not wait.
fn wanted_for_straight(a: &Analysis<'_>) -> usize {
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
            own += insts;
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
fn extent(a: &Analysis<'_>, inst: &Inst) -> (usize, usize) {
    let row = inst.row();
    match row.family {
        Family::Extended => {
            inst.opencl_std(a.func.module).map_or((1, 1), |function| table::length(function.op))
        }
        Family::Composite | Family::Reinterpretation => (0, 0),
        _ if row.derives != Derives::Nothing => (0, 0),
        _ if inst.op == Op::FDiv => (1, 3),
        _ if matches!(inst.op, Op::UDiv | Op::SDiv | Op::UMod | Op::SRem | Op::SMod) => INTEGER_DIVISION,
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

/// Instructions of the longest way through an iteration from one value that it begins with to each that it hands on.
fn lengths(a: &Analysis<'_>, this: &Loop, from: Id, to: &[&Phi]) -> Vec<Option<usize>> {
    let mut depth: FxHashMap<Id, usize> = FxHashMap::from_iter([(from, 0)]);
    // A loop's blocks are together in the order, its header first.
    let first = a.regions.position[this.header] as usize;
    for &block in &a.regions.order[first..first + this.blocks.len()] {
        let code = &a.func.blocks[block];
        if block != this.header {
            for phi in &code.phis {
                if let Some(most) = phi.incoming.iter().filter_map(|(_, id)| depth.get(id)).max().copied() {
                    depth.insert(phi.result, most);
                }
            }
        }
        for inst in &code.insts {
            let (Some(result), Some(most)) =
                (inst.result, inst.ids().filter_map(|id| depth.get(&id).copied()).max())
            else {
                continue;
            };
            depth.insert(result, most + extent(a, inst).1);
        }
    }
    let handed_on = |phi: &&Phi| phi.incoming.iter().filter_map(|(_, id)| depth.get(id)).max().copied();
    to.iter().map(handed_on).collect()
}

/// Whether a bundle can run the kernel: no sub-group waits for another in a way that lockstep would not end.
fn is_possible(a: &Analysis<'_>) -> bool {
    let waits = |inst: &Inst| inst.waits_for_work_group(a.func.module);
    if a.func.kernel.prints {
        return false;
    }
    // Who left a loop waits for those inside, which may not wait for him: no spinning on what he writes next.
    let may_spin = |id: LoopId| {
        let blocks = &a.loops.loops[id].blocks;
        blocks.iter().flat_map(|block| &a.func.blocks[*block].insts).any(may_wait)
    };
    !a.control.divergent_loops.iter().any(may_spin)
        && a.func.block_ids().all(|block| {
            let everyone = a.control.class[block].is_none();
            let insts = &a.func.blocks[block].insts;
            insts.iter().all(|inst| !waits(inst) || everyone)
        })
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
    let vectors = insts.filter_map(|inst| Some((inst, inst.result.filter(|id| is_vector(*id))?)));
    vectors.map(|(inst, result)| extent(a, inst).0 * registers(a, result, simd_bits)).sum()
}

/// Vector registers that a value takes, if it is in some.
fn registers(a: &Analysis<'_>, id: Id, simd_bits: u32) -> usize {
    // The engine's own values have no type of the module.
    let ty = a.func.type_of(id).filter(|_| !a.func.selectors.contains(&id));
    let leaves = ty.and_then(|ty| a.leaves.get(ty));
    let bits =
        leaves.iter().flat_map(|leaves| leaves.iter()).map(|leaf| leaf.scalar.bits() * a.variant.width);
    bits.map(|bits| bits.div_ceil(simd_bits) as usize).sum::<usize>().max(1)
}

/// Vector registers that each sub-group keeps through a loop, in the loop that has most of them.
fn pressure(a: &Analysis<'_>, simd_bits: u32) -> usize {
    let is_vector =
        |block: BlockId, id: Id| !a.is_common(block, id) && a.shape(block, id).contains(&Shape::Varying);
    let of_loop = |(id, this): (LoopId, &Loop)| {
        let inside = |block: BlockId| a.loops.encloses(Some(id), a.loops.of(block));
        let mut live: FxHashSet<Id> = FxHashSet::default();
        let header = &a.func.blocks[this.header];
        live.extend(header.phis.iter().map(|phi| phi.result).filter(|id| is_vector(this.header, *id)));
        for &block in &this.blocks {
            let used = a.func.blocks[block].insts.iter().flat_map(|inst| inst.ids());
            let outside = |id: &Id| a.def.get(id).is_some_and(|def| !inside(*def));
            live.extend(used.filter(outside).filter(|id| is_vector(block, *id)));
        }
        live.into_iter().map(|id| registers(a, id, simd_bits)).sum()
    };
    a.loops.loops.iter().map(of_loop).max().unwrap_or(0)
}

/// Vector registers that each sub-group needs at once in a block, at most. None where values are of several: LLVM loads what they share
/// early, and spills it.
fn live_in_block(a: &Analysis<'_>, block: BlockId, simd_bits: u32) -> Option<usize> {
    let is_vector = |id: &Id| !a.is_common(block, *id) && a.shape(block, *id).contains(&Shape::Varying);
    let code = &a.func.blocks[block];
    let mut live: FxHashSet<Id> = FxHashSet::default();
    for succ in &a.cfg.succs[block] {
        let handed_on = |phi: &Phi| phi.incoming.iter().find(|(pred, _)| *pred == block).map(|(_, id)| *id);
        live.extend(a.func.blocks[*succ].phis.iter().filter_map(handed_on).filter(is_vector));
    }
    let reads = |inst: &Inst| if inst.op == Op::Store { Some(inst.id(0)) } else { None };
    let is_read: FxHashSet<Id> = (code.insts.iter())
        .flat_map(|inst| inst.ids().filter(move |id| reads(inst).is_none_or(|pointer| pointer == *id)))
        .collect();
    // A product becomes part of the sum that it is for, and what is loaded to be stored is one instruction behind the other.
    let takes_register = |id: &&Id| match a.definition(**id).map(|inst| inst.op) {
        Some(Op::FMul) => false,
        Some(Op::Load) => is_read.contains(*id),
        _ => true,
    };
    let mut most = live.len();
    for inst in code.insts.iter().rev() {
        let of_function = if extent(a, inst).0 > 1 { OF_A_FUNCTION } else { 0 };
        if let Some(result) = inst.result {
            if is_vector(&result) && registers(a, result, simd_bits) > 1 {
                return None;
            }
            live.remove(&result);
        }
        live.extend(inst.ids().filter(|id| a.def.contains_key(id)).filter(is_vector));
        most = most.max(live.iter().filter(takes_register).count() + of_function);
    }
    Some(most)
}

/// The blocks that a bundle runs in lockstep.
fn lockstep(a: &Analysis<'_>) -> EntitySet<BlockId> {
    let mut lockstep = EntitySet::new();
    lockstep.extend(a.func.block_ids().filter(|&block| {
        let mut insts = a.func.blocks[block].insts.iter();
        a.factor() == 1 || a.control.class[block].is_none() || insts.all(|inst| is_harmless(a, block, inst))
    }));
    lockstep
}

/// The blocks under a mask that a large bundle runs in pieces. Where a work-group meets at barriers, work-items of few sub-groups often do
/// something between two of them that others have no part in, as in trees of sums: for those it would be done in vain. Memory that is accessed
/// once for all of them is not: by itself, a sub-group that is not there would read anything, and leave it to the others.
fn in_pieces(
    a: &Analysis<'_>,
    lockstep: &EntitySet<BlockId>,
    guarded: &[Vec<BlockId>],
) -> EntitySet<BlockId> {
    let mut found = EntitySet::new();
    if a.factor() as usize > PIECE {
        let is_guarded = |block: BlockId| guarded.iter().any(|part| part.contains(&block));
        let is_for_all = |block: BlockId, inst: &Inst| match inst.row().memory {
            Memory::None | Memory::Object | Memory::Lifetime => false,
            Memory::Read { .. } if a.builtins.contains_key(&inst.id(0)) => false,
            _ => a.is_shared(block, inst),
        };
        let may_be_idle = |block: &BlockId| {
            let mut insts = a.func.blocks[*block].insts.iter();
            lockstep.contains(*block)
                && a.control.class[*block].is_some()
                && !has_column(a, *block)
                && !is_guarded(*block)
                && !insts.any(|inst| is_for_all(*block, inst))
        };
        found.extend(a.func.block_ids().filter(may_be_idle));
    }
    found
}

impl Lowerer<'_, '_> {
    /// Emits code for each sub-group of the bundle, or once for all if there is a mask for all.
    pub(super) fn each_subgroup(
        &mut self,
        shared: Option<Mask>,
        mut emit: impl FnMut(&mut Self) -> Result<(), EngineError>,
    ) -> Result<(), EngineError> {
        if shared.is_some() && self.bundle.subgroups.len() > 1 {
            self.bundle.mask_of_all = shared;
            let result = emit(self);
            self.bundle.mask_of_all = None;
            return result;
        }
        for at in 0..self.bundle.subgroups.len() {
            self.bundle.at = at;
            emit(self)?;
        }
        self.bundle.at = 0;
        Ok(())
    }

    /// What `make` makes for each member of the bundle, of an instruction that is lowered for all of them at once.
    pub(super) fn of_each<T>(
        &mut self,
        mut make: impl FnMut(&mut Self) -> Result<T, EngineError>,
    ) -> Result<SmallVec<[T; 1]>, EngineError> {
        let (at, mask) = (self.bundle.at, self.bundle.mask_of_all.take());
        let members = 0..self.bundle.subgroups.len();
        let made = members.map(|member| {
            self.bundle.at = member;
            make(self)
        });
        let made = made.collect();
        (self.bundle.at, self.bundle.mask_of_all) = (at, mask);
        made
    }

    /// Has each sub-group come as far as the others with a long instruction before one goes on. LLVM would put the code of one behind
    /// that of the other, which takes fewer registers.
    pub(super) fn meet_behind(&mut self, inst: &Inst) -> Result<(), EngineError> {
        let is_long = self.bundle.fills_gaps && extent(self.a, inst).1 > 1;
        let Some(result) = inst.result.filter(|_| is_long) else { return Ok(()) };
        let values: Option<Vec<Value>> = (self.bundle.subgroups.iter())
            .map(|of| match of.values.block.get(&result)?.as_slice() {
                [reg] => reg.only_vector(),
                _ => None,
            })
            .collect();
        let fits = |value: &Value| {
            let bits = self.b.scalar_of(*value).bits() * self.b.lanes(*value);
            // What is fused is the same as for one sub-group.
            bits <= self.target.simd_bits() && bits >= 128 && !self.b.is_product(*value)
        };
        let Some(values) = values.filter(|values| values.iter().all(fits)) else { return Ok(()) };
        let together = self.b.together(&values);
        self.each_subgroup(None, |this| {
            this.define(result, smallvec![Reg::varying(together[this.bundle.at])])
        })
    }

    /// An address that can be read: the one given, or another if no lane of the sub-group is on, which runs in
    /// lockstep with others then.
    pub(super) fn readable(&self, address: Value) -> Value {
        match self.mask() {
            // One load for all sub-groups happens only if there is a lane that wants it.
            Mask::Lanes(mask) if self.bundle.subgroups.len() > 1 && self.bundle.mask_of_all.is_none() => {
                self.b.select(self.b.any(mask), address, self.bundle.nowhere)
            }
            _ => address,
        }
    }
}

/// Whether an instruction does nothing, not even fault, for a sub-group without a lane that is on.
fn is_harmless(a: &Analysis<'_>, block: BlockId, inst: &Inst) -> bool {
    let pointer_is_masked =
        |pointer: Id| matches!(a.shape(block, pointer)[0], Shape::Strided(_) | Shape::Varying);
    let private = |pointer: Id| a.private.interleaved.contains_key(&pointer);
    let row = inst.row();
    match row.memory {
        Memory::Read { .. } if a.builtins.contains_key(&inst.id(0)) => true,
        // Uniform addresses see `Lowerer::readable`.
        Memory::Read { .. } => !private(inst.id(0)),
        Memory::Write { .. } => {
            a.is_shared(block, inst) || (!private(inst.id(0)) && pointer_is_masked(inst.id(0)))
        }
        Memory::Copy { .. } => a.is_shared(block, inst),
        // Every descriptor can be read, and writes are masked; blocks are not.
        Memory::ImageRead | Memory::ImageWrite => row.convergence == Convergence::None,
        Memory::Object | Memory::Lifetime => true,
        Memory::ByCallee if row.family == Family::Extended => {
            inst.opencl_std(a.func.module).is_none_or(|function| function.is_pure())
        }
        _ => row.is_pure() && row.cost == Cost::Low,
    }
}

#[cfg(test)]
mod tests;
