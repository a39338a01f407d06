//! Copies between images, and between images and memory, against copies of boxes in plain arrays.

use std::ptr::null_mut;

use ze_headers::*;
use ze_tests::images::{Around, Pitched, format, image_desc, region_of};
use ze_tests::{CommandList, Error, EventPool, Image, ListOptions, MemoryKind, Queue, Random, platform};

const FOREVER: u64 = u64::MAX;
const NOTHING: Around = Around { done: None, wait: None };

/// A format for each size of a texel.
const TEXELS: [(ze_image_format_layout_t, usize); 8] = [
    (ZE_IMAGE_FORMAT_LAYOUT_8, 1),
    (ZE_IMAGE_FORMAT_LAYOUT_8_8, 2),
    (ZE_IMAGE_FORMAT_LAYOUT_8_8_8, 3),
    (ZE_IMAGE_FORMAT_LAYOUT_8_8_8_8, 4),
    (ZE_IMAGE_FORMAT_LAYOUT_16_16_16, 6),
    (ZE_IMAGE_FORMAT_LAYOUT_32_32, 8),
    (ZE_IMAGE_FORMAT_LAYOUT_32_32_32, 12),
    (ZE_IMAGE_FORMAT_LAYOUT_32_32_32_32, 16),
];

fn uint(layout: ze_image_format_layout_t) -> ze_image_format_t {
    format(layout, ZE_IMAGE_FORMAT_TYPE_UINT)
}

fn immediate() -> CommandList {
    CommandList::immediate(ListOptions::synchronous()).unwrap()
}

fn random_bytes(random: &mut Random, len: usize) -> Vec<u8> {
    (0..len).map(|_| random.next_u64() as u8).collect()
}

/// A box of bytes: rows of `row` bytes, `rows` of them in each of `slices`.
#[derive(Clone, Copy)]
struct Box3 {
    row: usize,
    rows: usize,
    slices: usize,
}

impl Box3 {
    fn bytes(self) -> usize {
        self.row * self.rows * self.slices
    }
}

/// Copies a box into another at an offset of bytes, rows and slices.
fn copy_box(to: &mut [u8], shape: Box3, at: [usize; 3], from: &[u8], part: Box3, pitches: [usize; 2]) {
    for z in 0..part.slices {
        for y in 0..part.rows {
            let source = &from[z * pitches[1] + y * pitches[0]..][..part.row];
            let target = ((at[2] + z) * shape.rows + at[1] + y) * shape.row + at[0];
            to[target..target + part.row].copy_from_slice(source);
        }
    }
}

/// Writes all of an image.
fn write(list: &CommandList, image: &Image, bytes: &[u8]) {
    // SAFETY: synchronous; the bytes are the image's.
    unsafe { list.image_copy_from_memory((image, None), bytes.as_ptr().cast(), [0; 2], NOTHING) }.unwrap();
}

/// Reads all of an image of so many bytes.
fn read(list: &CommandList, image: &Image, len: usize) -> Vec<u8> {
    let mut bytes = vec![0xa5; len];
    let to = bytes.as_mut_ptr().cast();
    // SAFETY: synchronous; the bytes are the image's.
    unsafe { list.image_copy_to_memory(to, (image, None), [0; 2], NOTHING) }.unwrap();
    bytes
}

#[track_caller]
fn refused(result: Result<(), Error>, code: ze_result_t, reason: &str) {
    let error = result.expect_err(reason);
    assert_eq!(error.code, code, "{error:?}");
    assert!(error.reason.contains(reason), "{error:?}");
}

/// The kinds with extents, as the API wants them, and rows and slices.
fn kinds() -> [(ze_image_type_t, [u32; 3], [usize; 2]); 5] {
    [
        (ZE_IMAGE_TYPE_1D, [37, 1, 1], [1, 1]),
        (ZE_IMAGE_TYPE_1DARRAY, [37, 5, 1], [1, 5]),
        (ZE_IMAGE_TYPE_2D, [37, 11, 1], [11, 1]),
        (ZE_IMAGE_TYPE_2DARRAY, [37, 11, 4], [11, 4]),
        (ZE_IMAGE_TYPE_3D, [37, 11, 4], [11, 4]),
    ]
}

