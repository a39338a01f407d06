//! Control flow.

use super::assembler::{Assembler, put};
use spirv::Op;

/// Loops inside each other, each with its own counter; the innermost adds up.
pub(super) fn nested_loops(n: u32) -> Vec<u8> {
    let mut a = Assembler::new();
    let uint = a.uint();
    let variables = a.variables(uint, n + 1);
    let (zero, one, item) = (a.constant(0), a.constant(1), a.item);
    let sum = variables[n as usize];
    a.act(Op::Store, &[sum, zero]);
    let mut open = Vec::new();
    for variable in &variables[..n as usize] {
        a.act(Op::Store, &[*variable, zero]);
        let [head, body, done] = [a.id(), a.id(), a.id()];
        a.act(Op::Branch, &[head]);
        a.label(head);
        let count = a.value(Op::Load, uint, &[*variable]);
        let more = a.compare(Op::ULessThan, count, item);
        a.act(Op::BranchConditional, &[more, body, done]);
        a.label(body);
        open.push((*variable, head, done));
    }
    let old = a.value(Op::Load, uint, &[sum]);
    let new = a.add(old, one);
    a.act(Op::Store, &[sum, new]);
    for (variable, head, done) in open.into_iter().rev() {
        let count = a.value(Op::Load, uint, &[variable]);
        let next = a.add(count, one);
        a.act(Op::Store, &[variable, next]);
        a.act(Op::Branch, &[head]);
        a.label(done);
    }
    let sum = a.value(Op::Load, uint, &[sum]);
    a.finish(sum)
}

pub(super) fn loops_in_a_row(n: u32) -> Vec<u8> {
    let mut a = Assembler::new();
    let uint = a.uint();
    let (zero, one, mut sum) = (a.constant(0), a.constant(1), a.item);
    let entry = a.id();
    a.act(Op::Branch, &[entry]);
    a.label(entry);
    let mut before = entry;
    for _ in 0..n {
        let [head, body, done, next, count] = [a.id(), a.id(), a.id(), a.id(), a.id()];
        a.act(Op::Branch, &[head]);
        a.label(head);
        let total = a.id();
        put(&mut a.body, Op::Phi, &[uint, count, zero, before, next, body]);
        let new = a.id();
        put(&mut a.body, Op::Phi, &[uint, total, sum, before, new, body]);
        let item = a.item;
        let more = a.compare(Op::ULessThan, count, item);
        a.act(Op::BranchConditional, &[more, body, done]);
        a.label(body);
        put(&mut a.body, Op::IAdd, &[uint, next, count, one]);
        put(&mut a.body, Op::IAdd, &[uint, new, total, count]);
        a.act(Op::Branch, &[head]);
        a.label(done);
        (before, sum) = (done, total);
    }
    a.finish(sum)
}

pub(super) fn switch(n: u32, own_targets: bool, uniform: bool) -> Vec<u8> {
    let mut a = Assembler::new();
    let uint = a.uint();
    let selector = if uniform { a.n } else { a.item };
    let [default, join] = [a.id(), a.id()];
    let shared = a.id();
    let targets: Vec<u32> = (0..n).map(|_| if own_targets { a.id() } else { shared }).collect();
    let cases = targets.iter().enumerate().flat_map(|(at, to)| [at as u32 * 3, *to]);
    let zero = a.constant(0);
    if n < 30_000 {
        let operands: Vec<u32> = [selector, default].into_iter().chain(cases).collect();
        a.act(Op::Switch, &operands);
    } else {
        // An instruction has at most 65,535 words.
        let half = cases.collect::<Vec<_>>();
        let parts: Vec<&[u32]> = half.chunks(50_000).collect();
        for (at, part) in parts.iter().enumerate() {
            let next = if at + 1 < parts.len() { a.id() } else { default };
            let operands: Vec<u32> = [selector, next].into_iter().chain(part.iter().copied()).collect();
            a.act(Op::Switch, &operands);
            if at + 1 < parts.len() {
                a.label(next);
            }
        }
    }
    let mut incoming = Vec::new();
    let mut labels = targets.clone();
    labels.dedup();
    for (at, label) in labels.into_iter().enumerate() {
        a.label(label);
        let value = a.constant(at as u32 * 7 % 1000);
        incoming.push((value, label));
        a.act(Op::Branch, &[join]);
    }
    a.label(default);
    a.act(Op::Branch, &[join]);
    incoming.push((zero, default));
    a.label(join);
    if incoming.len() < 32_000 {
        let operands: Vec<u32> = incoming.iter().flat_map(|(value, from)| [*value, *from]).collect();
        let value = a.value(Op::Phi, uint, &operands);
        return a.finish(value);
    }
    a.finish(zero)
}

