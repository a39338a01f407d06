//! Images in memory of others: file descriptors in and out, and reservations of addresses.

use std::ffi::c_void;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use ze_headers::*;
use ze_tests::images::{Around, Pitched, format, image_desc};
use ze_tests::{CommandList, Error, Image, ListOptions, Module, Result, platform};

use crate::virtual_memory::{PAGE, Physical, release, reserve, unmap};

const EXTENTS: [u32; 3] = [50, 7, 3];
const TEXELS: usize = 50 * 7 * 3;
const OPAQUE: u32 = ZE_EXTERNAL_MEMORY_TYPE_FLAG_OPAQUE_FD;
const DMA_BUF: u32 = ZE_EXTERNAL_MEMORY_TYPE_FLAG_DMA_BUF;

fn desc() -> ze_image_desc_t {
    let format = format(ZE_IMAGE_FORMAT_LAYOUT_32, ZE_IMAGE_FORMAT_TYPE_UINT);
    image_desc(ZE_IMAGE_TYPE_3D, format, EXTENTS)
}

fn exportable() -> Image {
    let export = ze_external_memory_export_desc_t {
        stype: ZE_STRUCTURE_TYPE_EXTERNAL_MEMORY_EXPORT_DESC,
        flags: OPAQUE,
        ..Default::default()
    };
    Image::new(&ze_image_desc_t { pNext: (&raw const export).cast(), ..desc() }).unwrap()
}

/// The descriptor of an image's memory, a duplicate of which is the caller's.
fn export(image: &Image, flags: u32) -> Result<OwnedFd> {
    let mut export = ze_external_memory_export_fd_t {
        stype: ZE_STRUCTURE_TYPE_EXTERNAL_MEMORY_EXPORT_FD,
        flags,
        fd: -1,
        ..Default::default()
    };
    let mut properties = ze_image_allocation_ext_properties_t {
        stype: ZE_STRUCTURE_TYPE_IMAGE_ALLOCATION_EXT_PROPERTIES,
        pNext: (&raw mut export).cast(),
        id: 0,
    };
    let platform = platform();
    // SAFETY: live handles and a valid chain.
    let code =
        unsafe { platform.api.zeImageGetAllocPropertiesExt(platform.context, image.handle, &mut properties) };
    platform.check("zeImageGetAllocPropertiesExt", code)?;
    assert_ne!(properties.id, 0);
    // SAFETY: a call on the descriptor, whose result is a new one.
    Ok(unsafe { OwnedFd::from_raw_fd(libc::fcntl(export.fd, libc::F_DUPFD_CLOEXEC, 3)) })
}

/// An image in the memory of a descriptor. What is imported belongs to the driver.
fn import(desc: &ze_image_desc_t, fd: OwnedFd, flags: u32) -> Result<Image> {
    let import = import_desc(fd.as_raw_fd(), flags);
    let image = Image::new(&ze_image_desc_t { pNext: (&raw const import).cast(), ..*desc })?;
    std::mem::forget(fd);
    Ok(image)
}

fn import_desc(fd: i32, flags: u32) -> ze_external_memory_import_fd_t {
    ze_external_memory_import_fd_t {
        stype: ZE_STRUCTURE_TYPE_EXTERNAL_MEMORY_IMPORT_FD,
        flags,
        fd,
        ..Default::default()
    }
}

fn list() -> CommandList {
    CommandList::immediate(ListOptions::synchronous()).unwrap()
}

fn write(image: &Image, texels: &[u32]) -> Result<()> {
    let from = texels.as_ptr().cast();
    // SAFETY: the list is synchronous, and there are as many texels.
    unsafe { list().image_copy_from_memory((image, None), from, [0; 2], Around::default()) }
}

fn read(image: &Image) -> Result<Vec<u32>> {
    let mut texels = vec![0u32; TEXELS];
    let to = texels.as_mut_ptr().cast();
    // SAFETY: as above.
    unsafe { list().image_copy_to_memory(to, (image, None), [0; 2], Around::default()) }?;
    Ok(texels)
}

fn numbers(seed: u32) -> Vec<u32> {
    (0..TEXELS as u32).map(|at| at.wrapping_mul(2_654_435_761) ^ seed).collect()
}

