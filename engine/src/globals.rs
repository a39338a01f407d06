//! Storage of module-scope variables, with their initial values.

use crate::constant_bytes;
use crate::error::EngineError;
use crate::pointers::FunctionPointers;
use rustc_hash::{FxHashMap, FxHashSet};
use spirv::{Op, StorageClass};
use spirv_env::{ConstantValue, GlobalVariable, Id, Module, Operand, Type, TypeId};
use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::ptr::NonNull;
use std::sync::Arc;
use ze_extensions::limits::NESTING;

/// Variables start at least this far apart: the largest alignment of a type, and two cache lines.
const ALIGN: usize = 128;

/// Storage of a module's variables that live as long as it does. A module that was linked from others has no storage of
/// its own for theirs: it refers to the one that they already have, so that all of them see the same variables.
pub struct Globals {
    /// Of the variables that no other module gave storage to.
    memory: Memory,
    /// Bytes of it that variables are in.
    size: usize,
    places: FxHashMap<Id, Place>,
    by_name: FxHashMap<String, Id>,
    /// Variables whose initial value is not known before what it refers to is linked.
    open: FxHashSet<Id>,
    /// Whose storage the places may be in.
    _parts: Vec<Arc<Globals>>,
}

/// Zeroed memory of fixed size.
struct Memory {
    start: NonNull<u8>,
    layout: Layout,
}

#[derive(Clone, Copy)]
struct Place {
    address: usize,
    size: usize,
}

// SAFETY: memory that belongs to the kernels that run; the structure itself only hands out addresses.
unsafe impl Send for Memory {}
// SAFETY: as above.
unsafe impl Sync for Memory {}

impl Memory {
    fn new(layout: Layout) -> Option<Memory> {
        // SAFETY: the size is not zero.
        let start = NonNull::new(unsafe { alloc_zeroed(layout) })?;
        Some(Memory { start, layout })
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: allocated with this layout; whoever uses the memory holds the program.
        unsafe { dealloc(self.start.as_ptr(), self.layout) };
    }
}

/// A module that another one is linked from, with the storage that it has.
pub struct Part<'a> {
    pub module: &'a Module,
    pub globals: &'a Arc<Globals>,
    /// Whether its own imports were linked before: all of its variables then have their values.
    pub linked: bool,
}

