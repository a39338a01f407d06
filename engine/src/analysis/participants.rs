//! How many sub-groups of a work-group take part in a block, where the work-group is one bundle and conditions on ids say so.
//!
//! In a tree of sums half of the work-items go on in each step, and in `if (get_local_id(0) == 0)` one. In code for a whole
//! work-group ids are constants, so nothing is made for those that have no part.

use super::Analysis;
use super::builtins::is_group_size;
use super::func::{BlockId, Terminator};
use super::order::Order;
use spirv::{BuiltIn, Op};
use spirv_env::opcodes::{Derives, Family};
use spirv_env::{Id, Inst};

/// Conditions and blocks around a block that are looked at.
const MOST_DEPTH: u32 = 16;

impl Analysis<'_> {
    /// Sub-groups of a bundle that have a part in a block, at most. They are the first ones, or few.
    pub fn participants(&self, block: BlockId) -> u32 {
        let all = self.factor();
        if !self.knows_items() {
            return all;
        }
        let (mut at, mut least) = (block, all);
        for _ in 0..MOST_DEPTH {
            let from = self.doms.idom(at);
            if from == at {
                break;
            }
            if let Terminator::Cond { cond, then, els } = self.func.blocks[from].term
                && then != els
                && self.cfg.preds[at].as_slice() == [from]
            {
                least = least.min(self.participants_if(cond, at == then, MOST_DEPTH).unwrap_or(all));
            }
            at = from;
        }
        least
    }

    /// Whether it is known for which work-items a condition holds.
    pub(super) fn is_of_known_items(&self, condition: Id, depth: u32) -> bool {
        let Some(inst) = self.definition(condition).filter(|_| depth > 0 && self.knows_items()) else {
            return false;
        };
        match inst.op {
            Op::LogicalNot | Op::LogicalAnd | Op::LogicalOr => {
                inst.ids().all(|part| self.is_of_known_items(part, depth / 2))
            }
            _ => {
                inst.row().is_pure() && {
                    let ids = inst.ids().filter(|id| self.func.constant_bits(*id).is_none());
                    ids.map(|id| self.is_of_ids(id)).reduce(|all, one| all && one) == Some(true)
                }
            }
        }
    }

    /// Whether a number tells sub-groups, or the lanes of one, apart by no more than who they are.
    fn is_of_ids(&self, id: Id) -> bool {
        let is_component = matches!(
            self.id_component(id),
            Some((BuiltIn::SubgroupId | BuiltIn::LocalInvocationIndex | BuiltIn::LocalInvocationId, _))
        );
        is_component || self.is_linear_id(id)
    }

    /// Whether what tells lanes' values or addresses apart is known when code is made: who they are, by arithmetic.
    pub(super) fn differs_by_known_items(&self, at: BlockId, id: Id, depth: u32) -> bool {
        let is_shared = || self.shape(at, id).iter().all(|shape| shape.is_uniform());
        if !self.knows_items() || depth == 0 {
            return false;
        }
        if is_shared() || self.is_of_ids(id) {
            return true;
        }
        let is_made = |inst: &&Inst| {
            let row = inst.row();
            let is_number = matches!(row.family, Family::Arithmetic | Family::Conversion) && row.is_pure();
            is_number || row.derives != Derives::Nothing || inst.op == Op::Select
        };
        let made = self.definition(id).filter(is_made);
        made.is_some_and(|inst| inst.ids().all(|part| self.differs_by_known_items(at, part, depth - 1)))
    }

    /// Whether work-items are known when code is made.
    pub(super) fn knows_items(&self) -> bool {
        self.variant.known_group_size().is_some()
    }

    /// For how many sub-groups of a bundle a condition may hold, or not hold.
    fn participants_if(&self, condition: Id, holds: bool, depth: u32) -> Option<u32> {
        let inst = self.definition(condition).filter(|_| depth > 0)?;
        let part = |at: usize, holds: bool| self.participants_if(inst.id(at), holds, depth / 2);
        match inst.op {
            Op::LogicalNot => return part(0, !holds),
            Op::LogicalAnd if holds => return [part(0, true), part(1, true)].into_iter().flatten().min(),
            Op::LogicalOr if !holds => return [part(0, false), part(1, false)].into_iter().flatten().min(),
            _ => {}
        }
        if let Op::IEqual | Op::INotEqual = inst.op {
            let is_number = |at: usize| self.func.constant_bits(inst.id(at)).is_some();
            let id = inst.id(usize::from(is_number(0)));
            let is_one = (inst.op == Op::IEqual) == holds && is_number(0) != is_number(1);
            return self.items_of_a_number(id).filter(|_| is_one).map(|_| 1);
        }
        let order = Order::of(inst, holds)?;
        let items = self.items_of_a_number(order.lesser)?;
        let bound = self.func.constant_bits(order.greater)?;
        let end = if order.is_strict { bound } else { bound.checked_add(1)? };
        u32::try_from(end.div_ceil(items)).ok()
    }

    /// How many numbers in a row are those of one sub-group: all of a sub-group's items have one sub-group's number, and each has a local id.
    fn items_of_a_number(&self, id: Id) -> Option<u64> {
        let lanes = u64::from(self.variant.width);
        let is_one = |at: usize| self.variant.coarsening.count()[at] == 1;
        match self.id_component(id) {
            Some((BuiltIn::SubgroupId, _)) => Some(1),
            Some((BuiltIn::LocalInvocationIndex, _)) => Some(lanes),
            Some((BuiltIn::LocalInvocationId, 0)) => (is_one(1) && is_one(2)).then_some(lanes),
            Some((BuiltIn::LocalInvocationId, 1)) => (is_one(0) && is_one(2)).then_some(1),
            _ => self.is_linear_id(id).then_some(lanes),
        }
    }

    /// `get_local_id(1) * get_local_size(0) + get_local_id(0)`, or the low bits of it.
    fn is_linear_id(&self, id: Id) -> bool {
        let [x, y] = [0, 1].map(|at| (BuiltIn::LocalInvocationId, at));
        let whole = |id: Id| -> Option<&Inst> {
            let inst = self.definition(id)?;
            match inst.op {
                Op::UConvert | Op::CopyObject => self.definition(inst.id(0)),
                _ => Some(inst),
            }
        };
        let Some(sum) = whole(id).filter(|inst| inst.op == Op::IAdd) else { return false };
        let is_size = |id: Id| {
            let row = self.variant.known_group_size().map(|[x, ..]| x.into());
            let is_builtin =
                self.id_component(id).is_some_and(|(builtin, at)| is_group_size(builtin) && at == 0);
            is_builtin || (row.is_some() && self.func.constant_bits(id) == row)
        };
        let is_rows = |id: Id| {
            whole(id).filter(|inst| inst.op == Op::IMul).is_some_and(|product| {
                let [a, b] = [product.id(0), product.id(1)];
                (self.id_component(a) == Some(y) && is_size(b))
                    || (self.id_component(b) == Some(y) && is_size(a))
            })
        };
        let [a, b] = [sum.id(0), sum.id(1)];
        (is_rows(a) && self.id_component(b) == Some(x)) || (is_rows(b) && self.id_component(a) == Some(x))
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{VARIANT, block, of_blocks};
    use crate::abi::{Coarsening, Variant};

    /// How many sub-groups have a part in what is behind a condition, and in what is behind its opposite.
    fn participants(condition: &str, coarsening: Coarsening, one_bundle: bool) -> [u32; 2] {
        let body = format!(
            "%l3 = OpLoad %ulong3 %LocalInvocationId\n%l = OpCompositeExtract %ulong %l3 0\n\
             %y = OpCompositeExtract %ulong %l3 1\n%i = OpUConvert %uint %l\n%g = OpLoad %uint %SubgroupId\n\
             {condition}\nOpBranchConditional %is %inside %other\n\
             %inside = OpLabel\n%a = OpIAdd %uint %any_uint %uint_2\nOpBranch %behind\n\
             %other = OpLabel\n%b = OpIAdd %uint %any_uint %uint_3\nOpBranch %behind\n%behind = OpLabel"
        );
        let variant = Variant { coarsening, one_bundle, ..VARIANT };
        of_blocks(&body, variant, |analysis| [1, 2].map(|number| analysis.participants(block(number))))
    }

    #[test]
    fn bounds_of_ids_say_who_takes_part() {
        let x = |condition: &str| participants(condition, Coarsening::AlongX(8), true);
        assert_eq!(x("%is = OpULessThan %bool %l %ulong_64"), [4, 8]);
        assert_eq!(x("%is = OpULessThan %bool %l %ulong_65"), [5, 8]);
        assert_eq!(x("%is = OpSLessThanEqual %bool %i %uint_32"), [3, 8]);
        assert_eq!(x("%is = OpUGreaterThan %bool %ulong_32 %l"), [2, 8]);
        assert_eq!(x("%is = OpUGreaterThanEqual %bool %l %ulong_64"), [8, 4]);
        assert_eq!(x("%is = OpUGreaterThan %bool %l %ulong_63"), [8, 4]);
        assert_eq!(x("%is = OpIEqual %bool %uint_0 %i"), [1, 8]);
        assert_eq!(x("%is = OpINotEqual %bool %g %uint_3"), [8, 1]);
        assert_eq!(x("%is = OpULessThan %bool %g %uint_3"), [3, 8]);
        assert_eq!(x("%is = OpULessThan %bool %l %ulong_255"), [8, 8]);
    }

    #[test]
    fn conditions_are_joined() {
        let x = |condition: &str| participants(condition, Coarsening::AlongX(8), true);
        let two = "%some = OpULessThan %bool %l %ulong_32\n";
        assert_eq!(x(&format!("{two}%is = OpLogicalAnd %bool %any_bool %some")), [2, 8]);
        assert_eq!(x(&format!("{two}%is = OpLogicalOr %bool %any_bool %some")), [8, 8]);
        let not = format!("{two}%not = OpLogicalNot %bool %some\n%is = OpLogicalOr %bool %any_bool %not");
        assert_eq!(x(&not), [8, 2]);
    }

    #[test]
    fn rows_above_each_other_are_counted_by_y_and_no_more_than_there_are_known() {
        let y = |condition: &str| participants(condition, Coarsening::AlongY(8), true);
        assert_eq!(y("%is = OpULessThan %bool %y %ulong_3"), [3, 8]);
        assert_eq!(y("%is = OpULessThan %bool %l %ulong_3"), [8, 8]);
        let linear =
            "%rows = OpIMul %ulong %y %ulong_16\n%id = OpIAdd %ulong %rows %l\n%n = OpUConvert %uint %id\n";
        assert_eq!(y(&format!("{linear}%is = OpULessThan %bool %n %uint_64")), [4, 8]);
        let other = linear.replace("%ulong_16", "%ulong_32");
        assert_eq!(y(&format!("{other}%is = OpULessThan %bool %n %uint_64")), [8, 8]);
        let some = participants("%is = OpULessThan %bool %l %ulong_3", Coarsening::AlongX(4), false);
        assert_eq!(some, [4, 4]);
    }
}
