//! Every SPIR-V extension that a oneAPI or OpenCL compiler may declare: implemented, taken as a hint, or refused with a reason.
//!
//! The list is that of DPC++'s driver (`-spirv-ext`), of SPIRV-LLVM-Translator and of LLVM's SPIR-V backend.
//! `docs/extensions.md` is written from it.

use crate::flags::FpAtomicFlags;
use crate::profile::DeviceProfile;
use crate::spirv_support::Need;
use std::fmt::Write;

/// What the driver makes of a module that declares an extension.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Standing {
    /// What it brings does what it is specified to.
    Implemented,
    /// What it brings changes no result: it is read, checked where it has a form, and not needed.
    Hint,
    /// A module that declares it is refused; the log says why.
    Refused,
}

/// A SPIR-V extension.
#[derive(Clone, Copy, Debug)]
pub struct SpirvExtension {
    pub name: &'static str,
    pub standing: Standing,
    pub need: Need,
    /// What the driver does with it, or why it does not.
    pub says: &'static str,
}

const fn row(name: &'static str, standing: Standing, need: Need, says: &'static str) -> SpirvExtension {
    SpirvExtension { name, standing, need, says }
}

const fn done(name: &'static str, says: &'static str) -> SpirvExtension {
    row(name, Standing::Implemented, Need::Nothing, says)
}

const fn on(name: &'static str, need: Need, says: &'static str) -> SpirvExtension {
    row(name, Standing::Implemented, need, says)
}

const fn hint(name: &'static str, says: &'static str) -> SpirvExtension {
    row(name, Standing::Hint, Need::Nothing, says)
}

const fn refused(name: &'static str, says: &'static str) -> SpirvExtension {
    row(name, Standing::Refused, Need::Nothing, says)
}

const SUBGROUPS: Need = Need::Ze("ZE_extension_subgroups");
const BFLOAT16: Need = Need::Ze("ZE_extension_bfloat16_conversions");
const DEBUG: &str = "Debug information; lines reach the build log.";
const FPGA: &str = "How an FPGA is to build the circuit; a processor has none to build.";
const PIPES: &str =
    "Pipes between kernels that run at the same time are an FPGA's; this device has no such unit.";
const GRAPHICS: &str = "It is for shaders; the execution model of Level Zero is Kernel.";
const NARROW_FLOATS: &str = "Floating-point numbers of 8 and 4 bits, which no device of this driver has.";

