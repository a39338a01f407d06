//! Mutable command lists: launches that change between executions.

use std::ffi::c_void;
use std::ptr;

use ze_headers::*;
use ze_tests::{Event, EventPool, Kernel, ListOptions, Module, Queue, Result, platform};

const ITEMS: usize = 256;

/// A mutable list, which destroys itself.
struct List(ze_command_list_handle_t);

impl Drop for List {
    fn drop(&mut self) {
        // SAFETY: nothing of it executes.
        unsafe { platform().api.zeCommandListDestroy(self.0) };
    }
}

impl List {
    fn new() -> List {
        let mutable = ze_mutable_command_list_exp_desc_t {
            stype: ZE_STRUCTURE_TYPE_MUTABLE_COMMAND_LIST_EXP_DESC,
            ..Default::default()
        };
        let desc = ze_command_list_desc_t {
            stype: ZE_STRUCTURE_TYPE_COMMAND_LIST_DESC,
            pNext: (&raw const mutable).cast(),
            ..Default::default()
        };
        let (platform, mut list) = (platform(), ptr::null_mut());
        // SAFETY: live handles and a valid chain.
        let code =
            unsafe { platform.api.zeCommandListCreate(platform.context, platform.device, &desc, &mut list) };
        platform.check("zeCommandListCreate", code).unwrap();
        List(list)
    }

    fn id(&self, flags: u32, kernels: &[&Kernel]) -> Result<u64> {
        let desc = ze_mutable_command_id_exp_desc_t {
            stype: ZE_STRUCTURE_TYPE_MUTABLE_COMMAND_ID_EXP_DESC,
            flags,
            ..Default::default()
        };
        let (mut kernels, mut id): (Vec<_>, _) = (kernels.iter().map(|kernel| kernel.handle).collect(), 0);
        // SAFETY: live handles.
        let code = unsafe {
            let (count, kernels) = (kernels.len() as u32, kernels.as_mut_ptr());
            platform().api.zeCommandListGetNextCommandIdWithKernelsExp(self.0, &desc, count, kernels, &mut id)
        };
        platform().check("zeCommandListGetNextCommandIdWithKernelsExp", code).map(|()| id)
    }

    fn launch(&self, kernel: &Kernel, groups: u32, signal: Option<&Event>, waits: &[&Event]) {
        let count = ze_group_count_t { groupCountX: groups, groupCountY: 1, groupCountZ: 1 };
        let signal = signal.map_or(ptr::null_mut(), |event| event.handle);
        let mut waits: Vec<_> = waits.iter().map(|event| event.handle).collect();
        // SAFETY: live handles.
        let code = unsafe {
            let (wait_count, waits) = (waits.len() as u32, waits.as_mut_ptr());
            platform().api.zeCommandListAppendLaunchKernel(
                self.0,
                kernel.handle,
                &count,
                signal,
                wait_count,
                waits,
            )
        };
        platform().check("zeCommandListAppendLaunchKernel", code).unwrap();
    }

    fn close(&self) {
        // SAFETY: a live list.
        let code = unsafe { platform().api.zeCommandListClose(self.0) };
        platform().check("zeCommandListClose", code).unwrap();
    }

    fn submit(&self, queue: &Queue) {
        let mut list = self.0;
        // SAFETY: live handles.
        let code = unsafe {
            let fence = ptr::null_mut();
            platform().api.zeCommandQueueExecuteCommandLists(queue.handle, 1, &mut list, fence)
        };
        platform().check("zeCommandQueueExecuteCommandLists", code).unwrap();
    }

    fn run(&self, queue: &Queue) {
        self.submit(queue);
        queue.synchronize(u64::MAX).unwrap();
    }

    fn update(&self, chain: *const c_void) -> Result<()> {
        let desc = ze_mutable_commands_exp_desc_t {
            stype: ZE_STRUCTURE_TYPE_MUTABLE_COMMANDS_EXP_DESC,
            pNext: chain,
            ..Default::default()
        };
        // SAFETY: a live list and a valid chain.
        let code = unsafe { platform().api.zeCommandListUpdateMutableCommandsExp(self.0, &desc) };
        platform().check("zeCommandListUpdateMutableCommandsExp", code)?;
        self.close();
        Ok(())
    }

    fn signal(&self, id: u64, event: Option<&Event>) -> Result<()> {
        let event = event.map_or(ptr::null_mut(), |event| event.handle);
        // SAFETY: live handles.
        let code =
            unsafe { platform().api.zeCommandListUpdateMutableCommandSignalEventExp(self.0, id, event) };
        platform().check("zeCommandListUpdateMutableCommandSignalEventExp", code)
    }

    fn waits(&self, id: u64, events: Option<&[Option<&Event>]>) -> Result<()> {
        let handle = |event: &Option<&Event>| event.map_or(ptr::null_mut(), |event| event.handle);
        let mut handles: Vec<_> = events.unwrap_or_default().iter().map(handle).collect();
        let array = if events.is_some() { handles.as_mut_ptr() } else { ptr::null_mut() };
        // SAFETY: live handles.
        let code = unsafe {
            let count = handles.len() as u32;
            platform().api.zeCommandListUpdateMutableCommandWaitEventsExp(self.0, id, count, array)
        };
        platform().check("zeCommandListUpdateMutableCommandWaitEventsExp", code)
    }