/// Where the variables of a linked module already are, by their ids in it.
fn shared(module: &Module, parts: &[Part<'_>]) -> FxHashMap<Id, (Place, bool)> {
    let mut found = FxHashMap::default();
    let mut inputs = module.inputs.iter();
    for part in parts {
        // The parts' inputs are the linked module's, in the same order, and only the ids' start is another one.
        for ((at, from), to) in part.module.inputs.iter().enumerate().zip(&mut inputs) {
            let end = part.module.inputs.get(at + 1).map_or(part.module.inputs_end.0, |next| next.0);
            let places = part.globals.places.iter().filter(|(id, _)| (from.0..end).contains(&id.0));
            for (id, place) in places {
                let to_initialise = !part.linked && part.globals.open.contains(id);
                found.insert(Id(id.0 - from.0 + to.0), (*place, to_initialise));
            }
        }
    }
    found
}

/// Work-group variables live in local memory, and built-in variables nowhere.
fn has_storage(variable: &GlobalVariable) -> bool {
    !matches!(variable.class, StorageClass::Workgroup | StorageClass::Input) && variable.builtin.is_none()
}

fn failed(variable: &GlobalVariable, reason: impl Into<String>) -> EngineError {
    let name = variable.name.clone().unwrap_or_else(|| variable.id.to_string());
    EngineError::Variable { variable: name, reason: reason.into() }
}

impl Globals {
    /// Gives every variable memory and its initial value. If there are parts, the module's inputs are theirs, one part
    /// after the other, and variables that a part has stay where they are and keep their values.
    pub fn load(
        module: &Module,
        parts: &[Part<'_>],
        pointers: &FunctionPointers,
    ) -> Result<Globals, EngineError> {
        let shared = shared(module, parts);
        // An import has its storage in the module that exports it.
        let unresolved: FxHashSet<Id> = module.unresolved_variables.iter().copied().collect();
        let stored = |variable: &&GlobalVariable| has_storage(variable) && !unresolved.contains(&variable.id);
        let mut places = FxHashMap::default();
        let mut by_name: FxHashMap<String, Id> = FxHashMap::default();
        let mut own = Vec::new();
        let mut end = 0usize;
        for variable in module.globals.iter().filter(stored) {
            if let Some((place, _)) = shared.get(&variable.id) {
                places.insert(variable.id, *place);
            } else {
                let (_, bytes) = pointee(module, variable)?;
                let align = alignment(variable);
                let offset = end.checked_next_multiple_of(align);
                let size = usize::try_from(bytes).ok();
                let too_large = || failed(variable, format!("{bytes} bytes are too many"));
                let (offset, size) = offset.zip(size).ok_or_else(too_large)?;
                end = offset.checked_add(size).ok_or_else(too_large)?;
                own.push((variable.id, offset, size));
            }
            // Names for debugging need not be unique.
            match &variable.name {
                Some(name) if variable.exported || !by_name.contains_key(name) => {
                    by_name.insert(name.clone(), variable.id);
                }
                _ => {}
            }
        }
        let hosts = module.globals.iter().filter(stored);
        by_name.extend(hosts.filter_map(|variable| Some((module.host_name(variable.id)?, variable.id))));
        let align = module.globals.iter().map(alignment).max().unwrap_or(ALIGN);
        let no_memory = || EngineError::OutOfMemory {
            kernel: String::new(),
            what: "module-scope variables",
            bytes: end as u64,
        };
        let layout = Layout::from_size_align(end.max(1), align).map_err(|_| no_memory())?;
        let memory = Memory::new(layout).ok_or_else(no_memory)?;
        let start = memory.start.as_ptr() as usize;
        places.extend(own.iter().map(|&(id, offset, size)| (id, Place { address: start + offset, size })));
        let parts = parts.iter().map(|part| Arc::clone(part.globals)).collect();
        let mut globals =
            Globals { memory, size: end, places, by_name, open: FxHashSet::default(), _parts: parts };
        let types = module.globals.iter().map(|variable| (variable.id, variable.ty)).collect();
        let evaluator = Evaluator { module, types, globals: &globals, unresolved: &unresolved, pointers };
        let mut open = FxHashSet::default();
        for variable in module.globals.iter().filter(stored) {
            let has_value = shared.get(&variable.id).is_some_and(|(_, to_initialise)| !to_initialise);
            if !has_value && !evaluator.initialise(variable)? {
                open.insert(variable.id);
            }
        }
        globals.open = open;
        Ok(globals)
    }

    /// The address of a variable's storage.
    pub fn address(&self, id: Id) -> Option<usize> {
        self.places.get(&id).map(|place| place.address)
    }

    /// Address and size in bytes of the variable with this name.
    pub fn by_name(&self, name: &str) -> Option<(*mut u8, usize)> {
        let place = self.places.get(self.by_name.get(name)?)?;
        Some((place.address as *mut u8, place.size))
    }

    /// The string that begins at an address inside of a variable: up to its null character, or to the variable's end.
    pub fn string(&self, address: u64) -> Option<Vec<u8>> {
        let address = usize::try_from(address).ok()?;
        let holds = |place: &&Place| address.checked_sub(place.address).is_some_and(|at| at < place.size);
        let place = self.places.values().find(holds)?;
        let end = place.address + place.size;
        // SAFETY: inside of storage that lives as long as this. Kernels may write it meanwhile, so each byte is read
        // by itself.
        let byte = |address: usize| unsafe { std::ptr::read_volatile(address as *const u8) };
        Some((address..end).map(byte).take_while(|byte| *byte != 0).collect())
    }

    /// Start and size in bytes of the memory of all variables that are not another module's.
    pub fn memory(&self) -> (*mut u8, usize) {
        (self.memory.start.as_ptr(), self.size)
    }
}

/// Where a variable may start.
fn alignment(variable: &GlobalVariable) -> usize {
    usize::try_from(variable.align).unwrap_or(1).next_power_of_two().max(ALIGN)
}

/// Type and size in bytes of what a variable's pointer points to.
fn pointee(module: &Module, variable: &GlobalVariable) -> Result<(TypeId, u64), EngineError> {
    match module.types.get(variable.ty) {
        Type::Pointer { pointee, .. } => Ok((*pointee, module.types.layout(*pointee).size)),
        other => Err(failed(variable, format!("its type is no pointer but {other:?}"))),
    }
}

/// Why an initial value cannot be written.
enum Refusal {
    /// It refers to a variable that another module exports.
    Unresolved,
    Reason(String),
}

impl From<String> for Refusal {
    fn from(reason: String) -> Refusal {
        Refusal::Reason(reason)
    }
}

impl From<&str> for Refusal {
    fn from(reason: &str) -> Refusal {
        Refusal::Reason(reason.to_owned())
    }
}

/// Turns constants into bytes, now that addresses are known.
struct Evaluator<'a> {
    module: &'a Module,
    /// Of all variables.
    types: FxHashMap<Id, TypeId>,
    globals: &'a Globals,
    unresolved: &'a FxHashSet<Id>,
    pointers: &'a FunctionPointers,
}

impl Evaluator<'_> {
    /// Writes a variable's initial value; false if it refers to an import that is not resolved.
    fn initialise(&self, variable: &GlobalVariable) -> Result<bool, EngineError> {
        let place = self.globals.places.get(&variable.id);
        let (Some(initializer), Some(place)) = (variable.initializer, place) else { return Ok(true) };
        let (ty, _) = pointee(self.module, variable)?;
        // SAFETY: the place is inside an allocation. No kernel uses it: one of a module with open imports cannot exist.
        let bytes = unsafe { std::slice::from_raw_parts_mut(place.address as *mut u8, place.size) };
        let scalar = |id, depth| self.scalar(id, depth);
        match constant_bytes::write(self.module, initializer, ty, bytes, 0, &scalar) {
            Ok(()) => Ok(true),
            Err(Refusal::Unresolved) => Ok(false),
            Err(Refusal::Reason(reason)) => Err(failed(variable, reason)),
        }
    }

    /// The bits of a scalar or pointer.
    fn scalar(&self, id: Id, depth: u32) -> Result<u64, Refusal> {
        if depth > 2 * NESTING {
            return Err("its initializer nests too deep".into());
        }
        if let Some(address) = self.globals.address(id) {
            return Ok(address as u64);
        }
        if self.unresolved.contains(&id) {
            return Err(Refusal::Unresolved);
        }
        // Each work-group has its own, so that no address is that of all. Lists of the variables that a module uses have such.
        let is_local =
            |variable: &GlobalVariable| variable.id == id && variable.class == StorageClass::Workgroup;
        if self.module.globals.iter().any(is_local) {
            return Ok(0);
        }
        let constant = self.module.constants.get(&id);
        let constant =
            constant.ok_or_else(|| format!("its initializer {id} has no address that is known"))?;
        match &constant.value {
            ConstantValue::Null | ConstantValue::Undef => Ok(0),
            ConstantValue::Bool(value) => Ok(u64::from(*value)),
            ConstantValue::Scalar(bits) => Ok(*bits),
            ConstantValue::Wide(_) => Err("it computes with more than 64 bits".into()),
            ConstantValue::Expression { op, operands } => {
                let bits = self.expression(*op, operands, depth + 1)?;
                let width = match self.module.types.get(constant.ty) {
                    Type::Int { width } if *width > u64::BITS => {
                        return Err("it computes with more than 64 bits".into());
                    }
                    Type::Int { width } => u64::from(*width),
                    _ => 8 * self.module.types.layout(constant.ty).size,
                };
                Ok(if width >= 64 { bits } else { bits & ((1 << width) - 1) })
            }
            ConstantValue::Composite(_) => Err("a composite stands where a scalar should".into()),
            value @ ConstantValue::Sampler { .. } => Ok(crate::image::Sampler::literal(value).bits()),
            // A function without an address has no body: another module exports it.
            ConstantValue::FunctionPointer(function) => {
                self.pointers.address(*function).ok_or(Refusal::Unresolved)
            }
        }
    }

    fn expression(&self, op: Op, operands: &[Operand], depth: u32) -> Result<u64, Refusal> {
        let operand = |at: usize| match operands.get(at) {
            Some(Operand::Id(id)) => Ok(*id),
            _ => Err(format!("Op{op:?} has no operand {at}")),
        };
        let value = |at: usize| self.scalar(operand(at)?, depth);
        Ok(match op {
            Op::Bitcast
            | Op::CopyObject
            | Op::ConvertPtrToU
            | Op::ConvertUToPtr
            | Op::PtrCastToGeneric
            | Op::GenericCastToPtr
            | Op::GenericCastToPtrExplicit
            | Op::UConvert => value(0)?,
            Op::SConvert => self.sign_extended(operand(0)?, depth)?,
            Op::IAdd => value(0)?.wrapping_add(value(1)?),
            Op::ISub => value(0)?.wrapping_sub(value(1)?),
            Op::IMul => value(0)?.wrapping_mul(value(1)?),
            Op::BitwiseAnd => value(0)? & value(1)?,
            Op::BitwiseOr => value(0)? | value(1)?,
            Op::BitwiseXor => value(0)? ^ value(1)?,
            Op::AccessChain | Op::InBoundsAccessChain => self.chain(operands, false, depth)?,
            Op::PtrAccessChain | Op::InBoundsPtrAccessChain => self.chain(operands, true, depth)?,
            _ => return Err(format!("Op{op:?} in an initializer is not supported").into()),
        })
    }

    /// The address that an access chain computes. With `element`, the first index counts whole pointees.
    fn chain(&self, operands: &[Operand], element: bool, depth: u32) -> Result<u64, Refusal> {
        let malformed = || Refusal::from("an access chain in its initializer is malformed");
        let ids = operands.iter().map(|operand| match operand {
            Operand::Id(id) => Ok(*id),
            Operand::Lit(_) => Err(malformed()),
        });
        let ids = ids.collect::<Result<Vec<Id>, _>>()?;
        let (&base, indices) = ids.split_first().ok_or_else(malformed)?;
        let types = &self.module.types;
        let mut address = self.scalar(base, depth)?;
        let mut ty = match self.type_of(base).map(|ty| types.get(ty)) {
            Some(Type::Pointer { pointee, .. }) => *pointee,
            _ => return Err(malformed()),
        };
        for (at, &index) in indices.iter().enumerate() {
            let index = self.sign_extended(index, depth)?;
            let mut step = |elem: TypeId| {
                address = address.wrapping_add(index.wrapping_mul(types.layout(elem).size));
                elem
            };
            ty = match types.get(ty) {
                _ if element && at == 0 => step(ty),
                Type::Array { elem, .. } | Type::Vector { elem, .. } => step(*elem),
                Type::Struct { members, .. } => {
                    let member = usize::try_from(index).map_err(|_| malformed())?;
                    let offset = types.member_offsets(ty).get(member).ok_or_else(malformed)?;
                    address = address.wrapping_add(*offset);
                    *members.get(member).ok_or_else(malformed)?
                }
                _ => return Err(malformed()),
            };
        }
        Ok(address)
    }

    fn type_of(&self, id: Id) -> Option<TypeId> {
        let constant = self.module.constants.get(&id).map(|constant| constant.ty);
        constant.or_else(|| self.types.get(&id).copied())
    }

    /// A scalar as a 64-bit number with the sign of its own width.
    fn sign_extended(&self, id: Id, depth: u32) -> Result<u64, Refusal> {
        let bits = self.scalar(id, depth)?;
        let width = match self.type_of(id).map(|ty| self.module.types.get(ty)) {
            Some(Type::Int { width }) if (1..64).contains(width) => *width,
            _ => return Ok(bits),
        };
        let unused = 64 - width;
        Ok((((bits << unused) as i64) >> unused) as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use spirv_env::Constant;

    struct Builder {
        module: Module,
        next: u32,
    }

    impl Builder {
        fn new() -> Builder {
            Builder { module: Module::default(), next: 1 }
        }

        fn ty(&mut self, ty: Type) -> TypeId {
            self.module.types.intern(ty, false).expect("small types")
        }

        fn id(&mut self) -> Id {
            self.next += 1;
            Id(self.next)
        }

        fn constant(&mut self, ty: TypeId, value: ConstantValue) -> Id {
            let id = self.id();
            self.module.constants.insert(id, Constant { ty, value });
            id
        }

        fn variable(&mut self, name: &str, pointee: TypeId, initializer: Option<Id>) -> Id {
            let (id, class) = (self.id(), StorageClass::CrossWorkgroup);
            let ty = self.ty(Type::Pointer { class, pointee });
            let align = self.module.types.layout(pointee).align;
            let name = Some(name.to_owned());
            self.module.globals.push(GlobalVariable {
                id,
                ty,
                class,
                initializer,
                builtin: None,
                name,
                exported: true,
                align,
            });
            id
        }
    }

    fn load(module: &Module) -> Result<Globals, EngineError> {
        Globals::load(module, &[], &FunctionPointers::new(module, &[]).expect("memory"))
    }

    fn contents(globals: &Globals, name: &str) -> Vec<u8> {
        let (start, size) = globals.by_name(name).expect("there is such a variable");
        // SAFETY: address and size of live storage.
        unsafe { std::slice::from_raw_parts(start, size) }.to_vec()
    }

    #[test]
    fn structures_are_laid_out_and_the_rest_is_zero() {
        let mut b = Builder::new();
        let (i8t, i32t) = (b.ty(Type::Int { width: 8 }), b.ty(Type::Int { width: 32 }));
        let id = b.id();
        let pair = b.ty(Type::Struct { id, members: vec![i8t, i32t] });
        let (small, large) =
            (b.constant(i8t, ConstantValue::Scalar(7)), b.constant(i32t, ConstantValue::Scalar(0x0102_0304)));
        let value = b.constant(pair, ConstantValue::Composite(vec![small, large]));
        b.variable("pair", pair, Some(value));
        b.variable("zero", i32t, None);
        let globals = load(&b.module).expect("loads");
        assert_eq!(contents(&globals, "pair"), [7, 0, 0, 0, 4, 3, 2, 1]);
        assert_eq!(contents(&globals, "zero"), [0; 4]);
        assert_eq!(globals.by_name("none"), None);
    }

    #[test]
    fn addresses_of_other_variables_are_known() {
        let mut b = Builder::new();
        let i32t = b.ty(Type::Int { width: 32 });
        let array = b.ty(Type::Array { elem: i32t, len: 4 });
        // The pointer comes first and refers to a variable after it.
        let class = StorageClass::CrossWorkgroup;
        let pointer = b.ty(Type::Pointer { class, pointee: i32t });
        let table = Id(1000);
        let (zero, three) =
            (b.constant(i32t, ConstantValue::Scalar(0)), b.constant(i32t, ConstantValue::Scalar(3)));
        let operands = [table, zero, three].map(Operand::Id).to_vec();
        let op = Op::InBoundsPtrAccessChain;
        let third = b.constant(pointer, ConstantValue::Expression { op, operands });
        b.variable("third", pointer, Some(third));
        let id = b.variable("table", array, None);
        b.module.globals.iter_mut().find(|v| v.id == id).expect("just added").id = table;
        let globals = load(&b.module).expect("loads");
        let address = globals.address(table).expect("has storage") as u64;
        assert_eq!(contents(&globals, "third"), (address + 12).to_le_bytes());
    }

    #[test]
    fn what_cannot_be_evaluated_is_refused_by_name() {
        let mut b = Builder::new();
        let i32t = b.ty(Type::Int { width: 32 });
        let value = b.constant(i32t, ConstantValue::Expression { op: Op::FAdd, operands: vec![] });
        b.variable("sum", i32t, Some(value));
        let error = load(&b.module).map(|_| ()).expect_err("unsupported").to_string();
        assert!(error.contains("sum") && error.contains("OpFAdd"), "{error}");
    }

    #[test]
    fn the_host_asks_for_a_variable_by_the_name_of_its_host_access() {
        let mut b = Builder::new();
        let i32t = b.ty(Type::Int { width: 32 });
        let seven = b.constant(i32t, ConstantValue::Scalar(7));
        let id = b.variable("mangled", i32t, Some(seven));
        const READ_WRITE: u32 = 3;
        let literals = [READ_WRITE, u32::from_le_bytes(*b"uid\0")].into_iter().collect();
        let kind = spirv::Decoration::HostAccessINTEL;
        b.module.decorations.insert(id, vec![spirv_env::Decorated { kind, literals }]);
        let globals = load(&b.module).expect("loads");
        assert_eq!(contents(&globals, "uid"), [7, 0, 0, 0]);
        assert_eq!(contents(&globals, "mangled"), [7, 0, 0, 0]);
    }

    #[test]
    fn work_group_variables_have_no_storage_here() {
        let mut b = Builder::new();
        let i32t = b.ty(Type::Int { width: 32 });
        let id = b.variable("local", i32t, None);
        b.module.globals[0].class = StorageClass::Workgroup;
        assert_eq!(load(&b.module).expect("loads").address(id), None);
    }
}
