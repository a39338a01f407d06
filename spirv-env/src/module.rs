//! The validated module: what the intake hands to the engine.
//!
//! A [`Module`] has passed structural safety and the environment's rules, so a consumer may rely on
//! it: every [`Id`] that an instruction uses is defined, types agree with SPIR-V 1.2 §3.32, every block
//! ends in exactly one terminator, constants are evaluated and specialization is applied.

use crate::functions::Functions;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use spirv::{BuiltIn, Decoration, ExecutionMode, Op, StorageClass};
use std::ops::Range;
use std::sync::Arc;

/// A SPIR-V result id.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default, Debug)]
pub struct Id(pub u32);

/// An index into [`Types`]. Structurally equal non-aggregate types have the same index.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct TypeId(pub u32);

impl std::fmt::Display for Id {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "%{}", self.0)
    }
}

/// A SPIR-V type.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Type {
    Void,
    Bool,
    /// Width in bits: 8, 16, 32 or 64, or any up to `INTEGER_BITS` with `SPV_INTEL_arbitrary_precision_integers`.
    Int {
        width: u32,
    },
    /// Width in bits: 16, 32 or 64 (IEEE 754 binary formats).
    Float {
        width: u32,
    },
    /// 2, 3, 4, 8 or 16 components of a scalar type.
    Vector {
        elem: TypeId,
        len: u32,
    },
    Array {
        elem: TypeId,
        len: u64,
    },
    /// `id` keeps distinct declarations apart, since decorations may lay them out differently.
    Struct {
        id: Id,
        members: Vec<TypeId>,
    },
    Pointer {
        class: StorageClass,
        pointee: TypeId,
    },
    Function {
        result: TypeId,
        params: Vec<TypeId>,
    },
    Image(ImageType),
    Sampler,
    SampledImage(ImageType),
    Event,
    /// Types that pass the intake only to be named in a rejection or to be carried around
    /// (`OpTypeDeviceEvent`, `OpTypeReserveId`, `OpTypeOpaque`, ...).
    Opaque {
        op: Op,
    },
}

/// The operands of `OpTypeImage` that matter in this environment.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct ImageType {
    pub dim: spirv::Dim,
    pub arrayed: bool,
    pub depth: bool,
    pub access: spirv::AccessQualifier,
}

/// Size and alignment of a type in memory, in bytes (OpenCL C 2.0 §6.1.5, §6.2.5).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Layout {
    pub size: u64,
    pub align: u64,
}

/// All types of a module with their memory layout.
#[derive(Default, Debug)]
pub struct Types {
    types: Vec<Type>,
    layouts: Vec<Layout>,
    /// Byte offsets of a structure's members; empty for other types.
    offsets: Vec<Arc<[u64]>>,
    index: FxHashMap<Type, TypeId>,
    pub(crate) matrices: crate::matrices::Matrices,
    /// Untyped pointers, which are pointers to bytes, by their storage class.
    pub(crate) untyped: FxHashMap<StorageClass, TypeId>,
    /// bfloat16, which is an integer of 16 bits, equal to no other.
    pub(crate) bfloat: Option<TypeId>,
}

impl Types {
    /// Adds a type, or finds the one that is already there. `packed` is the `CPacked` decoration of a
    /// structure. `None` when the size overflows.
    pub fn intern(&mut self, ty: Type, packed: bool) -> Option<TypeId> {
        if let Some(&id) = self.index.get(&ty) {
            return Some(id);
        }
        let id = self.push(ty.clone(), packed)?;
        self.index.insert(ty, id);
        Some(id)
    }

    /// Adds a type that is equal to no other.
    pub(crate) fn push(&mut self, ty: Type, packed: bool) -> Option<TypeId> {
        let (layout, offsets) = self.compute_layout(&ty, packed)?;
        let id = TypeId(u32::try_from(self.types.len()).ok()?);
        self.types.push(ty);
        self.layouts.push(layout);
        self.offsets.push(offsets.into());
        Some(id)
    }