#[test]
fn texels_come_back_as_they_went_in() {
    let (list, mut random) = (immediate(), Random::new(1));
    for (layout, texel) in TEXELS {
        for (kind, extents, [rows, slices]) in kinds() {
            let image = Image::new(&image_desc(kind, uint(layout), extents)).unwrap();
            let bytes = random_bytes(&mut random, 37 * texel * rows * slices);
            write(&list, &image, &bytes);
            assert!(read(&list, &image, bytes.len()) == bytes, "{kind:?} with {texel} bytes a texel");
        }
    }
}

#[test]
fn regions_are_copied_with_the_pitches_of_the_memory() {
    let (list, mut random) = (immediate(), Random::new(2));
    for (layout, texel) in TEXELS {
        for (kind, extents, [rows, slices]) in kinds() {
            let image = Image::new(&image_desc(kind, uint(layout), extents)).unwrap();
            let shape = Box3 { row: 37 * texel, rows, slices };
            let mut model = random_bytes(&mut random, shape.bytes());
            write(&list, &image, &model);
            for _ in 0..4 {
                let mut below = |most: usize| random.next_u64() as usize % most;
                let (x, y, z) = (below(37), below(rows), below(slices));
                let (width, height, depth) = (1 + below(37 - x), 1 + below(rows - y), 1 + below(slices - z));
                let part = Box3 { row: width * texel, rows: height, slices: depth };
                let row_pitch = part.row + below(9);
                // The layers of 1D arrays are the second coordinate of a region, and slices in memory.
                let array = kind == ZE_IMAGE_TYPE_1DARRAY;
                let at = |[x, y, z]: [usize; 3]| if array { [x, z, y] } else { [x, y, z] };
                let slice_pitch = row_pitch * height + below(3) * row_pitch;
                let region = region_of(
                    at([x, y, z]).map(|at| at as u32),
                    at([width, height, depth]).map(|size| size as u32),
                );
                let bytes = random_bytes(&mut random, slice_pitch * depth + row_pitch);
                let pitches = [row_pitch as u32, slice_pitch as u32];
                // SAFETY: synchronous; the memory has the region.
                unsafe {
                    let from = bytes.as_ptr().cast();
                    list.image_copy_from_memory((&image, Some(&region)), from, pitches, NOTHING).unwrap();
                }
                copy_box(&mut model, shape, [x * texel, y, z], &bytes, part, [row_pitch, slice_pitch]);
                assert!(read(&list, &image, model.len()) == model, "{kind:?} {region:?}");
                let mut out = vec![0xa5u8; bytes.len()];
                // SAFETY: as above.
                unsafe {
                    let to = out.as_mut_ptr().cast();
                    list.image_copy_to_memory(to, (&image, Some(&region)), pitches, NOTHING).unwrap();
                }
                for (at, byte) in out.iter().enumerate() {
                    let (z, rest) = (at / slice_pitch, at % slice_pitch);
                    let (y, x) = (rest / row_pitch, rest % row_pitch);
                    let inside = z < depth && y < height && x < part.row;
                    let want = if inside { bytes[at] } else { 0xa5 };
                    assert_eq!(*byte, want, "byte {at} of {region:?} with {pitches:?}");
                }
            }
        }
    }
}

#[test]
fn images_are_copied_to_images() {
    let (list, mut random) = (immediate(), Random::new(3));
    for (kind, extents, [rows, slices]) in kinds() {
        let desc = image_desc(kind, uint(ZE_IMAGE_FORMAT_LAYOUT_16_16), extents);
        let (from, to) = (Image::new(&desc).unwrap(), Image::new(&desc).unwrap());
        let shape = Box3 { row: 37 * 4, rows, slices };
        let (source, mut model) =
            (random_bytes(&mut random, shape.bytes()), random_bytes(&mut random, shape.bytes()));
        write(&list, &from, &source);
        write(&list, &to, &model);
        // The last 20 texels of the last row and slice to the first of the first.
        let extent = [20, 1, 1];
        let (last_row, last_slice) = (rows - 1, slices - 1);
        let array = kind == ZE_IMAGE_TYPE_1DARRAY;
        let origin = if array { [17, last_slice, 0] } else { [17, last_row, last_slice] };
        let (there, here) = (region_of([0; 3], extent), region_of(origin.map(|at| at as u32), extent));
        list.image_copy_region((&to, Some(&there)), (&from, Some(&here)), NOTHING).unwrap();
        let start = (last_slice * rows + last_row) * shape.row + 17 * 4;
        model[..80].copy_from_slice(&source[start..start + 80]);
        assert!(read(&list, &to, model.len()) == model, "{kind:?}");
        list.image_copy(&to, &from, NOTHING).unwrap();
        assert!(read(&list, &to, source.len()) == source, "{kind:?}");
    }
}