    fn kernel(&self, id: u64, kernel: &Kernel) -> Result<()> {
        let (mut id, mut kernel) = (id, kernel.handle);
        // SAFETY: live handles.
        let code = unsafe {
            platform().api.zeCommandListUpdateMutableCommandKernelsExp(self.0, 1, &mut id, &mut kernel)
        };
        platform().check("zeCommandListUpdateMutableCommandKernelsExp", code)
    }
}

fn argument<T>(id: u64, index: u32, value: &T, next: *const c_void) -> ze_mutable_kernel_argument_exp_desc_t {
    ze_mutable_kernel_argument_exp_desc_t {
        stype: ZE_STRUCTURE_TYPE_MUTABLE_KERNEL_ARGUMENT_EXP_DESC,
        pNext: next,
        commandId: id,
        argIndex: index,
        argSize: size_of::<T>(),
        pArgValue: ptr::from_ref(value).cast(),
    }
}

fn code<T>(result: Result<T>) -> Option<ze_result_t> {
    result.err().map(|error| error.code)
}

#[test]
fn arguments_counts_and_sizes_change_between_executions() {
    let (queue, list) = (Queue::new(ListOptions::asynchronous()).unwrap(), List::new());
    let (x, y) = (platform().filled(1.0f32, ITEMS), platform().filled(0.0f32, ITEMS));
    let (other, kernel) = (platform().filled(10.0f32, ITEMS), Module::named("saxpy").kernel("saxpy"));
    kernel.set_group_size([64, 1, 1]).unwrap();
    kernel.set_arguments(&[&2.0f32, &x, &y, &(ITEMS as u32)]).unwrap();
    let ids = [list.id(0, &[]).unwrap(), list.id(0, &[]).unwrap()];
    assert_ne!(ids[0], ids[1]);
    let id = ids[1];
    list.launch(&kernel, 4, None, &[]);
    // One that is not mutable, behind it.
    list.launch(&kernel, 0, None, &[]);
    list.close();
    list.run(&queue);
    assert!(y.iter().all(|&y| y == 2.0));
    // Everything of one launch in one chain; the kernel's own arguments stay.
    let items = 100u32;
    let count = ze_group_count_t { groupCountX: 10, groupCountY: 1, groupCountZ: 1 };
    let size = ze_mutable_group_size_exp_desc_t {
        stype: ZE_STRUCTURE_TYPE_MUTABLE_GROUP_SIZE_EXP_DESC,
        commandId: id,
        groupSizeX: 8,
        groupSizeY: 1,
        groupSizeZ: 1,
        ..Default::default()
    };
    let count = ze_mutable_group_count_exp_desc_t {
        stype: ZE_STRUCTURE_TYPE_MUTABLE_GROUP_COUNT_EXP_DESC,
        pNext: (&raw const size).cast(),
        commandId: id,
        pGroupCount: &count,
    };
    let (factor, from) = (3.0f32, other.pointer());
    let last = argument(id, 3, &items, (&raw const count).cast());
    let source = argument(id, 1, &from, (&raw const last).cast());
    let first = argument(id, 0, &factor, (&raw const source).cast());
    list.update((&raw const first).cast()).unwrap();
    list.run(&queue);
    // 80 work-items of 100, of other memory.
    assert!(y.iter().enumerate().all(|(at, &y)| y == if at < 80 { 32.0 } else { 2.0 }));
    // An error in the chain changes nothing of what came before it.
    let wrong = argument(id, 9, &factor, ptr::null());
    let first = argument(id, 0, &1000.0f32, (&raw const wrong).cast());
    assert_eq!(code(list.update((&raw const first).cast())), Some(ZE_RESULT_ERROR_INVALID_ARGUMENT));
    list.run(&queue);
    assert!(y.iter().enumerate().all(|(at, &y)| y == if at < 80 { 62.0 } else { 2.0 }));
    kernel.run_1d(ITEMS, 64, &[&1.0f32, &x, &y, &(ITEMS as u32)]);
    assert_eq!((y[0], y[255]), (63.0, 3.0));
}

