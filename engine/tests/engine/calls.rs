//! Call trees that inlining would make explode: counted before anything is copied, compiled in proportion to the
//! module's size, and right, with uniform and varying arguments, under masks and in loops.

use rspirv::binary::Assemble;
use rspirv::dr::{Builder, Operand};
use rustc_hash::FxHashMap;
use spirv::{AddressingModel, BuiltIn, Capability, Decoration, ExecutionMode, ExecutionModel};
use spirv::{FunctionControl, MemoryModel, StorageClass};
use ze_engine::abi::{LaneMapping, Variant};
use ze_engine::analysis::inlining::Inlining;
use ze_engine::jit::Context;
use ze_engine::jit::target::Target;
use ze_engine::{Dispatch, Engine, EngineConfig};

use crate::support::{built, load};

/// How a kernel `out[i] = ...` calls its function with `in[i]`.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Site {
    /// For all work-items.
    Everyone,
    /// For those with an odd input; the others keep theirs.
    Odd,
    /// As often as the two low bits of the input say, each time with what the call before returned.
    Loop,
    /// With the number of the work-group, added to the input.
    Uniform,
    /// With the number of the work-item, added to the input.
    Ascending,
}

const SITES: [Site; 5] = [Site::Everyone, Site::Odd, Site::Loop, Site::Uniform, Site::Ascending];

/// A module under construction: functions from `int` to `int`, and a kernel.
struct Source {
    b: Builder,
    int: u32,
    unary: u32,
}

impl Source {
    fn new() -> Source {
        let mut b = Builder::new();
        b.set_version(1, 2);
        for capability in
            [Capability::Addresses, Capability::Kernel, Capability::Int64, Capability::SubgroupDispatch]
        {
            b.capability(capability);
        }
        b.memory_model(AddressingModel::Physical64, MemoryModel::OpenCL);
        let int = b.type_int(32, 0);
        let unary = b.type_function(int, vec![int]);
        Source { b, int, unary }
    }

    fn constant(&mut self, value: i32) -> u32 {
        self.b.constant_bit32(self.int, value as u32)
    }

    /// `a * b + c` for constants b and c.
    fn scaled(&mut self, a: u32, b: i32, c: i32) -> u32 {
        let (b, c) = (self.constant(b), self.constant(c));
        let product = self.b.i_mul(self.int, None, a, b).expect("in a block");
        self.b.i_add(self.int, None, product, c).expect("in a block")
    }

    fn xor(&mut self, a: u32, b: u32) -> u32 {
        self.b.bitwise_xor(self.int, None, a, b).expect("in a block")
    }

    fn call(&mut self, function: u32, argument: u32) -> u32 {
        self.b.function_call(self.int, None, function, [argument]).expect("in a block")
    }

    fn function(&mut self, body: impl FnOnce(&mut Source, u32) -> u32) -> u32 {
        let (int, unary) = (self.int, self.unary);
        let function = self.b.begin_function(int, None, FunctionControl::NONE, unary).expect("no function");
        let parameter = self.b.function_parameter(int).expect("in a function");
        self.b.begin_block(None).expect("in a function");
        let result = body(self, parameter);
        self.b.ret_value(result).expect("in a block");
        self.b.end_function().expect("in a function");
        function
    }

