//! What is set on a kernel, and the launches that are made of it.

use crate::abi::{Ids, LoopInputs, RowLengths, Variant};
use crate::error::{EngineError, LaunchFault};
use crate::exec::arguments::{NoMemory, Owner};
use crate::exec::{Arguments, Code, Plan, Range};
use crate::fork::OnceLock;
use crate::print::Buffer;
use crate::program::{Executed, Kernel};
use rustc_hash::FxHasher;
use spirv_env::{ArgKind, KernelArg, Type};
use std::hash::{Hash, Hasher};
use std::sync::Arc;
use std::time::Duration;

/// A value for a kernel's argument.
#[derive(Clone, Copy, Debug)]
pub enum Value<'a> {
    /// The value; of an image the address of its descriptor, of a sampler its bits ([`crate::image`]).
    Bytes(&'a [u8]),
    /// No value but a size in bytes: local memory, an image without texels, or for other arguments zeros.
    Size(usize),
}

/// Group size, global offset and arguments of the launches to come of a kernel. Everything is checked when it is set.
pub struct Setup {
    kernel: Arc<Kernel>,
    group_size: [u32; 3],
    global_offset: [u64; 3],
    arguments: Arguments,
    /// That of the latest launch: the next one is often like it.
    latest: Option<Plan>,
}

impl Setup {
    /// A work-group of one work-item, or what the kernel requires; no offset; arguments that are all zeros.
    pub fn new(kernel: Arc<Kernel>) -> Result<Setup, EngineError> {
        let reflection = kernel.reflection();
        check_local_memory(&kernel, reflection.static_local_size)?;
        let arguments =
            Arguments::new(reflection).map_err(|NoMemory(bytes)| no_memory(&kernel, "arguments", bytes))?;
        let smallest = || {
            if reflection.required_subgroups().is_some() { [kernel.max_group_size(), 1, 1] } else { [1; 3] }
        };
        let group_size = reflection.required_group_size.unwrap_or_else(smallest);
        Ok(Setup { kernel, group_size, global_offset: [0; 3], arguments, latest: None })
    }

    /// A copy that can be changed on its own.
    pub fn try_clone(&self) -> Result<Setup, EngineError> {
        Ok(Setup {
            kernel: Arc::clone(&self.kernel),
            arguments: self.cloned_arguments()?,
            latest: self.latest.clone(),
            ..*self
        })
    }

    fn cloned_arguments(&self) -> Result<Arguments, EngineError> {
        self.arguments.try_clone().map_err(|NoMemory(bytes)| no_memory(&self.kernel, "arguments", bytes))
    }

    fn range(&self, group_count: [u32; 3]) -> Range {
        Range { group_count, group_size: self.group_size, global_offset: self.global_offset }
    }

    pub fn kernel(&self) -> &Arc<Kernel> {
        &self.kernel
    }

    /// Sets the work-items of a work-group in each dimension.
    pub fn set_group_size(&mut self, size: [u32; 3]) -> Result<(), EngineError> {
        if size == self.group_size {
            return Ok(());
        }
        let config = self.kernel.program().engine().config();
        let fits =
            size.iter().zip(config.max_group_dimensions).all(|(&size, most)| size != 0 && size <= most);
        let items = size.into_iter().map(u64::from).fold(1, u64::saturating_mul);
        if !fits || items > u64::from(config.max_group_size) {
            return Err(self.invalid(LaunchFault::GroupSize(format!(
                "group size {size:?}: each dimension is 1 to {:?}, and all together at most {}",
                config.max_group_dimensions, config.max_group_size
            ))));
        }
        let required = self.kernel.reflection().required_group_size;
        if let Some(required) = required.filter(|&required| required != size) {
            let reason = format!("it requires the group size {required:?}, not {size:?}");
            return Err(self.invalid(LaunchFault::GroupSize(reason)));
        }
        let reflection = self.kernel.reflection();
        if let Some(most) =
            reflection.max_group_size().filter(|most| size.iter().zip(most).any(|(a, b)| a > b))
        {
            let reason = format!("it takes groups of at most {most:?}, not {size:?}");
            return Err(self.invalid(LaunchFault::GroupSize(reason)));
        }
        let subgroups = items.div_ceil(u64::from(self.kernel.subgroup_size()));
        if let Some(required) = reflection.required_subgroups().filter(|&of| u64::from(of) != subgroups) {
            let reason = format!("its groups have {required} sub-groups, those of {size:?} have {subgroups}");
            return Err(self.invalid(LaunchFault::GroupSize(reason)));
        }
        self.group_size = size;
        Ok(())
    }

