//! What a program computes, one work-item after the other up to where all meet.

use super::programs::{
    Exit, FUEL, FUEL_OF_CALLS, Node, Op, Program, Source, Step, VARS, end_of, takes_pointer,
};

fn apply(op: Op, a: i32, b: i32) -> i32 {
    match op {
        Op::Add => a.wrapping_add(b),
        Op::Sub => a.wrapping_sub(b),
        Op::Mul => a.wrapping_mul(b),
        Op::Xor => a ^ b,
        Op::And => a & b,
        Op::Call(_) | Op::CallEither(..) | Op::Together(_) => unreachable!("they are interpreted"),
    }
}

/// What a function that takes a pointer does first.
fn change(private: i32, argument: i32) -> i32 {
    private.wrapping_mul(3).wrapping_add(argument)
}

/// The arguments of a call, given the operands of its step.
pub(super) fn arguments(from: i32, with: i32) -> [i32; VARS] {
    [from, with, 11, from]
}

pub(super) fn start(input: i32, group: i32, row: i32) -> [i32; VARS] {
    [input, 5, group.wrapping_mul(7), row]
}

pub(super) fn result(vars: &[i32; VARS]) -> i32 {
    vars.iter().fold(0, |hash: i32, var| hash.wrapping_mul(31).wrapping_add(*var))
}

/// The results of a work-group's work-items, each with what its variables are at first.
pub(super) fn interpret(program: &Program, starts: &[[i32; VARS]], width: usize) -> Vec<i32> {
    let mut items: Vec<(Run, i32)> = starts.iter().map(|start| (Run::new(*start, FUEL), 0)).collect();
    loop {
        let stops: Vec<Option<&Step>> =
            items.iter_mut().map(|(run, private)| run.go_on(program, &program.main, private)).collect();
        let Some(step) = stops[0] else {
            assert!(stops.iter().all(Option::is_none), "work-items left together");
            break;
        };
        let same = |stop: &Option<&Step>| stop.is_some_and(|other| std::ptr::eq(step, other));
        assert!(stops.iter().all(same), "work-items came together");
        let Op::Together(op) = step.op else { unreachable!("only such a step stops a run") };
        let values: Vec<i32> = items.iter().map(|(run, _)| run.vars[step.from]).collect();
        for ((run, _), value) in items.iter_mut().zip(op.of(&values, width)) {
            run.vars[step.to] = value;
        }
    }
    items.iter().map(|(run, private)| result(&run.vars).wrapping_add(*private)).collect()
}

/// Where a work-item is in a graph of nodes.
struct Run {
    vars: [i32; VARS],
    at: usize,
    /// The next step of the node.
    step: usize,
    fuel: i32,
}

impl Run {
    fn new(vars: [i32; VARS], fuel: i32) -> Run {
        Run { vars, at: 0, step: 0, fuel }
    }

    /// Runs up to the end or to a step that work-items take together, which is for whoever runs them all.
    fn go_on<'p>(&mut self, program: &'p Program, nodes: &'p [Node], private: &mut i32) -> Option<&'p Step> {
        loop {
            while let Some(step) = nodes[self.at].steps.get(self.step) {
                self.step += 1;
                if let Op::Together(_) = step.op {
                    return Some(step);
                }
                self.vars[step.to] = self.compute(program, step, private);
            }
            let vars = &self.vars;
            let to = match &nodes[self.at].exit {
                Exit::Jump(to) => *to,
                Exit::If { var, mask, limit, then, els } => {
                    if vars[*var] & mask < *limit {
                        *then
                    } else {
                        *els
                    }
                }
                Exit::Switch { var, cases, default } => {
                    cases.get((vars[*var] & 3) as usize).copied().unwrap_or(*default)
                }
                Exit::Back(to) => {
                    self.fuel -= 1;
                    if self.fuel > 0 { *to } else { end_of(nodes) }
                }
                Exit::End => return None,
            };
            (self.at, self.step) = (to, 0);
        }
    }

    fn compute(&self, program: &Program, step: &Step, private: &mut i32) -> i32 {
        let from = self.vars[step.from];
        let with = match step.with {
            Source::Var(var) => self.vars[var],
            Source::Const(value) => value,
        };
        let function = match step.op {
            Op::Call(function) => function,
            Op::CallEither(odd, even) => [even, odd][usize::from(from & 1 != 0)],
            op => return apply(op, from, with),
        };
        let arguments = arguments(from, with);
        if takes_pointer(function) {
            *private = change(*private, arguments[0]);
        }
        let mut callee = Run::new(arguments, FUEL_OF_CALLS);
        let stop = callee.go_on(program, &program.functions[function], private);
        assert!(stop.is_none(), "functions are called by some work-items only");
        result(&callee.vars)
    }
}
