//! Loops that carry too many sums, cut into strips of iterations (strip mining), for each of which what sums are made of is computed once.
//!
//! ```text
//! loop { operands; sums }
//! ```
//! becomes
//! ```text
//! loop {
//!     for each iteration of a strip { operands, which a buffer keeps }
//!     for each part of the sums { for each iteration of the strip { operands from the buffer; the part's sums, in registers } }
//! }
//! ```
//! A sum is loaded and stored once for a strip, and the buffer stays in the nearest cache. What it keeps is what is computed last before lanes are
//! only moved (`origins.rs`): where sums are products of a lane in all lanes, as those of matrices are, a part loads that lane into a
//! register, and nobody permutes.
//!
//! A sum is everything that is computed from something that the loop carries and that depends on itself, as long as nothing decides by it; it is there in each
//! iteration. Where all of it is computed lane by lane, each register of it is a sum of its own: two rows of a product's tile and six
//! elements of the other one then take fifteen registers, where vectors of two registers take seventeen.

mod code;

use super::super::blocks::{called_intrinsic, calls, is_prefetch, opcode};
use super::origins::{Origin, memory_bits, origins, shape};
use super::{Body, MOST_STEPS, OF, ORDERED, SPILLED, SUMS, Set, VECTOR, registers_of};
pub(super) use code::Room;
use llvm_sys::LLVMOpcode;
use llvm_sys::core::*;
use llvm_sys::prelude::*;
use rustc_hash::FxHashMap;
use std::rc::Rc;

/// Bytes of the buffer: a quarter of the nearest cache of most processors, where sums are, too, and what is loaded.
const BUFFER: u64 = 8 << 10;
/// A strip of fewer iterations is not worth it.
const LEAST_STRIP: u64 = 4;
/// What it costs to store a vector.
const STORED: u32 = 2 * VECTOR;
/// What it costs to have one loop more, in each iteration, and at the end of each strip, which nobody predicts.
const LOOP: u32 = 2 * VECTOR;
const LOOP_END: u32 = 30 * VECTOR;

/// How a loop is cut into strips.
pub(super) struct Strips {
    /// What is computed before sums: what these are made of, what decides, and what else is used behind the loop.
    before: Set,
    /// What the buffer keeps of an iteration, and where in its record.
    record: Vec<(usize, u64)>,
    record_bytes: u64,
    /// Iterations of a strip.
    iterations: u64,
    operands: Vec<Operand>,
    /// The operand that a register of a value is, or all of it.
    operand_of: FxHashMap<(usize, Option<u32>), usize>,
    /// Which instructions sums are computed by.
    of_sums: Set,
    parts: Vec<Vec<Piece>>,
    /// What an iteration costs.
    pub cost: u32,
}

/// What a part loads from the buffer.
struct Operand {
    origin: Origin,
    /// How, register by register.
    ways: Vec<Way>,
}

/// How a register is loaded from lanes of a value in memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Way {
    /// These that are one behind the other, from this one on.
    Row(u32),
    /// This one into all lanes.
    All(u32),
    /// A register of them from this one on, whose lanes are permuted then.
    Permuted(u32),
}

/// Instructions that make a sum, or several that depend on each other, in their order.
#[derive(Clone)]
struct Piece {
    insts: Vec<usize>,
    /// The register that this is of them, if each of them is computed lane by lane and has several.
    register: Option<u32>,
    /// Those of the part's operands that it needs.
    operands: Vec<usize>,
    /// Registers of what it carries.
    size: u32,
}

