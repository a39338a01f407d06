//! What operands instructions take and what they give: each is checked by one function of `validate`.

/// The operands and the result of an instruction.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Signature {
    /// Outside of functions, or part of a function's frame: read word by word by `load`.
    Layout,

    // Arithmetic. `Int` and `Float` are scalars or vectors, and all operands are of the result's type.
    IntUnary,
    IntBinary,
    BitCount,
    Shift,
    BitFieldInsert,
    BitFieldExtract,
    /// Three integers, and the constant number of a function of three bits.
    BitwiseFunction,
    FloatUnary,
    FloatBinary,
    FloatTernary,
    VectorTimesScalar,
    FloatDot,
    /// A structure of two integers of the operands' type.
    TwoInts,
    IntCompare,
    FloatCompare,
    FloatClassify,
    BoolUnary,
    BoolBinary,
    BoolReduce,
    Select,
    Expect,
    Assume,
    /// Two vectors of integers, or packed in 32 bits; the result is as wide as their components or wider.
    IntDot,
    /// The same and a number to add, of the result's type.
    IntDotAccumulate,

    // Conversions.
    IntToInt,
    FloatToFloat,
    FloatToInt,
    IntToFloat,
    FloatToBFloat16,
    BFloat16ToFloat,
    RoundToTf32,
    PointerToInt,
    IntToPointer,
    PointerToGeneric,
    GenericToPointer,
    /// The same and the storage class.
    GenericToPointerExplicit,
    Bitcast,

    // Composites.
    Extract,
    Insert,
    Construct,
    ExtractDynamic,
    InsertDynamic,
    VectorShuffle,
    CopyObject,
    CopyLogical,
    Undef,

    // Memory.
    Load,
    Store,
    Variable,
    CopyMemory,
    CopyMemorySized,
    AccessChain,
    ElementAccessChain,
    PointerCompare,
    PointerDifference,
    Lifetime,
    GenericSemantics,
    /// A pointer, of whose pointee only the type counts.
    SizeOf,
    /// A scope; the result has 64 bits.
    Clock,
    BlockPrefetch,
    /// A number of elements.
    VariableLengthArray,
    SaveMemory,
    RestoreMemory,
    /// Of untyped pointers: nobody checks it, since typed ones have taken its place.
    Untyped,
    /// Of what is replaced: nobody checks it either.
    Replaced,

    // Atomics.
    AtomicLoad,
    AtomicStore,
    AtomicExchange,
    AtomicCompareExchange,
    AtomicStep,
    AtomicInt,
    AtomicFloat,
    AtomicFlagTest,
    AtomicFlagClear,

    // Groups.
    ControlBarrier,
    MemoryBarrier,
    GroupVote,
    GroupBroadcast,
    GroupInt,
    GroupFloat,
    GroupBool,
    AsyncCopy,
    WaitEvents,
    Elect,
    AllEqual,
    BroadcastFirst,
    Ballot,
    InverseBallot,
    BallotBitExtract,
    BallotBitCount,
    BallotFind,
    Shuffle,
    Rotate,
    KhrVote,
    KhrBallot,
    KhrFirst,
    IntelShuffle,
    IntelShufflePair,
    BlockRead,
    BlockWrite,

    // Images.
    SampledImage,
    Sample,
    ImageRead,
    ImageWrite,
    ImageOf,
    QuerySize,
    QuerySizeLod,
    QueryWord,
    /// As `ImageRead`, also of the image of a sampled one.
    ImageFetch,
    ImageBlockRead,
    ImageBlockWrite,
    MediaBlockRead,
    MediaBlockWrite,
    HandleToImage,
    HandleToSampler,
    HandleToSampledImage,

    // Matrices of sub-groups.
    MatrixLoad,
    MatrixStore,
    MatrixMultiplyAdd,
    /// A place, the extents of the matrix that it is in, and a value.
    MatrixConstruct,
    /// A matrix, and the number of an element.
    MatrixCoordinate,
    MatrixPrefetch,
    /// The number of elements, in the place of the type.
    MatrixLength,
    MatrixTimesScalar,
    /// A constant depth, and the parts of A, B and C that a work-item has, as vectors.
    SubgroupMultiplyAdd,
    /// Four constant sizes, memory and its extents, a coordinate, and where a work-item's part goes.
    BlockLoad2D,
    BlockStore2D,
    BlockPrefetch2D,

    // Control flow.
    Branch,
    BranchConditional,
    Switch,
    Return,
    ReturnValue,
    Unreachable,
    Phi,
    Call,
    /// A pointer to the function, and the arguments.
    PointerCall,

    /// What `opencl_std` says of the instruction of the set.
    Extended,
}
