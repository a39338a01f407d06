//! Modules of one pattern in any size: what compilation has to stay near-linear in, or has to refuse.
//!
//! The modules are put together word by word, so that generating a large one takes no time to speak of.

use spirv::{Decoration, Op, StorageClass};
use std::collections::HashMap;

/// A family of modules with one kernel `main`, which takes a pointer to 32-bit integers and an integer.
pub struct Pattern {
    pub name: &'static str,
    /// A size at which a module is about as large as hostile ones are: up to a mebibyte.
    pub large: u32,
    pub module: fn(u32) -> Vec<u8>,
}

/// All patterns.
pub const PATTERNS: &[Pattern] = &[
    Pattern { name: "nested loops", large: 1000, module: nested_loops },
    Pattern { name: "loops in a row", large: 4000, module: loops_in_a_row },
    Pattern { name: "switch, one target a case", large: 32_000, module: |n| switch(n, true, false) },
    Pattern { name: "uniform switch, one target a case", large: 32_000, module: |n| switch(n, true, true) },
    Pattern { name: "switch, one target", large: 100_000, module: |n| switch(n, false, false) },
    Pattern { name: "nested ifs", large: 10_000, module: |n| nested_ifs(n, false) },
    Pattern { name: "uniform nested ifs", large: 10_000, module: |n| nested_ifs(n, true) },
    Pattern { name: "nested switches", large: 4000, module: nested_switches },
    Pattern { name: "ifs in a row", large: 8000, module: |n| ifs_in_a_row(n, false) },
    Pattern { name: "uniform ifs in a row", large: 8000, module: |n| ifs_in_a_row(n, true) },
    Pattern { name: "chain of blocks", large: 40_000, module: chain_of_blocks },
    Pattern { name: "early exits", large: 20_000, module: early_exits },
    Pattern { name: "blocks with phis", large: 100, module: blocks_with_phis },
    Pattern { name: "dependent multiplications", large: 50_000, module: multiplications },
    Pattern { name: "independent additions", large: 50_000, module: independent_additions },
    Pattern { name: "live vectors", large: 4000, module: live_vectors },
    Pattern { name: "live across a loop", large: 4000, module: live_across_a_loop },
    Pattern { name: "variables", large: 10_000, module: variables },
    Pattern { name: "private arrays", large: 2000, module: private_arrays },
    Pattern { name: "gathers", large: 20_000, module: gathers },
    Pattern { name: "atomics", large: 15_000, module: atomics },
    Pattern { name: "built-ins", large: 15_000, module: builtins },
    Pattern { name: "insertions into a wide array", large: 20_000, module: insertions },
    Pattern { name: "wide arrays", large: 4096, module: wide_arrays },
    Pattern { name: "constants", large: 60_000, module: constants },
    Pattern { name: "deep types", large: 240, module: deep_types },
    Pattern { name: "structures", large: 20_000, module: structures },
    Pattern { name: "names and decorations", large: 30_000, module: names_and_decorations },
    Pattern { name: "kernels", large: 5000, module: kernels },
    Pattern { name: "cycle with many entries", large: 4000, module: irreducible_entries },
    Pattern { name: "irreducible cycles in a row", large: 3000, module: irreducible_cycles },
    Pattern { name: "copies", large: 50_000, module: copies },
    Pattern { name: "pointer chain", large: 30_000, module: pointer_chain },
    Pattern { name: "divisions", large: 20_000, module: divisions },
    Pattern { name: "math functions", large: 20_000, module: math_functions },
];

/// A module under construction.
struct Assembler {
    next: u32,
    names: Vec<u32>,
    declarations: Vec<u32>,
    body: Vec<u32>,
    decorations: Vec<u32>,
    entries: Vec<u32>,
    types: HashMap<(u32, Vec<u32>), u32>,
    constants: HashMap<(u32, u32), u32>,
    /// The built-in variable, the kernel's parameters, and the work-item's number.
    builtin: u32,
    out: u32,
    n: u32,
    item: u32,
}

fn put(words: &mut Vec<u32>, op: Op, operands: &[u32]) {
    words.push((operands.len() as u32 + 1) << 16 | op as u32);
    words.extend(operands);
}