pub(super) fn nested_ifs(n: u32, uniform: bool) -> Vec<u8> {
    let mut a = Assembler::new();
    let value = if uniform { a.n } else { a.item };
    let mut joins = Vec::new();
    for at in 0..n {
        let limit = a.constant(at * 3 + 1);
        let [inside, join] = [a.id(), a.id()];
        let condition = a.compare(Op::UGreaterThan, value, limit);
        a.act(Op::BranchConditional, &[condition, inside, join]);
        a.label(inside);
        let index = a.constant(at);
        let pointer = a.element(index);
        a.act(Op::Store, &[pointer, value]);
        joins.push(join);
    }
    for join in joins.into_iter().rev() {
        a.act(Op::Branch, &[join]);
        a.label(join);
    }
    a.finish(value)
}

pub(super) fn nested_switches(n: u32) -> Vec<u8> {
    let mut a = Assembler::new();
    let (value, uint) = (a.item, a.uint());
    let mut joins = Vec::new();
    for at in 0..n {
        let number = a.constant(at % 7 + 2);
        let [first, second, join] = [a.id(), a.id(), a.id()];
        let selector = a.value(Op::UMod, uint, &[value, number]);
        a.act(Op::Switch, &[selector, join, 0, first, 1, second]);
        a.label(first);
        let index = a.constant(at);
        let pointer = a.element(index);
        a.act(Op::Store, &[pointer, value]);
        a.act(Op::Branch, &[join]);
        a.label(second);
        joins.push(join);
    }
    for join in joins.into_iter().rev() {
        a.act(Op::Branch, &[join]);
        a.label(join);
    }
    a.finish(value)
}

pub(super) fn ifs_in_a_row(n: u32, uniform: bool) -> Vec<u8> {
    let mut a = Assembler::new();
    let uint = a.uint();
    let (selector, mut value) = (if uniform { a.n } else { a.item }, a.item);
    for at in 0..n {
        let limit = a.constant(at * 3 + 1);
        let [yes, no, join] = [a.id(), a.id(), a.id()];
        let condition = a.compare(Op::UGreaterThan, selector, limit);
        a.act(Op::BranchConditional, &[condition, yes, no]);
        a.label(yes);
        // Selections are no part of what is computed for nobody.
        let more = a.value(Op::Select, uint, &[condition, value, limit]);
        a.act(Op::Branch, &[join]);
        a.label(no);
        let other = a.value(Op::BitwiseXor, uint, &[value, limit]);
        a.act(Op::Branch, &[join]);
        a.label(join);
        value = a.value(Op::Phi, uint, &[more, yes, other, no]);
    }
    a.finish(value)
}

pub(super) fn chain_of_blocks(n: u32) -> Vec<u8> {
    let mut a = Assembler::new();
    let mut value = a.item;
    for at in 0..n {
        let next = a.id();
        a.act(Op::Branch, &[next]);
        a.label(next);
        let constant = a.constant(at % 100);
        value = a.add(value, constant);
    }
    a.finish(value)
}

/// A row of tests, each of which may leave for the end.
pub(super) fn early_exits(n: u32) -> Vec<u8> {
    let mut a = Assembler::new();
    let (item, end) = (a.item, a.id());
    for at in 0..n {
        let limit = a.constant(at * 5);
        let next = a.id();
        let condition = a.compare(Op::IEqual, item, limit);
        a.act(Op::BranchConditional, &[condition, end, next]);
        a.label(next);
    }
    a.act(Op::Branch, &[end]);
    a.label(end);
    a.finish(item)
}

