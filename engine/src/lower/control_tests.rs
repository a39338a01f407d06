//! Random control flow, checked against an interpreter that runs one work-item after the other.
//!
//! Graphs are arbitrary: nested, unstructured, irreducible, with loops left in several ways. Values are in
//! pruned SSA form, so that phis, uses across blocks and uses after loops all occur. Programs call functions, made in
//! the same way, that call further ones: inlined and not, both have to compute the same. Where all work-items of a group come,
//! they exchange values through local memory and barriers, and by operations of sub-groups and of the work-group.

use crate::analysis::inlining::Inlining;
use crate::{Dispatch, Engine, EngineConfig};
use rspirv::binary::Assemble;
use rspirv::dr::{Builder, InsertPoint, Instruction, Operand};
use spirv::{AddressingModel, BuiltIn, Capability, Decoration, ExecutionMode, ExecutionModel};
use spirv::{FunctionControl, GroupOperation, MemoryModel, Scope, StorageClass};
use std::sync::Arc;

/// Variables of a program: some start uniform, some differ between work-items.
const VARS: usize = 4;
/// Back edges that a work-item takes before it is made to leave.
const FUEL: i32 = 24;
/// The same in a function that is called.
const FUEL_OF_CALLS: i32 = 3;

/// xorshift64*: the tests need reproducible variety, not statistics.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 16
    }

    fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }
}

#[derive(Clone, Copy, Debug)]
enum Op {
    Add,
    Sub,
    Mul,
    Xor,
    And,
    /// Calls the function with this number: see [`arguments`].
    Call(usize),
    /// Calls, through a pointer, the first of these functions where the operand is odd, else the second.
    CallEither(usize, usize),
    /// All work-items of the group are there.
    Together(Together),
}