#[test]
fn a_region_may_be_missing_on_one_side() {
    let list = immediate();
    let desc = |width| image_desc(ZE_IMAGE_TYPE_2D, uint(ZE_IMAGE_FORMAT_LAYOUT_8), [width, 4, 1]);
    let (small, large) = (Image::new(&desc(4)).unwrap(), Image::new(&desc(8)).unwrap());
    let (of_small, of_large): (Vec<u8>, Vec<u8>) = ((0..16).collect(), (100..132).collect());
    write(&list, &small, &of_small);
    write(&list, &large, &of_large);
    let right = region_of([4, 0, 0], [4, 4, 1]);
    list.image_copy_region((&large, Some(&right)), (&small, None), NOTHING).unwrap();
    let mut model = of_large.clone();
    copy_box(
        &mut model,
        Box3 { row: 8, rows: 4, slices: 1 },
        [4, 0, 0],
        &of_small,
        Box3 { row: 4, rows: 4, slices: 1 },
        [4, 16],
    );
    assert_eq!(read(&list, &large, 32), model);
    let error = list.image_copy_region((&large, None), (&small, None), NOTHING);
    refused(error, ZE_RESULT_ERROR_INVALID_SIZE, "different sizes");
    refused(list.image_copy(&large, &small, NOTHING), ZE_RESULT_ERROR_INVALID_SIZE, "different sizes");
}

#[test]
fn regular_lists_copy_each_time_and_events_order_copies() {
    let desc = image_desc(ZE_IMAGE_TYPE_2D, uint(ZE_IMAGE_FORMAT_LAYOUT_32), [256, 256, 1]);
    let images = [Image::new(&desc).unwrap(), Image::new(&desc).unwrap()];
    let bytes = 256 * 256 * 4;
    let mut source = platform().filled(0u8, bytes);
    let target = platform().filled(0u8, bytes);
    let pool = EventPool::new(3, 0).unwrap();
    let events: Vec<_> = (0..3).map(|at| pool.event(at)).collect();
    let lists = [CommandList::regular(false).unwrap(), CommandList::regular(false).unwrap()];
    let [first, second] = &lists;
    let between = |done: usize, wait: usize| Around { done: Some(&events[done]), wait: Some(&events[wait]) };
    // SAFETY: the memory lives until all is done.
    unsafe {
        let from = source.pointer().cast();
        let start = Around { done: Some(&events[0]), wait: None };
        first.image_copy_from_memory((&images[0], None), from, [0; 2], start).unwrap();
        first.image_copy(&images[1], &images[0], between(1, 0)).unwrap();
        let end = between(2, 1);
        second.image_copy_to_memory(target.pointer().cast(), (&images[1], None), [0; 2], end).unwrap();
    }
    lists.iter().for_each(|list| list.close().unwrap());
    let queues =
        [Queue::new(ListOptions::asynchronous()).unwrap(), Queue::new(ListOptions::asynchronous()).unwrap()];
    for round in 1..=3u8 {
        source.fill(round);
        // The reader waits for the writer, whichever is submitted first.
        queues[1].execute(&[second], None).unwrap();
        queues[0].execute(&[first], None).unwrap();
        queues.iter().for_each(|queue| queue.synchronize(FOREVER).unwrap());
        assert!(target.iter().all(|byte| *byte == round), "round {round}");
        events.iter().for_each(|event| event.reset().unwrap());
    }
}