    /// Ends the module with a kernel that calls `function`.
    fn kernel(mut self, function: u32, site: Site, width: Option<u32>) -> Vec<u8> {
        let int = self.int;
        let b = &mut self.b;
        let (void, boolean, long) = (b.type_void(), b.type_bool(), b.type_int(64, 0));
        let vector = b.type_vector(long, 3);
        let input_ty = b.type_pointer(None, StorageClass::Input, vector);
        let buffer = b.type_pointer(None, StorageClass::CrossWorkgroup, int);
        let ty = b.type_function(void, vec![buffer, buffer]);
        let [global_id, group_id] = [BuiltIn::GlobalInvocationId, BuiltIn::WorkgroupId].map(|kind| {
            let id = b.variable(input_ty, None, StorageClass::Input, None);
            b.decorate(id, Decoration::BuiltIn, [Operand::BuiltIn(kind)]);
            b.decorate(id, Decoration::Constant, []);
            id
        });
        let kernel = b.begin_function(void, None, FunctionControl::NONE, ty).expect("no function");
        let [input, output] = [(); 2].map(|()| b.function_parameter(buffer).expect("in a function"));
        let entry = b.begin_block(None).expect("in a function");
        let [gid, group] = [global_id, group_id].map(|id| {
            let all = b.load(vector, None, id, None, []).expect("in a block");
            b.composite_extract(long, None, all, [0]).expect("in a block")
        });
        let at = b.in_bounds_ptr_access_chain(buffer, None, input, gid, []).expect("in a block");
        let x = b.load(int, None, at, None, []).expect("in a block");
        let [item, group] = [gid, group].map(|id| b.u_convert(int, None, id).expect("in a block"));
        let [zero, one, three] = [0, 1, 3].map(|value| b.constant_bit32(int, value));
        let low = b.bitwise_and(int, None, x, three).expect("in a block");
        let result = match site {
            Site::Everyone => self.call(function, x),
            Site::Uniform | Site::Ascending => {
                let y = self.call(function, if site == Site::Uniform { group } else { item });
                self.b.i_add(int, None, x, y).expect("in a block")
            }
            Site::Odd => {
                let odd = b.bitwise_and(int, None, x, one).expect("in a block");
                let condition = b.i_not_equal(boolean, None, odd, zero).expect("in a block");
                let [inside, done] = [(); 2].map(|()| b.id());
                b.branch_conditional(condition, inside, done, []).expect("in a block");
                b.begin_block(Some(inside)).expect("in a function");
                let y = self.call(function, x);
                self.b.branch(done).expect("in a block");
                self.b.begin_block(Some(done)).expect("in a function");
                self.b.phi(int, None, [(y, inside), (x, entry)]).expect("in a block")
            }
            Site::Loop => {
                let [head, inside, done, value, left, next, rest] = [(); 7].map(|()| b.id());
                b.branch(head).expect("in a block");
                b.begin_block(Some(head)).expect("in a function");
                b.phi(int, Some(value), [(x, entry), (next, inside)]).expect("in a block");
                b.phi(int, Some(left), [(low, entry), (rest, inside)]).expect("in a block");
                let condition = b.i_not_equal(boolean, None, left, zero).expect("in a block");
                b.branch_conditional(condition, inside, done, []).expect("in a block");
                b.begin_block(Some(inside)).expect("in a function");
                b.function_call(int, Some(next), function, [value]).expect("in a block");
                b.i_sub(int, Some(rest), left, one).expect("in a block");
                b.branch(head).expect("in a block");
                b.begin_block(Some(done)).expect("in a function");
                value
            }
        };
        let b = &mut self.b;
        let to = b.in_bounds_ptr_access_chain(buffer, None, output, gid, []).expect("in a block");
        b.store(to, result, None, []).expect("in a block");
        b.ret().expect("in a block");
        b.end_function().expect("in a function");
        b.entry_point(ExecutionModel::Kernel, kernel, "tree", vec![global_id, group_id]);
        if let Some(width) = width {
            b.execution_mode(kernel, ExecutionMode::SubgroupSize, [width]);
        }
        self.b.module().assemble().iter().flat_map(|word| word.to_le_bytes()).collect()
    }
}

/// Instructions of the IR for 16 lanes, before LLVM's passes.
fn ir_lines(bytes: &[u8], inlining: Inlining) -> usize {
    let module = built(bytes).expect("valid");
    let target = Target::host().expect("a target machine");
    let variant = Variant::new(16, LaneMapping::Rows);
    let kernel = module.kernel("tree").expect("the kernel");
    let (ir, ..) = ze_engine::lower::lower(&module, kernel, variant, inlining, &target, &Context::new())
        .expect("lowers");
    ir.verify().expect("valid IR");
    ir.text().lines().count()
}

/// Sub-group sizes and work-group sizes: one work-item, whole sub-groups, and partial ones.
const SIZES: [(Option<u32>, u32); 5] =
    [(None, 1), (Some(8), 8), (Some(16), 40), (Some(32), 32), (Some(8), 20)];

/// Runs a module's kernel with all ways to call, and in all sizes, and compares with the function in Rust.
fn check(
    name: &str,
    inlining: Inlining,
    module: impl Fn(Site, Option<u32>) -> Vec<u8>,
    function: &mut dyn FnMut(i32) -> i32,
) {
    for (at, site) in SITES.into_iter().enumerate() {
        let sizes = if site == Site::Odd { &SIZES[..] } else { &SIZES[at..=at] };
        check_sizes(name, inlining, site, sizes, &module, function);
    }
}

