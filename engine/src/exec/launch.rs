//! Compiled code, and what running it over a range of work-groups takes.

use super::arguments::Arguments;
use super::cooperative;
use super::failure::Failure;
use super::order::Order;
use super::promotion::Promotion;
use super::scheduler::{Cost, Job, Scheduler};
use super::trial::Trial;
use super::workgroup::Needs;
use crate::abi::{Axis, BundleEntry, CodeInfo, ENTRY_SYMBOL, Ids, LaunchInfo, RangeEntry, Variant};
use crate::error::{EngineError, LaunchFault};
use crate::jit::JitError;
use crate::jit::load::LoadedCode;
use crate::print::Buffer;
use std::sync::Arc;
use std::time::Duration;

/// Work-items along a dimension that vectors may be made of.
const LONG: u64 = 8;

/// The work-groups of a launch.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Range {
    /// Work-groups in each dimension. A zero makes the launch empty.
    pub group_count: [u32; 3],
    /// Work-items of a work-group in each dimension.
    pub group_size: [u32; 3],
    /// Global offset in each dimension, in work-items.
    pub global_offset: [u64; 3],
}

impl Range {
    /// What ids are like, with lengths of rows of which nothing is known.
    pub fn ids(&self) -> Ids {
        let is_large = |at: usize| {
            let size = u64::from(self.group_count[at]) * u64::from(self.group_size[at]);
            size.checked_add(self.global_offset[at]).is_none_or(|end| end >= 1 << 31)
        };
        let odd = !self.global_offset[0].is_multiple_of(Ids::ALIGNMENT);
        Ids { large: (0..3).any(is_large), odd, ..Ids::SMALL }
    }

    /// Whether there are more work-items along a dimension than a vector may have lanes, or nearly.
    pub fn is_long(&self, axis: Axis) -> bool {
        let at = axis.place();
        u64::from(self.group_count[at]) * u64::from(self.group_size[at]) >= LONG
    }

    /// Whether all work-items have the same place along x.
    pub fn is_column(&self) -> bool {
        self.group_count[0] == 1 && self.group_size[0] == 1
    }

    /// Dimensions that are in use: Level Zero launches always have three, most of size one.
    fn work_dim(&self) -> u32 {
        let used = |at: usize| self.group_count[at] > 1 || self.group_size[at] > 1;
        match (used(1), used(2)) {
            (_, true) => 3,
            (true, false) => 2,
            (false, false) => 1,
        }
    }
}

/// The entry point of compiled code.
#[derive(Clone, Copy)]
pub enum CompiledEntry {
    Range(RangeEntry),
    Bundle(BundleEntry),
}

/// Compiled code of a kernel variant, in memory.
pub struct Code {
    entry: CompiledEntry,
    info: CodeInfo,
    variant: Variant,
    /// What a work-group has cost so far.
    pub(super) cost: Cost,
    /// Whether other code is faster, of code that may have such.
    trial: Option<Trial>,
    /// Of code that better code may be made for.
    promotion: Option<Promotion>,
    /// Keeps the entry callable.
    loaded: Arc<LoadedCode>,
}

impl Code {
    pub fn new(loaded: LoadedCode, info: CodeInfo, variant: Variant) -> Result<Code, JitError> {
        let address = loaded.address(ENTRY_SYMBOL);
        let address = address.ok_or_else(|| JitError::MissingSymbol(ENTRY_SYMBOL.to_owned()))?;
        // SAFETY: lowering gives the symbol one of these two types, and says which in `info`.
        let entry = unsafe {
            if info.has_barrier {
                CompiledEntry::Bundle(std::mem::transmute::<*const u8, BundleEntry>(address))
            } else {
                CompiledEntry::Range(std::mem::transmute::<*const u8, RangeEntry>(address))
            }
        };
        let (loaded, cost) = (Arc::new(loaded), Cost::default());
        Ok(Code { entry, info, variant, cost, trial: None, promotion: None, loaded })
    }

    /// The same code, until there is better code.
    pub fn with_promotion(&self, promotion: Promotion) -> Code {
        let (loaded, cost) = (Arc::clone(&self.loaded), Cost::default());
        Code {
            entry: self.entry,
            info: self.info,
            variant: self.variant,
            cost,
            trial: None,
            promotion: Some(promotion),
            loaded,
        }
    }

    /// The same code, which finds out whether other code is faster.
    pub fn with_trial(self, trial: Trial) -> Code {
        Code { trial: Some(trial), ..self }
    }

    pub fn trial(&self) -> Option<&Trial> {
        self.trial.as_ref()
    }

    pub fn promotion(&self) -> Option<&Promotion> {
        self.promotion.as_ref()
    }

    /// The code that there is now for what this code does.
    pub fn newest(self: &Arc<Code>) -> &Arc<Code> {
        self.promotion().and_then(Promotion::better).unwrap_or(self)
    }

    pub fn entry(&self) -> CompiledEntry {
        self.entry
    }

    pub fn info(&self) -> &CodeInfo {
        &self.info
    }

    /// The code itself.
    pub(crate) fn loaded(&self) -> &LoadedCode {
        &self.loaded
    }

    /// What the code was made for. Its sub-groups run side by side as `info` says.
    pub fn variant(&self) -> Variant {
        self.variant
    }
}

/// Code and a range of work-groups, checked, with what each thread needs to run them.
#[derive(Clone)]
pub struct Plan {
    code: Arc<Code>,
    /// The launch's.
    range: Range,
    /// The same work-items in the groups that they are executed in.
    executed: Range,
    /// Of those, in all dimensions together.
    groups: u64,
    needs: Needs,
}

