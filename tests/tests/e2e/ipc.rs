//! Memory that two processes have, by IPC handles and file descriptors. The other process is `src/bin/ipc.rs`.

use std::ffi::c_void;
use std::io::{BufRead, BufReader, Write};
use std::os::fd::{AsRawFd, FromRawFd, IntoRawFd, OwnedFd};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::ptr;

use ze_headers::*;
use ze_tests::loader::{ALT_DRIVERS_VARIABLE, driver_path};
use ze_tests::{CommandList, ListOptions, MemoryKind, Random, Result, platform};

/// Another process, which does what it is told.
pub struct Other {
    child: Child,
    answers: BufReader<ChildStdout>,
}

impl Other {
    pub fn start() -> Other {
        Other::start_as(None)
    }

    fn start_as(user: Option<u32>) -> Other {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ipc"));
        command.args(user.map(|user| user.to_string())).env(ALT_DRIVERS_VARIABLE, driver_path());
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("the program runs");
        let answers = BufReader::new(child.stdout.take().expect("a pipe"));
        Other { child, answers }
    }

    pub fn id(&self) -> u32 {
        self.child.id()
    }

    pub fn tell(&mut self, command: &str) {
        writeln!(self.child.stdin.as_mut().expect("a pipe"), "{command}").expect("it reads");
    }

    pub fn answer(&mut self) -> String {
        let mut answer = String::new();
        self.answers.read_line(&mut answer).expect("text");
        assert!(answer.ends_with('\n'), "the other process has ended");
        answer.trim_end().to_owned()
    }

    pub fn ask(&mut self, command: &str) -> String {
        self.tell(command);
        self.answer()
    }

    fn open(&mut self, handle: &ze_ipc_mem_handle_t) -> String {
        self.ask(&format!("open {}", digits(&handle.data)))
    }
}

impl Drop for Other {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        let status = self.child.wait().expect("it ends");
        assert!(std::thread::panicking() || status.success(), "{status}");
    }
}

pub fn digits(bytes: &[std::ffi::c_char; 64]) -> String {
    bytes.iter().map(|byte| format!("{:02x}", *byte as u8)).collect()
}

fn get(address: *const c_void) -> Result<ze_ipc_mem_handle_t> {
    let mut handle = ze_ipc_mem_handle_t::default();
    // SAFETY: a live context; the pointer is only looked up.
    let code = unsafe { platform().api.zeMemGetIpcHandle(platform().context, address, &mut handle) };
    platform().check("zeMemGetIpcHandle", code).map(|()| handle)
}

fn open(handle: ze_ipc_mem_handle_t) -> Result<*mut u8> {
    let (platform, mut memory) = (platform(), ptr::null_mut());
    // SAFETY: live handles.
    let code =
        unsafe { platform.api.zeMemOpenIpcHandle(platform.context, platform.device, handle, 0, &mut memory) };
    platform.check("zeMemOpenIpcHandle", code).map(|()| memory.cast())
}

fn close(memory: *mut u8) -> Result<()> {
    // SAFETY: a live context.
    let code = unsafe { platform().api.zeMemCloseIpcHandle(platform().context, memory.cast_const().cast()) };
    platform().check("zeMemCloseIpcHandle", code)
}

fn put(handle: ze_ipc_mem_handle_t) -> Result<()> {
    // SAFETY: a live context.
    let code = unsafe { platform().api.zeMemPutIpcHandle(platform().context, handle) };
    platform().check("zeMemPutIpcHandle", code)
}

fn code<T>(result: Result<T>) -> ze_result_t {
    result.err().map_or(ZE_RESULT_SUCCESS, |error| error.code)
}

#[test]
fn another_process_reads_and_writes_the_memory_of_a_handle() {
    let mut other = Other::start();
    for kind in [MemoryKind::Device, MemoryKind::Host, MemoryKind::Shared] {
        for bytes in [1usize, 5000, 1 << 20, (5 << 20) + 3] {
            let memory = platform().allocate(kind, bytes, 0).unwrap().cast::<u8>();
            // SAFETY: the allocation has these bytes.
            unsafe { memory.write_bytes(7, bytes) };
            let handle = get(memory.cast()).unwrap();
            let number = other.open(&handle);
            let last = bytes - 1;
            assert_eq!(other.ask(&format!("read {number} {last}")), "7", "{kind:?}, {bytes} bytes");
            assert_eq!(other.ask(&format!("write {number} {last} 9")), "done");
            // SAFETY: in the allocation.
            assert_eq!(unsafe { *memory.add(last) }, 9, "{kind:?}, {bytes} bytes");
            // SAFETY: as above.
            unsafe { *memory = 11 };
            assert_eq!(other.ask(&format!("read {number} 0")), "11");
            assert_eq!(other.ask(&format!("close {number}")), "done");
            put(handle).unwrap();
            // SAFETY: nobody uses the memory.
            unsafe { platform().free(memory.cast()) }.unwrap();
        }
    }
}