    fn compute_layout(&self, ty: &Type, packed: bool) -> Option<(Layout, Vec<u64>)> {
        let scalar = |bytes: u64| Layout { size: bytes, align: bytes };
        let layout = match ty {
            Type::Void | Type::Function { .. } => Layout { size: 0, align: 1 },
            Type::Bool => scalar(1),
            Type::Int { width } => integer_layout(*width),
            Type::Float { width } => scalar(u64::from(*width) / 8),
            // A 3-component vector takes the space of a 4-component one (OpenCL C 2.0 §6.1.5).
            Type::Vector { elem, len } => {
                let size = self.layout(*elem).size * u64::from(if *len == 3 { 4 } else { *len });
                scalar(size)
            }
            Type::Array { elem, len } => {
                let elem = self.layout(*elem);
                Layout { size: elem.size.checked_mul(*len)?, align: elem.align }
            }
            Type::Struct { members, .. } => {
                let (mut end, mut align, mut offsets) = (0u64, 1u64, Vec::with_capacity(members.len()));
                for member in members {
                    let member = self.layout(*member);
                    let member_align = if packed { 1 } else { member.align };
                    let at = end.checked_next_multiple_of(member_align)?;
                    offsets.push(at);
                    end = at.checked_add(member.size)?;
                    align = align.max(member_align);
                }
                return Some((Layout { size: end.checked_next_multiple_of(align)?, align }, offsets));
            }
            // An image and a sampler.
            Type::SampledImage(_) => Layout { size: 16, align: 8 },
            Type::Pointer { .. } | Type::Image(_) | Type::Sampler | Type::Event | Type::Opaque { .. } => {
                scalar(8)
            }
        };
        Some((layout, Vec::new()))
    }

    /// Adds a pointer whose pointee is declared later (`OpTypeForwardPointer`); until
    /// [`complete_pointer`](Self::complete_pointer) it points to itself. Such pointers are never merged.
    pub(crate) fn reserve_pointer(&mut self, class: StorageClass) -> Option<TypeId> {
        let id = TypeId(u32::try_from(self.types.len()).ok()?);
        self.types.push(Type::Pointer { class, pointee: id });
        self.layouts.push(Layout { size: 8, align: 8 });
        self.offsets.push(Arc::new([]));
        Some(id)
    }

    pub(crate) fn complete_pointer(&mut self, id: TypeId, to: TypeId) {
        if let Type::Pointer { pointee, .. } = &mut self.types[id.0 as usize] {
            *pointee = to;
        }
    }

    /// Whether it is an untyped pointer (`SPV_KHR_untyped_pointers`).
    pub fn is_untyped(&self, id: TypeId) -> bool {
        self.untyped.values().any(|&untyped| untyped == id)
    }

    /// Whether it is bfloat16 (`SPV_KHR_bfloat16`).
    pub fn is_bfloat(&self, id: TypeId) -> bool {
        self.bfloat == Some(id)
    }

    pub fn get(&self, id: TypeId) -> &Type {
        &self.types[id.0 as usize]
    }

    /// The type's size and alignment in memory, in bytes.
    pub fn layout(&self, id: TypeId) -> Layout {
        self.layouts[id.0 as usize]
    }

    /// Byte offsets of the members of a structure type.
    pub fn member_offsets(&self, id: TypeId) -> &Arc<[u64]> {
        &self.offsets[id.0 as usize]
    }

    /// Finds a type that an instruction of the module implies without declaring it.
    pub fn find(&self, ty: &Type) -> Option<TypeId> {
        self.index.get(ty).copied()
    }

    pub fn len(&self) -> usize {
        self.types.len()
    }

    pub fn is_empty(&self) -> bool {
        self.types.is_empty()
    }
}

/// Whole bytes, and up to 8 a power of two; from there on multiples of 8 (clang's `_BitInt` for x86-64 and SPIR-V, whose data
/// layouts align no integer to more than 8 bytes).
pub(crate) fn integer_layout(width: u32) -> Layout {
    const WORD: u64 = 8;
    let bytes = u64::from(width.div_ceil(8));
    match bytes {
        0..=WORD => Layout { size: bytes.next_power_of_two(), align: bytes.next_power_of_two() },
        _ => Layout { size: bytes.next_multiple_of(WORD), align: WORD },
    }
}

/// The value of a constant after specialization and folding.
#[derive(Clone, PartialEq, Debug)]
pub enum ConstantValue {
    /// All bits zero, of any type (`OpConstantNull`).
    Null,
    /// `OpUndef`.
    Undef,
    Bool(bool),
    /// Integer or floating-point bits, zero-extended to 64.
    Scalar(u64),
    /// Bits of an integer type that is wider than 64 bits, zero-extended.
    Wide(u128),
    /// Vector, array or structure.
    Composite(Vec<Id>),
    /// A literal sampler: addressing mode, normalized coordinates, filter mode.
    Sampler {
        addressing: spirv::SamplerAddressingMode,
        normalized: bool,
        filter: spirv::SamplerFilterMode,
    },
    /// An address or other expression whose value is known only after loading
    /// (`OpSpecConstantOp` over pointers: `OpPtrAccessChain`, `OpBitcast`, `OpConvertPtrToU`, ...).
    Expression {
        op: Op,
        operands: Vec<Operand>,
    },
    /// The address of a function (`OpConstantFunctionPointerINTEL`).
    FunctionPointer(Id),
}

