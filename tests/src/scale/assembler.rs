//! Modules put together word by word.

use spirv::{Decoration, Op, StorageClass};
use std::collections::HashMap;

/// A module under construction.
pub struct Assembler {
    pub next: u32,
    pub names: Vec<u32>,
    pub declarations: Vec<u32>,
    pub body: Vec<u32>,
    pub decorations: Vec<u32>,
    pub entries: Vec<u32>,
    pub types: HashMap<(u32, Vec<u32>), u32>,
    pub constants: HashMap<(u32, u32), u32>,
    /// The built-in variable, the kernel's parameters, and the work-item's number.
    pub builtin: u32,
    pub out: u32,
    pub n: u32,
    pub item: u32,
}

pub fn put(words: &mut Vec<u32>, op: Op, operands: &[u32]) {
    words.push((operands.len() as u32 + 1) << 16 | op as u32);
    words.extend(operands);
}

impl Assembler {
    /// A module with an open kernel.
    pub fn new() -> Self {
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

    pub fn id(&mut self) -> u32 {
        self.next += 1;
        self.next - 1
    }

    pub fn ty(&mut self, op: Op, operands: &[u32]) -> u32 {
        if let Some(id) = self.types.get(&(op as u32, operands.to_vec())) {
            return *id;
        }
        let id = self.id();
        put(&mut self.declarations, op, &[&[id], operands].concat());
        self.types.insert((op as u32, operands.to_vec()), id);
        id
    }

    pub fn uint(&mut self) -> u32 {
        self.ty(Op::TypeInt, &[32, 0])
    }

    pub fn ulong(&mut self) -> u32 {
        self.ty(Op::TypeInt, &[64, 0])
    }

    pub fn bool(&mut self) -> u32 {
        self.ty(Op::TypeBool, &[])
    }

    pub fn float16(&mut self) -> u32 {
        let float = self.ty(Op::TypeFloat, &[32]);
        self.ty(Op::TypeVector, &[float, 16])
    }

    pub fn pointer(&mut self, class: StorageClass, to: u32) -> u32 {
        self.ty(Op::TypePointer, &[class as u32, to])
    }

    pub fn array(&mut self, of: u32, len: u32) -> u32 {
        let len = self.constant(len);
        self.ty(Op::TypeArray, &[of, len])
    }

    /// A 32-bit integer.
    pub fn constant(&mut self, value: u32) -> u32 {
        let ty = self.uint();
        if let Some(id) = self.constants.get(&(ty, value)) {
            return *id;
        }
        let id = self.id();
        put(&mut self.declarations, Op::Constant, &[ty, id, value]);
        self.constants.insert((ty, value), id);
        id
    }

    pub fn kernel(&mut self, name: &str) {
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
    pub fn variable_section(&mut self) {
        self.names.push(self.body.len() as u32);
    }

    /// A variable of the (only) kernel.
    pub fn variables(&mut self, ty: u32, count: u32) -> Vec<u32> {
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

    pub fn label(&mut self, id: u32) {
        put(&mut self.body, Op::Label, &[id]);
    }

    pub fn value(&mut self, op: Op, ty: u32, operands: &[u32]) -> u32 {
        let id = self.id();
        put(&mut self.body, op, &[&[ty, id], operands].concat());
        id
    }

    pub fn act(&mut self, op: Op, operands: &[u32]) {
        put(&mut self.body, op, operands);
    }

    pub fn add(&mut self, a: u32, b: u32) -> u32 {
        let uint = self.uint();
        self.value(Op::IAdd, uint, &[a, b])
    }

    pub fn compare(&mut self, op: Op, a: u32, b: u32) -> u32 {
        let bool = self.bool();
        self.value(op, bool, &[a, b])
    }

    /// `&out[index]`.
    pub fn element(&mut self, index: u32) -> u32 {
        let uint = self.uint();
        let pointer = self.pointer(StorageClass::CrossWorkgroup, uint);
        let out = self.out;
        self.value(Op::InBoundsPtrAccessChain, pointer, &[out, index])
    }

    pub fn load(&mut self, index: u32) -> u32 {
        let uint = self.uint();
        let pointer = self.element(index);
        self.value(Op::Load, uint, &[pointer])
    }

    /// Ends the kernel with `out[item] = value`.
    pub fn end(&mut self, value: u32) {
        let item = self.item;
        let pointer = self.element(item);
        self.act(Op::Store, &[pointer, value]);
        self.act(Op::Return, &[]);
        self.act(Op::FunctionEnd, &[]);
    }

    pub fn bytes(self) -> Vec<u8> {
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

    pub fn finish(mut self, value: u32) -> Vec<u8> {
        self.end(value);
        self.bytes()
    }
}
