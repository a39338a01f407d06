//! The driver through a real loader: each module is one subject of the API or of the kernel language.
//!
//! One binary, so that LLVM, the loader and the driver are opened once. Tests share one context and run in parallel,
//! each with its own command list.

mod api_page;
mod applications;
mod arguments;
mod arithmetic;
mod atomic_results;
mod atomics;
mod bad_input;
mod benchmark;
mod bindless_images;
mod borders;
mod calls;
mod coarsening;
mod components;
mod control_flow;
mod conversions;
mod cooperative;
mod counter_events;
mod debug_info;
mod devices;
mod endurance;
mod events;
mod extensions;
mod faults;
mod flag_walk;
mod function_pointers;
mod graphs;
mod grid_rows;
mod groups;
mod handed_on;
mod image_arguments;
mod image_copies;
mod image_filters;
mod image_memory;
mod image_objects;
mod imported_memory;
mod in_turn;
mod ipc;
mod ipc_events;
mod launches;
mod limits;
mod lists;
mod loaders;
mod looked_up;
mod masked_vectors;
mod math;
mod math_signatures;
mod members;
mod memory;
mod memory_access;
mod metrics;
mod modules;
mod mutable_lists;
mod mutation;
mod named_functions;
mod nests;
mod null_arguments;
mod packed;
mod partial_groups;
mod print;
mod private_copies;
mod private_fields;
mod private_memory;
mod processes;
mod profiles;
mod properties;
mod queries;
mod returns;
mod row_copies;
mod searches;
mod shifted_bits;
mod subgroups;
mod sysman;
mod uniform_objects;
mod untyped_pointers;
mod vectors;
mod virtual_memory;
mod work_groups;
mod work_items;

/// Item counts around the SIMD widths and the group sizes.
const SIZES: [usize; 14] = [1, 2, 7, 8, 9, 16, 17, 31, 33, 64, 100, 257, 1000, 4099];
/// Group sizes that are and are not multiples of a SIMD width.
const GROUP_SIZES: [u32; 9] = [1, 3, 7, 8, 16, 17, 32, 100, 256];
/// A few of them, for what is run with many arguments at each.
const FEW_GROUP_SIZES: [u32; 4] = [1, 16, 64, 100];

/// Calls the closure with every pair of item count and group size that does not waste too much.
fn for_each_shape(mut run: impl FnMut(usize, u32)) {
    for n in SIZES {
        for group_size in GROUP_SIZES {
            if n <= 300 || group_size > 2 {
                run(n, group_size);
            }
        }
    }
}