#[test]
fn images_may_be_destroyed_while_their_copies_wait() {
    let pool = EventPool::new(1, 0).unwrap();
    let gate = pool.event(0);
    let list = CommandList::immediate(ListOptions::in_order()).unwrap();
    let bytes = 512 * 512 * 4;
    let source: Vec<u8> = (0..bytes).map(|at| (at >> 3) as u8).collect();
    let target = platform().filled(0u8, bytes);
    {
        let desc = image_desc(ZE_IMAGE_TYPE_2D, uint(ZE_IMAGE_FORMAT_LAYOUT_32), [512, 512, 1]);
        let image = Image::new(&desc).unwrap();
        let view = image.view(&desc).unwrap();
        let wait = Around { done: None, wait: Some(&gate) };
        // SAFETY: the memory lives until all is done.
        unsafe {
            list.image_copy_from_memory((&image, None), source.as_ptr().cast(), [0; 2], wait).unwrap();
            list.image_copy_to_memory(target.pointer().cast(), (&view, None), [0; 2], NOTHING).unwrap();
        }
    }
    // What takes the place of the image's memory, if it was given back.
    let others: Vec<_> = (0..4).map(|_| platform().filled(0xeeu8, bytes)).collect();
    gate.signal().unwrap();
    list.synchronize(FOREVER).unwrap();
    assert!(*target == *source);
    assert!(others.iter().all(|other| other.iter().all(|byte| *byte == 0xee)));
}

#[test]
fn views_and_memory_show_the_same_texels() {
    let list = immediate();
    let memory = platform().allocate(MemoryKind::Shared, 128 * 8, 0).unwrap();
    let desc = image_desc(ZE_IMAGE_TYPE_2D, uint(ZE_IMAGE_FORMAT_LAYOUT_8_8_8_8), [20, 8, 1]);
    let image = Image::in_memory(&desc, memory, Pitched { row: 128, slice: 0 }).unwrap();
    let texels: Vec<u8> = (0..20 * 8 * 4).map(|at| at as u8).collect();
    write(&list, &image, &texels);
    let rows = |memory: *mut std::ffi::c_void| {
        // SAFETY: the allocation has 8 rows.
        let all = unsafe { std::slice::from_raw_parts(memory.cast::<u8>(), 128 * 8) };
        all.chunks(128).flat_map(|row| row[..80].to_vec()).collect::<Vec<u8>>()
    };
    assert_eq!(rows(memory), texels);
    let halves = image_desc(ZE_IMAGE_TYPE_2D, uint(ZE_IMAGE_FORMAT_LAYOUT_16), [40, 8, 1]);
    let view = image.view(&halves).unwrap();
    assert_eq!(read(&list, &view, texels.len()), texels);
    // SAFETY: the allocation has the byte.
    unsafe { memory.cast::<u8>().add(3 * 128 + 5).write(0xee) };
    assert_eq!(read(&list, &image, texels.len())[3 * 80 + 5], 0xee);
    drop((image, view));
    // SAFETY: nothing uses it any more.
    unsafe { platform().free(memory) }.unwrap();
}

#[test]
fn planar_images_are_copied_whole_and_their_planes_one_by_one() {
    let (list, mut random) = (immediate(), Random::new(5));
    for (layout, planes) in [
        (
            ZE_IMAGE_FORMAT_LAYOUT_NV12,
            &[(ZE_IMAGE_FORMAT_LAYOUT_8, 1, 0), (ZE_IMAGE_FORMAT_LAYOUT_8_8, 2, 1)][..],
        ),
        (
            ZE_IMAGE_FORMAT_LAYOUT_P010,
            &[(ZE_IMAGE_FORMAT_LAYOUT_16, 2, 0), (ZE_IMAGE_FORMAT_LAYOUT_16_16, 4, 1)],
        ),
        (ZE_IMAGE_FORMAT_LAYOUT_RGBP, &[(ZE_IMAGE_FORMAT_LAYOUT_8, 1, 0); 3]),
    ] {
        let desc = image_desc(ZE_IMAGE_TYPE_2D, uint(layout), [30, 14, 1]);
        let (first, second) = (Image::new(&desc).unwrap(), Image::new(&desc).unwrap());
        let views = |image: &Image| {
            let view = |(index, (layout, texel, halved)): (usize, &(_, usize, u32))| {
                let extents = [30 >> halved, 14 >> halved, 1];
                let view = image.plane(index as u32, &image_desc(ZE_IMAGE_TYPE_2D, uint(*layout), extents));
                (view.unwrap(), (extents[0] * extents[1]) as usize * texel)
            };
            planes.iter().enumerate().map(view).collect::<Vec<_>>()
        };
        let contents: Vec<Vec<u8>> = views(&first)
            .iter()
            .map(|(view, bytes)| {
                let content = random_bytes(&mut random, *bytes);
                write(&list, view, &content);
                content
            })
            .collect();
        list.image_copy(&second, &first, NOTHING).unwrap();
        for ((view, bytes), content) in views(&second).iter().zip(&contents) {
            assert!(read(&list, view, *bytes) == *content, "{layout:?}");
        }
        let mut byte = 0u8;
        // SAFETY: it is refused.
        let error =
            unsafe { list.image_copy_to_memory((&raw mut byte).cast(), (&first, None), [0; 2], NOTHING) };
        refused(error, ZE_RESULT_ERROR_UNSUPPORTED_IMAGE_FORMAT, "planes");
    }
}