#[test]
fn a_handle_may_be_put_behind_its_memory() {
    let memory = platform().allocate(MemoryKind::Device, 5000, 0).unwrap();
    let handle = get(memory).unwrap();
    // SAFETY: nobody uses the memory.
    unsafe { platform().free(memory) }.unwrap();
    put(handle).unwrap();
    assert!(open(handle).is_err());
    assert_eq!(code(put(ze_ipc_mem_handle_t::default())), ZE_RESULT_ERROR_INVALID_ARGUMENT);
}

#[test]
fn a_handle_is_opened_more_than_once_and_closed_in_any_order() {
    let memory = platform().allocate(MemoryKind::Device, 100_000, 0).unwrap().cast::<u8>();
    // SAFETY: the allocation has these bytes.
    unsafe { memory.write_bytes(1, 100_000) };
    let handles = [get(memory.cast()).unwrap(), get(memory.cast()).unwrap()];
    let opened = [handles[0], handles[1], handles[0]].map(|handle| open(handle).unwrap());
    assert!(opened[0] != opened[1] && opened[1] != opened[2] && opened[2] != opened[0]);
    assert!(!opened.contains(&memory));
    // SAFETY: all are the same memory.
    unsafe {
        *opened[1].add(99_999) = 5;
        assert!(opened.iter().all(|opened| *opened.add(99_999) == 5) && *memory.add(99_999) == 5);
    }
    let (mut base, mut size) = (ptr::null_mut(), 0);
    // SAFETY: a live context; the pointer is only looked up.
    let found = unsafe {
        let inside = opened[2].add(70_000).cast_const().cast();
        platform().api.zeMemGetAddressRange(platform().context, inside, &mut base, &mut size)
    };
    assert_eq!((found, base.cast(), size), (ZE_RESULT_SUCCESS, opened[2], 100_000));
    close(opened[1]).unwrap();
    assert_eq!(code(close(opened[1])), ZE_RESULT_ERROR_INVALID_ARGUMENT, "it is closed");
    assert_eq!(code(close(memory)), ZE_RESULT_ERROR_INVALID_ARGUMENT, "it was not opened");
    // SAFETY: it is closed another way.
    assert!(unsafe { platform().free(opened[0].cast()) }.is_err());
    // The exporting side first.
    put(handles[0]).unwrap();
    put(handles[1]).unwrap();
    put(handles[0]).expect("once more is no error");
    // SAFETY: it is used by its other addresses only.
    unsafe { platform().free(memory.cast()) }.unwrap();
    // SAFETY: the memory is there as long as somebody has it open.
    unsafe { assert_eq!((*opened[0], *opened[2].add(99_999)), (1, 5)) };
    close(opened[2]).unwrap();
    close(opened[0]).unwrap();
}

#[test]
fn who_still_has_freed_memory_open_does_not_write_to_what_is_allocated_next() {
    for bytes in [4096usize, 3 << 20] {
        let memory = platform().allocate(MemoryKind::Device, bytes, 0).unwrap().cast::<u8>();
        let opened = open(get(memory.cast()).unwrap()).unwrap();
        // SAFETY: the other address is not freed.
        unsafe { platform().free(memory.cast()) }.unwrap();
        let next: Vec<_> = (0..64)
            .map(|_| platform().allocate(MemoryKind::Device, bytes, 0).unwrap().cast::<u8>())
            .collect();
        // SAFETY: all of it is live.
        unsafe {
            next.iter().for_each(|next| next.write_bytes(1, bytes));
            opened.write_bytes(2, bytes);
            assert!(next.iter().all(|next| **next == 1 && *next.add(bytes - 1) == 1));
            next.into_iter().for_each(|next| platform().free(next.cast()).unwrap());
        }
        close(opened).unwrap();
    }
}

