//! Type declarations.

use super::Loader;
use crate::binary::RawInst;
use crate::defs::Def;
use crate::diagnostics::{Fault, RuleId};
use crate::grammar::{Cursor, op_name};
use crate::matrices::{self, Matrix};
use crate::module::{ConstantValue, Id, ImageType, Type, TypeId};
use crate::reflect::constant_scalar;
use rustc_hash::{FxHashMap, FxHashSet};
use spirv::{AccessQualifier, Capability, CooperativeMatrixUse, Decoration, Dim, Op, Scope, StorageClass};
use std::collections::hash_map::Entry;
use ze_extensions::limits::{self, EMPTY_MEMBERS, INTEGER_BITS, NESTING};

pub(super) const TYPES: RuleId = RuleId { id: "types.well-formed", source: "SPIR-V 1.2 §3.32.6" };
const UNIQUE: RuleId = RuleId { id: "types.unique", source: "SPIR-V 1.2 §2.8" };
const FORWARD: RuleId = RuleId { id: "types.forward-pointer", source: "SPIR-V 1.2 §3.32.6" };
const TO_FUNCTION: RuleId = RuleId { id: "types.function-pointer", source: "SPIR-V 1.2 §3.32.6" };
const PARAMETERS: RuleId = RuleId { id: "types.parameters", source: "SPIR-V 1.2 §2.17" };
pub(super) const MATRIX: RuleId = RuleId { id: "types.matrix", source: "SPV_KHR_cooperative_matrix" };
const SIZE: RuleId = RuleId { id: "types.size", source: "SPIR-V 1.2 §2.17" };

/// What is known of types beside their content, across linked inputs.
#[derive(Default, Debug)]
pub(crate) struct TypeMeasures {
    /// By type: how deep it nests.
    depths: Vec<u32>,
    /// By type: scalars in a value. A pointer counts as one, and so does an empty structure.
    leaves: Vec<u64>,
    /// Structures of earlier inputs by their members and packing: linked modules agree about layout, not about ids.
    earlier: FxHashMap<(Vec<TypeId>, bool), TypeId>,
    current: Vec<((Vec<TypeId>, bool), TypeId)>,
}

impl TypeMeasures {
    pub fn leaves(&self) -> &[u64] {
        &self.leaves
    }

    /// Notes a type that an instruction implies behind the loading.
    pub fn note(&mut self, id: TypeId, leaves: u64) {
        if id.0 as usize == self.leaves.len() {
            self.depths.push(1);
            self.leaves.push(leaves);
        }
    }

    fn leaves_of(&self, ty: &Type) -> u64 {
        let of = |id: &TypeId| self.leaves.get(id.0 as usize).copied().unwrap_or(1);
        match ty {
            Type::Vector { elem, len } => of(elem).saturating_mul(u64::from(*len)),
            Type::Array { elem, len } => of(elem).saturating_mul(*len),
            Type::Struct { members, .. } => members.iter().map(of).fold(0, u64::saturating_add).max(1),
            _ => 1,
        }
    }

    pub fn next_input(&mut self) {
        for (key, ty) in self.current.drain(..) {
            self.earlier.entry(key).or_insert(ty);
        }
    }
}