impl Strips {
    /// How a body is cut into strips, given what it carries that may be sums, and what decides; if it can be. Code that calls others is left alone: it may wait for
    /// other work-items of its work-group, each bundle of which has a stack of its own, and as many buffers are in no near cache.
    pub fn of(body: &Body, roots: &[usize], shared: &Set) -> Option<Strips> {
        // SAFETY: the body's blocks are alive, and their function with them.
        if roots.is_empty() || unsafe { code::calls_functions(LLVMGetBasicBlockParent(body.entering)) } {
            return None;
        }
        let mut of_sums = dependents(body, roots);
        let is_apart = |at: usize| !shared[at] && is_always_computed(body, at) && can_wait(body, at);
        if !(0..of_sums.len()).all(|at| !of_sums[at] || is_apart(at)) {
            return None;
        }
        let origins = origins(body);
        take_along(body, &origins, shared, &mut of_sums);
        let mut plan = Planner {
            body,
            of_sums: &of_sums,
            origins,
            operands: Vec::new(),
            numbers: FxHashMap::default(),
            operand_of: FxHashMap::default(),
        };
        let mut pieces: Vec<Piece> = Vec::new();
        for insts in groups(body, &of_sums) {
            match registers_of_lanes(body, &of_sums, &insts) {
                Some(registers) => {
                    for register in 0..registers {
                        pieces.push(plan.piece(&insts, Some(register))?);
                    }
                }
                None => pieces.push(plan.piece(&insts, None)?),
            }
        }
        let Planner { operands, operand_of, .. } = plan;
        // The same register of several sums has operands in common where another one has others.
        pieces.sort_by_key(|piece| piece.register);
        if pieces.len().pow(2) * operands.len().max(1) > MOST_STEPS {
            return None;
        }
        let (record, record_bytes) = record(body, &operands);
        let iterations = BUFFER / record_bytes.max(1);
        if iterations < LEAST_STRIP {
            return None;
        }
        let wanted = body.wanted().filter(|at| !of_sums[*at]);
        let before = body.needs(body.ends().chain(record.iter().map(|(at, _)| *at)).chain(wanted));
        let limit = body.target.vector_registers() as u32;
        let ways = SUMS.iter().flat_map(|most| [(most, false), (most, true)]);
        let dealt = ways.map(|(most, looks_ahead)| {
            let parts = deal_out(&operands, pieces.clone(), limit * most / OF, looks_ahead);
            let cost: u32 = parts.iter().map(|part| cost_of_part(&operands, part, limit)).sum();
            (cost, parts)
        });
        let (of_parts, parts) = dealt.min_by_key(|(cost, _)| *cost)?;
        let vectors = |values: &mut dyn Iterator<Item = usize>| -> u32 {
            // SAFETY: the body's instructions are alive.
            values.map(|at| unsafe { registers_of(LLVMTypeOf(body.insts[at]), body.target) }.max(1)).sum()
        };
        let stored = STORED * vectors(&mut record.iter().map(|(at, _)| *at));
        let carried = pieces.iter().map(|piece| piece.size).sum::<u32>();
        let a_strip = (STORED + VECTOR) * carried + LOOP_END * parts.len() as u32;
        let waiting = a_strip.div_ceil(iterations as u32);
        let cost = body.cost_of(&before) + body.cost_of(&of_sums) + of_parts + stored + waiting;
        Some(Strips { before, record, record_bytes, iterations, operands, operand_of, of_sums, parts, cost })
    }
}

/// What finds out what sums are made of.
struct Planner<'b, 't> {
    body: &'b Body<'t>,
    of_sums: &'b Set,
    origins: Vec<Option<Rc<Origin>>>,
    operands: Vec<Operand>,
    /// Operands by what they are.
    numbers: FxHashMap<Origin, usize>,
    operand_of: FxHashMap<(usize, Option<u32>), usize>,
}

impl Planner<'_, '_> {
    fn piece(&mut self, insts: &[usize], register: Option<u32>) -> Option<Piece> {
        let body = self.body;
        let (mut operands, mut size) = (Vec::new(), 0);
        for &at in insts {
            if opcode(body.insts[at]) == LLVMOpcode::LLVMPHI {
                // SAFETY: the body's instructions are alive.
                let registers = unsafe { registers_of(LLVMTypeOf(body.insts[at]), body.target) };
                size += if register.is_some() { 1 } else { registers };
                continue;
            }
            for &value in body.operands[at].iter().filter(|of| !self.of_sums[**of]) {
                let operand = self.operand(value, register)?;
                if !operands.contains(&operand) {
                    operands.push(operand);
                }
            }
        }
        Some(Piece { insts: insts.to_vec(), register, operands, size })
    }