    /// The value of an argument, as compiled code reads it.
    pub fn argument(&self, index: usize) -> &[u8] {
        self.arguments.get(&self.kernel.reflection().args[index])
    }

    /// Sets the global offset in each dimension, in work-items.
    pub fn set_global_offset(&mut self, offset: [u64; 3]) {
        self.global_offset = offset;
    }

    /// Sets an argument.
    pub fn set_argument(&mut self, index: u32, value: Value<'_>) -> Result<(), EngineError> {
        let kernel = &*self.kernel;
        let args = &kernel.reflection().args;
        let Some(arg) = args.get(index as usize) else {
            return Err(self.invalid(LaunchFault::ArgumentIndex { index, count: args.len() }));
        };
        let refused =
            |reason| self.invalid(LaunchFault::ArgumentValue { index, name: arg.name.clone(), reason });
        let size = match value {
            Value::Bytes(bytes) => bytes.len(),
            Value::Size(size) => size,
        } as u64;
        match (arg.kind, value) {
            (ArgKind::LocalPointer, Value::Bytes(_)) => {
                return Err(refused("is local memory: its value must be null"));
            }
            (ArgKind::LocalPointer, Value::Size(_)) => {
                self.arguments.set_local(kernel.reflection(), index as usize, size);
            }
            // Without a value, a pointer or a handle is null, whatever size it is said to have: some clients say none.
            (kind, Value::Size(_)) if kind != ArgKind::Value => self.arguments.clear(arg),
            _ if size != arg.size && !is_other_integer(kernel, arg, size) => {
                let (name, expected) = (arg.name.clone(), arg.size);
                return Err(self.invalid(LaunchFault::ArgumentSize { index, name, expected, size }));
            }
            (_, Value::Bytes(bytes)) if size < arg.size => {
                let mut wide = [0; size_of::<u128>()];
                wide[..bytes.len()].copy_from_slice(bytes);
                self.arguments.set(arg, &wide[..arg.size as usize]);
            }
            (_, Value::Bytes(bytes)) => self.arguments.set(arg, &bytes[..arg.size as usize]),
            (_, Value::Size(_)) => self.arguments.clear(arg),
        }
        self.arguments.disown(arg);
        Ok(())
    }

    /// Sets an argument to a value that refers to something: launches keep that for as long as they can be executed.
    pub fn set_argument_of(&mut self, index: u32, value: &[u8], owner: Owner) -> Result<(), EngineError> {
        let room = self.arguments.reserve_owner();
        room.map_err(|NoMemory(bytes)| no_memory(&self.kernel, "arguments", bytes))?;
        self.set_argument(index, Value::Bytes(value))?;
        self.arguments.own(&self.kernel.reflection().args[index as usize], owner);
        Ok(())
    }

    /// Whether [`launch`](Self::launch) has the code at hand.
    pub fn has_code(&self, group_count: [u32; 3]) -> bool {
        let range = self.range(group_count);
        let fits = |plan: &Plan| {
            let other = || {
                let executed = self.kernel.executed(range);
                let ids = ids_of(&self.kernel, &executed, &self.arguments);
                fitting_code(plan, &executed, ids).is_some()
            };
            self.is_planned(plan, range) || other()
        };
        self.latest.as_ref().is_some_and(fits)
    }

    /// Checks a launch and has its code at hand from now on, which is compiled if that has not been done: what fails
    /// fails early.
    pub fn prepare(&mut self, group_count: [u32; 3]) -> Result<(), EngineError> {
        self.plan(group_count).map(|_| ())
    }