#[test]
fn coordinates_that_an_image_does_not_have_are_not_looked_at() {
    let list = immediate();
    for (kind, extents, bytes) in [
        (ZE_IMAGE_TYPE_1D, [8, 1, 1], 8),
        (ZE_IMAGE_TYPE_1DARRAY, [8, 2, 1], 16),
        (ZE_IMAGE_TYPE_2D, [8, 2, 1], 16),
    ] {
        let image = Image::new(&image_desc(kind, uint(ZE_IMAGE_FORMAT_LAYOUT_8), extents)).unwrap();
        let content: Vec<u8> = (1..=bytes).collect();
        write(&list, &image, &content);
        let mut byte = 0u8;
        let beside = if kind == ZE_IMAGE_TYPE_1D { [3, 7, 7] } else { [3, 1, 7] };
        let region = region_of(beside, [1, 1, 9]);
        // SAFETY: synchronous; it is one texel.
        unsafe {
            let to = (&raw mut byte).cast();
            list.image_copy_to_memory(to, (&image, Some(&region)), [0; 2], NOTHING).unwrap();
        }
        assert_eq!(byte, if kind == ZE_IMAGE_TYPE_1D { 4 } else { 12 }, "{kind:?}");
    }
}

#[test]
fn regions_outside_of_the_image_are_refused() {
    let list = immediate();
    let mut bytes = vec![0u8; 4096];
    let size = ZE_RESULT_ERROR_INVALID_SIZE;
    for (kind, extents, regions) in [
        (ZE_IMAGE_TYPE_1D, [8, 1, 1], &[([1, 0, 0], [8, 1, 1]), ([0; 3], [9, 1, 1])][..]),
        (ZE_IMAGE_TYPE_1DARRAY, [8, 2, 1], &[([0, 1, 0], [8, 2, 1]), ([0, 2, 0], [8, 1, 1])]),
        (ZE_IMAGE_TYPE_2D, [8, 8, 1], &[([0, 1, 0], [8, 8, 1]), ([0; 3], [8, 9, 1])]),
        (ZE_IMAGE_TYPE_2DARRAY, [8, 8, 2], &[([0, 0, 1], [8, 8, 2]), ([0; 3], [9, 8, 1])]),
        (
            ZE_IMAGE_TYPE_3D,
            [8, 8, 2],
            &[([u32::MAX, 0, 0], [2, 1, 1]), ([0; 3], [u32::MAX; 3]), ([0, 0, u32::MAX], [1, 1, 1])],
        ),
    ] {
        let desc = image_desc(kind, uint(ZE_IMAGE_FORMAT_LAYOUT_8), extents);
        let (image, other) = (Image::new(&desc).unwrap(), Image::new(&desc).unwrap());
        for (origin, extent) in regions {
            let region = region_of(*origin, *extent);
            // SAFETY: they are refused.
            unsafe {
                let (to, from) = (bytes.as_mut_ptr().cast(), bytes.as_ptr().cast());
                refused(
                    list.image_copy_to_memory(to, (&image, Some(&region)), [0; 2], NOTHING),
                    size,
                    "region",
                );
                refused(
                    list.image_copy_from_memory((&image, Some(&region)), from, [0; 2], NOTHING),
                    size,
                    "region",
                );
            }
            let regions = ((&other, Some(&region)), (&image, Some(&region)));
            refused(list.image_copy_region(regions.0, regions.1, NOTHING), size, "region");
        }
    }
}

