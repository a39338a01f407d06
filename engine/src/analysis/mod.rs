//! Analyses over a kernel: one a file.