/// Every extension by name, in order.
pub const SPIRV_EXTENSIONS: &[SpirvExtension] = &[
    done("SPV_ALTERA_arbitrary_precision_integers", "Integers of 1 to 128 bits in ordinary instructions."),
    refused(
        "SPV_ALTERA_arbitrary_precision_fixed_point",
        "Fixed-point functions are an FPGA's; this device has no such unit.",
    ),
    refused(
        "SPV_ALTERA_arbitrary_precision_floating_point",
        "Floating-point numbers of any width are an FPGA's; this device has no such unit.",
    ),
    refused("SPV_ALTERA_blocking_pipes", PIPES),
    refused("SPV_AMD_weak_linkage", "Level Zero links by Import, Export and LinkOnceODR."),
    done("SPV_EXT_arithmetic_fence", "The optimizer does not look through a fence."),
    refused("SPV_EXT_demote_to_helper_invocation", GRAPHICS),
    refused("SPV_EXT_float8", NARROW_FLOATS),
    refused("SPV_EXT_fragment_fully_covered", GRAPHICS),
    refused("SPV_EXT_fragment_invocation_density", GRAPHICS),
    refused("SPV_EXT_fragment_shader_interlock", GRAPHICS),
    refused(
        "SPV_EXT_image_raw10_raw12",
        "Images of packed 10 and 12 bits, which no device of this driver has.",
    ),
    refused("SPV_EXT_long_vector", "Vectors have 2, 3, 4, 8 or 16 components, as OpenCL's."),
    refused("SPV_EXT_mesh_shader", GRAPHICS),
    refused("SPV_EXT_ocp_microscaling_types", NARROW_FLOATS),
    hint("SPV_EXT_optnone", "Functions are optimised all the same."),
    done(
        "SPV_EXT_relaxed_printf_string_address_space",
        "Formats of printf may be global and generic strings.",
    ),
    on(
        "SPV_EXT_shader_atomic_float16_add",
        Need::AnyFpAtomics(FpAtomicFlags::ADD),
        "Atomic additions of halves.",
    ),
    on("SPV_EXT_shader_atomic_float_add", Need::AnyFpAtomics(FpAtomicFlags::ADD), "Atomic additions."),
    on(
        "SPV_EXT_shader_atomic_float_min_max",
        Need::AnyFpAtomics(FpAtomicFlags::MIN_MAX),
        "Atomic minima and maxima.",
    ),
    refused("SPV_EXT_shader_image_int64", "Image texels have at most 32 bits a channel."),
    refused("SPV_EXT_shader_stencil_export", GRAPHICS),
    refused("SPV_EXT_shader_viewport_index_layer", GRAPHICS),
    refused("SPV_GOOGLE_hlsl_functionality1", GRAPHICS),
    refused("SPV_GOOGLE_user_type", GRAPHICS),
    refused(
        "SPV_INTEL_16bit_atomics",
        "Atomics are on integers of 32 and 64 bits (L0 SPIR-V Guide, Validation Rules).",
    ),
    done(
        "SPV_INTEL_2d_block_io",
        "Blocks of up to 64 x 64 elements, transposed and packed ones; prefetches are hints.",
    ),
    refused(
        "SPV_INTEL_arbitrary_precision_fixed_point",
        "Fixed-point functions are an FPGA's; this device has no such unit.",
    ),
    refused(
        "SPV_INTEL_arbitrary_precision_floating_point",
        "Floating-point numbers of any width are an FPGA's; this device has no such unit.",
    ),
    done("SPV_INTEL_arbitrary_precision_integers", "Integers of 1 to 128 bits in ordinary instructions."),
    done("SPV_INTEL_arithmetic_fence", "The optimizer does not look through a fence."),
    on(
        "SPV_INTEL_bfloat16_arithmetic",
        BFLOAT16,
        "Arithmetic, comparisons and functions on bfloat16: in f32, and rounded to nearest even.",
    ),
    on("SPV_INTEL_bfloat16_conversion", BFLOAT16, "Conversions between f32 and bfloat16."),
    // The guide spells it without the `f`.
    on("SPV_INTEL_bloat16_conversion", BFLOAT16, "The same under the spelling of Level Zero's guide."),
    on("SPV_INTEL_bindless_images", Need::Images, "Handles of images and samplers are 64-bit integers."),
    refused("SPV_INTEL_blocking_pipes", PIPES),
    hint("SPV_INTEL_cache_controls", "Caches are the processor's to manage."),
    refused(
        "SPV_INTEL_complex_float_mul_div",
        "Complex products are an FPGA compiler's; others expand them.",
    ),
    hint("SPV_INTEL_debug_module", DEBUG),
    refused(
        "SPV_INTEL_device_barrier",
        "Barriers of the whole device are not implemented as an instruction.",
    ),
    refused(
        "SPV_INTEL_device_side_avc_motion_estimation",
        "Motion estimation is a video unit of Intel's GPUs; this device has no such unit.",
    ),
    refused("SPV_INTEL_fast_composite", "It is for ESIMD kernels; this device has no such unit."),
    refused("SPV_INTEL_float4", NARROW_FLOATS),
    done(
        "SPV_INTEL_float_controls2",
        "Rounding up and down, for a kernel or an instruction; modes of functions are ESIMD's.",
    ),
    done(
        "SPV_INTEL_fp_fast_math_mode",
        "Fast-math flags permit what they say; results keep OpenCL's bounds without them, too.",
    ),
    refused("SPV_INTEL_fp_conversions", NARROW_FLOATS),
    hint("SPV_INTEL_fp_max_error", "Functions keep OpenCL's bounds, which a program may only relax."),
    hint("SPV_INTEL_fpga_argument_interfaces", FPGA),
    hint("SPV_INTEL_fpga_buffer_location", FPGA),
    hint("SPV_INTEL_fpga_cluster_attributes", FPGA),
    hint("SPV_INTEL_fpga_dsp_control", FPGA),
    hint("SPV_INTEL_fpga_invocation_pipelining_attributes", FPGA),
    hint("SPV_INTEL_fpga_latency_control", FPGA),
    hint("SPV_INTEL_fpga_loop_controls", FPGA),
    hint("SPV_INTEL_fpga_memory_accesses", FPGA),
    hint("SPV_INTEL_fpga_memory_attributes", FPGA),
    done("SPV_INTEL_fpga_reg", "The value passes through the register."),
    done(
        "SPV_INTEL_function_pointers",
        "Virtual functions too; a call through what is no function ends the launch.",
    ),
    refused(
        "SPV_INTEL_function_variants",
        "One module for several architectures is specialised before it is loaded.",
    ),
    done("SPV_INTEL_global_variable_decorations", "A device_global is found by the name of its host access."),
    hint("SPV_INTEL_global_variable_fpga_decorations", FPGA),
    done("SPV_INTEL_global_variable_host_access", "A device_global is found by the name of its host access."),
    refused(
        "SPV_INTEL_hw_thread_queries",
        "Work-items move between threads; there is no hardware thread with a number.",
    ),
    done(
        "SPV_INTEL_inline_assembly",
        "Empty assembly, which pins values; instructions of a GPU are refused with their text.",
    ),
    done(
        "SPV_INTEL_int4",
        "Integers of 4 bits: conversions and vectors of them; matrices of them are refused.",
    ),
    refused("SPV_INTEL_io_pipes", PIPES),
    done(
        "SPV_INTEL_joint_matrix",
        "Packed layout, bfloat16 and TF32, coordinates of elements, access in bounds; prefetches are hints. OpCooperativeMatrixApplyFunctionINTEL, an experiment that names no function to apply, is refused.",
    ),
    done("SPV_INTEL_kernel_attributes", "Sizes of work-groups are kept; what is for FPGAs is a hint."),
    done("SPV_INTEL_long_composites", "Types and constants of more than 65,535 words."),
    done("SPV_INTEL_long_constant_composite", "Its name before it was published."),
    hint("SPV_INTEL_loop_fuse", FPGA),
    done(
        "SPV_INTEL_masked_gather_scatter",
        "Vectors of pointers, and accesses through those that a mask chooses.",
    ),
    hint("SPV_INTEL_maximum_registers", "Registers are the code generator's to divide."),
    on("SPV_INTEL_media_block_io", Need::Images, "Sub-groups read and write blocks of images."),
    hint("SPV_INTEL_memory_access_aliasing", "Aliasing is found by analysis."),
    hint("SPV_INTEL_optnone", "Functions are optimised all the same."),
    done("SPV_INTEL_optimization_hints", "What SPV_KHR_expect_assume was before."),
    done("SPV_INTEL_predicated_io", "Loads and stores under a condition."),
    refused("SPV_INTEL_rounded_divide_sqrt", "Compilers emit it only when told to."),
    hint("SPV_INTEL_runtime_aligned", FPGA),
    refused("SPV_INTEL_shader_integer_functions2", GRAPHICS),
    refused("SPV_INTEL_sigmoid", "Compilers emit it only when told to."),
    done("SPV_INTEL_split_barrier", "Arriving and waiting are two instructions."),
    hint("SPV_INTEL_subgroup_buffer_prefetch", "Caches are the processor's to manage."),
    done(
        "SPV_INTEL_subgroup_matrix_multiply_accumulate",
        "Products of vectors of half, bfloat16, TF32 and integers of 4 bits and more.",
    ),
    refused("SPV_INTEL_subgroup_matrix_multiply_accumulate_float4", NARROW_FLOATS),
    refused("SPV_INTEL_subgroup_matrix_multiply_accumulate_float8", NARROW_FLOATS),
    refused("SPV_INTEL_subgroup_requirements", "Sub-group sizes are named by number."),
    refused("SPV_INTEL_subgroup_scaled_matrix_multiply_accumulate", NARROW_FLOATS),
    done("SPV_INTEL_subgroups", "Shuffles and blocks of sub-groups."),
    refused(
        "SPV_INTEL_task_sequence",
        "Asynchronous tasks inside a kernel are an FPGA's; this device has no such unit.",
    ),
    done("SPV_INTEL_tensor_float32_conversion", "Rounding to 10 bits of significand, to nearest even."),
    done("SPV_INTEL_ternary_bitwise_function", "Any function of three bits."),
    refused("SPV_INTEL_token_type", "No instruction that kernels have makes or takes a token."),
    hint("SPV_INTEL_unstructured_loop_controls", "Loops are found by analysis."),
    done(
        "SPV_INTEL_usm_storage_classes",
        "Pointers to device and to host memory are pointers to global memory.",
    ),
    done(
        "SPV_INTEL_variable_length_array",
        "Arrays whose length is constant once the module is specialized, as SYCL's are.",
    ),
    refused(
        "SPV_INTEL_vector_compute",
        "ESIMD kernels are written in the vector instructions of Intel's GPUs; this device has no such unit.",
    ),
    refused("SPV_KHR_16bit_storage", GRAPHICS),
    refused("SPV_KHR_abort", "Its instruction is newer than the grammar that this driver reads."),
    on(
        "SPV_KHR_bfloat16",
        BFLOAT16,
        "bfloat16 as a type: conversions through f32, dot products, and components of matrices.",
    ),
    done("SPV_KHR_bit_instructions", "Bit fields and reversed bits."),
    done(
        "SPV_KHR_cooperative_matrix",
        "Matrices of sub-groups, up to 256 x 256, of 8- to 64-bit numbers; products are vector code.",
    ),
    refused("SPV_KHR_device_group", GRAPHICS),
    done("SPV_KHR_expect_assume", "Hints about values pass them on."),
    done("SPV_KHR_float_controls", "Denormals, infinities, signed zeros and rounding as the kernel asks."),
    done(
        "SPV_KHR_float_controls2",
        "Contraction where the flags of an instruction or the kernel's default allow it.",
    ),
    done("SPV_KHR_fma", "One rounding for a product and a sum."),
    refused("SPV_KHR_fragment_shader_barycentric", GRAPHICS),
    refused("SPV_KHR_fragment_shading_rate", GRAPHICS),
    on(
        "SPV_KHR_integer_dot_product",
        Need::DotProduct,
        "Dot products of integers, packed ones and with saturation.",
    ),
    on("SPV_KHR_linkonce_odr", Need::Ze("ZE_extension_linkonce_odr"), "Of equal definitions one stays."),
    refused("SPV_KHR_maximal_reconvergence", GRAPHICS),
    refused("SPV_KHR_multiview", GRAPHICS),
    hint(
        "SPV_KHR_no_integer_wrap_decoration",
        "Wrapping arithmetic is one of the results that are permitted.",
    ),
    hint("SPV_KHR_non_semantic_info", DEBUG),
    refused("SPV_KHR_physical_storage_buffer", GRAPHICS),
    refused("SPV_KHR_poison_freeze", "Its instructions are newer than the grammar that this driver reads."),
    refused("SPV_KHR_post_depth_coverage", GRAPHICS),
    refused("SPV_KHR_ray_query", GRAPHICS),
    refused("SPV_KHR_ray_tracing", GRAPHICS),
    hint("SPV_KHR_relaxed_extended_instruction", DEBUG),
    on("SPV_KHR_shader_ballot", SUBGROUPS, "Ballots of sub-groups."),
    done("SPV_KHR_shader_clock", "The processor's time-stamp counter, for every scope."),
    refused("SPV_KHR_shader_draw_parameters", GRAPHICS),
    on("SPV_KHR_subgroup_rotate", SUBGROUPS, "Rotations of sub-groups."),
    on("SPV_KHR_subgroup_vote", SUBGROUPS, "Votes of sub-groups."),
    refused("SPV_KHR_terminate_invocation", GRAPHICS),
    done("SPV_KHR_uniform_group_instructions", "Products and logic of groups."),
    done(
        "SPV_KHR_untyped_pointers",
        "Accesses say what they access; lengths of run-time arrays are for shaders.",
    ),
    refused("SPV_KHR_vulkan_memory_model", GRAPHICS),
    refused("SPV_NV_shader_atomic_fp16_vector", GRAPHICS),
    refused("SPV_NV_shader_subgroup_partitioned", GRAPHICS),
];