fn check_sizes(
    name: &str,
    inlining: Inlining,
    site: Site,
    sizes: &[(Option<u32>, u32)],
    module: &impl Fn(Site, Option<u32>) -> Vec<u8>,
    function: &mut dyn FnMut(i32) -> i32,
) {
    let engine = Engine::new(EngineConfig { threads: 1, inlining, ..EngineConfig::default() });
    for &(width, size) in sizes {
        let bytes = module(site, width);
        let program = load(&engine, &bytes);
        let kernel = program.kernel("tree").expect("the kernel");
        let groups = 2;
        let input: Vec<i32> = (0..groups * size).map(|i| (i * 7 % 23) as i32).collect();
        let mut output = vec![0i32; input.len()];
        let mut args = (input.as_ptr() as u64).to_le_bytes().to_vec();
        args.extend((output.as_mut_ptr() as u64).to_le_bytes());
        let (group_count, group_size) = ([groups, 1, 1], [size, 1, 1]);
        let dispatch = Dispatch { group_count, group_size, global_offset: [0; 3], args: &args };
        kernel.launch(&dispatch).unwrap_or_else(|error| panic!("{name}, {site:?}: {error}"));
        for (i, (x, y)) in input.iter().zip(&output).enumerate() {
            let expected = match site {
                Site::Everyone => function(*x),
                Site::Odd if x & 1 == 0 => *x,
                Site::Odd => function(*x),
                Site::Loop => (0..x & 3).fold(*x, |x, _| function(x)),
                Site::Uniform => x.wrapping_add(function((i as u32 / size) as i32)),
                Site::Ascending => x.wrapping_add(function(i as i32)),
            };
            assert_eq!(*y, expected, "{name}, {site:?}, width {width:?}, groups of {size}, item {i}");
        }
    }
}

/// A tree of `levels` functions, each of which calls the next one `calls` times with neighbouring arguments.
fn tree(levels: u32, calls: i32, site: Site, width: Option<u32>) -> Vec<u8> {
    let mut source = Source::new();
    let mut next = source.function(|source, x| source.scaled(x, 5, 1));
    for _ in 1..levels {
        next = source.function(|source, x| {
            let mut hash = x;
            for call in 0..calls {
                let argument = source.scaled(x, 1, call);
                let result = source.call(next, argument);
                let scaled = source.scaled(hash, 31, 7);
                hash = source.xor(scaled, result);
            }
            hash
        });
    }
    source.kernel(next, site, width)
}

fn tree_in_rust(known: &mut FxHashMap<(u32, i32), i32>, levels: u32, calls: i32, x: i32) -> i32 {
    if levels == 1 {
        return x.wrapping_mul(5).wrapping_add(1);
    }
    if let Some(result) = known.get(&(levels, x)) {
        return *result;
    }
    let mut hash = x;
    for call in 0..calls {
        let result = tree_in_rust(known, levels - 1, calls, x.wrapping_add(call));
        hash = hash.wrapping_mul(31).wrapping_add(7) ^ result;
    }
    known.insert((levels, x), hash);
    hash
}

#[test]
fn tree_that_doubles_twenty_times_is_as_large_as_its_functions() {
    let bytes = tree(20, 2, Site::Everyone, None);
    let lines = ir_lines(&bytes, Inlining::WithinBudget);
    assert!(lines < 30_000, "{lines} lines");
    let mut known = FxHashMap::default();
    check("doubling tree", Inlining::WithinBudget, |site, width| tree(20, 2, site, width), &mut |x| {
        tree_in_rust(&mut known, 20, 2, x)
    });
}

#[test]
fn tree_of_twelve_levels_that_quadruples_is_as_large_as_its_functions() {
    let bytes = tree(12, 4, Site::Everyone, None);
    let lines = ir_lines(&bytes, Inlining::WithinBudget);
    assert!(lines < 30_000, "{lines} lines");
    // The calls happen all the same: three levels less take a sixty-fourth of the time.
    let mut known = FxHashMap::default();
    check("quadrupling tree", Inlining::WithinBudget, |site, width| tree(9, 4, site, width), &mut |x| {
        tree_in_rust(&mut known, 9, 4, x)
    });
}

#[test]
fn trees_within_the_budget_have_no_calls_left() {
    let bytes = tree(5, 2, Site::Odd, None);
    assert_eq!(ir_lines(&bytes, Inlining::WithinBudget), ir_lines(&bytes, Inlining::Always));
    assert_ne!(ir_lines(&bytes, Inlining::WithinBudget), ir_lines(&bytes, Inlining::Never));
}

/// A chain of functions, each of which calls the next one once.
fn chain(length: i32, site: Site, width: Option<u32>) -> Vec<u8> {
    let mut source = Source::new();
    let mut next = source.function(|source, x| source.scaled(x, 3, 1));
    for at in 1..length {
        next = source.function(|source, x| {
            let argument = source.scaled(x, 1, at & 15);
            let result = source.call(next, argument);
            source.xor(result, x)
        });
    }
    source.kernel(next, site, width)
}

fn chain_in_rust(length: i32, x: i32) -> i32 {
    // From the outermost function in: what each passes on, and then what each returns.
    let mut arguments = vec![x];
    for at in (1..length).rev() {
        arguments.push(arguments[arguments.len() - 1].wrapping_add(at & 15));
    }
    let innermost = arguments.pop().expect("a function").wrapping_mul(3).wrapping_add(1);
    arguments.iter().rev().fold(innermost, |result, x| result ^ x)
}