    /// Whether a plan's code is that of a range with what is set now, and the plan is of that range.
    fn is_planned(&self, plan: &Plan, range: Range) -> bool {
        let rows = || row_lengths(&self.kernel, plan.executed(), &self.arguments);
        *plan.range() == range && plan.code().variant().ids.rows == rows()
    }

    /// The latest plan, if it is what a launch with this many work-groups needs, else another.
    fn plan(&mut self, group_count: [u32; 3]) -> Result<&Plan, EngineError> {
        let (range, local_bytes) = (self.range(group_count), self.arguments.local_bytes());
        let same = |plan: &Plan| {
            plan.local_bytes() == local_bytes && !plan.is_outdated() && self.is_planned(plan, range)
        };
        if !self.latest.as_ref().is_some_and(same) {
            check_local_memory(&self.kernel, local_bytes)?;
            self.latest = Some(plan(&self.kernel, range, &self.arguments, self.latest.as_ref())?);
        }
        Ok(self.latest.as_ref().expect("it is there, or was made above"))
    }

    /// Work-groups of a launch with what is set now that can be in flight at once, so that they may wait for each other. As many
    /// can if the group's dimensions change places: SYCL asks with x where it launches with the last of them.
    pub fn most_cooperative_groups(&mut self) -> Result<u32, EngineError> {
        let kernel = Arc::clone(&self.kernel);
        let plan = self.plan([1; 3])?;
        let [x, y, z] = plan.range().group_size;
        let orders = [[x, y, z], [x, z, y], [y, x, z], [y, z, x], [z, x, y], [z, y, x]];
        let subgroups = orders.map(|size| kernel.variant(size).subgroups(size)).into_iter().max();
        Ok(plan.most_groups_of(subgroups.unwrap_or(1)))
    }

    /// Has the code at hand that another setup of the same kernel has.
    pub fn take_code(&mut self, other: Setup) {
        self.latest = other.latest;
    }

    /// A launch with what is set now.
    pub fn launch(&mut self, group_count: [u32; 3]) -> Result<Box<Launch>, EngineError> {
        let arguments = self.cloned_arguments()?;
        let kernel = Arc::clone(&self.kernel);
        let plan = self.plan(group_count)?.clone();
        Ok(Box::new(Launch { kernel, plan, better: OnceLock::new(), arguments, numbers: OnceLock::new() }))
    }

    fn invalid(&self, fault: LaunchFault) -> EngineError {
        invalid(&self.kernel, fault)
    }
}

/// A launch that is checked and laid out and has its code: executing only runs it, as often as is wanted.
pub struct Launch {
    kernel: Arc<Kernel>,
    plan: Plan,
    /// What is executed instead since there is better code.
    better: OnceLock<Plan>,
    arguments: Arguments,
    /// See [`numbers`](Self::numbers).
    numbers: OnceLock<u64>,
}

impl Launch {
    /// Runs the kernel and waits for its end. The calling thread takes part.
    pub fn run(&self) -> Result<(), EngineError> {
        self.run_plan(self.plan())
    }

    fn plan(&self) -> &Plan {
        match self.plan.is_outdated() {
            true => self.better.get_or_init(|| self.plan.better().unwrap_or_else(|| self.plan.clone())),
            false => &self.plan,
        }
    }

    /// Whether [`run`](Self::run) would begin in code that nothing better comes for.
    pub fn has_final_code(&self) -> bool {
        self.plan().code().promotion().is_none()
    }

    /// As [`run`](Self::run), with another number of work-groups.
    pub fn run_groups(&self, group_count: [u32; 3]) -> Result<(), EngineError> {
        let range = Range { group_count, ..*self.plan.range() };
        let plan = plan(&self.kernel, range, &self.arguments, Some(self.plan()))?;
        self.run_plan(&plan)
    }

