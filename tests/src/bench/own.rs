//! Kernels of a file of one's own. Lines of it say how they are launched:
//!
//! ```c
//! //@ saxpy | 1048576 | 256 | float=2 float*1048576 float*1048576:-1..1
//! ```
//!
//! Behind the kernel's name come the work-items and those of a work-group, each in one to three numbers, and the arguments:
//! `TYPE=VALUE` for a number, `TYPE*COUNT` for a buffer of random ones, and `local*BYTES`. A buffer can say what is in it:
//! `:A..B` random numbers from A to below B, `:xA` multiples of A from 0 on, `:A` only that number. Types are OpenCL C's scalars.
//! A buffer's results are compared with those of the first who computed them.
//!
//! A file of OpenCL C (`.cl`) is built; of one in another language the SPIR-V that its own compiler made of it lies beside it.

use std::cell::RefCell;
use std::fs;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::{Arg, Case, Result};
use crate::Random;

/// A kind of number, by its name in OpenCL C.
#[derive(Clone, Copy, PartialEq)]
struct Type {
    bytes: usize,
    float: bool,
    signed: bool,
}

impl Type {
    fn named(name: &str) -> Option<Type> {
        let integer = |bytes, signed| Type { bytes, float: false, signed };
        let float = |bytes| Type { bytes, float: true, signed: true };
        Some(match name {
            "char" => integer(1, true),
            "uchar" => integer(1, false),
            "short" => integer(2, true),
            "ushort" => integer(2, false),
            "int" => integer(4, true),
            "uint" => integer(4, false),
            "long" => integer(8, true),
            "ulong" => integer(8, false),
            "float" => float(4),
            "double" => float(8),
            _ => return None,
        })
    }

    /// Adds a number's bytes.
    fn put(self, value: f64, to: &mut Vec<u8>) {
        match (self.float, self.bytes) {
            (true, 4) => to.extend((value as f32).to_le_bytes()),
            (true, _) => to.extend(value.to_le_bytes()),
            (false, bytes) => to.extend(&(value as i128).to_le_bytes()[..bytes]),
        }
    }

    /// The number behind its bytes.
    fn number(self, bytes: &[u8]) -> f64 {
        let mut whole = [0; 8];
        whole[..self.bytes].copy_from_slice(bytes);
        match (self.float, self.bytes) {
            (true, 4) => f64::from(f32::from_bits(u64::from_le_bytes(whole) as u32)),
            (true, _) => f64::from_le_bytes(whole),
            (false, _) => u64::from_le_bytes(whole) as f64,
        }
    }

    /// The range of random numbers where none is given: all integers, and floating-point numbers from 0 to 1.
    fn range(self) -> (f64, f64) {
        match (self.float, self.signed) {
            (true, _) => (0.0, 1.0),
            (false, signed) => {
                let values = 2f64.powi(8 * self.bytes as i32);
                if signed { (-values / 2.0, values / 2.0) } else { (0.0, values) }
            }
        }
    }
}

#[derive(Clone, Copy)]
enum Content {
    Random(f64, f64),
    Multiples(f64),
}

enum Argument {
    Number(Vec<u8>),
    Buffer(Type, usize, Content),
    Local(usize),
}

/// One launch of a kernel.
pub struct Spec {
    kernel: &'static str,
    items: [u32; 3],
    group: [u32; 3],
    arguments: Vec<Argument>,
}

/// A file, and its SPIR-V in a folder that goes with it.
pub struct File {
    folder: PathBuf,
    module: &'static str,
    pub specs: Vec<Spec>,
}

