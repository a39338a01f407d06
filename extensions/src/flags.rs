//! Flag words of device queries, with the bit positions that the Level Zero ABI gives them.

use bitflags::bitflags;
use serde::{Deserialize, Serialize};

bitflags! {
    /// `ze_device_module_flags_t`.
    #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
    pub struct ModuleFlags: u32 {
        /// 16-bit floating-point arithmetic.
        const FP16 = 1 << 0;
        /// 64-bit floating-point arithmetic.
        const FP64 = 1 << 1;
        /// Atomic operations on 64-bit integers.
        const INT64_ATOMICS = 1 << 2;
        /// Four-component 8-bit dot product with accumulation.
        const DP4A = 1 << 3;
    }
}

bitflags! {
    /// `ze_device_fp_flags_t`: what arithmetic of one floating-point width can do.
    #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
    pub struct FpFlags: u32 {
        const DENORM = 1 << 0;
        const INF_NAN = 1 << 1;
        const ROUND_TO_NEAREST = 1 << 2;
        const ROUND_TO_ZERO = 1 << 3;
        const ROUND_TO_INF = 1 << 4;
        const FMA = 1 << 5;
        const ROUNDED_DIVIDE_SQRT = 1 << 6;
        const SOFT_FLOAT = 1 << 7;
    }
}

bitflags! {
    /// `ze_device_fp_atomic_ext_flags_t`: atomic operations on one floating-point width.
    #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
    pub struct FpAtomicFlags: u32 {
        const GLOBAL_LOAD_STORE = 1 << 0;
        const GLOBAL_ADD = 1 << 1;
        const GLOBAL_MIN_MAX = 1 << 2;
        const LOCAL_LOAD_STORE = 1 << 16;
        const LOCAL_ADD = 1 << 17;
        const LOCAL_MIN_MAX = 1 << 18;

        const LOAD_STORE = Self::GLOBAL_LOAD_STORE.bits() | Self::LOCAL_LOAD_STORE.bits();
        const ADD = Self::GLOBAL_ADD.bits() | Self::LOCAL_ADD.bits();
        const MIN_MAX = Self::GLOBAL_MIN_MAX.bits() | Self::LOCAL_MIN_MAX.bits();
    }
}

bitflags! {
    /// `ze_intel_device_module_dp_exp_flags_t`: integer dot products.
    #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
    pub struct DotProductFlags: u32 {
        const DP4A = 1 << 0;
        const DPAS = 1 << 1;
    }
}