#[test]
fn ten_thousand_functions_call_each_other() {
    const LENGTH: i32 = 10_000;
    let module = |site, width| chain(LENGTH, site, width);
    let sizes = &SIZES[2..3];
    check_sizes("long chain", Inlining::WithinBudget, Site::Odd, sizes, &module, &mut |x| {
        chain_in_rust(LENGTH, x)
    });
}

#[test]
fn results_ascend_from_lane_to_lane_as_arguments_do() {
    // The function gets and returns what the first lane has, and each lane adds its steps.
    let module = |site, width| chain(1, site, width);
    for inlining in [Inlining::Never, Inlining::Always] {
        check_sizes("ascending", inlining, Site::Ascending, &SIZES, &module, &mut |x| chain_in_rust(1, x));
    }
}

#[test]
fn calls_nest_on_the_stack() {
    const LENGTH: i32 = 1_000;
    let module = |site, width| chain(LENGTH, site, width);
    check_sizes("deep stack", Inlining::Never, Site::Loop, &SIZES[2..4], &module, &mut |x| {
        chain_in_rust(LENGTH, x)
    });
}

/// A chain of functions, each of which keeps this many values across the call of the next one.
fn laden_chain(length: i32, values: i32, site: Site, width: Option<u32>) -> Vec<u8> {
    let mut source = Source::new();
    let mut next = source.function(|source, x| source.scaled(x, 3, 1));
    for _ in 1..length {
        next = source.function(|source, x| {
            let kept: Vec<u32> = (1..=values).map(|value| source.scaled(x, 2 * value + 1, value)).collect();
            let argument = source.scaled(x, 1, 1);
            let result = source.call(next, argument);
            kept.into_iter().fold(result, |result, value| source.xor(result, value))
        });
    }
    source.kernel(next, site, width)
}

fn laden_chain_in_rust(length: i32, values: i32, x: i32) -> i32 {
    let of_function = |at: i32| {
        let x = x.wrapping_add(at);
        (1..=values).fold(0, |hash, value| hash ^ x.wrapping_mul(2 * value + 1).wrapping_add(value))
    };
    let innermost = x.wrapping_add(length - 1).wrapping_mul(3).wrapping_add(1);
    (0..length - 1).fold(innermost, |hash, at| hash ^ of_function(at))
}

#[test]
fn frames_take_as_much_stack_as_they_need() {
    // More than 4 KiB for each call, and more than 4 MiB together.
    const LENGTH: i32 = 1_000;
    const VALUES: i32 = 48;
    let module = |site, width| laden_chain(LENGTH, VALUES, site, width);
    check_sizes("large frames", Inlining::Never, Site::Everyone, &[(Some(32), 32)], &module, &mut |x| {
        laden_chain_in_rust(LENGTH, VALUES, x)
    });
}

/// One function that calls many others, which do `steps` steps each.
fn wide(functions: i32, steps: i32, calls: i32, site: Site, width: Option<u32>) -> Vec<u8> {
    let mut source = Source::new();
    let callees: Vec<u32> = (0..functions)
        .map(|number| {
            source.function(|source, x| {
                (0..steps).fold(x, |x, step| {
                    let scaled = source.scaled(x, 2 * step + 3, number);
                    source.xor(x, scaled)
                })
            })
        })
        .collect();
    let all = source.function(|source, x| {
        let mut hash = x;
        for callee in callees.iter().cycle().take(callees.len() * calls as usize) {
            let result = source.call(*callee, hash);
            hash = source.xor(hash, result);
        }
        hash
    });
    source.kernel(all, site, width)
}

fn wide_in_rust(functions: i32, steps: i32, calls: i32, x: i32) -> i32 {
    let function = |number: i32, x: i32| {
        (0..steps).fold(x, |x, step| x ^ x.wrapping_mul(2 * step + 3).wrapping_add(number))
    };
    (0..functions * calls).fold(x, |hash, call| hash ^ function(call % functions, hash))
}

#[test]
fn five_thousand_functions_are_called_from_one() {
    let module = |site, width| wide(5_000, 3, 1, site, width);
    check_sizes("wide", Inlining::WithinBudget, Site::Everyone, &SIZES[1..2], &module, &mut |x| {
        wide_in_rust(5_000, 3, 1, x)
    });
}

#[test]
fn large_functions_that_are_called_often_are_compiled_once() {
    // 20 functions of 300 instructions, called 20 times each: 120,000 instructions.
    let often = wide(20, 100, 20, Site::Odd, None);
    let lines = ir_lines(&often, Inlining::WithinBudget);
    assert!(lines < 20_000, "{lines} lines");
    let module = |site, width| wide(20, 100, 20, site, width);
    check("large functions", Inlining::WithinBudget, module, &mut |x| wide_in_rust(20, 100, 20, x));
}