/// As many blocks as phis in each.
pub(super) fn blocks_with_phis(n: u32) -> Vec<u8> {
    let mut a = Assembler::new();
    let (uint, item) = (a.uint(), a.item);
    let mut values: Vec<u32> = (0..n).map(|_| item).collect();
    for at in 0..n {
        let limit = a.constant(at * 3 + 1);
        let [yes, no, join] = [a.id(), a.id(), a.id()];
        let condition = a.compare(Op::UGreaterThan, item, limit);
        a.act(Op::BranchConditional, &[condition, yes, no]);
        a.label(yes);
        // Selections are no part of what is computed for nobody.
        a.value(Op::Select, uint, &[condition, item, limit]);
        a.act(Op::Branch, &[join]);
        a.label(no);
        a.act(Op::Branch, &[join]);
        a.label(join);
        let last = values.len() - 1;
        let phis: Vec<u32> = (0..values.len())
            .map(|i| a.value(Op::Phi, uint, &[values[i], yes, values[last - i], no]))
            .collect();
        values = phis;
        values[0] = a.add(values[0], limit);
    }
    let sum = values.clone().into_iter().reduce(|x, y| a.add(x, y)).expect("some");
    a.finish(sum)
}

/// A cycle of `n` blocks that is entered at each of them.
pub(super) fn irreducible_entries(n: u32) -> Vec<u8> {
    let mut a = Assembler::new();
    let (item, end) = (a.item, a.id());
    let labels: Vec<u32> = (0..n).map(|_| a.id()).collect();
    let cases = labels.iter().enumerate().flat_map(|(at, to)| [at as u32, *to]);
    let operands: Vec<u32> = [item, end].into_iter().chain(cases).collect();
    a.act(Op::Switch, &operands);
    for (at, label) in labels.iter().enumerate() {
        a.label(*label);
        let constant = a.constant(at as u32);
        let value = a.load(constant);
        let more = a.compare(Op::ULessThan, value, item);
        a.act(Op::BranchConditional, &[more, labels[(at + 1) % labels.len()], end]);
    }
    a.label(end);
    a.finish(item)
}

pub(super) fn irreducible_cycles(n: u32) -> Vec<u8> {
    let mut a = Assembler::new();
    let item = a.item;
    for at in 0..n {
        let [first, second, next] = [a.id(), a.id(), a.id()];
        let constant = a.constant(at);
        let condition = a.compare(Op::ULessThan, item, constant);
        a.act(Op::BranchConditional, &[condition, first, second]);
        a.label(first);
        let value = a.load(constant);
        let more = a.compare(Op::ULessThan, value, item);
        a.act(Op::BranchConditional, &[more, second, next]);
        a.label(second);
        a.act(Op::Branch, &[first]);
        a.label(next);
    }
    a.finish(item)
}

/// Cycles of two entries in each other: each is entered where it is, and behind what is inside.
pub(super) fn irreducible_nest(n: u32) -> Vec<u8> {
    let mut a = Assembler::new();
    let item = a.item;
    let mut open = Vec::new();
    for at in 0..n {
        let [first, second] = [a.id(), a.id()];
        let constant = a.constant(at);
        let condition = a.compare(Op::ULessThan, item, constant);
        a.act(Op::BranchConditional, &[condition, first, second]);
        a.label(first);
        open.push((first, second));
    }
    for (at, (first, second)) in (0..n).zip(open.into_iter().rev()) {
        let next = a.id();
        let constant = a.constant(at);
        let value = a.load(constant);
        let more = a.compare(Op::ULessThan, value, item);
        a.act(Op::BranchConditional, &[more, second, next]);
        a.label(second);
        a.act(Op::Branch, &[first]);
        a.label(next);
    }
    a.finish(item)
}

/// A cycle that is entered at each of its blocks, which all count.
pub(super) fn entries_with_phis(n: u32) -> Vec<u8> {
    let mut a = Assembler::new();
    let (uint, item, one, before, end) = (a.uint(), a.item, a.constant(1), a.id(), a.id());
    a.act(Op::Branch, &[before]);
    a.label(before);
    let labels: Vec<u32> = (0..n).map(|_| a.id()).collect();
    let counts: Vec<u32> = (0..n).map(|_| a.id()).collect();
    let cases = labels.iter().enumerate().flat_map(|(at, to)| [at as u32, *to]);
    let operands: Vec<u32> = [item, end].into_iter().chain(cases).collect();
    a.act(Op::Switch, &operands);
    for at in 0..n as usize {
        let last = (at + labels.len() - 1) % labels.len();
        a.label(labels[at]);
        let count = a.id();
        put(&mut a.body, Op::Phi, &[uint, count, item, before, counts[last], labels[last]]);
        put(&mut a.body, Op::IAdd, &[uint, counts[at], count, one]);
        let more = a.compare(Op::ULessThan, counts[at], item);
        a.act(Op::BranchConditional, &[more, labels[(at + 1) % labels.len()], end]);
    }
    a.label(end);
    a.finish(item)
}

