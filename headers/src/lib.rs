//! The C ABI of Level Zero.
