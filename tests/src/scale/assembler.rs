//! Modules put together word by word.

use spirv::{Capability, Decoration, Op, StorageClass};
use std::collections::HashMap;

/// A module under construction.
pub struct Assembler {
    pub next: u32,
    pub names: Vec<u32>,
    pub declarations: Vec<u32>,
    pub body: Vec<u32>,
    pub decorations: Vec<u32>,
    pub entries: Vec<u32>,
    /// Strings and names.
    pub debug: Vec<u32>,
    /// Functions behind the kernel.
    pub functions: Vec<u32>,
    pub capabilities: Vec<Capability>,
    pub extensions: Vec<&'static str>,
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

/// A literal string.
pub fn text(text: &str) -> Vec<u32> {
    let mut bytes: Vec<u8> = text.bytes().collect();
    bytes.resize(bytes.len() / 4 * 4 + 4, 0);
    bytes.chunks(4).map(|word| u32::from_le_bytes([word[0], word[1], word[2], word[3]])).collect()
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
            debug: Vec::new(),
            functions: Vec::new(),
            capabilities: vec![
                Capability::Addresses,
                Capability::Kernel,
                Capability::Linkage,
                Capability::Vector16,
                Capability::Int64,
            ],
            extensions: Vec::new(),
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
        let entry: Vec<u32> = [6, function].into_iter().chain(text(name)).chain([self.builtin]).collect();
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

    /// One more parameter of the only kernel.
    pub fn kernel_parameter(&mut self, ty: u32) -> u32 {
        /// Words of the function's and its parameters' instructions, and where the function's type is among them.
        const HEAD: usize = 5 + 2 * 3;
        const SIGNATURE: usize = 4;
        let (void, uint) = (self.ty(Op::TypeVoid, &[]), self.uint());
        let global = self.pointer(StorageClass::CrossWorkgroup, uint);
        self.body[SIGNATURE] = self.ty(Op::TypeFunction, &[void, global, uint, ty]);
        let parameter = self.id();
        let mut words = Vec::new();
        put(&mut words, Op::FunctionParameter, &[ty, parameter]);
        *self.names.last_mut().expect("a kernel is open") += words.len() as u32;
        self.body.splice(HEAD..HEAD, words);
        parameter
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

    /// Begins a function behind the kernel, whose instructions are put there as well; its label is that of its only block.
    pub fn function(&mut self, result: u32, parameters: &[u32]) -> (u32, Vec<u32>) {
        let signature = self.ty(Op::TypeFunction, &[&[result], parameters].concat());
        let (id, label) = (self.id(), self.id());
        put(&mut self.functions, Op::Function, &[result, id, 0, signature]);
        let values: Vec<u32> = parameters
            .iter()
            .map(|ty| {
                let value = self.id();
                put(&mut self.functions, Op::FunctionParameter, &[*ty, value]);
                value
            })
            .collect();
        put(&mut self.functions, Op::Label, &[label]);
        (id, values)
    }

    /// An instruction of the function behind the kernel.
    pub fn inside(&mut self, op: Op, ty: u32, operands: &[u32]) -> u32 {
        let id = self.id();
        put(&mut self.functions, op, &[&[ty, id], operands].concat());
        id
    }

    /// Ends the function behind the kernel.
    pub fn give(&mut self, value: u32) {
        put(&mut self.functions, Op::ReturnValue, &[value]);
        put(&mut self.functions, Op::FunctionEnd, &[]);
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
        for capability in self.capabilities {
            put(&mut words, Op::Capability, &[capability as u32]);
        }
        for extension in self.extensions {
            put(&mut words, Op::Extension, &text(extension));
        }
        let set = self.next;
        put(&mut words, Op::ExtInstImport, &[&[set], &text("OpenCL.std")[..]].concat());
        words[3] = set + 1;
        put(&mut words, Op::MemoryModel, &[2, 2]);
        words.extend(&self.entries);
        words.extend(&self.debug);
        words.extend(&self.decorations);
        words.extend(&self.declarations);
        words.extend(&self.body);
        words.extend(&self.functions);
        words.iter().flat_map(|word| word.to_le_bytes()).collect()
    }

    pub fn finish(mut self, value: u32) -> Vec<u8> {
        self.end(value);
        self.bytes()
    }
}