/// What DPC++ lets its translator emit for a GPU and a CPU (`clang-linker-wrapper`), before and after renamings.
const DPCPP: &[&str] = &[
    "SPV_ALTERA_arbitrary_precision_integers",
    "SPV_EXT_shader_atomic_float16_add",
    "SPV_EXT_shader_atomic_float_add",
    "SPV_EXT_shader_atomic_float_min_max",
    "SPV_INTEL_2d_block_io",
    "SPV_INTEL_arbitrary_precision_fixed_point",
    "SPV_INTEL_arbitrary_precision_floating_point",
    "SPV_INTEL_arbitrary_precision_integers",
    "SPV_INTEL_arithmetic_fence",
    "SPV_INTEL_bfloat16_conversion",
    "SPV_INTEL_bindless_images",
    "SPV_INTEL_blocking_pipes",
    "SPV_INTEL_cache_controls",
    "SPV_INTEL_device_side_avc_motion_estimation",
    "SPV_INTEL_fast_composite",
    "SPV_INTEL_float_controls2",
    "SPV_INTEL_fp_fast_math_mode",
    "SPV_INTEL_fp_max_error",
    "SPV_INTEL_fpga_argument_interfaces",
    "SPV_INTEL_fpga_buffer_location",
    "SPV_INTEL_fpga_cluster_attributes",
    "SPV_INTEL_fpga_dsp_control",
    "SPV_INTEL_fpga_invocation_pipelining_attributes",
    "SPV_INTEL_fpga_latency_control",
    "SPV_INTEL_fpga_loop_controls",
    "SPV_INTEL_fpga_memory_accesses",
    "SPV_INTEL_fpga_memory_attributes",
    "SPV_INTEL_fpga_reg",
    "SPV_INTEL_function_pointers",
    "SPV_INTEL_global_variable_decorations",
    "SPV_INTEL_hw_thread_queries",
    "SPV_INTEL_inline_assembly",
    "SPV_INTEL_io_pipes",
    "SPV_INTEL_joint_matrix",
    "SPV_INTEL_kernel_attributes",
    "SPV_INTEL_long_composites",
    "SPV_INTEL_long_constant_composite",
    "SPV_INTEL_loop_fuse",
    "SPV_INTEL_masked_gather_scatter",
    "SPV_INTEL_media_block_io",
    "SPV_INTEL_memory_access_aliasing",
    "SPV_INTEL_optnone",
    "SPV_INTEL_runtime_aligned",
    "SPV_INTEL_subgroups",
    "SPV_INTEL_task_sequence",
    "SPV_INTEL_tensor_float32_conversion",
    "SPV_INTEL_token_type",
    "SPV_INTEL_unstructured_loop_controls",
    "SPV_INTEL_usm_storage_classes",
    "SPV_INTEL_variable_length_array",
    "SPV_INTEL_vector_compute",
    "SPV_KHR_cooperative_matrix",
    "SPV_KHR_expect_assume",
    "SPV_KHR_float_controls",
    "SPV_KHR_linkonce_odr",
    "SPV_KHR_no_integer_wrap_decoration",
    "SPV_KHR_non_semantic_info",
    "SPV_KHR_shader_clock",
    "SPV_KHR_uniform_group_instructions",
];