impl Loader<'_> {
    pub(super) fn type_declaration(&mut self, inst: &RawInst<'_>) -> Result<(), Fault> {
        let cursor = &mut Cursor::new(inst.operands);
        let id = self.id(cursor.word()?)?;
        if inst.op == Op::TypeForwardPointer {
            return self.forward_pointer(id, cursor);
        }
        self.unique(id, inst);
        let ty = match inst.op {
            Op::TypeVoid => Type::Void,
            Op::TypeBool => Type::Bool,
            Op::TypeInt => {
                let width = integer_width(cursor)?;
                cursor.word()?;
                Type::Int { width }
            }
            Op::TypeFloat => {
                let width = width(cursor, &[16, 32, 64])?;
                if let Some(encoding) = cursor.rest().first() {
                    return self.encoded_float(id, width, *encoding);
                }
                Type::Float { width }
            }
            Op::TypeVector => self.vector(cursor)?,
            Op::TypeArray => self.array(cursor)?,
            Op::TypeStruct => return self.structure(id, cursor),
            Op::TypeCooperativeMatrixKHR => return self.matrix(id, cursor),
            Op::TypeUntypedPointerKHR => return self.untyped_pointer_type(id, cursor),
            Op::TypePointer => {
                let class = storage_class(cursor)?;
                let pointee = self.ty(cursor)?;
                let to_function = matches!(self.module.types.get(pointee), Type::Function { .. });
                if to_function && !self.module.capabilities.contains(&Capability::FunctionPointersINTEL) {
                    let message = "a pointer to a function needs capability FunctionPointersINTEL";
                    self.judged.push(Fault::new(TO_FUNCTION, message));
                }
                if let Some(pointer) = self.forward_pointers.remove(&id) {
                    self.complete_pointer(pointer, class, pointee);
                    return cursor.end();
                }
                let twin = self.pointer_twins.get(&(inst.operands[1], inst.operands[2]));
                if let Some(Def::Type(ty)) = twin.map(|&twin| self.out.defs.get(twin)) {
                    cursor.end()?;
                    return self.out.defs.define(id, Def::Type(ty));
                }
                Type::Pointer { class, pointee }
            }
            Op::TypeFunction => {
                let result = self.ty(cursor)?;
                let mut params = Vec::new();
                while !cursor.is_empty() {
                    params.push(self.value_type(cursor, "a parameter")?);
                }
                if params.len() > limits::PARAMETERS {
                    let message =
                        format!("{} parameters; there are at most {}", params.len(), limits::PARAMETERS);
                    self.judged.push(Fault::new(PARAMETERS, message));
                }
                Type::Function { result, params }
            }
            Op::TypeImage => Type::Image(image(self, cursor)?),
            Op::TypeSampler => Type::Sampler,
            Op::TypeSampledImage => match *self.module.types.get(self.ty(cursor)?) {
                Type::Image(image) => Type::SampledImage(image),
                _ => return Err(Fault::new(TYPES, "a sampled image is made of an image type")),
            },
            Op::TypeEvent => Type::Event,
            Op::TypeDeviceEvent | Op::TypeReserveId | Op::TypeQueue => Type::Opaque { op: inst.op },
            Op::TypeOpaque | Op::TypePipe => return self.opaque(id, inst.op),
            op => return Err(Fault::new(TYPES, format!("{} is not supported", op_name(op)))),
        };
        cursor.end()?;
        let ty = self.intern(ty, false)?;
        self.out.defs.define(id, Def::Type(ty))
    }

    fn opaque(&mut self, id: Id, op: Op) -> Result<(), Fault> {
        let ty = self.intern(Type::Opaque { op }, false)?;
        self.out.defs.define(id, Def::Type(ty))
    }

    /// Of types that are neither aggregates nor pointers there is one declaration. Function types are left out:
    /// producers tell them apart by types that are one in SPIR-V.
    fn unique(&mut self, id: Id, inst: &RawInst<'_>) {
        use Op::*;
        let single = matches!(
            inst.op,
            TypeVoid
                | TypeBool
                | TypeInt
                | TypeFloat
                | TypeVector
                | TypeImage
                | TypeSampler
                | TypeSampledImage
                | TypeEvent
                | TypeDeviceEvent
                | TypeReserveId
                | TypeQueue
        );
        if !single {
            return;
        }
        let words = inst.operands.get(1..).unwrap_or_default().to_vec();
        match self.declared_types.entry((inst.op, words)) {
            Entry::Occupied(first) if *first.get() != id => {
                let first = self.out.defs.raw(*first.get());
                self.judged.push(Fault::new(UNIQUE, format!("the same type as {first}, declared again")));
            }
            Entry::Occupied(_) => {}
            Entry::Vacant(place) => {
                place.insert(id);
            }
        }
    }

    fn complete_pointer(&mut self, pointer: TypeId, class: StorageClass, pointee: TypeId) {
        if let Type::Pointer { class: declared, .. } = *self.module.types.get(pointer)
            && declared != class
        {
            let message = format!("a {class:?} pointer, declared before as a {declared:?} pointer");
            self.judged.push(Fault::new(FORWARD, message));
        }
        self.module.types.complete_pointer(pointer, pointee);
    }

    /// The LLVM translator declares some pointers twice, with and without a forward declaration, and uses either: they
    /// are one type. Which will be equal is found once for a module that has forward declarations.
    fn find_twins(&mut self) {
        let instructions = || self.binary.instructions().map_while(Result::ok);
        let forward: FxHashSet<u32> = instructions()
            .take_while(|inst| inst.op != Op::Function)
            .filter(|inst| inst.op == Op::TypeForwardPointer)
            .filter_map(|inst| inst.operands.first().copied())
            .collect();
        for inst in instructions().take_while(|inst| inst.op != Op::Function) {
            if let (Op::TypePointer, &[id, class, pointee]) = (inst.op, inst.operands)
                && forward.contains(&id)
                && let Ok(id) = self.out.defs.id(id)
            {
                self.pointer_twins.entry((class, pointee)).or_insert(id);
            }
        }
    }

    fn forward_pointer(&mut self, id: Id, cursor: &mut Cursor<'_>) -> Result<(), Fault> {
        let class = storage_class(cursor)?;
        cursor.end()?;
        if !std::mem::replace(&mut self.twins_found, true) {
            self.find_twins();
        }
        let ty = self.reserve_pointer(class)?;
        self.forward_pointers.insert(id, ty);
        self.out.defs.define(id, Def::Type(ty))
    }

    /// A pointer that is equal to no other, whose pointee is still to be said.
    pub(super) fn reserve_pointer(&mut self, class: StorageClass) -> Result<TypeId, Fault> {
        let ty = self.module.types.reserve_pointer(class).ok_or_else(too_large)?;
        self.measures.depths.push(1);
        self.measures.leaves.push(1);
        Ok(ty)
    }

    /// Adds a type that a declaration describes or an instruction implies.
    pub(super) fn intern(&mut self, ty: Type, packed: bool) -> Result<TypeId, Fault> {
        let depth_of = |id: &TypeId| self.measures.depths.get(id.0 as usize).copied().unwrap_or(0);
        let depth = 1 + match &ty {
            Type::Vector { elem, .. } | Type::Array { elem, .. } => depth_of(elem),
            Type::Pointer { pointee, .. } => depth_of(pointee),
            Type::Struct { members, .. } => members.iter().map(depth_of).max().unwrap_or(0),
            Type::Function { result, params } => {
                params.iter().chain([result]).map(depth_of).max().unwrap_or(0)
            }
            _ => 0,
        };
        if depth > NESTING {
            return Err(Fault::new(SIZE, format!("types nest more than {NESTING} deep")));
        }
        let leaves = self.measures.leaves_of(&ty);
        let id = self.module.types.intern(ty, packed).ok_or_else(too_large)?;
        self.measure(id, depth, leaves)?;
        Ok(id)
    }

    /// Notes what is known of a type that may be new.
    pub(super) fn measure(&mut self, id: TypeId, depth: u32, leaves: u64) -> Result<(), Fault> {
        // Whoever walks over a type's scalars relies on its size to bound them.
        if leaves > self.module.types.layout(id).size.max(EMPTY_MEMBERS) {
            return Err(Fault::new(SIZE, format!("a type of {leaves} members, most of them empty")));
        }
        if id.0 as usize == self.measures.depths.len() {
            self.measures.depths.push(depth);
            self.measures.leaves.push(leaves);
        }
        Ok(())
    }

    /// A matrix of a sub-group: an array of what a work-item holds of it.
    fn matrix(&mut self, id: Id, cursor: &mut Cursor<'_>) -> Result<(), Fault> {
        let component = self.ty(cursor)?;
        let number = |cursor: &mut Cursor<'_>, what: &str| {
            let id = self.id(cursor.word()?)?;
            self.out.defs.constant(id)?;
            let value = constant_scalar(self.module, id).and_then(|value| u32::try_from(value).ok());
            value.ok_or_else(|| Fault::new(MATRIX, format!("{what} is no constant of 32 bits")))
        };
        let (scope, rows) = (number(cursor, "the scope")?, number(cursor, "the number of rows")?);
        let (columns, usage) = (number(cursor, "the number of columns")?, number(cursor, "the use")?);
        cursor.end()?;
        if scope != Scope::Subgroup as u32 {
            return Err(Fault::new(MATRIX, "matrices are of sub-groups"));
        }
        if !matches!(
            self.module.types.get(component),
            Type::Int { width: 8 | 16 | 32 | 64 } | Type::Float { .. }
        ) {
            return Err(Fault::new(MATRIX, "a matrix's components are numbers of 8, 16, 32 or 64 bits"));
        }
        if self.module.types.is_bfloat(component)
            && !self.module.capabilities.contains(&Capability::BFloat16CooperativeMatrixKHR)
        {
            let message = "a matrix of bfloat16 needs capability BFloat16CooperativeMatrixKHR";
            self.judged.push(Fault::new(MATRIX, message));
        }
        let sides = 1..=Matrix::MOST_ROWS;
        if !sides.contains(&rows) || !sides.contains(&columns) {
            let message = format!("a matrix of {rows} x {columns}; 1 to {} are supported", Matrix::MOST_ROWS);
            return Err(Fault::new(MATRIX, message));
        }
        let usage = CooperativeMatrixUse::from_u32(usage)
            .ok_or_else(|| Fault::new(MATRIX, "the use of a matrix is A, B or accumulator"))?;
        let sizes = &self.env.profile.compute.sub_group_sizes;
        let lanes = *self.module.matrix_lanes.get_or_insert_with(|| matrices::lanes(&self.out, sizes));
        let matrix = Matrix { component, rows, columns, usage, lanes };
        let ty = self.module.types.intern_matrix(matrix).ok_or_else(too_large)?;
        self.measure(ty, 2, u64::from(matrix.length()))?;
        self.out.defs.define(id, Def::Type(ty))
    }

    pub(super) fn ty(&self, cursor: &mut Cursor<'_>) -> Result<TypeId, Fault> {
        self.out.defs.ty(self.id(cursor.word()?)?)
    }

    /// A type that values have.
    fn value_type(&self, cursor: &mut Cursor<'_>, what: &str) -> Result<TypeId, Fault> {
        let ty = self.ty(cursor)?;
        match self.module.types.get(ty) {
            Type::Void | Type::Function { .. } => {
                Err(Fault::new(TYPES, format!("{what} has no void or function type")))
            }
            _ => Ok(ty),
        }
    }

    fn vector(&self, cursor: &mut Cursor<'_>) -> Result<Type, Fault> {
        let elem = self.ty(cursor)?;
        let len = cursor.word()?;
        match self.module.types.get(elem) {
            Type::Bool | Type::Int { .. } | Type::Float { .. } => {}
            Type::Pointer { .. }
                if self.module.capabilities.contains(&Capability::MaskedGatherScatterINTEL) => {}
            _ => return Err(Fault::new(TYPES, "a vector's components are scalars")),
        }
        if ![2, 3, 4, 8, 16].contains(&len) {
            return Err(Fault::new(
                TYPES,
                format!("a vector of {len} components; 2, 3, 4, 8 and 16 are supported"),
            ));
        }
        Ok(Type::Vector { elem, len })
    }

    fn array(&self, cursor: &mut Cursor<'_>) -> Result<Type, Fault> {
        let elem = self.value_type(cursor, "an array's element")?;
        let length = self.id(cursor.word()?)?;
        let ty = self.out.defs.constant(length)?;
        let value = self.module.constants.get(&length).map(|constant| &constant.value);
        match (self.module.types.get(ty), value) {
            (Type::Int { .. }, Some(&ConstantValue::Scalar(len))) if len > 0 => Ok(Type::Array { elem, len }),
            _ => Err(Fault::new(TYPES, "an array's length is an integer constant of at least 1")),
        }
    }

    fn structure(&mut self, id: Id, cursor: &mut Cursor<'_>) -> Result<(), Fault> {
        let mut members = Vec::with_capacity(cursor.rest().len());
        while !cursor.is_empty() {
            members.push(self.value_type(cursor, "a structure's member")?);
        }
        let packed = self.module.has_decoration(id, Decoration::CPacked);
        let key = (members, packed);
        let ty = match self.measures.earlier.get(&key) {
            Some(&ty) => ty,
            None => {
                let ty = self.intern(Type::Struct { id, members: key.0.clone() }, packed)?;
                self.measures.current.push((key, ty));
                ty
            }
        };
        self.out.defs.define(id, Def::Type(ty))
    }
}