#[track_caller]
fn refused<T>(result: Result<T>, code: ze_result_t, reason: &str) {
    let Err(Error { code: found, reason: why, .. }) = result else { panic!("{reason}: it is accepted") };
    assert_eq!(found, code, "{why}");
    assert!(why.contains(reason), "{why}");
}

/// A command that cannot be executed.
#[track_caller]
fn fails<T>(result: Result<T>) {
    assert_eq!(result.err().map(|error| error.code), Some(ZE_RESULT_ERROR_DEVICE_LOST));
}

#[test]
fn images_go_through_file_descriptors() {
    let (one, texels) = (exportable(), numbers(1));
    write(&one, &texels).unwrap();
    let other = import(&desc(), export(&one, OPAQUE).unwrap(), OPAQUE).unwrap();
    assert_eq!(read(&other).unwrap(), texels);
    let texels = numbers(2);
    write(&other, &texels).unwrap();
    assert_eq!(read(&one).unwrap(), texels, "both are the same memory");
    drop(one);
    assert_eq!(read(&other).unwrap(), texels);
    // What was never said to be exported can be, as other memory.
    let plain = Image::new(&desc()).unwrap();
    write(&plain, &texels).unwrap();
    let fd = export(&plain, DMA_BUF).unwrap();
    let number = fd.as_raw_fd();
    let again = import(&desc(), fd, DMA_BUF).unwrap();
    // SAFETY: a call on a number.
    assert_eq!(unsafe { libc::fcntl(number, libc::F_GETFD) }, -1, "the driver has closed it");
    assert_eq!(read(&again).unwrap(), texels);
}

#[test]
fn kernels_read_images_in_memory_of_a_descriptor() {
    // Made by hand, as another process would: sealed memory, with rows that follow each other.
    let texels = numbers(3);
    // SAFETY: calls on a new descriptor; the texels are plain numbers.
    let fd = unsafe {
        let fd = OwnedFd::from_raw_fd(libc::memfd_create(c"texels".as_ptr(), libc::MFD_ALLOW_SEALING));
        assert_eq!(libc::ftruncate(fd.as_raw_fd(), 4 * 350), 0);
        assert_eq!(libc::fcntl(fd.as_raw_fd(), libc::F_ADD_SEALS, libc::F_SEAL_SHRINK), 0);
        assert_eq!(libc::pwrite(fd.as_raw_fd(), texels.as_ptr().cast(), 4 * 350, 0), 4 * 350);
        fd
    };
    let import_desc = import_desc(fd.as_raw_fd(), OPAQUE);
    let pitch = ze_custom_pitch_exp_desc_t {
        stype: ZE_STRUCTURE_TYPE_CUSTOM_PITCH_EXP_DESC,
        pNext: (&raw const import_desc).cast(),
        rowPitch: 200,
        slicePitch: 0,
    };
    let format = format(ZE_IMAGE_FORMAT_LAYOUT_32, ZE_IMAGE_FORMAT_TYPE_UINT);
    let desc = ze_image_desc_t {
        pNext: (&raw const pitch).cast(),
        ..image_desc(ZE_IMAGE_TYPE_2D, format, [50, 7, 1])
    };
    let image = Image::new(&desc).unwrap();
    std::mem::forget(fd);
    let out = platform().filled([7u32; 4], 350);
    let module = Module::named("image_arguments");
    let kernel = module.kernel("read_all");
    kernel.set_group_size([10, 1, 1]).unwrap();
    kernel.set_bytes(0, &(image.handle as usize).to_ne_bytes()).unwrap();
    kernel.set_bytes(1, &(out.pointer() as usize).to_ne_bytes()).unwrap();
    kernel.set_bytes(2, &50i32.to_ne_bytes()).unwrap();
    list().launch(&kernel, [5, 7, 1], None, &[]).unwrap();
    for (at, texel) in texels[..350].iter().enumerate() {
        assert_eq!(out[at], [*texel, 0, 0, 1], "{at}");
    }
}