impl Assembler {
    /// A module with an open kernel.
    fn new() -> Self {
        let mut a = Self {
            next: 1,
            names: Vec::new(),
            declarations: Vec::new(),
            body: Vec::new(),
            decorations: Vec::new(),
            entries: Vec::new(),
            types: HashMap::new(),
            constants: HashMap::new(),
            builtin: 0,
            out: 0,
            n: 0,
            item: 0,
        };
        let vector = {
            let ulong = a.ulong();
            a.ty(Op::TypeVector, &[ulong, 3])
        };
        let pointer = a.pointer(StorageClass::Input, vector);
        a.builtin = a.id();
        put(&mut a.declarations, Op::Variable, &[pointer, a.builtin, StorageClass::Input as u32]);
        put(&mut a.decorations, Op::Decorate, &[a.builtin, Decoration::BuiltIn as u32, 28]);
        a.kernel("main");
        a
    }

    fn id(&mut self) -> u32 {
        self.next += 1;
        self.next - 1
    }

    fn ty(&mut self, op: Op, operands: &[u32]) -> u32 {
        if let Some(id) = self.types.get(&(op as u32, operands.to_vec())) {
            return *id;
        }
        let id = self.id();
        put(&mut self.declarations, op, &[&[id], operands].concat());
        self.types.insert((op as u32, operands.to_vec()), id);
        id
    }

    fn uint(&mut self) -> u32 {
        self.ty(Op::TypeInt, &[32, 0])
    }

    fn ulong(&mut self) -> u32 {
        self.ty(Op::TypeInt, &[64, 0])
    }

    fn bool(&mut self) -> u32 {
        self.ty(Op::TypeBool, &[])
    }

    fn float16(&mut self) -> u32 {
        let float = self.ty(Op::TypeFloat, &[32]);
        self.ty(Op::TypeVector, &[float, 16])
    }

    fn pointer(&mut self, class: StorageClass, to: u32) -> u32 {
        self.ty(Op::TypePointer, &[class as u32, to])
    }

    fn array(&mut self, of: u32, len: u32) -> u32 {
        let len = self.constant(len);
        self.ty(Op::TypeArray, &[of, len])
    }

    /// A 32-bit integer.
    fn constant(&mut self, value: u32) -> u32 {
        let ty = self.uint();
        if let Some(id) = self.constants.get(&(ty, value)) {
            return *id;
        }
        let id = self.id();
        put(&mut self.declarations, Op::Constant, &[ty, id, value]);
        self.constants.insert((ty, value), id);
        id
    }

    fn kernel(&mut self, name: &str) {
        let (void, uint, ulong) = (self.ty(Op::TypeVoid, &[]), self.uint(), self.ulong());
        let global = self.pointer(StorageClass::CrossWorkgroup, uint);
        let signature = self.ty(Op::TypeFunction, &[void, global, uint]);
        let ids = self.ty(Op::TypeVector, &[ulong, 3]);
        let [function, out, n] = [self.id(), self.id(), self.id()];
        let mut name: Vec<u8> = name.bytes().collect();
        name.resize(name.len() / 4 * 4 + 4, 0);
        let name = name.chunks(4).map(|word| u32::from_le_bytes([word[0], word[1], word[2], word[3]]));
        let entry: Vec<u32> = [6, function].into_iter().chain(name).chain([self.builtin]).collect();
        put(&mut self.entries, Op::EntryPoint, &entry);
        put(&mut self.body, Op::Function, &[void, function, 0, signature]);
        put(&mut self.body, Op::FunctionParameter, &[global, out]);
        put(&mut self.body, Op::FunctionParameter, &[uint, n]);
        (self.out, self.n) = (out, n);
        let entry = self.id();
        self.label(entry);
        let builtin = self.builtin;
        self.variable_section();
        let all = self.value(Op::Load, ids, &[builtin]);
        let first = self.value(Op::CompositeExtract, ulong, &[all, 0]);
        self.item = self.value(Op::UConvert, uint, &[first]);
    }

    /// Marks where variables of the kernel go.
    fn variable_section(&mut self) {
        self.names.push(self.body.len() as u32);
    }

    /// A variable of the (only) kernel.
    fn variables(&mut self, ty: u32, count: u32) -> Vec<u32> {
        let pointer = self.pointer(StorageClass::Function, ty);
        let ids: Vec<u32> = (0..count).map(|_| self.id()).collect();
        let mut words = Vec::new();
        for id in &ids {
            put(&mut words, Op::Variable, &[pointer, *id, StorageClass::Function as u32]);
        }
        let at = *self.names.last().expect("a kernel is open") as usize;
        self.body.splice(at..at, words);
        ids
    }