fn too_large() -> Fault {
    Fault::new(SIZE, "the type's size does not fit 64 bits")
}

/// Which widths need a capability is a rule of the environment.
fn integer_width(cursor: &mut Cursor<'_>) -> Result<u32, Fault> {
    match cursor.word()? {
        width @ 1..=INTEGER_BITS => Ok(width),
        width => {
            Err(Fault::new(TYPES, format!("an integer of {width} bits; 1 to {INTEGER_BITS} are supported")))
        }
    }
}

fn width(cursor: &mut Cursor<'_>, supported: &[u32]) -> Result<u32, Fault> {
    let width = cursor.word()?;
    if supported.contains(&width) {
        Ok(width)
    } else {
        Err(Fault::new(TYPES, format!("a width of {width} bits; {supported:?} are supported")))
    }
}

/// The class that another one's memory is of: device and host memory are global memory (`SPV_INTEL_usm_storage_classes`).
pub(super) fn memory_of_class(class: StorageClass) -> StorageClass {
    match class {
        StorageClass::DeviceOnlyALTERA | StorageClass::HostOnlyALTERA => StorageClass::CrossWorkgroup,
        class => class,
    }
}

pub(super) fn storage_class(cursor: &mut Cursor<'_>) -> Result<StorageClass, Fault> {
    let number = cursor.word()?;
    StorageClass::from_u32(number)
        .map(memory_of_class)
        .ok_or_else(|| Fault::new(TYPES, format!("storage class {number} is unknown")))
}

