//! Counters of loops that grow by one, and the last number that each is where a block is executed.

use super::super::Analysis;
use super::super::func::BlockId;
use super::super::order::Order;
use spirv::Op;
use spirv_env::Id;

/// The numbers that a counter goes through: from the first one, one more each time, to the last one, which is a bound and so many more.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct Range {
    pub first: Id,
    pub bound: Id,
    pub beyond: i64,
}

/// What a counter goes through where a block is executed, which is in its loop. If it is negative that comes before what is not, it is one
/// with a sign.
pub(super) fn range(a: &Analysis<'_>, phi: Id, block: BlockId) -> Option<(Range, bool)> {
    let header = *a.def.get(&phi)?;
    let inside = a.loops.headed_by(header)?;
    let this = a.loops.get(inside);
    if !this.blocks.contains(&block) || a.func.constant_int(a.induction(inside, phi)?)? != 1 {
        return None;
    }
    let of = a.func.blocks[header].phis.iter().find(|of| of.result == phi)?;
    let (first, next) = (of.from(this.preheader)?, a.passed_on(inside, of.from(this.latch)?)?);
    this.exits.iter().find_map(|(asks, _)| {
        let (asked, stays_if) = a.asked_in_each_iteration(inside, *asks)?;
        // The last number of the counter for which the loop goes on, and whether it has a sign.
        let (compared, bound, last, is_signed) = match (Order::of(asked, stays_if), asked.op) {
            (Some(order), _) => (order.lesser, order.greater, -i64::from(order.is_strict), order.is_signed),
            (None, Op::IEqual | Op::INotEqual) if (asked.op == Op::INotEqual) == stays_if => {
                let at = asked.ids().position(|id| id == phi || id == next)?;
                (asked.id(at), asked.id(1 - at), -1, true)
            }
            _ => return None,
        };
        let is_next = compared == next;
        if !(is_next || compared == phi) || !a.is_invariant(inside, bound) {
            return None;
        }
        let last = last - i64::from(is_next);
        // In front of the question it is one more.
        let is_behind = *asks != block && a.doms.dominates(*asks, block);
        Some((Range { first, bound, beyond: last + i64::from(!is_behind) }, is_signed))
    })
}
