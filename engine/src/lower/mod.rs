//! Lowering of SPIR-V to SIMD LLVM IR: one instruction family a file.
