//! What it is worth to hold vectors as they are in memory: instructions that are saved, over those that it takes to bring values from one form into the other.

use super::super::Analysis;
use super::super::func::BlockId;
use super::super::leaves::Scalar;
use super::{Classes, Kinds, Packed, REGISTER_BITS, Source};
use rustc_hash::{FxHashMap, FxHashSet};
use spirv::Op;
use spirv_env::opcodes::Cost;
use spirv_env::opcodes::divides_integers;
use spirv_env::{Id, Inst};

/// How much more often what is in a loop is executed than what is in front of it, and the loops that are counted.
const PER_LOOP: i64 = 8;
const MOST_LOOPS: usize = 3;

/// Instructions of a function that is more than one.
const FUNCTION: i64 = 8;

/// Those of a permutation that numbers of components say, which become those of bytes.
const OF_A_CHOICE: i64 = 5;

/// How often all instructions are looked at for what they want. More is asked for by loops in loops only; then all is wanted.
const MOST_PASSES: usize = 8;

/// The components of a value that somebody wants, by their bits.
type Wanted = u32;

impl Analysis<'_> {
    /// For each class, instructions that packing saves.
    pub(super) fn worth_of_packing(&self, classes: &Classes, kinds: &Kinds) -> FxHashMap<usize, i64> {
        let wanted = self.wanted_components(classes, kinds);
        let mut worth: FxHashMap<usize, i64> = FxHashMap::default();
        // What has been brought from one form into the other for a class serves again.
        let mut brought: FxHashSet<(usize, Id)> = FxHashSet::default();
        for (block, code) in &self.func.blocks {
            let weight = self.weight(block);
            for phi in &code.phis {
                for (pred, id) in &phi.incoming {
                    let cost = self.cost_of_use(classes, &mut brought, classes.of(phi.result), *id, *pred);
                    cost.into_iter().for_each(|(class, cost)| *worth.entry(class).or_default() -= cost);
                }
            }
            for (inst, kind) in code.insts.iter().zip(&kinds[block]) {
                let class = match kind {
                    Some(Packed::Store(value)) => classes.of(*value),
                    Some(_) => inst.result.and_then(|id| classes.of(id)),
                    None => None,
                };
                if let (Some(kind), Some(class)) = (kind, class) {
                    *worth.entry(class).or_default() += weight * self.saved(inst, kind, &wanted);
                }
                let is_access = matches!(kind, Some(Packed::Load | Packed::Store(_)));
                // Of bits, a scalar is as good as a vector.
                let is_scalar = |id: Id| self.component(id).is_none();
                let is_free = match kind {
                    Some(Packed::Bitcast) => inst.ids().chain(inst.result).any(is_scalar),
                    Some(Packed::Vote) => true,
                    _ => false,
                };
                if let Some(own) = self.taken_out(inst).and_then(|id| classes.of(id)) {
                    *worth.entry(own).or_default() -= weight;
                    continue;
                }
                for id in inst.ids().filter(|id| !(is_free || is_access && is_scalar(*id))) {
                    let cost = self.cost_of_use(classes, &mut brought, class, id, block);
                    cost.into_iter().for_each(|(class, cost)| *worth.entry(class).or_default() -= cost);
                }
            }
        }
        worth
    }

    /// The vector of which an instruction takes a component, where that is all that it costs.
    fn taken_out(&self, inst: &Inst) -> Option<Id> {
        let is_one = inst.op == Op::CompositeExtract && inst.operands.len() == 2;
        (self.is_alone() && is_one).then(|| inst.id(0))
    }

    /// What it costs a class that a value is used by an instruction of this class, or of none.
    fn cost_of_use(
        &self,
        classes: &Classes,
        brought: &mut FxHashSet<(usize, Id)>,
        class: Option<usize>,
        id: Id,
        at: BlockId,
    ) -> Option<(usize, i64)> {
        let form = classes.of(id);
        let (pays, cost) = match (form, class) {
            (Some(own), None) => (own, self.turned(id)),
            (None, Some(class)) if self.has_lanes(at, id) => (class, self.turned(id)),
            _ => return None,
        };
        brought.insert((pays, id)).then(|| (pays, self.weight(at) * cost))
    }

    fn weight(&self, block: BlockId) -> i64 {
        let loops = self.loops.around(block).take(MOST_LOOPS).count();
        PER_LOOP.pow(loops as u32)
    }

    /// Whether a number is not the same for all work-items, or, of one work-item, made for it.
    fn has_lanes(&self, at: BlockId, id: Id) -> bool {
        if self.is_alone() {
            return self.def.contains_key(&id) && self.func.type_of(id).is_some();
        }
        self.func.type_of(id).is_some() && !self.shape(at, id).iter().all(|shape| shape.is_uniform())
    }

    /// Registers of so many components, held one by one.
    fn by_lanes(&self, components: u32, bits: u32) -> i64 {
        i64::from(components * (self.variant.width * bits).div_ceil(REGISTER_BITS))
    }

    fn packed_registers(&self, components: u32, bits: u32) -> i64 {
        i64::from((components * self.variant.width * bits).div_ceil(REGISTER_BITS))
    }

    /// To bring a vector into the other form, or a scalar to all components of others.
    fn turned(&self, id: Id) -> i64 {
        match self.component(id) {
            Some((_, components)) if self.is_alone() => i64::from(components),
            None if self.is_alone() => 1,
            Some((scalar, components)) => {
                let levels = i64::from(components.next_power_of_two().trailing_zeros());
                levels * self.by_lanes(components, scalar.bits())
            }
            None => 4,
        }
    }

    /// What an instruction takes more by lanes.
    fn saved(&self, inst: &Inst, kind: &Packed, wanted: &FxHashMap<Id, Wanted>) -> i64 {
        let of = |id: Id| self.component(id).filter(|(scalar, _)| *scalar != Scalar::Bool);
        match kind {
            Packed::Load | Packed::Store(_) => {
                let value = if let Packed::Store(value) = kind { Some(*value) } else { inst.result };
                let Some((value, (scalar, components))) = value.and_then(|id| Some((id, of(id)?))) else {
                    return 0;
                };
                if self.is_alone() {
                    // Three are loaded as two and one.
                    let packed = if components.is_power_of_two() { 1 } else { 2 };
                    let live = wanted.get(&value).map_or(components, |wanted| wanted.count_ones());
                    return i64::from(live) - packed;
                }
                // Words are loaded as such, and components shifted out of them, where they are widened anyway.
                let is_word = matches!(components * scalar.bits(), 32 | 64) && scalar.bits() < 32;
                if is_word { 0 } else { self.turned(value) }
            }
            Packed::ByComponent => {
                let bits = inst.ids().chain(inst.result).filter_map(|id| Some(of(id)?.0.bits()));
                let (least, most) =
                    bits.fold((u32::MAX, 0), |(least, most), bits| (bits.min(least), bits.max(most)));
                let Some((result, (_, components))) =
                    inst.result.and_then(|id| Some((id, self.component(id)?)))
                else {
                    return 0;
                };
                let live = wanted.get(&result).map_or(components, |wanted| wanted.count_ones());
                let each = if inst.row().cost == Cost::High || is_function(inst.op) { FUNCTION } else { 1 };
                let all = self.packed_registers(components, most.max(1));
                // Where sizes differ, registers are cut to pieces or put together of them.
                let between = if least < most { all - self.packed_registers(components, least) } else { 0 };
                each * (self.by_lanes(live, most.max(1)) - all) - between
            }
            Packed::Shuffle(sources) => {
                let Some((scalar, _)) = inst.result.and_then(of) else { return 0 };
                let mut operands: Vec<Id> = sources.iter().flatten().map(|source| source.operand).collect();
                operands.sort_unstable();
                operands.dedup();
                let from =
                    operands.iter().filter_map(|id| Some(self.packed_registers(of(*id)?.1, scalar.bits())));
                // Of one work-item, what stays where it is is no instruction.
                let stays = |(at, source): (u32, &Option<Source>)| source.is_none_or(|of| of.component == at);
                if self.is_alone() && operands.len() == 1 && (0..).zip(sources).all(stays) {
                    return 0;
                }
                -from.sum::<i64>()
            }
            Packed::Choose(choice) => {
                let Some((scalar, components)) = inst.result.and_then(of) else { return 0 };
                // A tree of selections for each component, and a permutation of a register.
                let sources = i64::from(components) * if choice.second.is_some() { 2 } else { 1 };
                let by_lanes = self.by_lanes(components, scalar.bits()) * (sources - 1);
                by_lanes - OF_A_CHOICE * self.packed_registers(components, scalar.bits())
            }
            Packed::Insert(_) => inst
                .result
                .and_then(of)
                .map_or(0, |(scalar, components)| -self.packed_registers(components, scalar.bits())),
            // Components are asked about one by one.
            Packed::Vote if self.is_alone() => {
                self.component(inst.id(0)).map_or(0, |(_, components)| i64::from(components) - 2)
            }
            Packed::Bitcast | Packed::Vote => 0,
        }
    }

    /// The components that are wanted of values that may be packed: some leave one out behind all that computed it, such as the alpha of a pixel.
    fn wanted_components(&self, classes: &Classes, kinds: &Kinds) -> FxHashMap<Id, Wanted> {
        let mut wanted: FxHashMap<Id, Wanted> = FxHashMap::default();
        let mut is_final = false;
        for _ in 0..MOST_PASSES {
            is_final = true;
            let mut want = |wanted: &mut FxHashMap<Id, Wanted>, id: Id, more: Wanted| {
                if classes.of(id).is_some() {
                    let before = wanted.entry(id).or_default();
                    is_final &= *before | more == *before;
                    *before |= more;
                }
            };
            // Uses come behind definitions, mostly.
            for block in self.cfg.rpo.iter().rev().copied() {
                let code = &self.func.blocks[block];
                for (inst, kind) in code.insts.iter().zip(&kinds[block]).rev() {
                    let of_result = || inst.result.and_then(|id| wanted.get(&id)).copied().unwrap_or(0);
                    match kind {
                        Some(Packed::ByComponent) => {
                            let result = of_result();
                            inst.ids().for_each(|id| want(&mut wanted, id, result));
                        }
                        Some(Packed::Shuffle(sources)) => {
                            let result = of_result();
                            let is_wanted = |(at, _): &(usize, &Option<Source>)| result >> at & 1 == 1;
                            for source in
                                sources.iter().enumerate().filter(is_wanted).filter_map(|(_, of)| *of)
                            {
                                want(&mut wanted, source.operand, 1 << source.component);
                            }
                        }
                        Some(Packed::Insert(component)) => {
                            let result = of_result() & !(1 << *component);
                            want(&mut wanted, inst.id(1), result);
                        }
                        _ if inst.op == Op::CompositeExtract && inst.operands.len() == 2 => {
                            want(&mut wanted, inst.id(0), 1 << inst.lit(1));
                        }
                        _ => inst.ids().for_each(|id| want(&mut wanted, id, Wanted::MAX)),
                    }
                }
                for phi in &code.phis {
                    let result = wanted.get(&phi.result).copied().unwrap_or(0);
                    phi.incoming.iter().for_each(|(_, id)| want(&mut wanted, *id, result));
                }
            }
            if is_final {
                break;
            }
        }
        if !is_final {
            return FxHashMap::default();
        }
        for (id, wanted) in &mut wanted {
            let components = self.component(*id).map_or(0, |(_, components)| components);
            *wanted &= Wanted::MAX >> (Wanted::BITS - components.max(1));
        }
        wanted
    }
}

fn is_function(op: Op) -> bool {
    op == Op::FDiv || divides_integers(op)
}