impl Plan {
    /// `executed` has the work-items of `range`, perhaps in other groups; `local_bytes` is what a work-group needs of local memory.
    pub fn new(
        code: Arc<Code>,
        range: Range,
        executed: Range,
        local_bytes: u64,
    ) -> Result<Plan, LaunchFault> {
        let product = |size: [u32; 3]| {
            size.into_iter().try_fold(1u64, |product, size| product.checked_mul(u64::from(size)))
        };
        let items = product(executed.group_size).and_then(|items| u32::try_from(items).ok());
        let items = items.filter(|items| *items > 0).ok_or_else(|| {
            LaunchFault::GroupSize(format!("a work-group of {:?} work-items", range.group_size))
        })?;
        // Where one count is zero, the others may be anything.
        let empty = executed.group_count.contains(&0);
        let groups =
            if empty { Some(0) } else { product(range.group_count).and(product(executed.group_count)) };
        let groups = groups.ok_or_else(|| {
            LaunchFault::GroupCount(format!("{:?} work-groups are more than 2^64", range.group_count))
        })?;
        let subgroups = u32::try_from(code.variant.subgroups(executed.group_size)).unwrap_or(items);
        let needs = Needs::of(&code, local_bytes, subgroups);
        let most = cooperative::most_groups(&code, &needs);
        if code.info.has_launch_barrier && groups > u64::from(most) {
            return Err(LaunchFault::InFlight(format!(
                "{groups} work-groups that wait for each other; {most} of them can be in flight at once"
            )));
        }
        Ok(Plan { code, range, executed, groups, needs })
    }

    pub fn code(&self) -> &Arc<Code> {
        &self.code
    }

    /// The same work-groups in better code, if there is some.
    pub fn better(&self) -> Option<Plan> {
        let better = self.code.promotion()?.better()?;
        Plan::new(Arc::clone(better), self.range, self.executed, self.needs.local_bytes).ok()
    }

    /// Whether there is better code.
    pub fn is_outdated(&self) -> bool {
        !Arc::ptr_eq(self.code.newest(), &self.code)
    }

    /// The launch's work-groups.
    pub fn range(&self) -> &Range {
        &self.range
    }

    /// The work-groups that are executed.
    pub fn executed(&self) -> &Range {
        &self.executed
    }

    /// The launch's work-groups in all dimensions together.
    pub fn groups(&self) -> u64 {
        self.range.group_count.into_iter().map(u64::from).fold(1, u64::saturating_mul)
    }

    fn items(&self) -> u64 {
        let size = self.executed.group_size.into_iter().map(u64::from).fold(1, u64::saturating_mul);
        self.groups.saturating_mul(size)
    }

    /// Work-groups that may be in flight at once.
    pub fn most_groups(&self) -> u32 {
        cooperative::most_groups(&self.code, &self.needs)
    }

    /// The same if code is made for work-groups of so many sub-groups, each of them with a stack.
    pub fn most_groups_of(&self, subgroups: u64) -> u32 {
        // The frames of other code may be larger.
        let stack_bytes = self.needs.stack_bytes.map(|bytes| bytes.saturating_mul(2));
        let subgroups = u32::try_from(subgroups).unwrap_or(u32::MAX).max(self.needs.subgroups);
        let needs = Needs { stack_bytes, ..Needs::of(&self.code, self.needs.local_bytes, subgroups) };
        cooperative::most_groups(&self.code, &Needs { bundles: subgroups, ..needs })
    }

    /// Bytes of local memory of a work-group.
    pub fn local_bytes(&self) -> u64 {
        self.needs.local_bytes
    }

    /// About how long it takes on one thread, from what its work-groups took before, with the same `numbers` ([`run`](Self::run)); `None`
    /// before the first.
    pub fn expected_time(&self, numbers: u64) -> Option<Duration> {
        self.code.cost.of_same(self.groups, numbers)
    }

    /// Runs all work-groups and waits for their end. `kernel` is for messages. `numbers` stand for what tells how long a work-group takes.
    /// What work-items print goes to `print`.
    pub fn run(
        &self,
        scheduler: &Scheduler,
        kernel: &str,
        arguments: &Arguments,
        numbers: u64,
        print: Option<&Buffer>,
    ) -> Result<(), EngineError> {
        if self.groups == 0 {
            return Ok(());
        }
        let info = LaunchInfo {
            args: arguments.as_ptr(),
            global_offset: self.executed.global_offset,
            group_count: self.executed.group_count,
            group_size: self.executed.group_size,
            work_dim: self.executed.work_dim(),
            subgroups: self.needs.subgroups,
            streams_from: if self.code.info.streams {
                scheduler.streams_from(self.items())
            } else {
                u32::MAX
            },
            print: print.map_or(std::ptr::null(), std::ptr::from_ref),
        };
        let failure = Failure::default();
        let job = Job {
            code: &self.code,
            info: &info,
            needs: self.needs,
            kernel,
            groups: self.groups,
            numbers,
            order: Order::new(self.executed.group_count, self.code.info.strip_height),
            failure: &failure,
        };
        // SAFETY: `info` describes this range for this code; the arguments live until the run has ended. That the
        // kernel's pointers are valid is up to the application, as on any device.
        unsafe {
            if self.code.info.has_launch_barrier {
                cooperative::run(scheduler, &job)?;
            } else {
                scheduler.run(&job)?;
            }
        }
        match failure.get() {
            Some(reason) => Err(EngineError::Failed { kernel: kernel.to_owned(), reason }),
            None => Ok(()),
        }
    }
}
