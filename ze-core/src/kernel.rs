//! Kernels: arguments, group sizes and what else is set before a launch.

use crate::allocations::Range as _;
use crate::command_list::Named;
use crate::error::{Error, Result};
use crate::fork::Mutex;
use crate::handle::{self, Object, object};
use crate::image::Image;
use crate::module::Module;
use crate::pnext::{Inputs, Outputs, structures};
use crate::sampler::Sampler;
use spirv_env::{ArgKind, KernelArg};
use std::sync::Arc;
pub use ze_engine::Launch;
use ze_engine::{Setup, Value};
use ze_headers::*;

structures! {
    ze_kernel_properties_t = ZE_STRUCTURE_TYPE_KERNEL_PROPERTIES;
    ze_kernel_preferred_group_size_properties_t = ZE_STRUCTURE_TYPE_KERNEL_PREFERRED_GROUP_SIZE_PROPERTIES;
    ze_kernel_max_group_size_properties_ext_t = ZE_STRUCTURE_TYPE_KERNEL_MAX_GROUP_SIZE_EXT_PROPERTIES;
    ze_command_list_append_launch_kernel_param_cooperative_desc_t =
        ZE_STRUCTURE_TYPE_COMMAND_LIST_APPEND_PARAM_COOPERATIVE_DESC;
}

/// Bytes of a thread's vector registers: 32 of 64 bytes. What the work-items of a sub-group have in variables and hold as values
/// beyond that is spilled.
const VECTOR_REGISTER_BYTES: u64 = 32 * 64;

/// Memory that a kernel uses.
pub struct KernelAllocation {
    pub base: usize,
    /// Bytes.
    pub size: usize,
    pub kind: ze_memory_type_t,
    /// Of the argument that leads to it; none of the module's variables.
    pub argument: Option<u32>,
}

/// What is set on a kernel; a launch takes a copy.
struct State {
    setup: Setup,
    /// For each argument, whether it is still to be set.
    unset: Vec<bool>,
    /// How many of them there are.
    missing: usize,
    indirect_access: ze_kernel_indirect_access_flags_t,
}

impl State {
    fn set_argument(&mut self, index: u32, value: Given<'_>) -> Result<()> {
        value.set(&mut self.setup, index)?;
        if std::mem::take(&mut self.unset[index as usize]) {
            self.missing -= 1;
        }
        Ok(())
    }

    fn check_arguments(&self) -> Result<()> {
        if self.missing == 0 {
            return Ok(());
        }
        let kernel = self.setup.kernel().reflection();
        let names = kernel.args.iter().zip(&self.unset).enumerate().filter(|(_, (_, unset))| **unset);
        let names: Vec<_> = names.map(|(index, (arg, _))| format!("{index} ('{}')", arg.name)).collect();
        let reason = format!("kernel '{}': arguments that are not set: {}", kernel.name, names.join(", "));
        Err(Error::InvalidArgument(reason))
    }
}

/// A kernel.
pub struct Kernel {
    kernel: Arc<ze_engine::Kernel>,
    module: Arc<Module>,
    /// The handle by which the program knows the module.
    module_handle: usize,
    state: Mutex<State>,
}

object!(Kernel, Kernel, ze_kernel_handle_t);

impl Kernel {
    /// `zeKernelCreate`.
    pub fn new(
        (module, module_handle): Named<'_, Module, ze_module_handle_t>,
        name: &str,
    ) -> Result<Arc<Self>> {
        let kernel = module.kernel(name)?;
        let setup = Setup::new(Arc::clone(&kernel))?;
        kernel.prepare_likely();
        let args = kernel.reflection().args.len();
        let state = State { setup, unset: vec![true; args], missing: args, indirect_access: 0 };
        let (module, module_handle) = (Arc::clone(module), module_handle as usize);
        Ok(Arc::new(Self { kernel, module, module_handle, state: Mutex::new(state) }))
    }

    pub fn module(&self) -> &Arc<Module> {
        &self.module
    }