/// A SPIR-V extension; `None` for one of which nothing is known.
pub fn spirv_extension(name: &str) -> Option<&'static SpirvExtension> {
    SPIRV_EXTENSIONS.iter().find(|extension| extension.name == name)
}

impl SpirvExtension {
    /// Why a module for this device may not declare it.
    pub fn refusal(&self, profile: &DeviceProfile) -> Option<String> {
        let name = self.name;
        if self.standing == Standing::Refused {
            return Some(format!("extension {name} is not supported: {}", self.says));
        }
        if profile.lacks(name) {
            return Some(format!("the device has no extension {name}"));
        }
        let missing = || format!("extension {name} needs {}, which the device has not", self.need.describe());
        (!self.need.met_by(profile)).then(missing)
    }

    /// Whether DPC++ lets its translator emit it without being asked.
    pub fn is_default_of_dpcpp(&self) -> bool {
        DPCPP.contains(&self.name)
    }
}

/// `docs/extensions.md`.
pub fn page() -> String {
    let mut page = "\
# SPIR-V extensions

What becomes of a module that declares one of the extensions that DPC++'s driver, SPIRV-LLVM-Translator and LLVM's SPIR-V
backend know. `ci/rules` writes this page from the registry that the intake asks (`extensions/src/spirv_extensions.rs`). A
module that declares a refused one is rejected by the rule `env.extension`, and its log has the sentence from here.
Extensions in bold are those that DPC++ uses without being asked.

"
    .to_owned();
    for (title, standing) in [
        ("Implemented", Standing::Implemented),
        ("Taken as hints: they change no result", Standing::Hint),
        ("Refused", Standing::Refused),
    ] {
        // Writing to a string does not fail.
        let _ = writeln!(page, "## {title}\n\n| extension | needs | |\n|---|---|---|");
        for extension in SPIRV_EXTENSIONS.iter().filter(|extension| extension.standing == standing) {
            let bold = if extension.is_default_of_dpcpp() { "**" } else { "" };
            let need = match extension.need {
                Need::Nothing => String::new(),
                need => need.describe(),
            };
            let _ = writeln!(page, "| {bold}`{}`{bold} | {need} | {} |", extension.name, extension.says);
        }
        page.push('\n');
    }
    page.truncate(page.trim_end().len());
    page.push('\n');
    page
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn extensions_are_listed_once() {
        for (at, extension) in SPIRV_EXTENSIONS.iter().enumerate() {
            assert!(
                !SPIRV_EXTENSIONS[..at].iter().any(|other| other.name == extension.name),
                "{}",
                extension.name
            );
            assert!(extension.says.ends_with('.'), "{}", extension.name);
        }
    }

    #[test]
    fn every_extension_of_dpcpp_has_a_row() {
        for name in DPCPP {
            assert!(spirv_extension(name).is_some(), "{name}");
        }
    }

    #[test]
    fn a_refused_extension_says_why() {
        let profile = DeviceProfile::host();
        let esimd = spirv_extension("SPV_INTEL_vector_compute").unwrap().refusal(&profile).unwrap();
        assert!(esimd.contains("ESIMD") && esimd.contains("this device has no such unit"), "{esimd}");
        assert_eq!(spirv_extension("SPV_INTEL_subgroups").unwrap().refusal(&profile), None);
    }

    #[test]
    fn the_page_of_extensions_is_current() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/extensions.md");
        let text = std::fs::read_to_string(path).unwrap_or_default();
        assert!(text == page(), "docs/extensions.md is not what ci/rules writes");
    }
}