/// A module-scope constant.
#[derive(Clone, PartialEq, Debug)]
pub struct Constant {
    pub ty: TypeId,
    pub value: ConstantValue,
}

/// A module-scope `OpVariable`.
#[derive(Clone, Debug)]
pub struct GlobalVariable {
    pub id: Id,
    /// A pointer type.
    pub ty: TypeId,
    pub class: StorageClass,
    pub initializer: Option<Id>,
    /// Set for `Input` variables that stand for a work-item built-in.
    pub builtin: Option<BuiltIn>,
    /// The exported linkage name, or the debug name.
    pub name: Option<String>,
    pub exported: bool,
    /// Alignment in bytes: the decoration's or the type's.
    pub align: u64,
}

/// An operand of an instruction inside a function.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Operand {
    Id(Id),
    /// A literal number, an enumerant or a mask. `OpSwitch` literals of 64 bits are whole here.
    Lit(u64),
}

/// An instruction inside a block. `OpLine`, `OpNoLine` and `OpNop` are gone; `line` keeps the first's fact.
#[derive(Clone, Debug)]
pub struct Inst {
    pub op: Op,
    pub ty: Option<TypeId>,
    pub result: Option<Id>,
    /// The operands after result type and result, in the order of the specification. `OpExtInst` has the
    /// set's id first and then the instruction's number as a literal; the component count of `vloadn` and its
    /// kin and the rounding mode of `vstore_half_r` and its kin are literals, too.
    pub operands: SmallVec<[Operand; 4]>,
    /// Index into [`Module::lines`].
    pub line: Option<u32>,
}

impl Inst {
    /// The operand at `at` as an id. Panics where the grammar has none there; validation proved it has.
    pub fn id(&self, at: usize) -> Id {
        match self.operands[at] {
            Operand::Id(id) => id,
            Operand::Lit(_) => panic!("{:?}: operand {at} is a literal", self.op),
        }
    }

    /// The operand at `at` as a literal.
    pub fn lit(&self, at: usize) -> u64 {
        match self.operands[at] {
            Operand::Lit(lit) => lit,
            Operand::Id(_) => panic!("{:?}: operand {at} is an id", self.op),
        }
    }

    /// All operands that are ids.
    pub fn ids(&self) -> impl Iterator<Item = Id> + '_ {
        self.operands.iter().filter_map(|operand| match operand {
            Operand::Id(id) => Some(*id),
            Operand::Lit(_) => None,
        })
    }
}

/// A basic block; the last instruction is its terminator. `OpLabel` is `label`, merge instructions are dropped.
#[derive(Clone, Debug)]
pub struct Block {
    pub label: Id,
    pub insts: Vec<Inst>,
}

/// A function with its body. A function that is only imported has no blocks.
#[derive(Clone, Debug)]
pub struct Function {
    pub id: Id,
    pub result: TypeId,
    pub params: Vec<(Id, TypeId)>,
    pub control: spirv::FunctionControl,
    pub blocks: Vec<Block>,
    pub name: Option<String>,
    pub linkage: Option<spirv::LinkageType>,
}

/// How a kernel argument is passed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ArgKind {
    /// Bytes by value: a scalar, a vector, or a structure (also one behind a `Function` pointer with `ByVal`).
    Value,
    /// A pointer to global memory (`CrossWorkgroup`).
    GlobalPointer,
    /// A pointer to constant memory (`UniformConstant`).
    ConstantPointer,
    /// `zeKernelSetArgumentValue` with a size and no value: work-group local memory of that many bytes.
    LocalPointer,
    Image(ImageType),
    Sampler,
}

/// A kernel argument, as reflection and as the engine's argument block see it.
#[derive(Clone, Debug)]
pub struct KernelArg {
    pub name: String,
    pub type_name: String,
    pub kind: ArgKind,
    /// The parameter's type.
    pub ty: TypeId,
    /// Bytes that `zeKernelSetArgumentValue` expects: the value's size, or 8 for everything that is a handle or pointer.
    pub size: u64,
    /// Byte offset in the argument block ([`Kernel::arg_block_size`]).
    pub offset: u64,
    pub restrict: bool,
    pub constant: bool,
    pub volatile: bool,
}