/// Blocks that may each go to all of them.
pub(super) fn dense_graph(n: u32, phis: bool) -> Vec<u8> {
    let mut a = Assembler::new();
    let (uint, item, before, end) = (a.uint(), a.item, a.id(), a.id());
    let labels: Vec<u32> = (0..n).map(|_| a.id()).collect();
    let values: Vec<u32> = (0..n).map(|_| a.id()).collect();
    a.act(Op::Branch, &[before]);
    a.label(before);
    let cases: Vec<u32> = labels.iter().enumerate().flat_map(|(at, to)| [at as u32, *to]).collect();
    a.act(Op::Switch, &[&[item, end], &cases[..]].concat());
    for at in 0..n as usize {
        a.label(labels[at]);
        let mut value = item;
        if phis {
            let incoming: Vec<u32> = values.iter().zip(&labels).flat_map(|(x, from)| [*x, *from]).collect();
            value = a.value(Op::Phi, uint, &[&[item, before], &incoming[..]].concat());
        }
        let constant = a.constant(at as u32);
        put(&mut a.body, Op::IAdd, &[uint, values[at], value, constant]);
        let place = a.element(values[at]);
        let selector = a.value(Op::Load, uint, &[place]);
        a.act(Op::Switch, &[&[selector, end], &cases[..]].concat());
    }
    a.label(end);
    a.finish(item)
}

/// Two loops, one in the other, with tests that leave the inner one, or both.
pub(super) fn breaks(n: u32) -> Vec<u8> {
    let mut a = Assembler::new();
    let (uint, item, zero, one) = (a.uint(), a.item, a.constant(0), a.constant(1));
    let [before, outer, inner, next_outer, next_inner, end] = std::array::from_fn(|_| a.id());
    let [count, next] = [a.id(), a.id()];
    a.act(Op::Branch, &[before]);
    a.label(before);
    a.act(Op::Branch, &[outer]);
    a.label(outer);
    put(&mut a.body, Op::Phi, &[uint, count, zero, before, next, next_outer]);
    a.act(Op::Branch, &[inner]);
    a.label(inner);
    for at in 0..n {
        let constant = a.constant(at);
        let value = a.load(constant);
        let leaves = a.compare(Op::IEqual, value, item);
        let further = a.id();
        let to = if at % 2 == 0 { next_outer } else { end };
        a.act(Op::BranchConditional, &[leaves, to, further]);
        a.label(further);
    }
    a.act(Op::Branch, &[next_inner]);
    a.label(next_inner);
    a.act(Op::Branch, &[inner]);
    a.label(next_outer);
    put(&mut a.body, Op::IAdd, &[uint, next, count, one]);
    a.act(Op::Branch, &[outer]);
    a.label(end);
    a.finish(item)
}

/// Loops in each other, and in the innermost a switch that leaves any number of them.
pub(super) fn exits_from_a_nest(n: u32) -> Vec<u8> {
    const DEEP: usize = 30;
    let mut a = Assembler::new();
    let (mut selector, item) = (a.item, a.item);
    for _ in 0..n {
        let heads: Vec<u32> = (0..DEEP).map(|_| a.id()).collect();
        let ends: Vec<u32> = (0..DEEP).map(|_| a.id()).collect();
        for head in &heads {
            a.act(Op::Branch, &[*head]);
            a.label(*head);
        }
        selector = a.load(selector);
        let cases: Vec<u32> = ends.iter().enumerate().flat_map(|(at, to)| [at as u32, *to]).collect();
        a.act(Op::Switch, &[&[selector, heads[DEEP - 1]], &cases[..]].concat());
        for at in (0..DEEP).rev() {
            a.label(ends[at]);
            let value = a.load(item);
            let more = a.compare(Op::ULessThan, value, item);
            let next = if at > 0 { ends[at - 1] } else { a.id() };
            a.act(Op::BranchConditional, &[more, heads[at], next]);
            if at == 0 {
                a.label(next);
            }
        }
    }
    a.finish(item)
}