    /// The number of the operand that a value is, or one of its registers.
    fn operand(&mut self, value: usize, register: Option<u32>) -> Option<usize> {
        if let Some(&known) = self.operand_of.get(&(value, register)) {
            return Some(known);
        }
        let body = self.body;
        // SAFETY: the body's instructions are alive.
        let (bits, lanes) = unsafe {
            let (element, lanes) = shape(LLVMTypeOf(body.insts[value]));
            (memory_bits(element)?, lanes)
        };
        let a_register = body.target.simd_bits() / bits;
        let of = |origin: &Origin| match register {
            None => origin.clone(),
            Some(number) => {
                let from = (number * a_register) as usize;
                Origin { of: origin.of, lanes: origin.lanes[from..from + a_register as usize].to_vec() }
            }
        };
        let moved = of(self.origins[value].as_ref()?);
        let (origin, ways) = match ways(body, &moved, a_register) {
            Some(ways) => (moved, ways),
            None => {
                let itself = of(&Origin::whole(value, lanes));
                let ways = ways(body, &itself, a_register)?;
                (itself, ways)
            }
        };
        let operands = &mut self.operands;
        let number = *self.numbers.entry(origin.clone()).or_insert_with(|| {
            operands.push(Operand { origin, ways });
            operands.len() - 1
        });
        self.operand_of.insert((value, register), number);
        Some(number)
    }
}

/// How lanes of a value are loaded, if that is soon done.
fn ways(body: &Body, origin: &Origin, a_register: u32) -> Option<Vec<Way>> {
    // SAFETY: the body's instructions are alive.
    let (_, there) = unsafe { shape(LLVMTypeOf(body.insts[origin.of])) };
    let count = origin.lanes.len() as u32;
    if let Some(row) = row(&origin.lanes, there) {
        return Some(vec![row]);
    }
    let registers = count.div_ceil(a_register);
    if !registers.is_power_of_two() || registers > 1 && !count.is_multiple_of(a_register) {
        return None;
    }
    let way = |lanes: &[Option<u32>]| {
        let same = |lanes: &[Option<u32>]| {
            let mut all = lanes.iter().flatten();
            let first = *all.next()?;
            all.all(|lane| *lane == first).then_some(first)
        };
        // A lane goes into half a register as well, but not into the other one with it: the register is loaded and permuted.
        let halves = || {
            let (low, high) = lanes.split_at(lanes.len() / 2);
            let (low, high) = (same(low)?, same(high)?);
            let from = low / a_register * a_register;
            let is_one = high / a_register == low / a_register && from + a_register <= there;
            (body.target.has_avx512() && lanes.len() == a_register as usize && is_one)
                .then_some(Way::Permuted(from))
        };
        row(lanes, there).or_else(|| same(lanes).map(Way::All)).or_else(halves)
    };
    origin.lanes.chunks(a_register as usize).map(way).collect()
}

/// Lanes that are one behind the other in a value of so many.
fn row(lanes: &[Option<u32>], there: u32) -> Option<Way> {
    let (at, lane) = lanes.iter().enumerate().find_map(|(at, lane)| Some((at as u32, (*lane)?)))?;
    let first = lane.checked_sub(at)?;
    let is_row = lanes.iter().zip(first..).all(|(lane, at)| lane.is_none_or(|lane| lane == at));
    (is_row && first + lanes.len() as u32 <= there).then_some(Way::Row(first))
}

/// Everything that depends on some instructions.
fn dependents(body: &Body, roots: &[usize]) -> Set {
    let mut all = vec![false; body.insts.len()];
    roots.iter().for_each(|at| all[*at] = true);
    // What the loop carries has it go round once more.
    loop {
        let mut is_new = false;
        for at in 0..all.len() {
            if !all[at] && body.operands[at].iter().any(|of| all[*of]) {
                all[at] = true;
                is_new = true;
            }
        }
        if !is_new {
            return all;
        }
    }
}

/// Adds to sums what only one of them needs and is computed from what others need as well, as the products are that are added: all of them
/// would be in the buffer, and not what they are made of.
fn take_along(body: &Body, origins: &[Option<Rc<Origin>>], shared: &Set, of_sums: &mut Set) {
    let of = |at: usize| origins[at].as_ref().map_or(at, |origin| origin.of);
    let (mut users, mut uses) = (vec![Vec::new(); of_sums.len()], vec![0usize; of_sums.len()]);
    for at in 0..of_sums.len() {
        for &operand in &body.operands[at] {
            users[operand].push(at);
            // What only moves lanes is no use by itself.
            uses[of(operand)] += usize::from(of(at) == at);
        }
    }
    for at in (0..of_sums.len()).rev() {
        let is_only_for_a_sum = matches!(users[at][..], [user] if of_sums[user]);
        let (needs, inst) = (&body.operands[at], body.insts[at]);
        let are_common = || !needs.is_empty() && needs.iter().all(|operand| uses[of(*operand)] > 1);
        // SAFETY: the body's instructions are alive.
        let is_here = || unsafe { !body.is_used_outside(at) };
        of_sums[at] |= is_only_for_a_sum
            && of(at) == at
            && !shared[at]
            && is_by_lane(inst)
            && is_always_computed(body, at)
            && are_common()
            && is_here();
    }
}