#[test]
fn an_execution_under_way_keeps_what_it_was_submitted_with() {
    let (queue, list) = (Queue::new(ListOptions::asynchronous()).unwrap(), List::new());
    let pool = EventPool::host_visible(1);
    let (gate, x) = (pool.event(0), platform().filled(1.0f32, ITEMS));
    let (first, second) = (platform().filled(0.0f32, ITEMS), platform().filled(0.0f32, ITEMS));
    let kernel = Module::named("saxpy").kernel("saxpy");
    kernel.set_group_size([64, 1, 1]).unwrap();
    kernel.set_arguments(&[&1.0f32, &x, &first, &(ITEMS as u32)]).unwrap();
    let id = list.id(ZE_MUTABLE_COMMAND_EXP_FLAG_KERNEL_ARGUMENTS, &[]).unwrap();
    list.launch(&kernel, 4, None, &[&gate]);
    list.close();
    list.submit(&queue);
    let to = second.pointer();
    let change = argument(id, 2, &to, ptr::null());
    list.update((&raw const change).cast()).unwrap();
    list.submit(&queue);
    gate.signal().unwrap();
    queue.synchronize(u64::MAX).unwrap();
    assert!((first[9], second[9]) == (1.0, 1.0), "{} {}", first[9], second[9]);
}

#[test]
fn events_change_too() {
    let (queue, list) = (Queue::new(ListOptions::asynchronous()).unwrap(), List::new());
    let pool = EventPool::host_visible(4);
    let [gate, next_gate, done, next_done] = [0, 1, 2, 3].map(|index| pool.event(index));
    let (x, y) = (platform().filled(1.0f32, ITEMS), platform().filled(0.0f32, ITEMS));
    let kernel = Module::named("saxpy").kernel("saxpy");
    kernel.set_group_size([64, 1, 1]).unwrap();
    kernel.set_arguments(&[&1.0f32, &x, &y, &(ITEMS as u32)]).unwrap();
    let id = list.id(0, &[]).unwrap();
    list.launch(&kernel, 4, Some(&done), &[&gate]);
    list.close();
    assert_eq!(code(list.waits(id, Some(&[]))), Some(ZE_RESULT_ERROR_INVALID_SIZE));
    assert_eq!(code(list.waits(id, Some(&[None, None]))), Some(ZE_RESULT_ERROR_INVALID_SIZE));
    list.waits(id, Some(&[Some(&next_gate)])).unwrap();
    list.signal(id, Some(&next_done)).unwrap();
    list.close();
    list.submit(&queue);
    gate.signal().unwrap();
    assert_eq!(code(next_done.wait(2_000_000)), Some(ZE_RESULT_NOT_READY));
    next_gate.signal().unwrap();
    next_done.wait(u64::MAX).unwrap();
    assert!(!done.is_signalled());
    next_gate.reset().unwrap();
    next_done.reset().unwrap();
    // No event to wait for, in both ways, and none to signal.
    for waits in [Some([None].as_slice()), None] {
        list.waits(id, waits).unwrap();
        list.signal(id, None).unwrap();
        list.close();
        list.run(&queue);
    }
    assert!(!done.is_signalled() && !next_done.is_signalled() && y[0] == 3.0);
}

#[test]
fn kernels_are_exchanged_among_those_that_were_named() {
    let (queue, list) = (Queue::new(ListOptions::asynchronous()).unwrap(), List::new());
    let module = Module::named("saxpy");
    let (x, y) = (platform().filled(1.0f32, ITEMS), platform().filled(0.0f32, ITEMS));
    let [kernel, other, stranger] = [2.0f32, 5.0, 7.0].map(|factor| {
        let kernel = module.kernel("saxpy");
        kernel.set_group_size([64, 1, 1]).unwrap();
        kernel.set_arguments(&[&factor, &x, &y, &(ITEMS as u32)]).unwrap();
        kernel
    });
    let flags = ZE_MUTABLE_COMMAND_EXP_FLAG_KERNEL_INSTRUCTION | ZE_MUTABLE_COMMAND_EXP_FLAG_KERNEL_ARGUMENTS;
    let id = list.id(flags, &[&kernel, &other]).unwrap();
    list.launch(&kernel, 4, None, &[]);
    list.close();
    list.run(&queue);
    assert_eq!(code(list.kernel(id, &stranger)), Some(ZE_RESULT_ERROR_INVALID_KERNEL_HANDLE));
    list.kernel(id, &other).unwrap();
    list.close();
    list.run(&queue);
    assert!(y.iter().all(|&y| y == 7.0));
    // What was not announced cannot change.
    let event = EventPool::host_visible(1).event(0);
    assert_eq!(code(list.signal(id, Some(&event))), Some(ZE_RESULT_ERROR_INVALID_ARGUMENT));
    for id in [0, id + 1, u64::MAX] {
        let chain = argument(id, 0, &1.0f32, ptr::null());
        assert_eq!(code(list.update((&raw const chain).cast())), Some(ZE_RESULT_ERROR_INVALID_ARGUMENT));
    }
    assert_eq!(code(list.id(0, &[])), Some(ZE_RESULT_ERROR_INVALID_ARGUMENT), "it is closed");
    let plain = List(ze_tests::CommandList::regular(false).map(std::mem::ManuallyDrop::new).unwrap().handle);
    assert_eq!(code(plain.id(0, &[])), Some(ZE_RESULT_ERROR_INVALID_ARGUMENT), "it is not mutable");
    assert_eq!(code(List::new().id(0x100, &[])), Some(ZE_RESULT_ERROR_INVALID_ENUMERATION));
}