fn argument(text: &str) -> Option<Argument> {
    if let Some((name, value)) = text.split_once('=') {
        let mut bytes = Vec::new();
        Type::named(name)?.put(value.parse().ok()?, &mut bytes);
        return Some(Argument::Number(bytes));
    }
    let (name, rest) = text.split_once('*')?;
    if name == "local" {
        return Some(Argument::Local(rest.parse().ok()?));
    }
    let kind = Type::named(name)?;
    let (count, content) =
        rest.split_once(':').map_or((rest, None), |(count, content)| (count, Some(content)));
    let content = match content {
        None => Content::Random(kind.range().0, kind.range().1),
        Some(content) => {
            if let Some((low, high)) = content.split_once("..") {
                Content::Random(low.parse().ok()?, high.parse().ok()?)
            } else if let Some(step) = content.strip_prefix('x') {
                Content::Multiples(step.parse().ok()?)
            } else {
                let only = content.parse().ok()?;
                Content::Random(only, only)
            }
        }
    };
    Some(Argument::Buffer(kind, count.parse().ok()?, content))
}

/// One to three numbers; those that are not there are 1.
fn sizes(text: &str) -> Option<[u32; 3]> {
    let mut all = [1; 3];
    let mut count = 0;
    for word in text.split_whitespace() {
        *all.get_mut(count)? = word.parse().ok().filter(|&size| size > 0)?;
        count += 1;
    }
    (count > 0).then_some(all)
}

fn spec(line: &str) -> Option<Spec> {
    let [kernel, items, group, arguments] = line.split('|').collect::<Vec<_>>().try_into().ok()?;
    let arguments = arguments.split_whitespace().map(argument).collect::<Option<_>>()?;
    let (items, group) = (sizes(items)?, sizes(group)?);
    let whole = items.iter().zip(group).all(|(items, group)| items % group == 0);
    whole.then(|| Spec { kernel: String::from(kernel.trim()).leak(), items, group, arguments })
}

impl File {
    /// Builds a file and reads its lines.
    pub fn read(path: &Path) -> Result<File> {
        let text = fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
        let lines = text.lines().filter_map(|line| line.strip_prefix("//@"));
        let specs = lines
            .map(|line| {
                spec(line).ok_or_else(|| format!("{}: not a launch: //@{line}", path.display()).into())
            })
            .collect::<Result<Vec<_>>>()?;
        let stem = path.file_stem().ok_or("a file without a name")?;
        let folder = (0..)
            .map(|number| std::env::temp_dir().join(format!("ze-bench-{}-{number}", std::process::id())))
            .find_map(|folder| match fs::DirBuilder::new().mode(0o700).create(&folder) {
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => None,
                result => Some(result.map(|()| folder)),
            })
            .expect("numbers do not end")?;
        let module = folder.join(stem).to_str().ok_or("a name that is no text")?.to_owned().leak();
        let file = File { folder, module, specs };
        let of_module = |extension| Path::new(module).with_extension(extension);
        if path.extension().is_none_or(|extension| extension != "cl") {
            let built = path.with_extension("spv");
            fs::copy(&built, of_module("spv")).map_err(|error| format!("{}: {error}", built.display()))?;
            return Ok(file);
        }
        // PoCL is given the source, from beside the SPIR-V.
        fs::copy(path, of_module("cl"))?;
        let build = concat!(env!("CARGO_MANIFEST_DIR"), "/kernels/build");
        let source = path.canonicalize()?.with_extension("");
        let status = Command::new(build).arg("--into").arg(&file.folder).arg(source).status()?;
        if status.success() { Ok(file) } else { Err(format!("{} was not built", path.display()).into()) }
    }