#[test]
fn memory_moves_while_kernels_and_copies_write_to_it() {
    // Each address is counted up by copies of a second thread, while a handle of the memory is made for the first time.
    for round in 0..20usize {
        let bytes = if round % 2 == 0 { 64 << 10 } else { 4 << 20 };
        let memory = platform().allocate(MemoryKind::Device, bytes, 0).unwrap().cast::<u8>();
        // SAFETY: the allocation has these bytes.
        unsafe { memory.write_bytes(0, bytes) };
        let at = memory as usize;
        let writer = std::thread::spawn(move || {
            let list = CommandList::immediate(ListOptions::synchronous()).unwrap();
            for step in 0..2000usize {
                let (value, to) = (1u8, (at + step * (bytes / 2000)) as *mut c_void);
                // SAFETY: in the allocation.
                unsafe { list.copy(to, (&raw const value).cast(), 1, None, &[]) }.unwrap();
            }
        });
        let handle = get(memory.cast()).unwrap();
        writer.join().unwrap();
        // SAFETY: nobody writes any more.
        let lost = (0..2000).filter(|step| unsafe { *memory.add(step * (bytes / 2000)) } != 1).count();
        assert_eq!(lost, 0, "round {round}");
        put(handle).unwrap();
        // SAFETY: nobody uses the memory.
        unsafe { platform().free(memory.cast()) }.unwrap();
    }
}

#[test]
fn handles_are_had_for_the_start_of_memory_only() {
    let memory = platform().allocate(MemoryKind::Device, 8192, 0).unwrap();
    let local = 5u32;
    for address in [memory.wrapping_byte_add(4096).cast_const(), ptr::from_ref(&local).cast()] {
        assert_eq!(code(get(address)), ZE_RESULT_ERROR_INVALID_ARGUMENT, "{address:p}");
    }
    assert_eq!(code(get(ptr::null())), ZE_RESULT_ERROR_INVALID_NULL_POINTER);
    // SAFETY: nobody uses the memory.
    unsafe { platform().free(memory) }.unwrap();
}

#[test]
fn forged_handles_open_nothing_that_is_not_there() {
    let bytes = 3 * 4096;
    let memory = platform().allocate(MemoryKind::Device, bytes, 0).unwrap();
    let handle = get(memory).unwrap();
    let mut random = Random::new(5);
    // Every byte changed alone, then many at random, then nothing of ours.
    for round in 0..64 * 4 + 2000 {
        let mut forged = handle;
        let data = &mut forged.data;
        match round {
            0..256 => data[round / 4] ^= [1, 0x40, -128, -1][round % 4],
            256..1256 => (0..4).for_each(|_| data[random.next_u32() as usize % 64] = random.next_u32() as i8),
            _ => data.iter_mut().for_each(|byte| *byte = random.next_u32() as i8),
        }
        let Ok(opened) = open(forged) else { continue };
        // What is opened is whole pages of this very memory.
        let mut range = (ptr::null_mut(), 0);
        // SAFETY: a live context; the pointer is only looked up.
        let found = unsafe {
            let address = opened.cast_const().cast();
            platform().api.zeMemGetAddressRange(platform().context, address, &mut range.0, &mut range.1)
        };
        assert_eq!(found, ZE_RESULT_SUCCESS);
        assert!(range.1 > 0 && range.1 <= bytes, "{} bytes", range.1);
        // SAFETY: it says that it has these bytes.
        unsafe { opened.write_bytes(3, range.1) };
        close(opened).unwrap();
    }
    put(handle).unwrap();
    // SAFETY: nobody uses the memory.
    unsafe { platform().free(memory) }.unwrap();
    assert_eq!(code(open(handle)), ZE_RESULT_ERROR_INVALID_ARGUMENT, "the memory is gone");
}

#[test]
fn another_user_opens_nothing() {
    // SAFETY: a call without arguments.
    if unsafe { libc::geteuid() } != 0 {
        // Only root can become another user.
        return;
    }
    let memory = platform().allocate(MemoryKind::Device, 4096, 0).unwrap();
    let handle = get(memory).unwrap();
    let mut other = Other::start_as(Some(65_534));
    let answer = other.open(&handle);
    assert!(answer.starts_with("error"), "{answer}");
    drop(other);
    // And the other way round: memory that another user made, in a handle for root.
    // SAFETY: the name is terminated.
    let fd = unsafe { libc::memfd_create(c"theirs".as_ptr(), libc::MFD_CLOEXEC | libc::MFD_ALLOW_SEALING) };
    // SAFETY: a new descriptor.
    let theirs = unsafe { OwnedFd::from_raw_fd(fd) };
    // SAFETY: calls on the descriptor.
    unsafe {
        assert_eq!(libc::ftruncate(theirs.as_raw_fd(), 4096), 0);
        assert_eq!(libc::fcntl(theirs.as_raw_fd(), libc::F_ADD_SEALS, libc::F_SEAL_SHRINK), 0);
        assert_eq!(libc::fchown(theirs.as_raw_fd(), 65_534, 65_534), 0);
    }
    let mut imported = ptr::null_mut();
    assert_eq!(import(theirs.as_raw_fd(), 4096, &mut imported), ZE_RESULT_ERROR_INVALID_ARGUMENT);
    // SAFETY: nobody uses the memory.
    unsafe { platform().free(memory) }.unwrap();
}