/// An integer of 32 or 64 bits that a kernel is given: an argument, or a member of a structure that is one.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Divisor {
    pub argument: usize,
    /// Bytes from the beginning of the argument, and its own.
    pub offset: u64,
    pub bytes: u64,
}

/// An entry point.
#[derive(Clone, Debug)]
pub struct Kernel {
    pub name: String,
    pub function: Id,
    pub args: Vec<KernelArg>,
    /// Size in bytes of the block that holds all arguments, each at its natural alignment (at most 128).
    pub arg_block_size: u64,
    /// Alignment of that block: the largest of its arguments'.
    pub arg_block_align: u64,
    /// `LocalSize`.
    pub required_group_size: Option<[u32; 3]>,
    /// `LocalSizeHint`.
    pub group_size_hint: Option<[u32; 3]>,
    /// `SubgroupSize` (required by `intel_reqd_sub_group_size`).
    pub required_subgroup_size: Option<u32>,
    /// The sizes of sub-groups that the device has, smallest first.
    pub subgroup_sizes: Vec<u32>,
    /// The kernel, or a function that it reaches, uses a sub-group built-in or instruction: the sub-group size is observable.
    pub uses_subgroups: bool,
    /// Lanes that its sub-groups have at least for what it exchanges to mean anything, as far as constants say so; else 0.
    pub least_lanes: u32,
    /// The kernel, or a function that it reaches, executes a work-group barrier or a work-group collective.
    pub uses_barrier: bool,
    /// The kernel, or a function that it reaches, has a branch back to an earlier block.
    pub has_loops: bool,
    /// The kernel, or a function that it reaches, has values of at most 16 bits, or vectors of those.
    pub has_small_values: bool,
    /// What of its arguments the kernel divides something by: such are the lengths of rows where a grid has one dimension. At most eight.
    pub divisors: Vec<Divisor>,
    /// The kernel may go on only once somebody else writes to memory: there are loops, and atomic or volatile accesses or fences, or calls
    /// through pointers. What else it does takes some time, and ends.
    pub may_wait: bool,
    /// Instructions of the kernel and of the functions that it reaches, those of extended instruction sets counted as
    /// 16: functions of the math library are about as long.
    pub size: u32,
    /// The kernel, or a function that it reaches, calls `printf` or a function of the driver that prints.
    pub prints: bool,
    /// The kernel, or a function that it reaches, can tell which work-items are of one work-group: it asks for ids, sizes or numbers
    /// of groups or sub-groups, does something in groups, has memory of groups, prints, calls through pointers, or may wait for
    /// other work-items. Of other kernels, the work-items of a launch may be grouped in any way.
    pub sees_groups: bool,
    /// The module-scope `Workgroup` variables that the kernel reaches, each with its place in local memory, in bytes.
    pub local_variables: Vec<(Id, u64)>,
    /// Bytes that they take together, from the start of local memory; `u64::MAX` where they are more than can be counted.
    pub static_local_size: u64,
    /// The part of it, in bytes, that begins as zeros in each work-group; what lies between its variables may, too.
    pub zeroed_local: Range<u64>,
    /// Bytes of `Function` variables that the kernel reaches, for each work-item.
    pub private_size: u64,
    /// The functions that calls through pointers may lead to, which the kernel or a function that it reaches makes.
    pub indirect: Vec<Id>,
    /// Execution modes as declared, with their literals.
    pub modes: Vec<(ExecutionMode, Vec<u32>)>,
    /// OpenCL C source attributes where the module carries them, as `zeKernelGetSourceAttributes` returns.
    pub attributes: String,
}

impl Kernel {
    /// The literals of an execution mode that the kernel has.
    pub fn mode(&self, mode: ExecutionMode) -> Option<&[u32]> {
        self.modes.iter().find(|(of, _)| *of == mode).map(|(_, literals)| literals.as_slice())
    }

    /// `MaxWorkgroupSizeINTEL`: no work-group is larger in any dimension.
    pub fn max_group_size(&self) -> Option<[u32; 3]> {
        self.mode(ExecutionMode::MaxWorkgroupSizeINTEL)?.try_into().ok()
    }

    /// Whether the kernel can tell how many work-items a sub-group has.
    pub fn sees_width(&self) -> bool {
        self.uses_subgroups || self.required_subgroup_size.is_some() || self.required_subgroups().is_some()
    }