#[test]
fn descriptors_that_hold_no_such_image_are_refused() {
    let one = exportable();
    let larger = image_desc(ZE_IMAGE_TYPE_3D, desc().format, [50, 7, 30]);
    let invalid = ZE_RESULT_ERROR_INVALID_ARGUMENT;
    refused(import(&larger, export(&one, OPAQUE).unwrap(), OPAQUE), invalid, "no memory of");
    let file = std::fs::File::open("/proc/self/exe").unwrap();
    refused(import(&desc(), file.into(), OPAQUE), invalid, "no memory of");
    let of_number = |fd| {
        let import = import_desc(fd, OPAQUE);
        Image::new(&ze_image_desc_t { pNext: (&raw const import).cast(), ..desc() })
    };
    for fd in [-1, 1 << 20] {
        refused(of_number(fd), invalid, "no memory of");
    }
    let heap = ZE_EXTERNAL_MEMORY_TYPE_FLAG_D3D12_HEAP;
    for flags in [0, heap] {
        let kind = ZE_RESULT_ERROR_UNSUPPORTED_ENUMERATION;
        refused(export(&one, flags), kind, "ze_external_memory_type_flags_t");
        let fd = export(&one, OPAQUE).unwrap();
        refused(import(&desc(), fd, flags), kind, "ze_external_memory_type_flags_t");
    }
    // One memory at a time, and views have their image's.
    let fd = export(&one, OPAQUE).unwrap();
    let link = import_desc(fd.as_raw_fd(), OPAQUE);
    let with_import = ze_image_desc_t { pNext: (&raw const link).cast(), ..desc() };
    let memory = platform().filled(0u32, 4096);
    let both = Image::in_memory(&with_import, memory.pointer().cast(), Pitched::default());
    refused(both, invalid, "in the program's memory and in that of a file descriptor");
    refused(one.view(&with_import), invalid, "a view has its image's memory");
    // An image in the middle of an allocation is the allocation's to export.
    // SAFETY: in the allocation.
    let inside = unsafe { memory.pointer().cast::<u8>().add(256) };
    let format = format(ZE_IMAGE_FORMAT_LAYOUT_32, ZE_IMAGE_FORMAT_TYPE_UINT);
    let small = image_desc(ZE_IMAGE_TYPE_2D, format, [16, 2, 1]);
    let inside = Image::in_memory(&small, inside.cast(), Pitched::default()).unwrap();
    refused(export(&inside, OPAQUE), invalid, "export the allocation");
}

#[test]
fn the_device_says_that_images_go_through_descriptors() {
    let mut memory = ze_device_external_memory_properties_t {
        stype: ZE_STRUCTURE_TYPE_DEVICE_EXTERNAL_MEMORY_PROPERTIES,
        ..Default::default()
    };
    // SAFETY: a live device.
    unsafe { platform().api.zeDeviceGetExternalMemoryProperties(platform().device, &mut memory) };
    assert_eq!((memory.imageImportTypes, memory.imageExportTypes), (OPAQUE | DMA_BUF, OPAQUE | DMA_BUF));
}

#[test]
fn images_are_in_reserved_memory_and_copies_look_whether_it_is_there() {
    let (first, second, at) = (Physical::device(PAGE), Physical::device(PAGE), reserve(4 * PAGE));
    let read_write = ZE_MEMORY_ACCESS_ATTRIBUTE_READWRITE;
    let make = || {
        let pitches = Pitched { row: 256, slice: 256 * 7 };
        Image::in_memory(&desc(), at.cast::<c_void>(), pitches)
    };
    // 5,320 bytes, of two mappings.
    first.map(at, PAGE, 0, read_write).unwrap();
    refused(make(), ZE_RESULT_ERROR_INVALID_SIZE, "the allocation has 4096");
    // SAFETY: in the reservation.
    let behind = unsafe { at.add(PAGE) };
    second.map(behind, PAGE, 0, read_write).unwrap();
    let (image, texels) = (make().unwrap(), numbers(4));
    write(&image, &texels).unwrap();
    assert_eq!(read(&image).unwrap(), texels);
    unmap(behind, PAGE).unwrap();
    fails(read(&image));
    fails(write(&image, &texels));
    second.map(behind, PAGE, 0, ZE_MEMORY_ACCESS_ATTRIBUTE_READONLY).unwrap();
    assert_eq!(read(&image).unwrap(), texels);
    fails(write(&image, &texels));
    let other = Image::new(&desc()).unwrap();
    list().image_copy(&other, &image, Around::default()).unwrap();
    assert_eq!(read(&other).unwrap(), texels);
    fails(list().image_copy(&image, &other, Around::default()));
    drop(image);
    release(at, 4 * PAGE).unwrap();
}
