//! Kernels: arguments, group sizes and what else is set before a launch.

use crate::command::Launch;
use crate::error::{Error, Result};
use crate::fallible::out_of_memory;
use crate::fork::Mutex;
use crate::handle::object;
use crate::module::Module;
use crate::pnext::{Inputs, Outputs, structures};
use spirv_env::{ArgKind, KernelArg, Type};
use std::ptr::null;
use std::sync::Arc;
use ze_headers::*;

structures! {
    ze_kernel_properties_t = ZE_STRUCTURE_TYPE_KERNEL_PROPERTIES;
    ze_kernel_preferred_group_size_properties_t = ZE_STRUCTURE_TYPE_KERNEL_PREFERRED_GROUP_SIZE_PROPERTIES;
    ze_kernel_max_group_size_properties_ext_t = ZE_STRUCTURE_TYPE_KERNEL_MAX_GROUP_SIZE_EXT_PROPERTIES;
    ze_command_list_append_launch_kernel_param_cooperative_desc_t =
        ZE_STRUCTURE_TYPE_COMMAND_LIST_APPEND_PARAM_COOPERATIVE_DESC;
}

/// Work-groups that surely run at the same time, whatever else the machine does.
pub const COOPERATIVE_GROUPS: u32 = 1;

/// What is set on a kernel; a launch takes a copy.
#[derive(Clone)]
struct State {
    /// The argument block.
    args: Vec<u8>,
    /// For each argument, whether it was set.
    set: Vec<bool>,
    group_size: [u32; 3],
    global_offset: [u64; 3],
    indirect_access: ze_kernel_indirect_access_flags_t,
}

/// A kernel.
pub struct Kernel {
    kernel: Arc<ze_engine::Kernel>,
    module: Arc<Module>,
    state: Mutex<State>,
}

object!(Kernel, Kernel, ze_kernel_handle_t);

impl Kernel {
    /// `zeKernelCreate`.
    pub fn new(module: Arc<Module>, name: &str) -> Result<Arc<Self>> {
        let kernel = module.kernel(name)?;
        kernel.prepare_likely();
        let reflection = kernel.reflection();
        let mut args = Vec::new();
        let bytes = reflection.arg_block_size as usize;
        args.try_reserve_exact(bytes).map_err(|_| out_of_memory("arguments", bytes))?;
        args.resize(bytes, 0);
        let state = State {
            args,
            set: vec![false; reflection.args.len()],
            group_size: reflection.required_group_size.unwrap_or([1; 3]),
            global_offset: [0; 3],
            indirect_access: 0,
        };
        Ok(Arc::new(Self { kernel, module, state: Mutex::new(state) }))
    }

    pub fn module(&self) -> &Arc<Module> {
        &self.module
    }

    pub fn name(&self) -> &str {
        &self.reflection().name
    }

    /// `zeKernelGetSourceAttributes`.
    pub fn source_attributes(&self) -> &str {
        &self.reflection().attributes
    }

    fn reflection(&self) -> &spirv_env::Kernel {
        self.kernel.reflection()
    }

    /// `zeKernelSetArgumentValue`.
    ///
    /// # Safety
    /// `value` is null or points to `size` bytes.
    pub unsafe fn set_argument(&self, index: u32, size: usize, value: *const u8) -> Result<()> {
        let mut state = self.state.lock();
        // SAFETY: the caller's promise.
        unsafe { self.write_argument(&mut state, index, size, value) }
    }

    fn argument(&self, index: u32) -> Result<&KernelArg> {
        let args = &self.reflection().args;
        // ZE_RESULT_ERROR_INVALID_KERNEL_ARGUMENT_INDEX
        args.get(index as usize).ok_or_else(|| Error::InvalidKernelArgumentIndex {
            kernel: self.name().into(),
            index,
            count: args.len(),
        })
    }

    /// # Safety
    /// `value` is null or points to `size` bytes.
    unsafe fn write_argument(
        &self,
        state: &mut State,
        index: u32,
        size: usize,
        value: *const u8,
    ) -> Result<()> {
        let arg = self.argument(index)?;
        let at = arg.offset as usize;
        match arg.kind {
            ArgKind::LocalPointer => {
                // Its value is its size.
                if !value.is_null() {
                    let reason =
                        format!("argument {index} ('{}') is local memory: its value must be null", arg.name);
                    return Err(Error::InvalidArgument(reason));
                }
                state.args[at..at + 8].copy_from_slice(&(size as u64).to_ne_bytes());
            }
            ArgKind::Image(_) => return Err(Error::UnsupportedFeature("an image as a kernel argument")),
            ArgKind::Sampler => return Err(Error::UnsupportedFeature("a sampler as a kernel argument")),
            ArgKind::Value | ArgKind::GlobalPointer | ArgKind::ConstantPointer => {
                // ZE_RESULT_ERROR_INVALID_KERNEL_ARGUMENT_SIZE
                if size as u64 != arg.size && !self.takes_low_bytes(arg, size) {
                    return Err(Error::InvalidKernelArgumentSize {
                        kernel: self.name().into(),
                        index,
                        name: arg.name.clone(),
                        expected: arg.size,
                        size,
                    });
                }
                let target = &mut state.args[at..at + arg.size as usize];
                if value.is_null() {
                    target.fill(0);
                } else {
                    // SAFETY: the caller's promise; `size` is no less than the argument's, as checked above.
                    target.copy_from_slice(unsafe { std::slice::from_raw_parts(value, target.len()) });
                }
            }
        }
        state.set[index as usize] = true;
        Ok(())
    }

