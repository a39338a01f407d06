//! Random programs: graphs of nodes for one work-item, with functions, and what all work-items of a group do together.

/// Variables of a program: some start uniform, some differ between work-items.
pub(super) const VARS: usize = 4;
/// Back edges that a work-item takes before it is made to leave.
pub(super) const FUEL: i32 = 24;
/// The same in a function that is called.
pub(super) const FUEL_OF_CALLS: i32 = 3;

/// xorshift64*: the tests need reproducible variety, not statistics.
pub(super) struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 16
    }

    pub fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Op {
    Add,
    Sub,
    Mul,
    Xor,
    And,
    /// Calls the function with this number: see [`arguments`](super::interpreter::arguments).
    Call(usize),
    /// Calls, through a pointer, the first of these functions where the operand is odd, else the second.
    CallEither(usize, usize),
    /// All work-items of the group are there.
    Together(Together),
}

/// What work-items do together with a value of each.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Together {
    /// The value of the work-item this much further, through local memory.
    Exchange(u32),
    /// The sum in the work-group, which is the same for all.
    SumOfGroup,
    Sum,
    Most,
    SumUpTo,
    SumBefore,
    /// That of this lane.
    Broadcast(u32),
    /// Whether any is odd.
    AnyOdd,
    /// That of the lane whose number differs in these bits.
    Across(u32),
}

impl Together {
    fn random(random: &mut Random, subgroups: bool) -> Together {
        let amount = random.below(4) as u32;
        match random.below(if subgroups { 10 } else { 2 }) {
            0 => Together::Exchange(amount + 1),
            1 => Together::SumOfGroup,
            2 => Together::Sum,
            3 => Together::Most,
            4 => Together::SumUpTo,
            5 => Together::SumBefore,
            6 => Together::Broadcast(amount),
            7 => Together::AnyOdd,
            _ => Together::Across(amount),
        }
    }

    /// The results of a work-group's work-items, whose sub-groups are of `width` each and one of the rest.
    pub fn of(self, values: &[i32], width: usize) -> Vec<i32> {
        let sum = |values: &[i32]| values.iter().fold(0i32, |sum, value| sum.wrapping_add(*value));
        match self {
            Together::Exchange(by) => {
                (0..values.len()).map(|at| values[(at + by as usize) % values.len()]).collect()
            }
            Together::SumOfGroup => vec![sum(values); values.len()],
            _ => values.chunks(width).flat_map(|lanes| self.of_subgroup(lanes, &sum)).collect(),
        }
    }