    /// What is measured of a line.
    pub fn case(&self, spec: &Spec) -> Case {
        let mut random = Random::new(7);
        let (mut buffers, mut types, mut args) = (Vec::new(), Vec::new(), Vec::new());
        for argument in &spec.arguments {
            args.push(match argument {
                Argument::Number(bytes) => Arg::Value(bytes.clone()),
                Argument::Local(bytes) => Arg::Local(*bytes),
                Argument::Buffer(kind, count, content) => {
                    let mut number = |at: usize| match content {
                        Content::Multiples(step) => step * at as f64,
                        Content::Random(low, high) => {
                            let part = (random.next_u64() >> 11) as f64 / (1u64 << 53) as f64;
                            let value = low + (high - low) * part;
                            if kind.float { value } else { value.floor() }
                        }
                    };
                    let mut bytes = Vec::with_capacity(count * kind.bytes);
                    (0..*count).for_each(|at| kind.put(number(at), &mut bytes));
                    buffers.push(bytes);
                    types.push(*kind);
                    Arg::Buffer(buffers.len() - 1)
                }
            });
        }
        let groups = [0, 1, 2].map(|d| spec.items[d] / spec.group[d]);
        let first = RefCell::new(None);
        let verify = move |got: &[&[u8]]| {
            let mut first = first.borrow_mut();
            let Some(first) = &*first else {
                *first = Some(got.iter().map(|buffer| buffer.to_vec()).collect::<Vec<_>>());
                return Ok(());
            };
            for (number, ((got, first), kind)) in got.iter().zip(first).zip(&types).enumerate() {
                same(got, first, *kind).map_err(|error| format!("buffer {number}: {error}"))?;
            }
            Ok(())
        };
        Case::new(spec.kernel, self.module, buffers, Box::new(verify)).launch(
            spec.kernel,
            groups,
            spec.group,
            args,
        )
    }
}

impl Drop for File {
    fn drop(&mut self) {
        // What is left of it is in the system's folder for such things.
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// Whether two buffers have the same numbers; floating-point ones nearly.
fn same(got: &[u8], want: &[u8], kind: Type) -> std::result::Result<(), String> {
    if got == want {
        return Ok(());
    }
    for (at, (got, want)) in got.chunks(kind.bytes).zip(want.chunks(kind.bytes)).enumerate() {
        let equal = got == want
            || kind.float && {
                let (got, want) = (kind.number(got), kind.number(want));
                got.is_nan() && want.is_nan() || (got - want).abs() <= 1e-5 + 1e-3 * want.abs()
            };
        if !equal {
            return Err(format!("element {at} is {}, not {}", kind.number(got), kind.number(want)));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_says_how_a_kernel_is_launched() {
        let spec =
            spec(" add | 64 4 | 16 2 | int=-3 float*8:-1..1 uchar*5:7 ulong*3:x8 local*64 ").expect("valid");
        assert_eq!((spec.kernel, spec.items, spec.group), ("add", [64, 4, 1], [16, 2, 1]));
        let file = File { folder: PathBuf::new(), module: "", specs: Vec::new() };
        let case = file.case(&spec);
        assert_eq!(case.launches[0].groups, [4, 2, 1]);
        assert!(matches!(&case.launches[0].args[0], Arg::Value(bytes) if *bytes == (-3i32).to_le_bytes()));
        assert!(matches!(case.launches[0].args[4], Arg::Local(64)));
        assert_eq!((case.buffers[0].len(), &case.buffers[1][..]), (32, &[7u8; 5][..]));
        assert_eq!(case.buffers[2], [0u64, 8, 16].map(u64::to_le_bytes).concat());
    }

    #[test]
    fn what_is_no_launch_is_none() {
        for line in [
            "add | 64 | 16",
            "add | 64 | 24 | int=1",
            "add | 64 | 16 | half=1",
            "add | 0 | 1 | int=1",
            "a | 1 | 1 | int*x",
        ] {
            assert!(spec(line).is_none(), "{line}");
        }
    }

    #[test]
    fn later_results_are_compared_with_the_first() {
        let float = Type::named("float").expect("a type");
        let [one, near, other] = [1f32, 1.0001, 1.1].map(f32::to_le_bytes);
        assert!(same(&near, &one, float).is_ok());
        assert!(same(&other, &one, float).is_err());
        assert!(same(&near, &one, Type::named("uint").expect("a type")).is_err());
    }
}