    fn run_plan(&self, plan: &Plan) -> Result<(), EngineError> {
        let (program, kernel) = (self.kernel.program(), self.kernel.reflection());
        let run = |print: Option<&Buffer>| {
            plan.run(program.engine().scheduler(), &kernel.name, &self.arguments, self.numbers(), print)
        };
        if !kernel.prints {
            return run(None);
        }
        let bytes = program.engine().config().print_bytes;
        let buffer = Buffer::new(bytes, Arc::clone(program.globals()));
        let buffer = buffer.ok_or_else(|| no_memory(&self.kernel, "printf buffer", bytes.into()))?;
        run(Some(&buffer))?;
        buffer.flush();
        Ok(())
    }

    /// Fails if not all work-groups can be in flight at once.
    pub fn check_cooperative(&self) -> Result<(), EngineError> {
        let (groups, most) = (self.plan().groups(), self.plan().most_groups());
        if groups <= u64::from(most) {
            return Ok(());
        }
        let reason = format!("a cooperative launch of {groups} work-groups; {most} can be in flight at once");
        Err(invalid(&self.kernel, LaunchFault::InFlight(reason)))
    }

    pub fn kernel(&self) -> &Arc<Kernel> {
        &self.kernel
    }

    pub fn range(&self) -> &Range {
        self.plan.range()
    }

    /// The value of an argument, as compiled code reads it.
    pub fn argument(&self, index: usize) -> &[u8] {
        self.arguments.get(&self.kernel.reflection().args[index])
    }

    /// Bytes of the local memory that an argument points to, if it points to some.
    pub fn local_bytes(&self, index: usize) -> Option<u64> {
        self.arguments.get_local(self.kernel.reflection(), index)
    }

    /// About how long it takes on one thread. `None` where nothing is known, or where what it took before says nothing
    /// about the next time: it may wait for something, or its loops go by other numbers.
    pub fn expected_time(&self) -> Option<Duration> {
        let is_by_data = self.plan.code().info().loop_inputs.data;
        if self.kernel.reflection().may_wait || is_by_data {
            return None;
        }
        self.plan().expected_time(self.numbers())
    }

    /// Stands for what says how long the kernel's loops are: the arguments that do, and how many work-items there are. Zero for a kernel
    /// without loops.
    fn numbers(&self) -> u64 {
        let kernel = self.kernel.reflection();
        if !kernel.has_loops {
            return 0;
        }
        *self.numbers.get_or_init(|| {
            let mut hasher = FxHasher::default();
            self.plan.range().hash(&mut hasher);
            let inputs = self.plan.code().info().loop_inputs.arguments;
            let args = kernel.args.iter().enumerate().filter(|(at, _)| inputs & LoopInputs::bit(*at) != 0);
            args.for_each(|(_, arg)| hasher.write(self.arguments.get(arg)));
            hasher.finish().max(1)
        })
    }
}

/// The code of another range, if it is that of this one too.
fn fitting_code<'a>(other: &'a Plan, executed: &Executed, ids: Ids) -> Option<&'a Arc<Code>> {
    let variant = other.code().variant();
    let fits = other.executed().group_size == executed.range.group_size
        && variant.ids == ids
        && variant.axis == executed.axis;
    fits.then(|| other.code().newest())
}

/// What ids and the lengths of rows are like in a launch with these arguments.
fn ids_of(kernel: &Kernel, executed: &Executed, arguments: &Arguments) -> Ids {
    Ids { rows: row_lengths(kernel, &executed.range, arguments), ..executed.range.ids() }
}

/// Which arguments are lengths of rows that full sub-groups of a launch fit into.
fn row_lengths(kernel: &Kernel, executed: &Range, arguments: &Arguments) -> RowLengths {
    kernel.row_lengths(executed.group_size, |divisor, zeros| {
        let argument = arguments.get(&kernel.reflection().args[divisor.argument]);
        let member = divisor.offset as usize..(divisor.offset + divisor.bytes) as usize;
        let Some(bytes) = argument.get(member) else { return false };
        let is_negative = bytes.last().is_some_and(|byte| *byte > i8::MAX as u8);
        let value = bytes.iter().rev().fold(0, |value: u64, byte| value << 8 | u64::from(*byte));
        value != 0 && !is_negative && value.trailing_zeros() >= zeros
    })
}