/// Whether an instruction is one that a loop of its own may have: it does nothing but make a value, in each iteration.
fn is_always_computed(body: &Body, at: usize) -> bool {
    let (inst, block) = (body.insts[at], body.at[at]);
    let makes_value = !is_prefetch(inst) && opcode(inst) != LLVMOpcode::LLVMBr;
    let is_choice = opcode(inst) == LLVMOpcode::LLVMPHI && block != 0;
    makes_value && !is_choice && body.is_always_there[block]
}

/// Whether a value can be in memory, if it is carried or used behind the loop.
fn can_wait(body: &Body, at: usize) -> bool {
    // SAFETY: the body's instructions are alive.
    unsafe {
        let (element, _) = shape(LLVMTypeOf(body.insts[at]));
        let waits = opcode(body.insts[at]) == LLVMOpcode::LLVMPHI || body.is_used_outside(at);
        !waits || memory_bits(element).is_some()
    }
}

/// The instructions that belong together, since one needs the other.
fn groups(body: &Body, of_sums: &Set) -> Vec<Vec<usize>> {
    fn find(leaders: &mut [usize], mut at: usize) -> usize {
        while leaders[at] != at {
            leaders[at] = leaders[leaders[at]];
            at = leaders[at];
        }
        at
    }
    let mut leaders: Vec<usize> = (0..of_sums.len()).collect();
    let members = || (0..of_sums.len()).filter(|at| of_sums[*at]);
    for at in members() {
        for &of in body.operands[at].iter().filter(|of| of_sums[**of]) {
            let (a, b) = (find(&mut leaders, at), find(&mut leaders, of));
            leaders[a.max(b)] = a.min(b);
        }
    }
    let mut places: FxHashMap<usize, usize> = FxHashMap::default();
    let mut groups: Vec<Vec<usize>> = Vec::new();
    for at in members() {
        let place = *places.entry(find(&mut leaders, at)).or_insert_with(|| {
            groups.push(Vec::new());
            groups.len() - 1
        });
        groups[place].push(at);
    }
    groups
}

/// How many registers each value of some instructions has, if it is several and each is computed from others without the rest.
fn registers_of_lanes(body: &Body, of_sums: &Set, insts: &[usize]) -> Option<u32> {
    // SAFETY: the body's instructions are alive, and their operands with them.
    unsafe {
        let (element, lanes) = shape(LLVMTypeOf(body.insts[*insts.first()?]));
        let (bits, simd_bits) = (memory_bits(element)?, body.target.simd_bits());
        let has_shape = |value: LLVMValueRef| {
            let (element, count) = shape(LLVMTypeOf(value));
            count == lanes && memory_bits(element) == Some(bits)
        };
        let fits = |&at: &usize| {
            let inst = body.insts[at];
            let operands = || (0..code::operands(inst)).map(|number| LLVMGetOperand(inst, number));
            let is_carried = opcode(inst) == LLVMOpcode::LLVMPHI;
            let are_by_lane = is_carried || is_by_lane(inst) && operands().all(has_shape);
            of_sums[at] && has_shape(inst) && are_by_lane
        };
        let all = bits * lanes;
        (all > simd_bits && all % simd_bits == 0 && insts.iter().all(fits)).then_some(all / simd_bits)
    }
}

/// Whether an instruction computes each lane from the same lanes of its operands, which are all of its type or of the same size.
fn is_by_lane(inst: LLVMValueRef) -> bool {
    use LLVMOpcode::*;
    match opcode(inst) {
        LLVMCall => code::BY_LANE.iter().any(|name| calls(inst, name)) && called_intrinsic(inst).is_some(),
        LLVMFNeg | LLVMBitCast => true,
        other => code::is_binary(other),
    }
}