#[test]
fn a_region_of_nothing_signals_and_copies_nothing() {
    let list = immediate();
    let desc = image_desc(ZE_IMAGE_TYPE_2D, uint(ZE_IMAGE_FORMAT_LAYOUT_8), [8, 8, 1]);
    let (image, other) = (Image::new(&desc).unwrap(), Image::new(&desc).unwrap());
    write(&list, &other, &[7; 64]);
    let pool = EventPool::new(1, 0).unwrap();
    let event = pool.event(0);
    let nothing = region_of([0; 3], [0; 3]);
    let around = Around { done: Some(&event), wait: None };
    list.image_copy_region((&other, Some(&nothing)), (&image, Some(&nothing)), around).unwrap();
    event.wait(FOREVER).unwrap();
    assert_eq!(read(&list, &other, 64), [7; 64]);
}

#[test]
fn copies_that_cannot_be_are_refused_with_a_reason() {
    let list = immediate();
    let of = |layout, extents| Image::new(&image_desc(ZE_IMAGE_TYPE_3D, uint(layout), extents)).unwrap();
    let image = of(ZE_IMAGE_FORMAT_LAYOUT_8, [8, 8, 4]);
    let other = of(ZE_IMAGE_FORMAT_LAYOUT_16, [8, 8, 4]);
    let error = list.image_copy(&other, &image, NOTHING);
    refused(error, ZE_RESULT_ERROR_INVALID_ARGUMENT, "different formats");
    let (left, near) = (region_of([0; 3], [4, 4, 2]), region_of([3, 3, 1], [4, 4, 2]));
    let error = list.image_copy_region((&image, Some(&near)), (&image, Some(&left)), NOTHING);
    refused(error, ZE_RESULT_ERROR_OVERLAPPING_REGIONS, "overlap");
    let right = region_of([4, 0, 0], [4, 4, 2]);
    list.image_copy_region((&image, Some(&right)), (&image, Some(&left)), NOTHING).unwrap();
    let wider = region_of([0; 3], [5, 4, 2]);
    let error = list.image_copy_region((&image, Some(&wider)), (&image, Some(&left)), NOTHING);
    refused(error, ZE_RESULT_ERROR_INVALID_SIZE, "different sizes");
    let mut bytes = vec![0u8; 4096];
    let to = bytes.as_mut_ptr().cast();
    // SAFETY: they are refused.
    unsafe {
        let slices = list.image_copy_to_memory(to, (&image, None), [8, 63], NOTHING);
        refused(slices, ZE_RESULT_ERROR_INVALID_SIZE, "slice pitch of 63");
        let nowhere = list.image_copy_to_memory(null_mut(), (&image, None), [0; 2], NOTHING);
        refused(nowhere, ZE_RESULT_ERROR_INVALID_NULL_POINTER, "dstptr");
        let far = (usize::MAX - 10) as *const std::ffi::c_void;
        let beyond = list.image_copy_from_memory((&image, None), far, [0; 2], NOTHING);
        refused(beyond, ZE_RESULT_ERROR_INVALID_SIZE, "address space");
    }
    let destroyed = of(ZE_IMAGE_FORMAT_LAYOUT_8, [8, 8, 4]).handle;
    let code = |to, from| {
        // SAFETY: the driver looks at nothing behind a handle that is none.
        unsafe {
            platform().api.zeCommandListAppendImageCopy(list.handle, to, from, null_mut(), 0, null_mut())
        }
    };
    assert_eq!(code(image.handle, destroyed), ZE_RESULT_ERROR_INVALID_ARGUMENT);
    assert_eq!(code(null_mut(), image.handle), ZE_RESULT_ERROR_INVALID_NULL_HANDLE);
}

#[test]
fn a_2d_copy_ignores_the_slice_pitch_and_may_have_rows_that_share_bytes() {
    let list = immediate();
    let desc = image_desc(ZE_IMAGE_TYPE_2D, uint(ZE_IMAGE_FORMAT_LAYOUT_8), [4, 3, 1]);
    let image = Image::new(&desc).unwrap();
    write(&list, &image, &[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]);
    let mut bytes = [0u8; 16];
    let to = bytes.as_mut_ptr().cast();
    // SAFETY: the rows are inside.
    unsafe { list.image_copy_to_memory(to, (&image, None), [2, 1], NOTHING) }.unwrap();
    assert_eq!(bytes, [1, 2, 5, 6, 9, 10, 11, 12, 0, 0, 0, 0, 0, 0, 0, 0]);
}
