//! The driver, through the Level Zero loader.

use std::time::Instant;

use super::{Arg, Backend, Case, Prepared, Result};
use crate::{Buffer, CommandList, Kernel, ListOptions, Module, platform, spirv};

pub struct LevelZero;

struct Ready {
    kernel: Kernel,
    list: CommandList,
    groups: [u32; 3],
    buffers: Vec<Buffer<u8>>,
    _module: Module,
}

impl Backend for LevelZero {
    fn prepare(&self, case: &Case) -> Result<(Box<dyn Prepared>, Instant)> {
        let failed = |error: crate::Error| format!("{}: {error:?}", case.name);
        let buffers: Vec<Buffer<u8>> = case.buffers.iter().map(|data| platform().buffer(data)).collect();
        let words = spirv(case.module);
        let start = Instant::now();
        let module = Module::new(&words).map_err(failed)?;
        let kernel = module.try_kernel(case.kernel).map_err(failed)?;
        kernel.set_group_size(case.group_size).map_err(failed)?;
        for (arg, index) in case.args.iter().zip(0..) {
            match arg {
                Arg::Buffer(number) => {
                    kernel.set_bytes(index, &(buffers[*number].pointer() as usize).to_ne_bytes())
                }
                Arg::Value(bytes) => kernel.set_bytes(index, bytes),
                Arg::Local(bytes) => kernel.set_size(index, *bytes),
            }
            .map_err(failed)?;
        }
        let list = CommandList::immediate(ListOptions::synchronous()).map_err(failed)?;
        Ok((Box::new(Ready { kernel, list, groups: case.groups, buffers, _module: module }), start))
    }
}

impl Prepared for Ready {
    fn launch(&self) -> Result<()> {
        self.list.launch(&self.kernel, self.groups, None, &[]).map_err(|error| format!("{error:?}").into())
    }

    fn buffers(&self) -> Vec<&[u8]> {
        self.buffers.iter().map(|buffer| &buffer[..]).collect()
    }
}