    /// Whether an integer of this size, wider than the parameter, may be given for it: its low bytes are taken.
    /// oneMKL gives 64-bit offsets for 32-bit parameters, which Intel's driver lets pass.
    fn takes_low_bytes(&self, arg: &KernelArg, size: usize) -> bool {
        let program = self.kernel.program();
        let integer = matches!(program.module().types.get(arg.ty), Type::Int { .. });
        integer && size as u64 > arg.size && size <= size_of::<u64>()
    }

    /// Group size and all arguments at once, as `zeCommandListAppendLaunchKernelWithArguments` passes them: an address
    /// each, of the value, or of the size of local memory. A null address is a null value. An error changes nothing.
    ///
    /// # Safety
    /// `values` is null or points to as many addresses as the kernel has arguments, each null or of a value of its size.
    pub unsafe fn set_launch(&self, group_size: [u32; 3], values: *const *const u8) -> Result<()> {
        self.check_group_size(group_size)?;
        let args = &self.reflection().args;
        // ZE_RESULT_ERROR_INVALID_NULL_POINTER: nullptr == pArguments
        if values.is_null() && !args.is_empty() {
            return Err(Error::NullPointer("pArguments"));
        }
        let mut state = self.state.lock();
        let mut changed = State { group_size, ..state.clone() };
        for (index, arg) in args.iter().enumerate() {
            // SAFETY: the caller's promise.
            let value = unsafe { values.add(index).read() };
            let (size, value) = match arg.kind {
                // SAFETY: the caller's promise; null is no local memory.
                ArgKind::LocalPointer => unsafe {
                    (value.cast::<usize>().as_ref().copied().unwrap_or(0), null())
                },
                _ => (arg.size as usize, value),
            };
            // SAFETY: the caller's promise.
            unsafe { self.write_argument(&mut changed, index as u32, size, value) }?;
        }
        *state = changed;
        Ok(())
    }

    /// `zeKernelSetGroupSize`.
    pub fn set_group_size(&self, size: [u32; 3]) -> Result<()> {
        self.check_group_size(size)?;
        self.state.lock().group_size = size;
        Ok(())
    }

    fn check_group_size(&self, size: [u32; 3]) -> Result<()> {
        let compute = &self.module.device().profile().compute;
        let fits = size.iter().zip(compute.max_group_size).all(|(&size, max)| size != 0 && size <= max);
        // ZE_RESULT_ERROR_INVALID_GROUP_SIZE_DIMENSION
        if !fits || product(size) > u64::from(self.kernel.max_group_size()) {
            return Err(Error::InvalidGroupSize(format!(
                "group size {size:?}: each dimension is 1 to {:?}, and all together at most {}",
                compute.max_group_size,
                self.kernel.max_group_size()
            )));
        }
        if let Some(required) = self.reflection().required_group_size.filter(|&required| required != size) {
            let reason =
                format!("kernel '{}' requires the group size {required:?}, not {size:?}", self.name());
            return Err(Error::InvalidGroupSize(reason));
        }
        Ok(())
    }

    /// `zeKernelSuggestGroupSize`.
    pub fn suggest_group_size(&self, global: [u32; 3]) -> Result<[u32; 3]> {
        // ZE_RESULT_ERROR_INVALID_GLOBAL_WIDTH_DIMENSION
        if global.contains(&0) {
            return Err(Error::InvalidGlobalWidth(format!("global size {global:?} has no work-items")));
        }
        Ok(self.kernel.suggest_group_size(global.map(u64::from)))
    }

    /// `zeKernelSetGlobalOffsetExp`.
    pub fn set_global_offset(&self, offset: [u32; 3]) {
        self.state.lock().global_offset = offset.map(u64::from);
    }

    /// `zeKernelSetIndirectAccess`: all memory can be reached at any time, so it is only remembered.
    pub fn set_indirect_access(&self, flags: ze_kernel_indirect_access_flags_t) {
        self.state.lock().indirect_access = flags;
    }

    /// `zeKernelGetIndirectAccess`.
    pub fn indirect_access(&self) -> ze_kernel_indirect_access_flags_t {
        self.state.lock().indirect_access
    }