/// Blocks that nothing leads to, with phis among them.
pub(super) fn unreachable_blocks(n: u32) -> Vec<u8> {
    let mut a = Assembler::new();
    let (item, uint) = (a.item, a.uint());
    let place = a.element(item);
    a.act(Op::Store, &[place, item]);
    a.act(Op::Return, &[]);
    let mut before = a.id();
    a.label(before);
    let mut value = item;
    for _ in 0..n {
        let next = a.id();
        a.act(Op::Branch, &[next]);
        a.label(next);
        value = a.value(Op::Phi, uint, &[value, before]);
        before = next;
    }
    a.finish(value)
}

/// Loops in a row, each with a loop inside and an if in that.
pub(super) fn small_nests(n: u32) -> Vec<u8> {
    let mut a = Assembler::new();
    let (item, mut value) = (a.item, a.item);
    for at in 0..n {
        let [outer, inner, yes, join, next, done] = std::array::from_fn(|_| a.id());
        let limit = a.constant(at % 100);
        a.act(Op::Branch, &[outer]);
        a.label(outer);
        a.act(Op::Branch, &[inner]);
        a.label(inner);
        let place = a.element(item);
        let uint = a.uint();
        let loaded = a.value(Op::Load, uint, &[place]);
        let condition = a.compare(Op::ULessThan, loaded, limit);
        a.act(Op::BranchConditional, &[condition, yes, join]);
        a.label(yes);
        a.act(Op::Store, &[place, limit]);
        a.act(Op::Branch, &[join]);
        a.label(join);
        let more = a.compare(Op::ULessThan, loaded, item);
        a.act(Op::BranchConditional, &[more, inner, next]);
        a.label(next);
        value = a.add(loaded, limit);
        let more = a.compare(Op::ULessThan, value, item);
        a.act(Op::BranchConditional, &[more, outer, done]);
        a.label(done);
    }
    a.finish(value)
}

/// Values that are made in front of ifs in a row, and used behind all of them.
pub(super) fn live_across_ifs(n: u32) -> Vec<u8> {
    let mut a = Assembler::new();
    let item = a.item;
    let mut values = vec![item];
    for at in 0..n {
        let [yes, join] = [a.id(), a.id()];
        let constant = a.constant(at);
        let loaded = a.load(constant);
        values.push(loaded);
        let condition = a.compare(Op::ULessThan, loaded, item);
        a.act(Op::BranchConditional, &[condition, yes, join]);
        a.label(yes);
        let place = a.element(item);
        a.act(Op::Store, &[place, loaded]);
        a.act(Op::Branch, &[join]);
        a.label(join);
    }
    let sum = values.into_iter().reduce(|x, y| a.add(x, y)).expect("some");
    a.finish(sum)
}

/// Phis of one block for `n` ways into it, `n` of them.
pub(super) fn many_phis_of_many_ways(n: u32) -> Vec<u8> {
    let mut a = Assembler::new();
    let (uint, item, join) = (a.uint(), a.item, a.id());
    let labels: Vec<u32> = (0..n).map(|_| a.id()).collect();
    let values: Vec<u32> = (0..n).map(|at| a.constant(at * 3)).collect();
    let cases: Vec<u32> = labels.iter().enumerate().flat_map(|(at, to)| [at as u32, *to]).collect();
    a.act(Op::Switch, &[&[item, labels[0]], &cases[..]].concat());
    for label in &labels {
        a.label(*label);
        a.act(Op::Branch, &[join]);
    }
    a.label(join);
    let phis: Vec<u32> = (0..n as usize)
        .map(|at| {
            let value = |from: usize| values[(at * 7 + from) % values.len()];
            let ways: Vec<u32> = labels.iter().enumerate().flat_map(|(i, from)| [value(i), *from]).collect();
            a.value(Op::Phi, uint, &ways)
        })
        .collect();
    let sum = phis.into_iter().reduce(|x, y| a.add(x, y)).expect("some");
    a.finish(sum)
}