/// What work-items do together with a value of each.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Together {
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
    fn of(self, values: &[i32], width: usize) -> Vec<i32> {
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
enum Source {
    Var(usize),
    Const(i32),
}

#[derive(Clone, Debug)]
struct Step {
    to: usize,
    op: Op,
    from: usize,
    with: Source,
}

#[derive(Clone, Debug)]
enum Exit {
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
struct Node {
    steps: Vec<Step>,
    exit: Exit,
}

/// A kernel, and functions that call those with a higher number. Even numbers also take a pointer to a private
/// variable, which they change; the others call odd ones only.
#[derive(Clone, Debug)]
struct Program {
    main: Vec<Node>,
    functions: Vec<Vec<Node>>,
}

fn takes_pointer(function: usize) -> bool {
    function.is_multiple_of(2)
}

/// What a function that takes a pointer does first.
fn change(private: i32, argument: i32) -> i32 {
    private.wrapping_mul(3).wrapping_add(argument)
}

/// The last variable is uniform in a row, and nothing else of it.
const ROW: usize = VARS - 1;

/// With `subgroups`, what calm programs do together is also of sub-groups, whose sizes have to be known.
fn whole_program(random: &mut Random, calm: bool, subgroups: bool) -> Program {
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

fn end_of(nodes: &[Node]) -> usize {
    nodes.iter().position(|node| matches!(node.exit, Exit::End)).expect("one node is the end")
}

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

/// The arguments of a call, given the operands of its step.
fn arguments(from: i32, with: i32) -> [i32; VARS] {
    [from, with, 11, from]
}

fn start(input: i32, group: i32, row: i32) -> [i32; VARS] {
    [input, 5, group.wrapping_mul(7), row]
}

fn result(vars: &[i32; VARS]) -> i32 {
    vars.iter().fold(0, |hash: i32, var| hash.wrapping_mul(31).wrapping_add(*var))
}

/// The results of a work-group's work-items, each with what its variables are at first.
fn interpret(program: &Program, starts: &[[i32; VARS]], width: usize) -> Vec<i32> {
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

/// Values in SSA form: numbers that stand for a phi, a computed value or a start value.
#[derive(Clone, Default)]
struct Ssa {
    /// Replacement of a trivial phi.
    same: Vec<usize>,
}

impl Ssa {
    fn new_value(&mut self) -> usize {
        self.same.push(self.same.len());
        self.same.len() - 1
    }

    fn find(&self, mut value: usize) -> usize {
        while self.same[value] != value {
            value = self.same[value];
        }
        value
    }
}

fn successors(nodes: &[Node], at: usize) -> Vec<usize> {
    let mut list = match &nodes[at].exit {
        Exit::Jump(to) => vec![*to],
        Exit::If { then, els, .. } => vec![*then, *els],
        Exit::Switch { cases, default, .. } => cases.iter().copied().chain([*default]).collect(),
        Exit::Back(to) => vec![*to, end_of(nodes)],
        Exit::End => vec![],
    };
    list.sort_unstable();
    list.dedup();
    list
}

/// Variables and, as the last one, the fuel.
const ALL: usize = VARS + 1;

/// Assembles the program as a kernel `(global int *in, global int *out)` for work-groups of a size.
fn assemble(program: &Program, width: Option<u32>, group_size: u32) -> Vec<u8> {
    let mut b = Builder::new();
    b.set_version(1, 2);
    for capability in [
        Capability::Addresses,
        Capability::Kernel,
        Capability::Int64,
        Capability::SubgroupDispatch,
        Capability::Linkage,
        Capability::FunctionPointersINTEL,
        Capability::Groups,
        Capability::SubgroupShuffleINTEL,
    ] {
        b.capability(capability);
    }
    b.extension("SPV_INTEL_function_pointers");
    b.extension("SPV_INTEL_subgroups");
    b.memory_model(AddressingModel::Physical64, MemoryModel::OpenCL);
    let (void, int, long) = (b.type_void(), b.type_int(32, 0), b.type_int(64, 0));
    let vector = b.type_vector(long, 3);
    let input_ty = b.type_pointer(None, StorageClass::Input, vector);
    let buffer = b.type_pointer(None, StorageClass::CrossWorkgroup, int);
    let function_ty = b.type_function(void, vec![buffer, buffer]);
    let builtin = |b: &mut Builder, kind: BuiltIn| {
        let id = b.variable(input_ty, None, StorageClass::Input, None);
        b.decorate(id, Decoration::BuiltIn, [Operand::BuiltIn(kind)]);
        b.decorate(id, Decoration::Constant, []);
        id
    };
    let global_id = builtin(&mut b, BuiltIn::GlobalInvocationId);
    let group_id = builtin(&mut b, BuiltIn::WorkgroupId);
    let linear = {
        let ty = b.type_pointer(None, StorageClass::Input, long);
        let id = b.variable(ty, None, StorageClass::Input, None);
        b.decorate(id, Decoration::BuiltIn, [Operand::BuiltIn(BuiltIn::GlobalLinearId)]);
        id
    };
    let local_index = {
        let ty = b.type_pointer(None, StorageClass::Input, long);
        let id = b.variable(ty, None, StorageClass::Input, None);
        b.decorate(id, Decoration::BuiltIn, [Operand::BuiltIn(BuiltIn::LocalInvocationIndex)]);
        id
    };
    let size = b.constant_bit32(int, group_size);
    let array = b.type_array(int, size);
    let local_array = b.type_pointer(None, StorageClass::Workgroup, array);
    let local_int = b.type_pointer(None, StorageClass::Workgroup, int);
    let local = b.variable(local_array, None, StorageClass::Workgroup, None);
    let pointer = b.type_pointer(None, StorageClass::Function, int);
    let boolean = b.type_bool();
    let types = [vec![int; VARS], [vec![int; VARS], vec![pointer]].concat()];
    let pointer_types = types.map(|params| {
        let function = b.type_function(int, params);
        b.type_pointer(None, StorageClass::CodeSectionINTEL, function)
    });
    let functions: Vec<u32> = program.functions.iter().map(|_| b.id()).collect();
    let address = |(number, function): (usize, &u32)| {
        let id = b.id();
        let (op, ty) =
            (spirv::Op::ConstantFunctionPointerINTEL, pointer_types[usize::from(takes_pointer(number))]);
        let constant = Instruction::new(op, Some(ty), Some(id), vec![Operand::IdRef(*function)]);
        b.module_mut().types_global_values.push(constant);
        id
    };
    let pointers = functions.iter().enumerate().map(address).collect();
    let group = Group { local, local_int, size, index: 0 };
    let mut assembler = Assembler { int, boolean, functions, pointers, pointer_types, group, b };

    for (number, nodes) in program.functions.iter().enumerate() {
        let mut types = vec![int; VARS];
        if takes_pointer(number) {
            types.push(pointer);
        }
        let b = &mut assembler.b;
        let ty = b.type_function(int, types.clone());
        let id = Some(assembler.functions[number]);
        b.begin_function(int, id, FunctionControl::NONE, ty).expect("no open function");
        let params: Vec<u32> =
            types.iter().map(|ty| b.function_parameter(*ty).expect("in a function")).collect();
        b.begin_block(None).expect("in a function");
        let private = params.get(VARS).copied();
        if let Some(private) = private {
            let old = b.load(int, None, private, None, []).expect("in a block");
            let three = b.constant_bit32(int, 3);
            let scaled = b.i_mul(int, None, old, three).expect("in a block");
            let new = b.i_add(int, None, scaled, params[0]).expect("in a block");
            b.store(private, new, None, []).expect("in a block");
        }
        let starts = [params[0], params[1], params[2], params[3], assembler.constant(FUEL_OF_CALLS)];
        assembler.nodes(nodes, starts, private, |b, hash| b.ret_value(hash).expect("in a block"));
        assembler.b.end_function().expect("in a function");
    }

    let b = &mut assembler.b;
    let kernel = b.begin_function(void, None, FunctionControl::NONE, function_ty).expect("no open function");
    let (input, output) = (
        b.function_parameter(buffer).expect("in a function"),
        b.function_parameter(buffer).expect("in a function"),
    );
    b.begin_block(None).expect("in a function");
    let zero = b.constant_bit32(int, 0);
    let private = b.variable(pointer, None, StorageClass::Function, Some(zero));
    let place = b.load(vector, None, global_id, None, []).expect("in a block");
    let gid = b.load(long, None, linear, None, []).expect("in a block");
    let groups = b.load(vector, None, group_id, None, []).expect("in a block");
    let group = b.composite_extract(long, None, groups, [0]).expect("in a block");
    let group = b.u_convert(int, None, group).expect("in a block");
    let at = b.in_bounds_ptr_access_chain(buffer, None, input, gid, []).expect("in a block");
    let first = b.load(int, None, at, None, []).expect("in a block");
    let seven = b.constant_bit32(int, 7);
    let third = b.i_mul(int, None, group, seven).expect("in a block");
    let row = b.composite_extract(long, None, place, [1]).expect("in a block");
    let row = b.u_convert(int, None, row).expect("in a block");
    let index = b.load(long, None, local_index, None, []).expect("in a block");
    assembler.group.index = b.u_convert(int, None, index).expect("in a block");
    let starts = [first, assembler.constant(5), third, row, assembler.constant(FUEL)];
    assembler.nodes(&program.main, starts, Some(private), |b, hash| {
        let private = b.load(int, None, private, None, []).expect("in a block");
        let sum = b.i_add(int, None, hash, private).expect("in a block");
        let to = b.in_bounds_ptr_access_chain(buffer, None, output, gid, []).expect("in a block");
        b.store(to, sum, None, []).expect("in a block");
        b.ret().expect("in a block");
    });
    let mut b = assembler.b;
    b.end_function().expect("in a function");
    let interface = vec![global_id, group_id, linear, local_index];
    b.entry_point(ExecutionModel::Kernel, kernel, "random", interface);
    if let Some(width) = width {
        b.execution_mode(kernel, ExecutionMode::SubgroupSize, [width]);
    }
    b.module().assemble().iter().flat_map(|word| word.to_le_bytes()).collect()
}

struct Assembler {
    b: Builder,
    int: u32,
    boolean: u32,
    /// Ids of the program's functions.
    functions: Vec<u32>,
    /// Their addresses.
    pointers: Vec<u32>,
    /// Types of those of functions that take no pointer to a private variable, and of those that do.
    pointer_types: [u32; 2],
    group: Group,
}

/// What a work-group has together.
#[derive(Clone, Copy)]
struct Group {
    /// An array with an element for each work-item, and the type of a pointer to one.
    local: u32,
    local_int: u32,
    /// The number of work-items.
    size: u32,
    /// The work-item's place.
    index: u32,
}

impl Assembler {
    fn constant(&mut self, value: i32) -> u32 {
        self.b.constant_bit32(self.int, value as u32)
    }

    /// What all work-items of a group do with a value of each.
    fn together(&mut self, op: Together, id: u32, x: u32) {
        const WORKGROUP_MEMORY: i32 = 0x108;
        let [of_group, of_subgroup] =
            [Scope::Workgroup, Scope::Subgroup].map(|scope| self.constant(scope as i32));
        let (semantics, zero, one) = (self.constant(WORKGROUP_MEMORY), self.constant(0), self.constant(1));
        let (int, boolean, group) = (self.int, self.boolean, self.group);
        let amount = match op {
            Together::Exchange(amount) | Together::Broadcast(amount) | Together::Across(amount) => {
                self.constant(amount as i32)
            }
            _ => zero,
        };
        let (b, id) = (&mut self.b, Some(id));
        use GroupOperation::{ExclusiveScan, InclusiveScan, Reduce};
        let made = match op {
            Together::Exchange(_) => {
                let element = |b: &mut Builder, index: u32| {
                    b.in_bounds_access_chain(group.local_int, None, group.local, [index]).expect("in a block")
                };
                let mine = element(b, group.index);
                b.store(mine, x, None, []).expect("in a block");
                b.control_barrier(of_group, of_group, semantics).expect("in a block");
                let further = b.i_add(int, None, group.index, amount).expect("in a block");
                let other = b.u_mod(int, None, further, group.size).expect("in a block");
                let other = element(b, other);
                let loaded = b.load(int, id, other, None, []);
                b.control_barrier(of_group, of_group, semantics).expect("in a block");
                loaded
            }
            Together::SumOfGroup => b.group_i_add(int, id, of_group, Reduce, x),
            Together::Sum => b.group_i_add(int, id, of_subgroup, Reduce, x),
            Together::Most => b.group_s_max(int, id, of_subgroup, Reduce, x),
            Together::SumUpTo => b.group_i_add(int, id, of_subgroup, InclusiveScan, x),
            Together::SumBefore => b.group_i_add(int, id, of_subgroup, ExclusiveScan, x),
            Together::Broadcast(_) => b.group_broadcast(int, id, of_subgroup, x, amount),
            Together::AnyOdd => {
                let bit = b.bitwise_and(int, None, x, one).expect("in a block");
                let is_odd = b.i_not_equal(boolean, None, bit, zero).expect("in a block");
                let any = b.group_any(boolean, None, of_subgroup, is_odd).expect("in a block");
                b.select(int, id, any, one, zero)
            }
            Together::Across(_) => b.subgroup_shuffle_xor_intel(int, id, x, amount),
        };
        made.expect("in a block");
    }

    /// Assembles a graph of nodes behind the open block, which ends with a branch to the first. Variables have these
    /// values at first; `end` ends a block where the hash of all variables is known.
    fn nodes(
        &mut self,
        nodes: &[Node],
        first: [u32; ALL],
        private: Option<u32>,
        end: impl Fn(&mut Builder, u32),
    ) {
        let (int, boolean) = (self.int, self.boolean);
        let mut reachable = vec![false; nodes.len()];
        let mut work = vec![0];
        while let Some(at) = work.pop() {
            if !std::mem::replace(&mut reachable[at], true) {
                work.extend(successors(nodes, at));
            }
        }
        let mut preds: Vec<Vec<usize>> = vec![Vec::new(); nodes.len()];
        for at in (0..nodes.len()).filter(|at| reachable[*at]) {
            for to in successors(nodes, at) {
                preds[to].push(at);
            }
        }
        // Maximal SSA form, then without trivial phis (Braun and others, CC 2013).
        let mut ssa = Ssa::default();
        let starts: Vec<usize> = (0..ALL).map(|_| ssa.new_value()).collect();
        let ins: Vec<Vec<usize>> = (0..nodes.len())
            .map(|at| if at == 0 { starts.clone() } else { (0..ALL).map(|_| ssa.new_value()).collect() })
            .collect();
        let mut outs = ins.clone();
        let mut computed: Vec<Vec<usize>> = vec![Vec::new(); nodes.len()];
        for (at, node) in nodes.iter().enumerate() {
            for step in &node.steps {
                let value = ssa.new_value();
                computed[at].push(value);
                outs[at][step.to] = value;
            }
            if matches!(node.exit, Exit::Back(_)) {
                let value = ssa.new_value();
                computed[at].push(value);
                outs[at][VARS] = value;
            }
        }
        loop {
            let mut changed = false;
            for at in (1..nodes.len()).filter(|at| reachable[*at]) {
                for var in 0..ALL {
                    let phi = ins[at][var];
                    if ssa.find(phi) != phi {
                        continue;
                    }
                    let mut others: Vec<usize> = preds[at]
                        .iter()
                        .map(|pred| ssa.find(outs[*pred][var]))
                        .filter(|v| *v != phi)
                        .collect();
                    others.sort_unstable();
                    others.dedup();
                    if let [only] = others[..] {
                        ssa.same[phi] = only;
                        changed = true;
                    }
                }
            }
            if !changed {
                break;
            }
        }
        let labels: Vec<u32> = nodes.iter().map(|_| self.b.id()).collect();
        // Ids of all values that stay: known before they are defined, since phis look ahead.
        let ids: Vec<u32> = ssa.same.iter().map(|_| self.b.id()).collect();
        let id_of = |ssa: &Ssa, value: usize| ids[ssa.find(value)];
        for (start, first) in starts.iter().zip(first) {
            self.b.copy_object(int, Some(ids[*start]), first).expect("in a block");
        }
        self.b.branch(labels[0]).expect("in a block");

        for (at, node) in nodes.iter().enumerate().filter(|(at, _)| reachable[*at]) {
            self.b.begin_block(Some(labels[at])).expect("in a function");
            if at != 0 {
                for var in 0..ALL {
                    let phi = ins[at][var];
                    if ssa.find(phi) == phi {
                        let incoming: Vec<(u32, u32)> = preds[at]
                            .iter()
                            .map(|pred| (id_of(&ssa, outs[*pred][var]), labels[*pred]))
                            .collect();
                        self.b.phi(int, Some(ids[phi]), incoming).expect("in a block");
                    }
                }
            }
            let mut now = ins[at].clone();
            for (step, value) in node.steps.iter().zip(&computed[at]) {
                let x = id_of(&ssa, now[step.from]);
                let y = match step.with {
                    Source::Var(var) => id_of(&ssa, now[var]),
                    Source::Const(value) => self.constant(value),
                };
                let id = Some(ids[*value]);
                if let Op::Together(op) = step.op {
                    self.together(op, ids[*value], x);
                    now[step.to] = *value;
                    continue;
                }
                let eleven = self.constant(11);
                let b = &mut self.b;
                match step.op {
                    Op::Add => b.i_add(int, id, x, y),
                    Op::Sub => b.i_sub(int, id, x, y),
                    Op::Mul => b.i_mul(int, id, x, y),
                    Op::Xor => b.bitwise_xor(int, id, x, y),
                    Op::And => b.bitwise_and(int, id, x, y),
                    Op::Call(function) => {
                        let mut arguments = vec![x, y, eleven, x];
                        arguments.extend(private.filter(|_| takes_pointer(function)));
                        b.function_call(int, id, self.functions[function], arguments)
                    }
                    Op::CallEither(odd, even) => {
                        let ty = self.pointer_types[usize::from(takes_pointer(odd))];
                        let mut arguments = vec![x, y, eleven, x];
                        arguments.extend(private.filter(|_| takes_pointer(odd)));
                        let (one, zero) = (b.constant_bit32(int, 1), b.constant_bit32(int, 0));
                        let bit = b.bitwise_and(int, None, x, one).expect("in a block");
                        let is_odd = b.i_not_equal(boolean, None, bit, zero).expect("in a block");
                        let [odd, even] = [odd, even].map(|function| self.pointers[function]);
                        let pointer = b.select(ty, None, is_odd, odd, even).expect("in a block");
                        let operands =
                            std::iter::once(pointer).chain(arguments).map(Operand::IdRef).collect();
                        let call =
                            Instruction::new(spirv::Op::FunctionPointerCallINTEL, Some(int), id, operands);
                        b.insert_into_block(InsertPoint::End, call).map(|()| ids[*value])
                    }
                    Op::Together(_) => unreachable!("made above"),
                }
                .expect("in a block");
                now[step.to] = *value;
            }
            match &node.exit {
                Exit::Jump(to) => self.b.branch(labels[*to]).expect("in a block"),
                Exit::If { var, mask, limit, then, els } => {
                    let (mask, limit) = (self.constant(*mask), self.constant(*limit));
                    let bits =
                        self.b.bitwise_and(int, None, id_of(&ssa, now[*var]), mask).expect("in a block");
                    let less = self.b.s_less_than(boolean, None, bits, limit).expect("in a block");
                    self.b.branch_conditional(less, labels[*then], labels[*els], []).expect("in a block");
                }
                Exit::Switch { var, cases, default } => {
                    let three = self.constant(3);
                    let bits =
                        self.b.bitwise_and(int, None, id_of(&ssa, now[*var]), three).expect("in a block");
                    let cases = cases.iter().enumerate();
                    let cases: Vec<(Operand, u32)> =
                        cases.map(|(case, to)| (Operand::LiteralBit32(case as u32), labels[*to])).collect();
                    self.b.switch(bits, labels[*default], cases).expect("in a block");
                }
                Exit::Back(to) => {
                    let (one, zero) = (self.constant(1), self.constant(0));
                    let fuel = ids[computed[at][0]];
                    self.b.i_sub(int, Some(fuel), id_of(&ssa, now[VARS]), one).expect("in a block");
                    let more = self.b.s_greater_than(boolean, None, fuel, zero).expect("in a block");
                    let ends = [labels[*to], labels[end_of(nodes)]];
                    self.b.branch_conditional(more, ends[0], ends[1], []).expect("in a block");
                }
                Exit::End => {
                    let factor = self.constant(31);
                    let mut hash = self.constant(0);
                    for var in now.iter().take(VARS) {
                        let scaled = self.b.i_mul(int, None, hash, factor).expect("in a block");
                        hash = self.b.i_add(int, None, scaled, id_of(&ssa, *var)).expect("in a block");
                    }
                    end(&mut self.b, hash);
                }
            }
        }
    }
}

fn check(
    seed: u64,
    calm: bool,
    engine: &Arc<Engine>,
    width: Option<u32>,
    group_size: [u32; 3],
    group_count: [u32; 3],
) {
    let per_group: u32 = group_size.iter().product();
    let source = whole_program(&mut Random(seed), calm, width.is_some());
    let bytes = assemble(&source, width, per_group);
    let profile = ze_extensions::DeviceProfile::host();
    let environment = spirv_env::Environment::new(&profile);
    let module = spirv_env::build(&[spirv_env::ModuleInput::new(&bytes)], &environment)
        .unwrap_or_else(|error| panic!("seed {seed}: {error}"));
    let key = crate::jit::hash::digest(&[&bytes]);
    let program = engine.load(Arc::new(module), key).expect("a module without variables");
    let kernel = program.kernel("random").expect("the kernel");
    let items = (per_group * group_count.iter().product::<u32>()) as usize;
    let mut random = Random(seed ^ 0xABCD_EF01);
    let input: Vec<i32> = (0..items).map(|_| random.below(64) as i32 - 8).collect();
    let mut output = vec![0i32; items];
    let mut args = Vec::new();
    args.extend((input.as_ptr() as u64).to_le_bytes());
    args.extend((output.as_mut_ptr() as u64).to_le_bytes());
    kernel
        .launch(&Dispatch { group_count, group_size, global_offset: [0; 3], args: &args })
        .unwrap_or_else(|error| panic!("seed {seed}: {error}"));
    let global = [0, 1, 2].map(|dim| group_size[dim] * group_count[dim]);
    for number in 0..group_count.iter().product() {
        let group = coordinates(number, group_count);
        // Places of the group's work-items in the buffers, in the order of their local index.
        let places: Vec<(u32, u32)> = (0..per_group)
            .map(|index| {
                let local = coordinates(index, group_size);
                let [x, y, z] = [0, 1, 2].map(|dim| group[dim] * group_size[dim] + local[dim]);
                ((z * global[1] + y) * global[0] + x, y)
            })
            .collect();
        let start_of = |(at, row): &(u32, u32)| start(input[*at as usize], group[0] as i32, *row as i32);
        let starts: Vec<[i32; VARS]> = places.iter().map(start_of).collect();
        let width_of_all = width.unwrap_or(per_group) as usize;
        for ((at, _), expected) in places.iter().zip(interpret(&source, &starts, width_of_all)) {
            assert_eq!(
                output[*at as usize],
                expected,
                "seed {seed}, {:?}, width {width:?}, groups of {group_size:?}, work-item {at}, input {}\n{source:#?}",
                engine.config().inlining,
                input[*at as usize]
            );
        }
    }
}

/// The coordinates of what has this number, counted along the first dimension.
fn coordinates(number: u32, size: [u32; 3]) -> [u32; 3] {
    [number % size[0], number / size[0] % size[1], number / size[0] / size[1]]
}

/// Compares programs with the interpreter: as many, from the first on, as the environment says.
fn compare(inlining: Inlining, programs: u64) {
    let engine = Engine::new(EngineConfig { threads: 1, inlining, ..EngineConfig::default() });
    let variable = |name| std::env::var(name).ok().and_then(|value: String| value.parse().ok());
    let first: u64 = variable("ZE_CPU_TEST_SEED").unwrap_or(1);
    for number in first..first + variable("ZE_CPU_TEST_COUNT").unwrap_or(programs) {
        let seed = number.wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let calm = number % 2 == 0;
        match seed >> 61 {
            0 => check(seed, calm, &engine, Some(16), [32, 1, 1], [3, 1, 1]),
            1 => check(seed, calm, &engine, Some(8), [20, 1, 1], [3, 1, 1]),
            2 => check(seed, calm, &engine, None, [5, 3, 2], [2, 2, 1]),
            3 => check(seed, calm, &engine, Some(32), [32, 3, 1], [2, 1, 1]),
            // Several sub-groups side by side.
            4 => check(seed, calm, &engine, Some(8), [64, 1, 1], [2, 1, 1]),
            5 => check(seed, calm, &engine, Some(16), [16, 4, 1], [2, 1, 2]),
            6 => check(seed, calm, &engine, Some(8), [8, 6, 2], [2, 2, 1]),
            _ => check(seed, calm, &engine, Some(8), [24, 2, 1], [2, 1, 1]),
        }
        check(seed, calm, &engine, None, [1, 1, 1], [8, 1, 1]);
    }
}

#[test]
fn random_control_flow_agrees_with_an_interpreter() {
    compare(Inlining::Always, 60);
}

#[test]
fn random_control_flow_agrees_with_an_interpreter_where_calls_stay_calls() {
    compare(Inlining::Never, 60);
}