/// Imports a descriptor as device memory.
fn import(fd: i32, bytes: usize, memory: &mut *mut c_void) -> ze_result_t {
    let import = ze_external_memory_import_fd_t {
        stype: ZE_STRUCTURE_TYPE_EXTERNAL_MEMORY_IMPORT_FD,
        flags: ZE_EXTERNAL_MEMORY_TYPE_FLAG_OPAQUE_FD as _,
        fd,
        ..Default::default()
    };
    let desc = ze_device_mem_alloc_desc_t {
        stype: ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC,
        pNext: (&raw const import).cast(),
        ..Default::default()
    };
    let platform = platform();
    // SAFETY: live handles and a valid chain.
    unsafe { platform.api.zeMemAllocDevice(platform.context, &desc, bytes, 0, platform.device, memory) }
}

/// The descriptor of an allocation, a duplicate of which is the caller's.
fn export(memory: *mut c_void, flags: u32) -> Result<OwnedFd> {
    let mut export = ze_external_memory_export_fd_t {
        stype: ZE_STRUCTURE_TYPE_EXTERNAL_MEMORY_EXPORT_FD,
        flags,
        ..Default::default()
    };
    let mut properties = ze_memory_allocation_properties_t {
        stype: ZE_STRUCTURE_TYPE_MEMORY_ALLOCATION_PROPERTIES,
        pNext: (&raw mut export).cast(),
        ..Default::default()
    };
    let platform = platform();
    // SAFETY: a live context and a valid chain.
    let code = unsafe {
        platform.api.zeMemGetAllocProperties(platform.context, memory, &mut properties, ptr::null_mut())
    };
    platform.check("zeMemGetAllocProperties", code)?;
    // SAFETY: a call on the descriptor, whose result is a new one.
    Ok(unsafe { OwnedFd::from_raw_fd(libc::fcntl(export.fd, libc::F_DUPFD_CLOEXEC, 3)) })
}

#[test]
fn memory_goes_through_a_file_descriptor() {
    let export_desc = ze_external_memory_export_desc_t {
        stype: ZE_STRUCTURE_TYPE_EXTERNAL_MEMORY_EXPORT_DESC,
        flags: ZE_EXTERNAL_MEMORY_TYPE_FLAG_DMA_BUF as _,
        ..Default::default()
    };
    let desc = ze_device_mem_alloc_desc_t {
        stype: ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC,
        pNext: (&raw const export_desc).cast(),
        ..Default::default()
    };
    let (platform, mut memory, mut again) = (platform(), ptr::null_mut(), ptr::null_mut());
    // SAFETY: live handles and a valid chain.
    let code = unsafe {
        platform.api.zeMemAllocDevice(platform.context, &desc, 10_000, 0, platform.device, &mut memory)
    };
    platform.check("zeMemAllocDevice", code).unwrap();
    let fd = export(memory, ZE_EXTERNAL_MEMORY_TYPE_FLAG_DMA_BUF as _).unwrap();
    let number = fd.as_raw_fd();
    assert_eq!(import(number, 20_000, &mut again), ZE_RESULT_ERROR_INVALID_ARGUMENT, "it is smaller");
    assert_eq!(import(number, 10_000, &mut again), ZE_RESULT_SUCCESS);
    // The driver has closed it.
    std::mem::forget(fd);
    // SAFETY: a call on a number.
    assert_eq!(unsafe { libc::fcntl(number, libc::F_GETFD) }, -1);
    // SAFETY: both are the same memory.
    unsafe {
        *memory.cast::<u8>().add(9999) = 3;
        assert_eq!(*again.cast::<u8>().add(9999), 3);
        platform.free(memory).unwrap();
        assert_eq!(*again.cast::<u8>().add(9999), 3);
        platform.free(again).unwrap();
    }
    // As large as it is.
    let exported = platform.allocate(MemoryKind::Device, 10_000, 0).unwrap();
    let fd = export(exported, ZE_EXTERNAL_MEMORY_TYPE_FLAG_OPAQUE_FD as _).unwrap().into_raw_fd();
    assert_eq!(import(fd, 0, &mut again), ZE_RESULT_SUCCESS);
    // SAFETY: both are the same memory.
    unsafe {
        *exported.cast::<u8>().add(9999) = 5;
        assert_eq!(*again.cast::<u8>().add(9999), 5);
        platform.free(exported).unwrap();
        platform.free(again).unwrap();
    }
    let file = std::fs::File::open("/proc/self/exe").unwrap();
    for (number, bytes) in
        [(-1, 64), (1 << 20, 64), (file.as_raw_fd(), 64), (0, 64), (-1, 0), (file.as_raw_fd(), 0)]
    {
        assert_eq!(import(number, bytes, &mut again), ZE_RESULT_ERROR_INVALID_ARGUMENT, "{number}");
    }
    let plain = platform.allocate(MemoryKind::Device, 64, 0).unwrap();
    for flags in [0, ZE_EXTERNAL_MEMORY_TYPE_FLAG_D3D12_HEAP as _] {
        assert_eq!(code_of_export(plain, flags), ZE_RESULT_ERROR_UNSUPPORTED_ENUMERATION);
    }
    // SAFETY: nobody uses the memory.
    unsafe { platform.free(plain) }.unwrap();
}