    /// `zeKernelGetModuleHandleExt`.
    pub fn module_handle(&self) -> ze_module_handle_t {
        self.module_handle as ze_module_handle_t
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

    /// Bytes that `zeKernelSetArgumentValue` expects of an argument.
    pub fn argument_size(&self, index: u32) -> Result<u32> {
        Ok(u32::try_from(self.argument(index)?.size).unwrap_or(u32::MAX))
    }

    /// The type of an argument as its source has it, where the module says that, or as its parameter has it.
    pub fn argument_type(&self, index: u32) -> Result<&str> {
        Ok(&self.argument(index)?.type_name)
    }

    fn argument(&self, index: u32) -> Result<&KernelArg> {
        let args = &self.reflection().args;
        args.get(index as usize).ok_or_else(|| {
            Error::InvalidKernelArgumentIndex(format!("argument {index} of a kernel with {}", args.len()))
        })
    }

    /// `zeKernelSetArgumentValue`.
    ///
    /// # Safety
    /// `value` is null or points to `size` bytes.
    pub unsafe fn set_argument(&self, index: u32, size: usize, value: *const u8) -> Result<()> {
        let arg = self.reflection().args.get(index as usize);
        // SAFETY: the caller's promise.
        let value = unsafe { argument(arg, size, value) }?;
        self.state.lock().set_argument(index, value)
    }

    /// `zeKernelSetGroupSize`.
    pub fn set_group_size(&self, size: [u32; 3]) -> Result<()> {
        Ok(self.state.lock().setup.set_group_size(size)?)
    }

    /// `zeKernelSuggestGroupSize`.
    pub fn suggest_group_size(&self, global: [u32; 3]) -> Result<[u32; 3]> {
        // ZE_RESULT_ERROR_INVALID_GLOBAL_WIDTH_DIMENSION
        if global.contains(&0) {
            return Err(Error::InvalidGlobalWidth(format!("global size {global:?} has no work-items")));
        }
        Ok(self.kernel.suggest_group_size(global.map(u64::from)))
    }

    /// `zeKernelSuggestMaxCooperativeGroupCount`: work-groups that can be in flight at once. Without a barrier of the device,
    /// they may wait for each other by looking at memory, for which each needs a thread: one surely has it.
    pub fn most_cooperative_groups(&self) -> Result<u32> {
        Ok(self.state.lock().setup.most_cooperative_groups()?)
    }

    /// A launch whose work-groups may wait for each other.
    pub fn capture_cooperative(&self, group_count: [u32; 3]) -> Result<Box<Launch>> {
        check_countable(group_count)?;
        let launch = self.capture(group_count)?;
        launch.check_cooperative()?;
        Ok(launch)
    }

    /// `zeKernelSetGlobalOffsetExp`.
    pub fn set_global_offset(&self, offset: [u32; 3]) {
        self.state.lock().setup.set_global_offset(offset.map(u64::from));
    }

    /// `zeKernelSetIndirectAccess`: all memory can be reached at any time, so it is only remembered.
    pub fn set_indirect_access(&self, flags: ze_kernel_indirect_access_flags_t) {
        self.state.lock().indirect_access = flags;
    }

    /// `zeKernelGetIndirectAccess`.
    pub fn indirect_access(&self) -> ze_kernel_indirect_access_flags_t {
        self.state.lock().indirect_access
    }

    /// `zeKernelGetAllocationPropertiesExp`: allocations that arguments which are set point into, and the memory of the module's
    /// variables. What a launch takes for local and private memory is no allocation.
    pub fn allocations(&self) -> Vec<KernelAllocation> {
        let state = self.state.lock();
        let allocations = self.module.context().driver().allocations();
        let of_argument = |(index, arg): (usize, &KernelArg)| {
            let is_pointer = matches!(arg.kind, ArgKind::GlobalPointer | ArgKind::ConstantPointer);
            let value =
                state.setup.argument(index).first_chunk().filter(|_| is_pointer && !state.unset[index])?;
            allocations.with(usize::from_ne_bytes(*value), |memory| KernelAllocation {
                base: memory.base(),
                size: memory.size(),
                kind: memory.type_code(),
                argument: u32::try_from(index).ok(),
            })
        };
        let mut found: Vec<_> = self.reflection().args.iter().enumerate().filter_map(of_argument).collect();
        let (variables, size) = self.module.variables();
        if size != 0 {
            let kind = ZE_MEMORY_TYPE_DEVICE;
            found.push(KernelAllocation { base: variables as usize, size, kind, argument: None });
        }
        found
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
        out.requiredNumSubGroups = reflection.required_subgroups().unwrap_or(0);
        out.requiredSubgroupSize = reflection.required_subgroup_size.unwrap_or(0);
        out.maxSubgroupSize = lanes;
        out.maxNumSubgroups = self.kernel.max_group_size().div_ceil(lanes.max(1));
        out.localMemSize = size(reflection.static_local_size);
        out.privateMemSize = size(reflection.private_size);
        let registers = VECTOR_REGISTER_BYTES / u64::from(lanes.max(1));
        let wanted = reflection.private_size.saturating_add(self.kernel.most_live_bytes());
        out.spillMemSize = size(wanted.saturating_sub(registers));
        let id = ze_engine::jit::hash::digest(&[reflection.name.as_bytes()]);
        out.uuid.kid.copy_from_slice(&id[..16]);
        out.uuid.mid.copy_from_slice(&self.module.key()[..16]);
        // SAFETY: the caller's promise.
        unsafe { Outputs::of(out) }.for_each(|mut link| {
            if let Some(out) = link.get::<ze_kernel_preferred_group_size_properties_t>() {
                out.preferredMultiple = lanes;
            } else if let Some(out) = link.get::<ze_kernel_max_group_size_properties_ext_t>() {
                out.maxGroupSize = self.kernel.max_group_size();
            }
        });
    }

    /// A copy of everything that is set now, which a mutable command changes on its own.
    pub(crate) fn setup(&self) -> Result<Setup> {
        Ok(self.state.lock().setup.try_clone()?)
    }

    /// A launch with everything that is set now; code for it is compiled here, so that what fails fails early.
    pub fn capture(&self, group_count: [u32; 3]) -> Result<Box<Launch>> {
        let mut state = self.state.lock();
        state.check_arguments()?;
        if state.setup.has_code(group_count) {
            return Ok(state.setup.launch(group_count)?);
        }
        // Nobody waits for the compiler who only wants to ask the kernel something.
        let mut setup = state.setup.try_clone()?;
        drop(state);
        let launch = setup.launch(group_count)?;
        self.state.lock().setup.take_code(setup);
        Ok(launch)
    }

    /// As [`capture`](Self::capture), with group size and all arguments, as `zeCommandListAppendLaunchKernelWithArguments`
    /// passes them: an address each, of the value, or of the size of local memory. A null address is a null value. They
    /// are the kernel's afterwards; an error changes nothing.
    ///
    /// # Safety
    /// `values` is null or points to as many addresses as the kernel has arguments, each null or of a value of its size.
    pub unsafe fn capture_with(
        &self,
        group_count: [u32; 3],
        group_size: [u32; 3],
        values: *const *const u8,
        cooperative: bool,
    ) -> Result<Box<Launch>> {
        let mut setup = self.state.lock().setup.try_clone()?;
        setup.set_group_size(group_size)?;
        let args = &self.reflection().args;
        // ZE_RESULT_ERROR_INVALID_NULL_POINTER: nullptr == pArguments
        if values.is_null() && !args.is_empty() {
            return Err(Error::NullPointer("pArguments"));
        }
        for (arg, index) in args.iter().zip(0..) {
            // SAFETY: the caller's promise, here and below.
            let value = unsafe { values.add(index as usize).read() };
            let value = match arg.kind {
                // SAFETY: see above; null is no local memory.
                ArgKind::LocalPointer => Given::Value(Value::Size(unsafe {
                    if value.is_null() { 0 } else { value.cast::<usize>().read_unaligned() }
                })),
                // SAFETY: see above.
                _ => unsafe { argument(Some(arg), arg.size as usize, value) }?,
            };
            value.set(&mut setup, index)?;
        }
        let launch = setup.launch(group_count)?;
        if cooperative {
            launch.check_cooperative()?;
        }
        let mut state = self.state.lock();
        state.setup = setup;
        state.unset.fill(false);
        state.missing = 0;
        Ok(launch)
    }
}

/// An argument as the API passes it.
enum Given<'a> {
    Value(Value<'a>),
    Image(Arc<Image>),
    Sampler(Arc<Sampler>),
}

impl Given<'_> {
    fn set(self, setup: &mut Setup, index: u32) -> Result<()> {
        match self {
            Given::Value(value) => setup.set_argument(index, value)?,
            Given::Image(image) => {
                let value = image.descriptor().to_le_bytes();
                setup.set_argument_of(index, &value, image)?;
            }
            Given::Sampler(sampler) => {
                setup.set_argument(index, Value::Bytes(&sampler.state().bits().to_le_bytes()))?;
            }
        }
        Ok(())
    }
}

