//! Programs as SPIR-V, in pruned SSA form.

use super::programs::{
    Exit, FUEL, FUEL_OF_CALLS, Node, Op, Program, Source, Together, VARS, end_of, takes_pointer,
};
use rspirv::binary::Assemble;
use rspirv::dr::{Builder, InsertPoint, Instruction, Operand};
use spirv::{AddressingModel, BuiltIn, Capability, Decoration, ExecutionMode, ExecutionModel};
use spirv::{FunctionControl, GroupOperation, MemoryModel, Scope, StorageClass};

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
pub(super) fn assemble(program: &Program, width: Option<u32>, group_size: u32) -> Vec<u8> {
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