    fn label(&mut self, id: u32) {
        put(&mut self.body, Op::Label, &[id]);
    }

    fn value(&mut self, op: Op, ty: u32, operands: &[u32]) -> u32 {
        let id = self.id();
        put(&mut self.body, op, &[&[ty, id], operands].concat());
        id
    }

    fn act(&mut self, op: Op, operands: &[u32]) {
        put(&mut self.body, op, operands);
    }

    fn add(&mut self, a: u32, b: u32) -> u32 {
        let uint = self.uint();
        self.value(Op::IAdd, uint, &[a, b])
    }

    fn compare(&mut self, op: Op, a: u32, b: u32) -> u32 {
        let bool = self.bool();
        self.value(op, bool, &[a, b])
    }

    /// `&out[index]`.
    fn element(&mut self, index: u32) -> u32 {
        let uint = self.uint();
        let pointer = self.pointer(StorageClass::CrossWorkgroup, uint);
        let out = self.out;
        self.value(Op::InBoundsPtrAccessChain, pointer, &[out, index])
    }

    fn load(&mut self, index: u32) -> u32 {
        let uint = self.uint();
        let pointer = self.element(index);
        self.value(Op::Load, uint, &[pointer])
    }

    /// Ends the kernel with `out[item] = value`.
    fn end(&mut self, value: u32) {
        let item = self.item;
        let pointer = self.element(item);
        self.act(Op::Store, &[pointer, value]);
        self.act(Op::Return, &[]);
        self.act(Op::FunctionEnd, &[]);
    }

    fn bytes(self) -> Vec<u8> {
        let mut words = vec![spirv::MAGIC_NUMBER, 0x0001_0200, 0, self.next, 0];
        // Addresses, Kernel, Linkage, Vector16, Int64.
        for capability in [4, 6, 5, 7, 11] {
            put(&mut words, Op::Capability, &[capability]);
        }
        let set = self.next;
        let mut import = vec![set];
        import.extend(
            b"OpenCL.std\0\0".chunks(4).map(|word| u32::from_le_bytes([word[0], word[1], word[2], word[3]])),
        );
        put(&mut words, Op::ExtInstImport, &import);
        words[3] = set + 1;
        put(&mut words, Op::MemoryModel, &[2, 2]);
        words.extend(&self.entries);
        words.extend(&self.decorations);
        words.extend(&self.declarations);
        words.extend(self.body.iter());
        words.iter().flat_map(|word| word.to_le_bytes()).collect()
    }

    fn finish(mut self, value: u32) -> Vec<u8> {
        self.end(value);
        self.bytes()
    }
}