/// Where the buffer keeps which values of an iteration, and the bytes of all of them: those with the most first, each at a multiple of a
/// register, or of its size.
fn record(body: &Body, operands: &[Operand]) -> (Vec<(usize, u64)>, u64) {
    // SAFETY: the body's instructions are alive.
    let bytes = |at: usize| unsafe {
        let (element, lanes) = shape(LLVMTypeOf(body.insts[at]));
        u64::from(memory_bits(element).unwrap_or(0) / 8 * lanes)
    };
    let mut values: Vec<usize> = operands.iter().map(|operand| operand.origin.of).collect();
    values.sort_unstable_by_key(|at| (std::cmp::Reverse(bytes(*at)), *at));
    values.dedup();
    let register = u64::from(body.target.simd_bits() / 8);
    let (mut end, mut all) = (0u64, register);
    let mut record = Vec::new();
    for at in values {
        let bytes = bytes(at);
        let offset = end.next_multiple_of(bytes.max(1).next_power_of_two().min(register));
        record.push((at, offset));
        end = offset + bytes;
        all = end.next_multiple_of(register);
    }
    (record, all)
}

/// Deals pieces out to parts of at most so many registers: next is always the one that loads the least beside what is there, for each of those
/// that nothing would have to be loaded for any more if that looks ahead.
fn deal_out(operands: &[Operand], mut pieces: Vec<Piece>, most: u32, looks_ahead: bool) -> Vec<Vec<Piece>> {
    let mut parts = Vec::new();
    while !pieces.is_empty() {
        let (mut part, mut size): (Vec<Piece>, u32) = (Vec::new(), 0);
        let mut is_there = vec![false; operands.len()];
        loop {
            let only = |piece: &Piece| {
                let mut missing = piece.operands.iter().copied().filter(|at| !is_there[*at]);
                missing.next().filter(|_| missing.next().is_none())
            };
            let mut served = vec![0u32; operands.len()];
            for only in pieces.iter().filter(|_| looks_ahead).filter_map(only) {
                served[only] += 1;
            }
            let added = |piece: &Piece| {
                let missing = piece.operands.iter().filter(|at| !is_there[**at]);
                let cost: u32 = missing.map(|at| operands[*at].cost()).sum();
                // With a fraction.
                (cost << u8::BITS) / only(piece).map_or(1, |only| served[only].max(1))
            };
            let fits = |piece: &Piece| part.is_empty() || size + piece.size <= most;
            let candidates = pieces.iter().enumerate().filter(|(_, piece)| fits(piece));
            let Some((next, _)) = candidates.min_by_key(|(_, piece)| added(piece)) else { break };
            let piece = pieces.remove(next);
            piece.operands.iter().for_each(|at| is_there[*at] = true);
            size += piece.size;
            part.push(piece);
        }
        order(operands, &mut part);
        parts.push(part);
    }
    parts
}

/// Has those follow each other that share what the fewest have, so that what few share is in a register for a short time.
fn order(operands: &[Operand], part: &mut [Piece]) {
    let (mut uses, mut first) = (vec![0usize; operands.len()], vec![usize::MAX; operands.len()]);
    for (at, piece) in part.iter().enumerate() {
        for &operand in &piece.operands {
            uses[operand] += 1;
            first[operand] = first[operand].min(at);
        }
    }
    part.sort_by_key(|piece| {
        let rarest = piece.operands.iter().copied().min_by_key(|operand| (uses[*operand], *operand));
        rarest.map_or(0, |operand| first[operand])
    });
}

/// What a part costs beside its sums: what it loads, and what it spills.
fn cost_of_part(operands: &[Operand], part: &[Piece], registers: u32) -> u32 {
    let mut lives: FxHashMap<usize, (usize, usize)> = FxHashMap::default();
    for (at, piece) in part.iter().enumerate() {
        for operand in &piece.operands {
            lives.entry(*operand).or_insert((at, at)).1 = at;
        }
    }
    let loads: u32 = lives.keys().map(|operand| operands[*operand].cost()).sum();
    let mut change = vec![0i64; part.len() + 1];
    for (operand, (begin, end)) in lives {
        let size = operands[operand].ways.len() as i64;
        change[begin] += size;
        change[end + 1] -= size;
    }
    let mut live = part.iter().map(|piece| i64::from(piece.size)).sum::<i64>();
    let mut most = 0;
    for change in change {
        live += change;
        most = most.max(live);
    }
    let beyond = u32::try_from(most).unwrap_or(u32::MAX).saturating_sub(registers * ORDERED / OF);
    loads + SPILLED * beyond + LOOP
}

impl Operand {
    /// What it costs to load.
    fn cost(&self) -> u32 {
        let cost = |way: &Way| if matches!(way, Way::Permuted(_)) { 2 * VECTOR } else { VECTOR };
        self.ways.iter().map(cost).sum()
    }
}

#[cfg(test)]
mod tests;