fn image(loader: &Loader<'_>, cursor: &mut Cursor<'_>) -> Result<ImageType, Fault> {
    let _sampled_type = loader.ty(cursor)?;
    let dim = cursor.word()?;
    let dim =
        Dim::from_u32(dim).ok_or_else(|| Fault::new(TYPES, format!("image dimension {dim} is unknown")))?;
    let (depth, arrayed) = (cursor.word()? == 1, cursor.word()? == 1);
    let [_multisampled, _sampled, _format] = [cursor.word()?, cursor.word()?, cursor.word()?];
    let access = if cursor.is_empty() { 0 } else { cursor.word()? };
    let access = AccessQualifier::from_u32(access)
        .ok_or_else(|| Fault::new(TYPES, format!("access qualifier {access} is unknown")))?;
    Ok(ImageType { dim, arrayed, depth, access })
}

#[cfg(test)]
mod tests {
    use crate::module::{Layout, Type};
    use crate::test_support::{assert_accepted, assert_rejected, build_text, kernel};

    #[test]
    fn types_are_well_formed() {
        for (declaration, rule) in [
            ("%t = OpTypeInt 129 0", "types.well-formed"),
            ("%t = OpTypeFloat 80", "types.well-formed"),
            ("%t = OpTypeVector %uint 5", "types.well-formed"),
            ("%t = OpTypeVector %uint2 2", "types.well-formed"),
            ("%t = OpTypeArray %uint %u0", "types.well-formed"),
            ("%t = OpTypeArray %void %u1", "types.well-formed"),
            ("%t = OpTypeArray %uint %uint", "ids.kind"),
            ("%t = OpTypeStruct %fn", "types.well-formed"),
            ("%t = OpTypeStruct %later", "ids.defined"),
            ("%t = OpTypeFunction %void %void", "types.well-formed"),
            ("%t = OpTypeRuntimeArray %uint", "module.opcode"),
            ("%t = OpTypeStruct %uint\n%t = OpTypeStruct %uint", "ids.unique"),
            ("OpTypeForwardPointer %p CrossWorkgroup", "types.well-formed"),
        ] {
            assert_rejected(&kernel(declaration, ""), rule);
        }
        assert_accepted(&kernel(
            "%t = OpTypeVector %uint 16\n%a = OpTypeArray %t %u3\n%s = OpTypeStruct %a %uint2",
            "",
        ));
    }