/// Checks a range and finds its code, perhaps that of another range.
fn plan(
    kernel: &Kernel,
    range: Range,
    arguments: &Arguments,
    other: Option<&Plan>,
) -> Result<Plan, EngineError> {
    let most = kernel.program().engine().config().max_group_count;
    if range.group_count.iter().zip(most).any(|(&count, most)| count > most) {
        let reason = format!("{:?} work-groups, the device takes {most:?}", range.group_count);
        return Err(invalid(kernel, LaunchFault::GroupCount(reason)));
    }
    let executed = kernel.executed(range);
    let ids = ids_of(kernel, &executed, arguments);
    let code = match other.and_then(|other| fitting_code(other, &executed, ids)) {
        Some(code) => Arc::clone(code),
        None => {
            let Executed { range, axis } = executed;
            kernel.code(Variant { ids, axis, ..kernel.variant(range.group_size) })?
        }
    };
    Plan::new(code, range, executed.range, arguments.local_bytes()).map_err(|fault| invalid(kernel, fault))
}

fn check_local_memory(kernel: &Kernel, needed: u64) -> Result<(), EngineError> {
    let limit = kernel.program().engine().config().max_local_bytes;
    if needed <= limit { Ok(()) } else { Err(invalid(kernel, LaunchFault::LocalMemory { needed, limit })) }
}

/// Whether an integer of this size may be given for an integer parameter of another: of a wider one the low bytes are
/// taken, a narrower one gets zeros. oneMKL gives 64-bit offsets for 32-bit parameters, and the conformance tests give 32
/// bits for 64; Intel's driver lets both pass.
fn is_other_integer(kernel: &Kernel, arg: &KernelArg, size: u64) -> bool {
    let integer = matches!(kernel.program().module().types.get(arg.ty), Type::Int { .. });
    integer && [1, 2, 4, 8].contains(&size)
}

fn invalid(kernel: &Kernel, fault: LaunchFault) -> EngineError {
    EngineError::InvalidLaunch { kernel: kernel.reflection().name.clone(), fault }
}

fn no_memory(kernel: &Kernel, what: &'static str, bytes: u64) -> EngineError {
    EngineError::OutOfMemory { kernel: kernel.reflection().name.clone(), what, bytes }
}

/// A launch in one piece, for programs that use the engine alone.
#[derive(Clone, Copy, Debug)]
pub struct Dispatch<'a> {
    /// Work-groups in each dimension. A zero makes the launch empty.
    pub group_count: [u32; 3],
    /// Work-items of a work-group in each dimension.
    pub group_size: [u32; 3],
    /// Global offset in each dimension, in work-items.
    pub global_offset: [u64; 3],
    /// The argument block ([`Kernel::arg_block_size`](spirv_env::Kernel::arg_block_size) bytes): every argument at its
    /// offset. The slot of a `LocalPointer` argument has the size of its local memory, in bytes, as a 64-bit number.
    pub args: &'a [u8],
}

impl Kernel {
    /// Everything that `dispatch` says, as a launch.
    pub fn capture(self: &Arc<Kernel>, dispatch: &Dispatch<'_>) -> Result<Box<Launch>, EngineError> {
        let mut setup = Setup::new(Arc::clone(self))?;
        setup.set_group_size(dispatch.group_size)?;
        setup.set_global_offset(dispatch.global_offset);
        for (arg, index) in self.reflection().args.iter().zip(0..) {
            let bytes =
                dispatch.args.get(arg.offset as usize..).and_then(|rest| rest.get(..arg.size as usize));
            let (bytes, missing) = (bytes.unwrap_or_default(), bytes.is_none());
            let size = bytes.iter().rev().fold(0, |size: usize, byte| size << 8 | usize::from(*byte));
            let is_local = arg.kind == ArgKind::LocalPointer && !missing;
            setup.set_argument(index, if is_local { Value::Size(size) } else { Value::Bytes(bytes) })?;
        }
        setup.launch(dispatch.group_count)
    }

    /// Runs the kernel and waits for its end. The calling thread takes part.
    pub fn launch(self: &Arc<Kernel>, dispatch: &Dispatch<'_>) -> Result<(), EngineError> {
        self.capture(dispatch)?.run()
    }
}