    fn of_subgroup(self, lanes: &[i32], sum: &dyn Fn(&[i32]) -> i32) -> Vec<i32> {
        let each = |of: &dyn Fn(usize) -> i32| (0..lanes.len()).map(of).collect();
        match self {
            Together::Sum => each(&|_| sum(lanes)),
            Together::Most => each(&|_| lanes.iter().copied().max().unwrap_or(0)),
            Together::SumUpTo => each(&|at| sum(&lanes[..=at])),
            Together::SumBefore => each(&|at| sum(&lanes[..at])),
            Together::Broadcast(lane) => each(&|_| lanes[lane as usize]),
            Together::AnyOdd => each(&|_| i32::from(lanes.iter().any(|value| value & 1 != 0))),
            Together::Across(bits) => each(&|at| lanes[at ^ bits as usize]),
            Together::Exchange(_) | Together::SumOfGroup => unreachable!("they are the work-group's"),
        }
    }
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Source {
    Var(usize),
    Const(i32),
}

#[derive(Clone, Debug)]
pub(super) struct Step {
    pub to: usize,
    pub op: Op,
    pub from: usize,
    pub with: Source,
}

#[derive(Clone, Debug)]
pub(super) enum Exit {
    Jump(usize),
    /// `(var & mask) < limit`
    If {
        var: usize,
        mask: i32,
        limit: i32,
        then: usize,
        els: usize,
    },
    /// `var & 3`
    Switch {
        var: usize,
        cases: [usize; 3],
        default: usize,
    },
    /// Uses up fuel, and leaves the program without any.
    Back(usize),
    End,
}

#[derive(Clone, Debug)]
pub(super) struct Node {
    pub steps: Vec<Step>,
    pub exit: Exit,
}

/// A kernel, and functions that call those with a higher number. Even numbers also take a pointer to a private
/// variable, which they change; the others call odd ones only.
#[derive(Clone, Debug)]
pub(super) struct Program {
    pub main: Vec<Node>,
    pub functions: Vec<Vec<Node>>,
}

pub(super) fn takes_pointer(function: usize) -> bool {
    function.is_multiple_of(2)
}

/// The last variable is uniform in a row, and nothing else of it.
pub(super) const ROW: usize = VARS - 1;

/// With `subgroups`, what calm programs do together is also of sub-groups, whose sizes have to be known.
pub(super) fn whole_program(random: &mut Random, calm: bool, subgroups: bool) -> Program {
    let count = random.below(4);
    let callees = |caller: Option<usize>| -> Vec<usize> {
        let pure = caller.is_some_and(|caller| !takes_pointer(caller));
        (caller.map_or(0, |caller| caller + 1)..count).filter(|of| !pure || !takes_pointer(*of)).collect()
    };
    let mut functions = Vec::new();
    for number in 0..count {
        let mut nodes = program(random, false, subgroups, &callees(Some(number)));
        // Work-items return early, from anywhere.
        for node in &mut nodes {
            if matches!(node.exit, Exit::Jump(_)) && random.below(3) == 0 {
                node.exit = Exit::End;
            }
        }
        functions.push(nodes);
    }
    Program { main: program(random, calm, subgroups, &callees(None)), functions }
}

/// With `calm`, only hammocks diverge: branches within loops and out of them depend on what all work-items agree on.
fn program(random: &mut Random, calm: bool, subgroups: bool, callees: &[usize]) -> Vec<Node> {
    let count = 3 + random.below(12);
    let mut nodes = Vec::new();
    for _ in 0..count {
        let steps = (0..random.below(4))
            .map(|_| Step {
                to: random.below(VARS),
                op: match callees {
                    [_, ..] if random.below(5) == 0 => {
                        let first = callees[random.below(callees.len())];
                        // A pointer leads to functions of one type.
                        let alike = |of: &&usize| takes_pointer(**of) == takes_pointer(first);
                        let alike: Vec<usize> = callees.iter().filter(alike).copied().collect();
                        match random.below(2) {
                            0 => Op::Call(first),
                            _ => Op::CallEither(first, alike[random.below(alike.len())]),
                        }
                    }
                    _ => [Op::Add, Op::Sub, Op::Mul, Op::Xor, Op::And][random.below(5)],
                },
                from: random.below(VARS),
                with: if random.below(2) == 0 {
                    Source::Var(random.below(VARS))
                } else {
                    Source::Const(random.below(50) as i32 - 10)
                },
            })
            .collect();
        nodes.push(Node { steps, exit: Exit::End });
    }
    // Edges to earlier nodes go through nodes of their own that use fuel.
    let mut backs = Vec::new();
    for (at, node) in nodes.iter_mut().enumerate() {
        let target = |random: &mut Random, backs: &mut Vec<usize>| {
            // Mostly near by, so that there is structure.
            let reach = if random.below(3) == 0 { count } else { 4 };
            let low = at.saturating_sub(if random.below(2) == 0 { 0 } else { reach });
            let to = (low + random.below(reach + 2)).min(count);
            if to > at {
                return to;
            }
            backs.push(to.max(1));
            count + backs.len()
        };
        let exit = match random.below(10) {
            0..=1 => Exit::Jump(target(random, &mut backs)),
            2..=7 => Exit::If {
                var: random.below(VARS),
                mask: [1, 3, 7, 15][random.below(4)],
                limit: 1 + random.below(5) as i32,
                then: target(random, &mut backs),
                els: target(random, &mut backs),
            },
            8 => {
                let mut to = || target(random, &mut backs);
                let cases = [to(), to(), to()];
                let default = to();
                Exit::Switch { var: random.below(VARS), cases, default }
            }
            _ => Exit::Jump(at + 1),
        };
        node.exit = exit;
    }
    if calm {
        let inner = calm_down(&mut nodes, random, subgroups);
        backs.iter_mut().filter(|to| inner.get(**to) == Some(&true)).for_each(|to| *to += 1);
    }
    nodes.push(Node { steps: Vec::new(), exit: Exit::End });
    for to in backs {
        nodes.push(Node { steps: Vec::new(), exit: Exit::Back(to) });
    }
    nodes
}

/// Variables 1 and 2 keep what all work-items agree on, and branches go by them, but for hammocks. Outside of those, work-items
/// do something together now and then. Which nodes are inside: nothing else leads there, since who meets whom in a loop that some
/// enter inside of a hammock and others behind it is nowhere defined.
fn calm_down(nodes: &mut [Node], random: &mut Random, subgroups: bool) -> Vec<bool> {
    let last = nodes.len();
    for node in nodes.iter_mut() {
        for step in &mut node.steps {
            if matches!(step.to, 1 | 2) {
                step.from = 1 + step.from % 2;
                if let Source::Var(var) = &mut step.with {
                    *var = 1 + *var % 2;
                }
            }
        }
        match &mut node.exit {
            Exit::If { var, .. } | Exit::Switch { var, .. } => *var = 1 + *var % 2,
            _ => {}
        }
    }
    let (mut at, mut inner) = (0, vec![false; last]);
    while at + 2 < last {
        if random.below(3) == 0 {
            let (var, mask) = ([0, ROW][random.below(2)], [1, 3][random.below(2)]);
            nodes[at].exit = Exit::If { var, mask, limit: 1, then: at + 1, els: at + 2 };
            nodes[at + 1].exit = Exit::Jump(at + 2);
            nodes[at + 1].steps.retain(|step| matches!(step.to, 0 | ROW));
            inner[at + 1] = true;
            at += 1;
        }
        at += 1;
    }
    for (at, node) in nodes.iter_mut().enumerate() {
        let behind = |to: &mut usize| {
            if *to != at + 1 && inner.get(*to) == Some(&true) {
                *to += 1;
            }
        };
        match &mut node.exit {
            Exit::Jump(to) => behind(to),
            Exit::If { then, els, .. } => [then, els].into_iter().for_each(behind),
            Exit::Switch { cases, default, .. } => cases.iter_mut().chain([default]).for_each(behind),
            Exit::Back(_) | Exit::End => {}
        }
    }
    for (node, _) in nodes.iter_mut().zip(&inner).filter(|(_, inner)| !**inner) {
        while random.below(3) == 0 {
            let of = Together::random(random, subgroups);
            // What all agree on may go where branches look.
            let to = match of {
                Together::SumOfGroup => random.below(VARS),
                _ => [0, ROW][random.below(2)],
            };
            let step = Step { to, op: Op::Together(of), from: random.below(VARS), with: Source::Const(0) };
            node.steps.insert(random.below(node.steps.len() + 1), step);
        }
    }
    inner
}

pub(super) fn end_of(nodes: &[Node]) -> usize {
    nodes.iter().position(|node| matches!(node.exit, Exit::End)).expect("one node is the end")
}