    #[test]
    fn sizes_do_not_overflow() {
        let huge = "%n = OpConstant %ulong 0x8000000000000000\n%a = OpTypeArray %uint %n";
        assert_rejected(&kernel(huge, ""), "types.size");
    }

    #[test]
    fn types_nest_to_a_limit() {
        let nested = |depth: usize| {
            let types =
                (1..depth).map(|at| format!("%s{at} = OpTypeStruct %s{}\n", at - 1)).collect::<String>();
            kernel(&format!("%s0 = OpTypeStruct %uint\n{types}"), "")
        };
        assert_accepted(&nested(254));
        assert_rejected(&nested(255), "types.size");
    }

    #[test]
    fn empty_members_do_not_multiply() {
        let doubled =
            (1..40).map(|at| format!("%s{at} = OpTypeStruct %s{0} %s{0}\n", at - 1)).collect::<String>();
        assert_rejected(&kernel(&format!("%s0 = OpTypeStruct\n{doubled}"), ""), "types.size");
    }

    #[test]
    fn structures_may_hold_pointers_to_themselves() {
        let list = "OpTypeForwardPointer %p CrossWorkgroup\n%s = OpTypeStruct %uint %p\n%p = OpTypePointer CrossWorkgroup %s";
        let module = build_text(&kernel(list, "")).unwrap();
        let (at, members) = (0..module.types.len() as u32)
            .map(crate::TypeId)
            .find_map(|ty| match module.types.get(ty) {
                Type::Struct { members, .. } => Some((ty, members.clone())),
                _ => None,
            })
            .unwrap();
        assert_eq!(module.types.layout(at), Layout { size: 16, align: 8 });
        assert!(matches!(module.types.get(members[1]), Type::Pointer { pointee, .. } if *pointee == at));
    }

