//! The driver, through the Level Zero loader.

use std::time::Instant;

use super::{Arg, Backend, Case, ImageArg, Prepared, Result, Texels};
use crate::images::{Around, format, image_desc};
use crate::{Buffer, CommandList, Image, Kernel, ListOptions, Module, platform, spirv};
use ze_headers::*;

pub struct LevelZero;

struct Ready {
    kernel: Kernel,
    list: CommandList,
    groups: [u32; 3],
    buffers: Vec<Buffer<u8>>,
    images: Vec<(usize, Image)>,
    _module: Module,
}

/// An image with the contents of a buffer.
fn image(arg: &ImageArg, list: &CommandList, buffer: &Buffer<u8>) -> crate::Result<Image> {
    let format = match arg.texels {
        Texels::Rgba8 => format(ZE_IMAGE_FORMAT_LAYOUT_8_8_8_8, ZE_IMAGE_FORMAT_TYPE_UNORM),
        Texels::RgbaFloat => format(ZE_IMAGE_FORMAT_LAYOUT_32_32_32_32, ZE_IMAGE_FORMAT_TYPE_FLOAT),
    };
    let image = Image::new(&image_desc(ZE_IMAGE_TYPE_2D, format, [arg.width, arg.height, 1]))?;
    // SAFETY: the buffer has all texels, and the list has run the copy when this returns.
    unsafe {
        list.image_copy_from_memory((&image, None), buffer.pointer().cast(), [0; 2], Around::default())?;
    }
    Ok(image)
}

impl Backend for LevelZero {
    fn prepare(&self, case: &Case) -> Result<(Box<dyn Prepared>, Instant)> {
        let failed = |error: crate::Error| format!("{}: {error:?}", case.name);
        let buffers: Vec<Buffer<u8>> = case.buffers.iter().map(|data| platform().buffer(data)).collect();
        let list = CommandList::immediate(ListOptions::synchronous()).map_err(failed)?;
        let mut images = Vec::new();
        for arg in &case.args {
            if let Arg::Image(arg) = arg {
                images.push((arg.buffer, image(arg, &list, &buffers[arg.buffer]).map_err(failed)?));
            }
        }
        let words = spirv(case.module);
        let start = Instant::now();
        let module = Module::new(&words).map_err(failed)?;
        let kernel = module.try_kernel(case.kernel).map_err(failed)?;
        kernel.set_group_size(case.group_size).map_err(failed)?;
        let mut of_arguments = images.iter();
        for (arg, index) in case.args.iter().zip(0..) {
            match arg {
                Arg::Image(_) => {
                    let (_, image) = of_arguments.next().expect("an image for each argument");
                    kernel.set_bytes(index, &(image.handle as usize).to_ne_bytes())
                }
                Arg::Buffer(number) => {
                    kernel.set_bytes(index, &(buffers[*number].pointer() as usize).to_ne_bytes())
                }
                Arg::Value(bytes) => kernel.set_bytes(index, bytes),
                Arg::Local(bytes) => kernel.set_size(index, *bytes),
            }
            .map_err(failed)?;
        }
        Ok((Box::new(Ready { kernel, list, groups: case.groups, buffers, images, _module: module }), start))
    }
}

impl Prepared for Ready {
    fn launch(&self) -> Result<()> {
        self.list.launch(&self.kernel, self.groups, None, &[]).map_err(|error| format!("{error:?}").into())
    }

    fn buffers(&self) -> Vec<&[u8]> {
        for (buffer, image) in &self.images {
            let to = self.buffers[*buffer].pointer();
            // SAFETY: the buffer has all texels, nobody looks at it, and the list is synchronous.
            unsafe { self.list.image_copy_to_memory(to.cast(), (image, None), [0; 2], Around::default()) }
                .expect("a copy of all texels");
        }
        self.buffers.iter().map(|buffer| &buffer[..]).collect()
    }
}