/// Sets an argument as the API passes it.
///
/// # Safety
/// `value` is null or points to `size` bytes.
pub(crate) unsafe fn set_argument_of(
    setup: &mut Setup,
    index: u32,
    size: usize,
    value: *const u8,
) -> Result<()> {
    let kernel = Arc::clone(setup.kernel());
    let arg = kernel.reflection().args.get(index as usize);
    // SAFETY: the caller's promise.
    unsafe { argument(arg, size, value) }?.set(setup, index)
}

/// What the API passes for an argument. A null address is a null value: zeros, an image without texels.
///
/// # Safety
/// `value` is null or points to `size` bytes.
unsafe fn argument<'a>(arg: Option<&KernelArg>, size: usize, value: *const u8) -> Result<Given<'a>> {
    if value.is_null() {
        return Ok(Given::Value(Value::Size(size)));
    }
    // What has another size is refused where it is set.
    let kind = arg.filter(|arg| arg.size == size as u64).map(|arg| arg.kind);
    // SAFETY: the caller's promise, here and below.
    let handle = || unsafe { value.cast::<usize>().read_unaligned() };
    Ok(match kind {
        Some(ArgKind::Image(ty)) => {
            let image = handle::get::<Image>(Image::handle(handle()))?;
            image.check_type(ty)?;
            Given::Image(Arc::clone(&image))
        }
        Some(ArgKind::Sampler) => {
            let sampler = handle::get::<Sampler>(Sampler::handle(handle()))?;
            Given::Sampler(Arc::clone(&sampler))
        }
        // SAFETY: see above; no object is larger than that.
        _ => Given::Value(Value::Bytes(unsafe {
            std::slice::from_raw_parts(value, size.min(isize::MAX as usize))
        })),
    })
}

/// A number of work-items or work-groups; more than 64 bits can say are the most that they can.
fn product(dimensions: [u32; 3]) -> u64 {
    dimensions.into_iter().map(u64::from).fold(1, u64::saturating_mul)
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

/// More work-groups than there are numbers are never in flight at once, whatever else is wrong with them.
pub fn check_countable(group_count: [u32; 3]) -> Result<()> {
    let groups = product(group_count);
    if groups > u64::from(u32::MAX) {
        return Err(Error::InvalidGroupSize(format!("a cooperative launch of {groups} work-groups")));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cooperative_launches_are_counted_without_overflow() {
        assert!(check_countable([1; 3]).is_ok());
        // 2^32, 2^64 and 2^96 work-groups.
        assert!(check_countable([1 << 16, 1 << 16, 1]).is_err());
        assert!(check_countable([1 << 31, 1 << 31, 4]).is_err());
        assert!(check_countable([u32::MAX; 3]).is_err());
    }
}
