//! What a comparison of two integers says of their order, where it is true or where it is not.
//!
//! Compilers write one and the same bound as `i < n`, `n > i`, `!(i >= n)` and `!(n <= i)`. Who looks for bounds looks at one form.

use spirv::Op;
use spirv_env::{Id, Inst};

/// One integer is below another, or at it at most.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Order {
    pub lesser: Id,
    pub greater: Id,
    /// Whether they are not equal either.
    pub is_strict: bool,
    pub is_signed: bool,
}

impl Order {
    /// What a comparison says where it `holds`, or where it does not.
    pub fn of(comparison: &Inst, holds: bool) -> Option<Order> {
        let (is_less, is_strict, is_signed) = match comparison.op {
            Op::ULessThan => (true, true, false),
            Op::ULessThanEqual => (true, false, false),
            Op::UGreaterThan => (false, true, false),
            Op::UGreaterThanEqual => (false, false, false),
            Op::SLessThan => (true, true, true),
            Op::SLessThanEqual => (true, false, true),
            Op::SGreaterThan => (false, true, true),
            Op::SGreaterThanEqual => (false, false, true),
            _ => return None,
        };
        // What is not less is greater or equal.
        let lesser = usize::from(is_less != holds);
        let [lesser, greater] = [lesser, 1 - lesser].map(|at| comparison.id(at));
        Some(Order { lesser, greater, is_strict: is_strict == holds, is_signed })
    }
}

/// The same comparison with its operands exchanged.
pub(super) fn mirrored(op: Op) -> Op {
    match op {
        Op::ULessThan => Op::UGreaterThan,
        Op::ULessThanEqual => Op::UGreaterThanEqual,
        Op::UGreaterThan => Op::ULessThan,
        Op::UGreaterThanEqual => Op::ULessThanEqual,
        Op::SLessThan => Op::SGreaterThan,
        Op::SLessThanEqual => Op::SGreaterThanEqual,
        Op::SGreaterThan => Op::SLessThan,
        Op::SGreaterThanEqual => Op::SLessThanEqual,
        _ => op,
    }
}

/// The comparison that is true where another one is not.
pub(super) fn inverse(op: Op) -> Op {
    match op {
        Op::ULessThan => Op::UGreaterThanEqual,
        Op::ULessThanEqual => Op::UGreaterThan,
        Op::UGreaterThan => Op::ULessThanEqual,
        Op::UGreaterThanEqual => Op::ULessThan,
        Op::SLessThan => Op::SGreaterThanEqual,
        Op::SLessThanEqual => Op::SGreaterThan,
        Op::SGreaterThan => Op::SLessThanEqual,
        Op::SGreaterThanEqual => Op::SLessThan,
        Op::IEqual => Op::INotEqual,
        Op::INotEqual => Op::IEqual,
        _ => op,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use smallvec::smallvec;
    use spirv_env::Operand;

    #[test]
    fn a_bound_is_one_in_all_forms() {
        let (i, n) = (Id(1), Id(2));
        let order = |op: Op, [a, b]: [Id; 2], holds: bool| {
            let inst = Inst {
                op,
                ty: None,
                result: None,
                operands: smallvec![Operand::Id(a), Operand::Id(b)],
                line: None,
            };
            Order::of(&inst, holds)
        };
        for (is_signed, [less, less_equal, greater, greater_equal]) in [
            (false, [Op::ULessThan, Op::ULessThanEqual, Op::UGreaterThan, Op::UGreaterThanEqual]),
            (true, [Op::SLessThan, Op::SLessThanEqual, Op::SGreaterThan, Op::SGreaterThanEqual]),
        ] {
            let below = |is_strict| Some(Order { lesser: i, greater: n, is_strict, is_signed });
            assert_eq!(order(less, [i, n], true), below(true));
            assert_eq!(order(greater, [n, i], true), below(true));
            assert_eq!(order(greater_equal, [i, n], false), below(true));
            assert_eq!(order(less_equal, [n, i], false), below(true));
            assert_eq!(order(less_equal, [i, n], true), below(false));
            assert_eq!(order(greater_equal, [n, i], true), below(false));
            assert_eq!(order(greater, [i, n], false), below(false));
            assert_eq!(order(less, [n, i], false), below(false));
        }
        assert_eq!(order(Op::INotEqual, [i, n], true), None);
    }
}
