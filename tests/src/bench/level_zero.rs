//! The driver, through the Level Zero loader, and another one beside it, such as yesterday's.

use std::mem::ManuallyDrop;
use std::path::Path;
use std::time::Instant;

use ze_headers::*;

use super::{Arg, Backend, Case, ImageArg, Prepared, Result, Texels};
use crate::images::{Around, format, image_desc};
use crate::platform::on;
use crate::{Api, Buffer, CommandList, Image, Kernel, ListOptions, Module, Platform, platform, spirv};

pub struct LevelZero {
    name: &'static str,
    platform: &'static Platform,
}

impl LevelZero {
    /// The driver that the loader finds.
    pub fn driver() -> LevelZero {
        LevelZero { name: "driver", platform: platform() }
    }

    /// A driver that is opened without a loader.
    pub fn other(library: &Path) -> Result<LevelZero> {
        let platform = Platform::initialise(Api::open(library)?).map_err(|error| format!("{error:?}"))?;
        Ok(LevelZero { name: "other", platform: Box::leak(Box::new(platform)) })
    }
}

/// A case on one of the platforms.
struct Ready {
    platform: &'static Platform,
    objects: ManuallyDrop<Objects>,
}

struct Objects {
    kernels: Vec<(Kernel, [u32; 3])>,
    list: CommandList,
    copies: CommandList,
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
    fn name(&self) -> &'static str {
        self.name
    }

    fn version(&self) -> String {
        let version = concat!("ze_cpu ", env!("CARGO_PKG_VERSION"));
        self.platform.device_name().map_or(version.to_owned(), |name| format!("{version}, {name}"))
    }

    fn prepare(&self, case: &Case) -> Result<Option<(Box<dyn Prepared>, Instant)>> {
        let (objects, start) = on(self.platform, || Objects::of(case))?;
        Ok(Some((Box::new(Ready { platform: self.platform, objects: ManuallyDrop::new(objects) }), start)))
    }
}

impl Objects {
    /// What a case needs, and when its building began.
    fn of(case: &Case) -> Result<(Objects, Instant)> {
        let failed = |error: crate::Error| format!("{}: {error:?}", case.name);
        let buffers: Vec<Buffer<u8>> = case.buffers.iter().map(|data| platform().buffer(data)).collect();
        let copies = CommandList::immediate(ListOptions::synchronous()).map_err(failed)?;
        let mut images = Vec::new();
        for arg in case.launches.iter().flat_map(|launch| &launch.args) {
            if let Arg::Image(arg) = arg {
                images.push((arg.buffer, image(arg, &copies, &buffers[arg.buffer]).map_err(failed)?));
            }
        }
        let mut of_arguments = images.iter();
        let words = spirv(case.module);
        let start = Instant::now();
        let module = Module::new(&words).map_err(failed)?;
        let mut kernels = Vec::new();
        for launch in &case.launches {
            let kernel = module.try_kernel(launch.kernel).map_err(failed)?;
            kernel.set_group_size(launch.group_size).map_err(failed)?;
            for (arg, index) in launch.args.iter().zip(0..) {
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
            kernels.push((kernel, launch.groups));
        }
        // One launch is waited for by the call itself; several are one stream, as in OpenCL.
        let options = if kernels.len() == 1 { ListOptions::synchronous() } else { ListOptions::in_order() };
        let list = CommandList::immediate(options).map_err(failed)?;
        Ok((Objects { kernels, list, copies, buffers, images, _module: module }, start))
    }

    fn launch(&self) -> Result<()> {
        let failed = |error: crate::Error| format!("{error:?}");
        for (kernel, groups) in &self.kernels {
            self.list.launch(kernel, *groups, None, &[]).map_err(failed)?;
        }
        if self.kernels.len() > 1 {
            self.list.synchronize(u64::MAX).map_err(failed)?;
        }
        Ok(())
    }

    fn buffers(&self) -> Vec<&[u8]> {
        for (buffer, image) in &self.images {
            let to = self.buffers[*buffer].pointer();
            // SAFETY: the buffer has all texels, nobody looks at it, and the list is synchronous.
            unsafe { self.copies.image_copy_to_memory(to.cast(), (image, None), [0; 2], Around::default()) }
                .expect("a copy of all texels");
        }
        self.buffers.iter().map(|buffer| &buffer[..]).collect()
    }
}

impl Prepared for Ready {
    fn launch(&self) -> Result<()> {
        on(self.platform, || self.objects.launch())
    }

    fn buffers(&self) -> Vec<&[u8]> {
        on(self.platform, || self.objects.buffers())
    }
}

impl Drop for Ready {
    fn drop(&mut self) {
        // SAFETY: nobody uses the objects behind this.
        on(self.platform, || unsafe { ManuallyDrop::drop(&mut self.objects) });
    }
}