/// Loops inside each other, each with its own counter; the innermost adds up.
fn nested_loops(n: u32) -> Vec<u8> {
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

fn loops_in_a_row(n: u32) -> Vec<u8> {
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

fn switch(n: u32, own_targets: bool, uniform: bool) -> Vec<u8> {
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

fn nested_ifs(n: u32, uniform: bool) -> Vec<u8> {
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

fn nested_switches(n: u32) -> Vec<u8> {
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

fn ifs_in_a_row(n: u32, uniform: bool) -> Vec<u8> {
    let mut a = Assembler::new();
    let uint = a.uint();
    let (selector, mut value) = (if uniform { a.n } else { a.item }, a.item);
    for at in 0..n {
        let limit = a.constant(at * 3 + 1);
        let [yes, no, join] = [a.id(), a.id(), a.id()];
        let condition = a.compare(Op::UGreaterThan, selector, limit);
        a.act(Op::BranchConditional, &[condition, yes, no]);
        a.label(yes);
        let more = a.add(value, limit);
        a.act(Op::Branch, &[join]);
        a.label(no);
        let other = a.value(Op::BitwiseXor, uint, &[value, limit]);
        a.act(Op::Branch, &[join]);
        a.label(join);
        value = a.value(Op::Phi, uint, &[more, yes, other, no]);
    }
    a.finish(value)
}

fn chain_of_blocks(n: u32) -> Vec<u8> {
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
fn early_exits(n: u32) -> Vec<u8> {
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
fn blocks_with_phis(n: u32) -> Vec<u8> {
    let mut a = Assembler::new();
    let (uint, item) = (a.uint(), a.item);
    let mut values: Vec<u32> = (0..n).map(|_| item).collect();
    for at in 0..n {
        let limit = a.constant(at * 3 + 1);
        let [yes, no, join] = [a.id(), a.id(), a.id()];
        let condition = a.compare(Op::UGreaterThan, item, limit);
        a.act(Op::BranchConditional, &[condition, yes, no]);
        a.label(yes);
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

fn multiplications(n: u32) -> Vec<u8> {
    let mut a = Assembler::new();
    let (uint, item) = (a.uint(), a.item);
    let mut value = item;
    for at in 0..n {
        let other = if at % 2 == 0 { item } else { value };
        value = a.value(Op::IMul, uint, &[value, other]);
    }
    a.finish(value)
}

fn independent_additions(n: u32) -> Vec<u8> {
    let mut a = Assembler::new();
    let item = a.item;
    let mut all = vec![item];
    for at in 0..n {
        let constant = a.constant(at % 5000);
        let (x, y) = (all[at as usize / 2], all[at as usize / 3]);
        let sum = if at % 2 == 0 { a.add(x, constant) } else { a.add(x, y) };
        all.push(sum);
    }
    let last = *all.last().expect("some");
    a.finish(last)
}

/// Vectors of 16 that are all made before the first is used.
fn live_vectors(n: u32) -> Vec<u8> {
    let mut a = Assembler::new();
    let (uint, float16) = (a.uint(), a.float16());
    let pointer = a.pointer(StorageClass::CrossWorkgroup, float16);
    let (out, item) = (a.out, a.item);
    let base = a.value(Op::Bitcast, pointer, &[out]);
    let vectors: Vec<u32> = (0..n)
        .map(|at| {
            let offset = a.constant(at);
            let index = a.value(Op::BitwiseXor, uint, &[item, offset]);
            let place = a.value(Op::InBoundsPtrAccessChain, pointer, &[base, index]);
            a.value(Op::Load, float16, &[place])
        })
        .collect();
    let sum = vectors.into_iter().rev().reduce(|x, y| a.value(Op::FMul, float16, &[x, y])).expect("some");
    let place = a.value(Op::InBoundsPtrAccessChain, pointer, &[base, item]);
    a.act(Op::Store, &[place, sum]);
    a.finish(item)
}

fn live_across_a_loop(n: u32) -> Vec<u8> {
    let mut a = Assembler::new();
    let (uint, item, zero, one) = (a.uint(), a.item, a.constant(0), a.constant(1));
    let values: Vec<u32> = (0..n)
        .map(|at| {
            let constant = a.constant(at);
            let index = a.value(Op::BitwiseXor, uint, &[item, constant]);
            a.load(index)
        })
        .collect();
    let [before, head, body, done, count, next] = [a.id(), a.id(), a.id(), a.id(), a.id(), a.id()];
    a.act(Op::Branch, &[before]);
    a.label(before);
    a.act(Op::Branch, &[head]);
    a.label(head);
    put(&mut a.body, Op::Phi, &[uint, count, zero, before, next, body]);
    let more = a.compare(Op::ULessThan, count, item);
    a.act(Op::BranchConditional, &[more, body, done]);
    a.label(body);
    for value in &values {
        let pointer = a.element(*value);
        a.act(Op::Store, &[pointer, count]);
    }
    put(&mut a.body, Op::IAdd, &[uint, next, count, one]);
    a.act(Op::Branch, &[head]);
    a.label(done);
    let sum = values.into_iter().reduce(|x, y| a.add(x, y)).expect("some");
    a.finish(sum)
}

fn variables(n: u32) -> Vec<u8> {
    let mut a = Assembler::new();
    let (uint, item) = (a.uint(), a.item);
    let variables = a.variables(uint, n);
    for (at, variable) in variables.iter().enumerate() {
        let constant = a.constant(at as u32 % 100);
        let value = a.add(item, constant);
        a.act(Op::Store, &[*variable, value]);
    }
    let mut sum = item;
    for variable in variables.into_iter().rev() {
        let value = a.value(Op::Load, uint, &[variable]);
        sum = a.value(Op::IMul, uint, &[sum, value]);
    }
    a.finish(sum)
}

/// Arrays with indices that only the running kernel knows.
fn private_arrays(n: u32) -> Vec<u8> {
    let mut a = Assembler::new();
    let (uint, item) = (a.uint(), a.item);
    let array = a.array(uint, 16);
    let arrays = a.variables(array, n);
    let element = a.pointer(StorageClass::Function, uint);
    let (mask, mut sum) = (a.constant(15), item);
    for array in arrays {
        let index = a.value(Op::BitwiseAnd, uint, &[sum, mask]);
        let place = a.value(Op::InBoundsAccessChain, element, &[array, index]);
        a.act(Op::Store, &[place, sum]);
        let other = a.add(sum, item);
        let index = a.value(Op::BitwiseAnd, uint, &[other, mask]);
        let place = a.value(Op::InBoundsAccessChain, element, &[array, index]);
        sum = a.value(Op::Load, uint, &[place]);
    }
    a.finish(sum)
}

fn gathers(n: u32) -> Vec<u8> {
    let mut a = Assembler::new();
    let (uint, mut index) = (a.uint(), a.item);
    for at in 0..n {
        let loaded = a.load(index);
        let constant = a.constant(at % 1000);
        index = a.value(Op::BitwiseXor, uint, &[loaded, constant]);
    }
    a.finish(index)
}

fn atomics(n: u32) -> Vec<u8> {
    let mut a = Assembler::new();
    let (uint, mut index) = (a.uint(), a.item);
    let (scope, semantics) = (a.constant(1), a.constant(0));
    for _ in 0..n {
        let place = a.element(index);
        index = a.value(Op::AtomicIAdd, uint, &[place, scope, semantics, index]);
    }
    a.finish(index)
}

fn builtins(n: u32) -> Vec<u8> {
    let mut a = Assembler::new();
    let (uint, ulong, builtin) = (a.uint(), a.ulong(), a.builtin);
    let ids = a.ty(Op::TypeVector, &[ulong, 3]);
    let mut sum = a.item;
    for at in 0..n {
        let all = a.value(Op::Load, ids, &[builtin]);
        let one = a.value(Op::CompositeExtract, ulong, &[all, at % 3]);
        let one = a.value(Op::UConvert, uint, &[one]);
        sum = a.value(Op::IMul, uint, &[sum, one]);
    }
    a.finish(sum)
}

/// Insertions into an array of 4,096.
fn insertions(n: u32) -> Vec<u8> {
    const WIDE: u32 = 4096;
    let mut a = Assembler::new();
    let (uint, item) = (a.uint(), a.item);
    let array = a.array(uint, WIDE);
    let mut all = a.value(Op::Undef, array, &[]);
    for at in 0..n {
        all = a.value(Op::CompositeInsert, array, &[item, all, at * 7 % WIDE]);
    }
    let sum = a.value(Op::CompositeExtract, uint, &[all, 7]);
    a.finish(sum)
}

/// An array of `n` that is loaded, put through a phi and stored.
fn wide_arrays(n: u32) -> Vec<u8> {
    let mut a = Assembler::new();
    let (uint, item, out) = (a.uint(), a.item, a.out);
    let array = a.array(uint, n);
    let pointer = a.pointer(StorageClass::CrossWorkgroup, array);
    let source = a.value(Op::Bitcast, pointer, &[out]);
    let [before, yes, join] = [a.id(), a.id(), a.id()];
    a.act(Op::Branch, &[before]);
    a.label(before);
    let first = a.value(Op::Load, array, &[source]);
    let five = a.constant(5);
    let condition = a.compare(Op::UGreaterThan, item, five);
    a.act(Op::BranchConditional, &[condition, yes, join]);
    a.label(yes);
    let second = a.value(Op::CompositeInsert, array, &[item, first, 3]);
    a.act(Op::Branch, &[join]);
    a.label(join);
    let either = a.value(Op::Phi, array, &[first, before, second, yes]);
    a.act(Op::Store, &[source, either]);
    let value = a.value(Op::CompositeExtract, uint, &[either, n - 1]);
    a.finish(value)
}

fn constants(n: u32) -> Vec<u8> {
    let mut a = Assembler::new();
    let (uint, mut value) = (a.uint(), a.item);
    let all: Vec<u32> = (0..n).map(|at| a.constant(at.wrapping_mul(2_654_435_761))).collect();
    for constant in all.into_iter().step_by(64) {
        value = a.value(Op::BitwiseXor, uint, &[value, constant]);
    }
    a.finish(value)
}

/// Structures in structures, `n` deep, behind an access chain that goes all the way.
fn deep_types(n: u32) -> Vec<u8> {
    let mut a = Assembler::new();
    let (uint, item, zero) = (a.uint(), a.item, a.constant(0));
    let mut ty = uint;
    for _ in 0..n {
        ty = {
            let id = a.id();
            put(&mut a.declarations, Op::TypeStruct, &[id, ty]);
            id
        };
    }
    let variable = a.variables(ty, 1)[0];
    let pointer = a.pointer(StorageClass::Function, uint);
    let mut indices = vec![variable];
    indices.extend((0..n).map(|_| zero));
    let place = a.value(Op::InBoundsAccessChain, pointer, &indices);
    a.act(Op::Store, &[place, item]);
    let whole = a.value(Op::Load, ty, &[variable]);
    let mut path = vec![whole];
    path.extend((0..n).map(|_| 0));
    let value = a.value(Op::CompositeExtract, uint, &path);
    a.finish(value)
}

/// Structure types, each with a variable.
fn structures(n: u32) -> Vec<u8> {
    let mut a = Assembler::new();
    let (uint, mut value, zero) = (a.uint(), a.item, a.constant(0));
    let pointer = a.pointer(StorageClass::Function, uint);
    for _ in 0..n / 16 {
        let ty = a.id();
        put(&mut a.declarations, Op::TypeStruct, &[ty, uint, uint, uint, uint]);
        let variable = a.variables(ty, 1)[0];
        let place = a.value(Op::InBoundsAccessChain, pointer, &[variable, zero]);
        a.act(Op::Store, &[place, value]);
        let loaded = a.value(Op::Load, uint, &[place]);
        value = a.add(value, loaded);
    }
    a.finish(value)
}

fn names_and_decorations(n: u32) -> Vec<u8> {
    let mut a = Assembler::new();
    let mut value = a.item;
    for at in 0..n {
        let constant = a.constant(at % 3);
        value = a.add(value, constant);
        put(&mut a.decorations, Op::Decorate, &[value, Decoration::NoUnsignedWrap as u32]);
    }
    a.finish(value)
}

fn kernels(n: u32) -> Vec<u8> {
    let mut a = Assembler::new();
    for at in 1..n {
        let item = a.item;
        a.end(item);
        a.kernel(&format!("k{at}"));
    }
    let item = a.item;
    a.finish(item)
}

/// A cycle of `n` blocks that is entered at each of them.
fn irreducible_entries(n: u32) -> Vec<u8> {
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

fn irreducible_cycles(n: u32) -> Vec<u8> {
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

/// Copies of copies.
fn copies(n: u32) -> Vec<u8> {
    let mut a = Assembler::new();
    let (uint, mut value) = (a.uint(), a.item);
    for _ in 0..n {
        value = a.value(Op::CopyObject, uint, &[value]);
    }
    a.finish(value)
}

/// Pointers, each made from the one before.
fn pointer_chain(n: u32) -> Vec<u8> {
    let mut a = Assembler::new();
    let (uint, item, out, one) = (a.uint(), a.item, a.out, a.constant(1));
    let pointer = a.pointer(StorageClass::CrossWorkgroup, uint);
    let mut place = out;
    for at in 0..n {
        let step = if at % 2 == 0 { one } else { item };
        place = a.value(Op::InBoundsPtrAccessChain, pointer, &[place, step]);
    }
    let value = a.value(Op::Load, uint, &[place]);
    a.finish(value)
}

fn divisions(n: u32) -> Vec<u8> {
    let mut a = Assembler::new();
    let (uint, item, mut value) = (a.uint(), a.item, a.n);
    for at in 0..n {
        let constant = a.constant(at % 77);
        let divisor = a.add(item, constant);
        value = a.value(Op::UDiv, uint, &[value, divisor]);
    }
    a.finish(value)
}

/// `sin` of `sin`.
fn math_functions(n: u32) -> Vec<u8> {
    const SIN: u32 = 57;
    let mut a = Assembler::new();
    let (uint, item) = (a.uint(), a.item);
    let float = a.ty(Op::TypeFloat, &[32]);
    let mut value = a.value(Op::ConvertUToF, float, &[item]);
    // The set's id is the last of all, which is not known yet.
    let first = a.body.len();
    for _ in 0..n {
        value = a.value(Op::ExtInst, float, &[u32::MAX, SIN, value]);
    }
    let end = a.body.len();
    let bits = a.value(Op::Bitcast, uint, &[value]);
    a.end(bits);
    let set = a.next;
    a.body[first..end].iter_mut().filter(|word| **word == u32::MAX).for_each(|word| *word = set);
    a.bytes()
}
