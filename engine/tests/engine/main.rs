//! The engine as the driver uses it: modules become programs, and kernels of those run.
//!
//! One binary, since each has LLVM in it.

mod accepted;
mod axes;
mod called_functions;
mod calls;
mod cas_loops;
mod columns;
mod component_votes;
mod contiguity;
mod function_pointers;
mod idle;
mod images;
mod joined_groups;
mod large_values;
mod launch_barriers;
mod lists;
mod loops;
mod lowering;
mod masked_rows;
mod program;
mod rivals;
mod scale;
mod short_rows;
mod source_lines;
mod streaming;
mod strides;
mod support;
mod tasks;
mod tiers;
mod walks;
mod widths;