    /// `zeKernelGetProperties`.
    ///
    /// # Safety
    /// The structure's `pNext` is a valid chain.
    pub unsafe fn properties(&self, out: &mut ze_kernel_properties_t) {
        let reflection = self.reflection();
        let size = |bytes: u64| u32::try_from(bytes).unwrap_or(u32::MAX);
        let lanes = self.kernel.subgroup_size();
        out.numKernelArgs = reflection.args.len() as u32;
        [out.requiredGroupSizeX, out.requiredGroupSizeY, out.requiredGroupSizeZ] =
            reflection.required_group_size.unwrap_or_default();
        out.requiredNumSubGroups = 0;
        out.requiredSubgroupSize = reflection.required_subgroup_size.unwrap_or(0);
        out.maxSubgroupSize = lanes;
        out.maxNumSubgroups = self.kernel.max_group_size().div_ceil(lanes.max(1));
        out.localMemSize = size(reflection.static_local_size);
        out.privateMemSize = size(reflection.private_size);
        out.spillMemSize = 0;
        let id = ze_engine::jit::hash::digest(&[reflection.name.as_bytes()]);
        out.uuid.kid.copy_from_slice(&id[..16]);
        let id = ze_engine::jit::hash::digest(&[&self.module.native_binary()]);
        out.uuid.mid.copy_from_slice(&id[..16]);
        // SAFETY: the caller's promise.
        unsafe { Outputs::of(out) }.for_each(|mut link| {
            if let Some(out) = link.get::<ze_kernel_preferred_group_size_properties_t>() {
                out.preferredMultiple = lanes;
            } else if let Some(out) = link.get::<ze_kernel_max_group_size_properties_ext_t>() {
                out.maxGroupSize = self.kernel.max_group_size();
            }
        });
    }

    /// Everything that is set now, for a command; code for it is compiled here, so that what fails fails early.
    pub fn capture(&self) -> Result<Launch> {
        let state = self.state.lock();
        let reflection = self.reflection();
        if let Some(missing) = state.set.iter().position(|set| !set) {
            let name = &reflection.args[missing].name;
            let reason = format!("argument {missing} ('{name}') of kernel '{}' is not set", self.name());
            return Err(Error::InvalidArgument(reason));
        }
        let local = |arg: &KernelArg| match arg.kind {
            ArgKind::LocalPointer => read_u64(&state.args, arg.offset as usize),
            _ => 0,
        };
        let local = reflection.args.iter().map(local).fold(reflection.static_local_size, u64::saturating_add);
        let limit = self.module.device().profile().compute.max_shared_local_memory;
        if local > u64::from(limit) {
            let reason = format!("kernel '{}' needs {local} bytes of local memory of {limit}", self.name());
            return Err(Error::OutOfDeviceMemory(reason));
        }
        let launch = Launch {
            kernel: Arc::clone(&self.kernel),
            args: state.args.as_slice().into(),
            group_size: state.group_size,
            global_offset: state.global_offset,
        };
        drop(state);
        self.kernel.prepare(launch.group_size)?;
        Ok(launch)
    }
}

/// A number of work-items or work-groups; more than 64 bits can say are the most that they can.
fn product(dimensions: [u32; 3]) -> u64 {
    dimensions.into_iter().map(u64::from).fold(1, u64::saturating_mul)
}

fn read_u64(bytes: &[u8], at: usize) -> u64 {
    let mut value = [0; 8];
    value.copy_from_slice(&bytes[at..at + 8]);
    u64::from_ne_bytes(value)
}

/// Whether a chain asks for a cooperative launch; structures that are not known are an error, as the
/// specification wants.
///
/// # Safety
/// `next` is a valid chain of extension structures.
pub unsafe fn asks_for_cooperation(next: *const std::ffi::c_void) -> Result<bool> {
    let mut cooperative = false;
    // SAFETY: the caller's promise.
    for link in unsafe { Inputs::from_next(&next) }.iter() {
        let desc = link.get::<ze_command_list_append_launch_kernel_param_cooperative_desc_t>();
        let desc = desc.ok_or(Error::UnsupportedFeature("an extension of a kernel launch"))?;
        cooperative = desc.isCooperative != 0;
    }
    Ok(cooperative)
}

/// Checks the group count of a cooperative launch.
pub fn check_cooperative(group_count: [u32; 3]) -> Result<()> {
    let groups = product(group_count);
    if groups > u64::from(COOPERATIVE_GROUPS) {
        let reason = format!(
            "a cooperative launch of {groups} work-groups: at most {COOPERATIVE_GROUPS} run at the same time"
        );
        return Err(Error::InvalidGroupSize(reason));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cooperative_launches_are_counted_without_overflow() {
        assert!(check_cooperative([1; 3]).is_ok());
        assert!(check_cooperative([2, 1, 1]).is_err());
        // 2^64 and 2^96 work-groups.
        assert!(check_cooperative([1 << 31, 1 << 31, 4]).is_err());
        assert!(check_cooperative([u32::MAX; 3]).is_err());
    }
}