    #[test]
    fn types_without_members_are_declared_once() {
        for declaration in
            ["OpTypeInt 32 0", "OpTypeFloat 32", "OpTypeVector %uint 4", "OpTypeBool", "OpTypeVoid"]
        {
            assert_rejected(&kernel(&format!("%t = {declaration}"), ""), "types.unique");
        }
        for declaration in ["OpTypeStruct %uint", "OpTypeArray %uint %u2", "OpTypePointer Function %uint"] {
            assert_accepted(&kernel(&format!("%t = {declaration}\n%s = {declaration}"), ""));
        }
    }

    #[test]
    fn forward_pointers_keep_their_class() {
        let list = |class: &str| {
            kernel(
                &format!(
                    "OpTypeForwardPointer %p {class}\n%s = OpTypeStruct %p\n%p = OpTypePointer CrossWorkgroup %s"
                ),
                "",
            )
        };
        assert_accepted(&list("CrossWorkgroup"));
        assert_rejected(&list("Workgroup"), "types.forward-pointer");
    }

    /// What the LLVM translator makes of a list's node: one pointer type twice, and uses of either as the other.
    #[test]
    fn a_pointer_and_its_twin_are_one_type() {
        let twins = |order: [&str; 2]| {
            let types = format!(
                "OpTypeForwardPointer %p CrossWorkgroup\n%s = OpTypeStruct %uint %p\n{}\n{}\n\
                 %pp = OpTypePointer CrossWorkgroup %q\n%node = OpVariable %q CrossWorkgroup",
                order[0], order[1]
            );
            kernel(&types, "%next = OpAccessChain %pp %node %u1\n%r = OpLoad %p %next\n%t = OpLoad %q %next")
        };
        let (forward, twin) =
            ("%p = OpTypePointer CrossWorkgroup %s", "%q = OpTypePointer CrossWorkgroup %s");
        assert_accepted(&twins([forward, twin]));
        assert_accepted(&twins([twin, forward]));
    }

    #[test]
    fn functions_have_no_pointers_and_few_parameters() {
        assert_rejected(&kernel("%p = OpTypePointer Function %fn", ""), "types.function-pointer");
        let function =
            |count: usize| kernel(&format!("%f = OpTypeFunction %void{}", " %uint".repeat(count)), "");
        assert_accepted(&function(ze_extensions::limits::PARAMETERS));
        assert_rejected(&function(ze_extensions::limits::PARAMETERS + 1), "types.parameters");
    }

    #[test]
    fn packing_removes_padding() {
        let decorated = |decoration: &str| {
            let text = kernel("%s = OpTypeStruct %uchar %uint", "");
            let text = text.replace("%void = OpTypeVoid", &format!("{decoration}\n%void = OpTypeVoid"));
            let module = build_text(&text).unwrap();
            let at = (0..module.types.len() as u32).map(crate::TypeId);
            at.filter(|ty| matches!(module.types.get(*ty), Type::Struct { .. }))
                .map(|ty| (module.types.layout(ty).size, module.types.member_offsets(ty).to_vec()))
                .next()
                .unwrap()
        };
        assert_eq!(decorated(""), (8, vec![0, 4]));
        assert_eq!(decorated("OpDecorate %s CPacked"), (5, vec![0, 1]));
    }
}