fn code_of_export(memory: *mut c_void, flags: u32) -> ze_result_t {
    code(export(memory, flags))
}

#[test]
fn handles_and_file_descriptors_stand_for_the_same_memory() {
    let memory = platform().allocate(MemoryKind::Device, 4096, 0).unwrap();
    let handle = get(memory).unwrap();
    let (platform, mut fd, mut of_fd) = (platform(), 0, ze_ipc_mem_handle_t::default());
    // SAFETY: live handles.
    unsafe {
        let context = platform.context;
        let code = platform.api.zeMemGetFileDescriptorFromIpcHandleExp(context, handle, &mut fd);
        platform.check("zeMemGetFileDescriptorFromIpcHandleExp", code).unwrap();
        let code = platform.api.zeMemGetIpcHandleFromFileDescriptorExp(context, fd, &mut of_fd);
        platform.check("zeMemGetIpcHandleFromFileDescriptorExp", code).unwrap();
        let opened = open(of_fd).unwrap();
        *memory.cast::<u8>() = 77;
        assert_eq!(*opened, 77);
        close(opened).unwrap();
        for fd in [u64::MAX, 1 << 40, 1 << 20] {
            let code = platform.api.zeMemGetIpcHandleFromFileDescriptorExp(context, fd, &mut of_fd);
            assert_eq!(code, ZE_RESULT_ERROR_INVALID_ARGUMENT);
        }
        // A descriptor and nothing else, which is all that oneCCL keeps of a handle.
        let bare = |fd: i32| {
            let mut bare = ze_ipc_mem_handle_t::default();
            bare.data[..4].copy_from_slice(&fd.to_ne_bytes().map(|byte| byte as std::ffi::c_char));
            bare
        };
        let opened = open(bare(fd as i32)).unwrap();
        assert_eq!(*opened, 77);
        close(opened).unwrap();
        // Who reads it from a socket need not clear the rest.
        let mut unclear = bare(fd as i32);
        unclear.data[4..].fill(0x5a);
        let opened = open(unclear).unwrap();
        assert_eq!(*opened, 77);
        close(opened).unwrap();
        // A handle of something else is none of memory, whatever file it names.
        let mut other = bare(fd as i32);
        other.data[4..8].copy_from_slice(&b"zCe1".map(|byte| byte as std::ffi::c_char));
        assert_eq!(open(other).expect_err("it is another kind's").code, ZE_RESULT_ERROR_INVALID_ARGUMENT);
        let file = std::fs::File::open("/proc/self/exe").unwrap();
        for fd in [0, -1, 1 << 20, file.as_raw_fd()] {
            let refused = open(bare(fd)).expect_err("it is no memory");
            assert_eq!(refused.code, ZE_RESULT_ERROR_INVALID_ARGUMENT, "{fd}");
        }
        put(of_fd).unwrap();
        put(handle).unwrap();
        platform.free(memory).unwrap();
    }
}