    /// `SubgroupsPerWorkgroup`: every work-group has so many.
    pub fn required_subgroups(&self) -> Option<u32> {
        let id = ExecutionMode::SubgroupsPerWorkgroupId;
        self.mode(ExecutionMode::SubgroupsPerWorkgroup).or_else(|| self.mode(id))?.first().copied()
    }
}

/// A decoration with its literal operands.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Decorated {
    pub kind: Decoration,
    pub literals: SmallVec<[u32; 1]>,
}

/// Extended instruction sets that instructions may import.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ExtSet {
    OpenClStd,
    /// Debug information and other sets without semantics.
    NonSemantic,
    /// The driver's own: its instructions are [`Supplied`](crate::Supplied). No module can import it.
    Driver,
}

/// A source position for the build log.
#[derive(Clone, Debug)]
pub struct Line {
    pub file: Arc<str>,
    pub line: u32,
    pub column: u32,
}

/// A specialization constant that the module declares.
#[derive(Clone, Debug)]
pub struct SpecConstant {
    pub spec_id: u32,
    pub ty: TypeId,
    pub id: Id,
}

/// A validated, specialized, linked module.
#[derive(Default, Debug)]
pub struct Module {
    /// SPIR-V version (major, minor).
    pub version: (u8, u8),
    /// All result ids are below this.
    pub bound: u32,
    pub types: Types,
    pub constants: FxHashMap<Id, Constant>,
    pub globals: Vec<GlobalVariable>,
    pub functions: Functions,
    /// The functions whose address a kernel may meet: it is taken in the module, or they are exported or declared to be
    /// referenced indirectly, so that the host can ask for it. They have bodies.
    pub addressable: Vec<Id>,
    pub kernels: Vec<Kernel>,
    pub decorations: FxHashMap<Id, Vec<Decorated>>,
    /// `OpMemberDecorate`.
    pub member_decorations: FxHashMap<(Id, u32), Vec<Decorated>>,
    pub ext_sets: FxHashMap<Id, ExtSet>,
    pub names: FxHashMap<Id, String>,
    pub lines: Vec<Line>,
    pub spec_constants: Vec<SpecConstant>,
    pub capabilities: Vec<spirv::Capability>,
    /// Those that only compilers' headers have.
    pub own_capabilities: Vec<ze_extensions::CapabilityId>,
    pub extensions: Vec<String>,
    /// The first id of each input that the module was built from; an input's ids end where the next one's begin.
    pub inputs: Vec<Id>,
    /// The end of the last input's ids: those behind it are the intake's own.
    pub inputs_end: Id,
    /// Names that are imported and not defined: the module has to be linked before kernels that reach them can run.
    pub unresolved: Vec<String>,
    /// Those of them that are variables.
    pub unresolved_variables: Vec<Id>,
    /// The work-items that hold a matrix, if there are matrices.
    pub matrix_lanes: Option<u32>,
}

impl Module {
    pub fn function(&self, id: Id) -> Option<&Function> {
        self.functions.find(id)
    }

    pub fn kernel(&self, name: &str) -> Option<&Kernel> {
        self.kernels.iter().find(|kernel| kernel.name == name)
    }

    /// Whether some function calls through a pointer.
    pub fn calls_pointers(&self) -> bool {
        let mut insts =
            self.functions.iter().flat_map(|function| &function.blocks).flat_map(|block| &block.insts);
        insts.any(|inst| inst.op == Op::FunctionPointerCallINTEL)
    }

    pub fn decorations_of(&self, id: Id) -> &[Decorated] {
        self.decorations.get(&id).map_or(&[], Vec::as_slice)
    }

    /// The literals of a decoration on `id`, if it has one of that kind.
    pub fn decoration(&self, id: Id, kind: Decoration) -> Option<&[u32]> {
        self.decorations_of(id).iter().find(|d| d.kind == kind).map(|d| d.literals.as_slice())
    }

    pub fn has_decoration(&self, id: Id, kind: Decoration) -> bool {
        self.decoration(id, kind).is_some()
    }

    /// The name by which the host asks for a variable: that of its `HostAccessINTEL` decoration, where it has one.
    pub fn host_name(&self, id: Id) -> Option<String> {
        let (_, name) = self.decoration(id, Decoration::HostAccessINTEL)?.split_first()?;
        crate::grammar::Cursor::new(name).string().ok()
    }
}
