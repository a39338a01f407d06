//! Small numbers that lie next to each other, converted together where each goes into all lanes of a register.
//!
//! A product of matrices of halves or bytes takes an element of one matrix, widens it, and multiplies a row of the other by it. Each such
//! element was a load, a move to a vector register, a conversion and a broadcast; all the elements of a row of an unrolled loop, or of its iterations, are
//! one load and one conversion here. They go through memory on their way into lanes: an instruction that multiplies
//! takes a number from there into all lanes at no cost.

use super::blocks::{blocks, functions, instructions, only_makes_a_value, opcode, room, users};
use super::context::IrModule;
use super::pieces::{bits_of, splatted};
use super::target::Target;
use llvm_sys::core::*;
use llvm_sys::prelude::*;
use llvm_sys::target::{LLVMABISizeOfType, LLVMGetModuleDataLayout, LLVMTargetDataRef};
use llvm_sys::{LLVMOpcode, LLVMTypeKind};
use rustc_hash::FxHashMap;

const NAME: *const std::ffi::c_char = c"".as_ptr();
/// Numbers that are worth a store.
const LEAST: usize = 4;
/// Rows of a function at most: each has a place on the stack.
const MOST_ROWS: usize = 256;
/// Steps from an address to what it is counted from.
const MOST_STEPS: usize = 4;

/// A number that is loaded and converted, for all lanes.
struct Number {
    /// Bytes from where those of its row are counted.
    offset: i64,
    load: LLVMValueRef,
    conversion: LLVMValueRef,
    /// Which instruction of the block loads it.
    at: usize,
}

/// What numbers have in common that may be in one row: nothing is written between their loads.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Row {
    writes: usize,
    base: Address,
    conversion: u32,
    from: LLVMTypeRef,
    to: LLVMTypeRef,
}

/// What an address is counted from.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Address {
    base: LLVMValueRef,
    /// An index, whether it is widened as a signed number, and the bytes of its unit.
    index: Option<(LLVMValueRef, bool, i64)>,
}

/// Converts the numbers of such rows together.
pub fn join(module: &IrModule, target: &Target) {
    // SAFETY: everything is the module's, and alive; what is made is in front of the first load of a row, which all of them follow in its block.
    unsafe {
        let builder = LLVMCreateBuilderInContext(module.context().raw());
        let layout = LLVMGetModuleDataLayout(module.raw());
        for function in functions(module) {
            let mut rows_left = MOST_ROWS;
            for block in blocks(function) {
                for (row, mut numbers) in rows(block, layout) {
                    numbers.sort_by_key(|number| number.offset);
                    let most = (target.simd_bits() / bits_of(row.to)) as usize;
                    for numbers in neighbours(&numbers, i64::from(bits_of(row.from) / 8), most) {
                        if rows_left > 0 {
                            convert(builder, &row, numbers);
                            rows_left -= 1;
                        }
                    }
                }
            }
        }
        LLVMDisposeBuilder(builder);
    }
}

/// The numbers of a block, by what they have in common, in the order in which rows begin.
unsafe fn rows(block: LLVMBasicBlockRef, layout: LLVMTargetDataRef) -> Vec<(Row, Vec<Number>)> {
    let mut found: Vec<(Row, Vec<Number>)> = Vec::new();
    let mut places: FxHashMap<Row, usize> = FxHashMap::default();
    let mut writes = 0;
    for (at, inst) in instructions(block).into_iter().enumerate() {
        if !only_makes_a_value(inst) {
            writes += 1;
        } else if opcode(inst) == LLVMOpcode::LLVMLoad
            // SAFETY: the caller's block is alive, and its instructions with it.
            && let Some((row, offset, conversion)) = unsafe { converted(inst, writes, layout) }
        {
            let number = Number { offset, load: inst, conversion, at };
            let place = *places.entry(row.clone()).or_insert(found.len());
            match found.get_mut(place) {
                Some((_, numbers)) => numbers.push(number),
                None => found.push((row, vec![number])),
            }
        }
    }
    found.retain(|(_, numbers)| numbers.len() >= LEAST);
    found
}

/// What becomes of a number that is loaded, if it is converted to one of at least 32 bits and goes into all lanes then.
unsafe fn converted(
    load: LLVMValueRef,
    writes: usize,
    layout: LLVMTargetDataRef,
) -> Option<(Row, i64, LLVMValueRef)> {
    use LLVMOpcode::{LLVMFPExt, LLVMSExt, LLVMSIToFP, LLVMUIToFP, LLVMZExt};
    // SAFETY: the caller's instruction is alive, and what uses it with it.
    unsafe {
        let from = LLVMTypeOf(load);
        let [conversion] = *users(load) else { return None };
        let to = LLVMTypeOf(conversion);
        let is_wanted = matches!(bits_of(from), 8 | 16)
            && matches!(bits_of(to), 32 | 64)
            && !LLVMIsACastInst(conversion).is_null()
            && matches!(opcode(conversion), LLVMFPExt | LLVMSExt | LLVMZExt | LLVMSIToFP | LLVMUIToFP)
            && LLVMGetInstructionParent(conversion) == LLVMGetInstructionParent(load);
        let is_for_all_lanes = || {
            let of_number = users(conversion);
            !of_number.is_empty() && of_number.iter().all(|user| is_splatted(*user, conversion))
        };
        if !is_wanted || !is_for_all_lanes() {
            return None;
        }
        let (base, offset) = address(LLVMGetOperand(load, 0), layout)?;
        let row = Row { writes, base, conversion: opcode(conversion) as u32, from, to };
        Some((row, offset, conversion))
    }
}

/// Whether an instruction does nothing with a number but to put it where all lanes take it from.
unsafe fn is_splatted(inst: LLVMValueRef, number: LLVMValueRef) -> bool {
    // SAFETY: the caller's instruction is alive, and what uses it with it.
    unsafe {
        !LLVMIsAInsertElementInst(inst).is_null()
            && users(inst).iter().all(|user| splatted(*user) == Some(number))
    }
}

/// An address as bytes from another one.
unsafe fn address(mut pointer: LLVMValueRef, layout: LLVMTargetDataRef) -> Option<(Address, i64)> {
    let (mut offset, mut index) = (0i64, None);
    // SAFETY: the caller's address is alive, and what it is made of with it.
    unsafe {
        for _ in 0..MOST_STEPS {
            if LLVMIsAGetElementPtrInst(pointer).is_null() || LLVMGetNumIndices(pointer) != 1 {
                break;
            }
            let ty = LLVMGetGEPSourceElementType(pointer);
            if LLVMGetTypeKind(LLVMTypeOf(pointer)) != LLVMTypeKind::LLVMPointerTypeKind {
                return None;
            }
            let unit = i64::try_from(LLVMABISizeOfType(layout, ty)).ok()?;
            let (of, number) = sum(LLVMGetOperand(pointer, 1));
            if of.is_some() && index.is_some() {
                break;
            }
            offset = offset.checked_add(number.checked_mul(unit)?)?;
            index = index.or(of.map(|(of, widened)| (of, widened, unit)));
            pointer = LLVMGetOperand(pointer, 0);
        }
    }
    Some((Address { base: pointer, index }, offset))
}

/// An index as a number behind another one, and whether that is widened.
unsafe fn sum(index: LLVMValueRef) -> (Option<(LLVMValueRef, bool)>, i64) {
    // SAFETY: the caller's value is alive, and what it is made of with it.
    unsafe {
        let number = |value: LLVMValueRef| {
            let is_number = !LLVMIsAConstantInt(value).is_null() && bits_of(LLVMTypeOf(value)) <= 64;
            is_number.then(|| LLVMConstIntGetSExtValue(value))
        };
        if let Some(number) = number(index) {
            return (None, number);
        }
        let widened = !LLVMIsASExtInst(index).is_null();
        let inner = if widened { LLVMGetOperand(index, 0) } else { index };
        // What is widened, here or as an index, must not wrap around before.
        let is_whole = !widened && bits_of(LLVMTypeOf(inner)) == u64::BITS;
        let is_sum = !LLVMIsABinaryOperator(inner).is_null()
            && match opcode(inner) {
                LLVMOpcode::LLVMAdd => is_whole || LLVMGetNSW(inner) != 0,
                LLVMOpcode::LLVMOr => LLVMGetIsDisjoint(inner) != 0,
                _ => false,
            };
        match is_sum.then(|| number(LLVMGetOperand(inner, 1))).flatten() {
            Some(number) => (Some((LLVMGetOperand(inner, 0), widened)), number),
            None => (Some((inner, widened)), 0),
        }
    }
}

/// Rows of numbers, by their offsets in order, that lie next to each other: as many as a register takes, or half, or a quarter, as long as
/// there are enough.
fn neighbours(numbers: &[Number], step: i64, most: usize) -> Vec<&[Number]> {
    let mut found = Vec::new();
    let is_next = |pair: &Number, next: &Number| next.offset.checked_sub(pair.offset) == Some(step);
    for mut run in numbers.chunk_by(is_next) {
        while run.len() >= LEAST {
            let fits = most.min(1 << run.len().ilog2());
            if fits < LEAST {
                break;
            }
            let (row, rest) = run.split_at(fits);
            found.push(row);
            run = rest;
        }
    }
    found
}

/// Converts a row as a vector, and has each number loaded from where that is stored.
unsafe fn convert(builder: LLVMBuilderRef, row: &Row, numbers: &[Number]) {
    // SAFETY: the caller's instructions are alive; all loads are behind the first one in its block.
    unsafe {
        let Some(first) = numbers.iter().min_by_key(|number| number.at) else { return };
        let function = LLVMGetBasicBlockParent(LLVMGetInstructionParent(first.load));
        let [from, to] = [row.from, row.to].map(|ty| LLVMVectorType(ty, numbers.len() as u32));
        let place = room(builder, function, to);
        LLVMPositionBuilderBefore(builder, first.load);
        // The address of the first number may be computed behind that of another one.
        let by = LLVMConstInt(
            LLVMInt64TypeInContext(LLVMGetTypeContext(from)),
            (numbers[0].offset - first.offset) as u64,
            1,
        );
        let byte = LLVMInt8TypeInContext(LLVMGetTypeContext(from));
        let start = LLVMBuildGEP2(builder, byte, LLVMGetOperand(first.load, 0), [by].as_mut_ptr(), 1, NAME);
        let loaded = LLVMBuildLoad2(builder, from, start, NAME);
        LLVMSetAlignment(loaded, LLVMGetAlignment(first.load).min(bits_of(row.from) / 8).max(1));
        let converted = LLVMBuildCast(builder, opcode(first.conversion), loaded, to, NAME);
        LLVMBuildStore(builder, converted, place);
        for (lane, number) in numbers.iter().enumerate() {
            LLVMPositionBuilderBefore(builder, number.conversion);
            let at = LLVMConstInt(LLVMInt64TypeInContext(LLVMGetTypeContext(from)), lane as u64, 0);
            let address = LLVMBuildInBoundsGEP2(builder, row.to, place, [at].as_mut_ptr(), 1, NAME);
            let value = LLVMBuildLoad2(builder, row.to, address, NAME);
            LLVMReplaceAllUsesWith(number.conversion, value);
            LLVMInstructionEraseFromParent(number.conversion);
            LLVMInstructionEraseFromParent(number.load);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::pipeline::{self, Tier};
    use super::super::target::{Isa, Target};
    use super::super::tests::{compile, function};
    use super::super::{Context, IrModule};
    use std::fmt::Write;

    /// Numbers of a type at these addresses, each converted and put into all lanes, are stored one behind the other as vectors of four;
    /// `between` comes behind each.
    fn splats(from: &str, conversion: &str, addresses: &[&str], between: &str) -> String {
        let mut text = "define void @f(ptr %in, ptr %out, i32 %n) {\n%wide = sext i32 %n to i64\n".to_owned();
        let to = if conversion.contains("fp") { "float" } else { "i32" };
        for (at, address) in addresses.iter().enumerate() {
            let bytes = 16 * at;
            write!(
                text,
                "{}
                %x{at} = load {from}, ptr %p{at}, align 1
                %c{at} = {conversion} {from} %x{at} to {to}
                %i{at} = insertelement <4 x {to}> poison, {to} %c{at}, i64 0
                %v{at} = shufflevector <4 x {to}> %i{at}, <4 x {to}> poison, <4 x i32> zeroinitializer
                %q{at} = getelementptr i8, ptr %out, i64 {bytes}
                {between}\n",
                address.replace("%p", &format!("%p{at}")).replace("%s", &format!("%s{at}")),
            )
            .expect("a string");
        }
        for at in 0..addresses.len() {
            writeln!(text, "store <4 x {to}> %v{at}, ptr %q{at}, align 4").expect("a string");
        }
        text + "ret void\n}"
    }

    fn row(count: usize) -> Vec<String> {
        (0..count).map(|at| format!("%p = getelementptr i16, ptr %in, i64 {at}")).collect()
    }

    fn optimised(text: &str) -> String {
        let target = Target::limited(Isa::Avx2).expect("a target machine");
        let context = Context::new();
        let ir = IrModule::parse(&context, text, &target).expect("IR");
        pipeline::optimise(&ir, &target, Tier::Optimising).expect("passes");
        ir.verify().expect("valid");
        ir.text()
    }

    fn of(rows: &[String], from: &str, conversion: &str, between: &str) -> String {
        splats(from, conversion, &rows.iter().map(String::as_str).collect::<Vec<_>>(), between)
    }

    #[test]
    fn neighbours_are_converted_together() {
        let text = optimised(&of(&row(8), "half", "fpext", ""));
        assert!(text.contains("fpext <8 x half>") && !text.contains("fpext half"));
        let text = optimised(&of(&row(15), "i16", "uitofp", ""));
        assert!(text.contains("uitofp <8 x i16>") && text.contains("uitofp <4 x i16>"));
        assert_eq!(text.matches("uitofp i16").count(), 3);
        let bytes: Vec<String> =
            (0..4).rev().map(|at| format!("%p = getelementptr i8, ptr %in, i64 {at}")).collect();
        assert!(optimised(&of(&bytes, "i8", "sext", "")).contains("sext <4 x i8>"), "in any order");
        let counted: Vec<String> = (0..4)
            .map(|at| format!("%s = add i64 %wide, {at}\n%p = getelementptr i16, ptr %in, i64 %s"))
            .collect();
        assert!(optimised(&of(&counted, "half", "fpext", "")).contains("fpext <4 x half>"));
    }

    #[test]
    fn others_are_converted_one_by_one() {
        assert!(!optimised(&of(&row(3), "half", "fpext", "")).contains("x half>"), "few");
        let apart: Vec<String> =
            (0..8).map(|at| format!("%p = getelementptr i32, ptr %in, i64 {at}")).collect();
        assert!(!optimised(&of(&apart, "half", "fpext", "")).contains("x half>"), "not next to each other");
        let write = "store volatile i32 %n, ptr %out, align 4";
        assert!(!optimised(&of(&row(8), "half", "fpext", write)).contains("x half>"), "something is written");
    }

    #[test]
    fn numbers_are_those_of_memory() {
        let input: Vec<i16> = (0..13).map(|at| at * 1000 - 7000).collect();
        for tier in [Tier::Fast, Tier::Optimising] {
            let code = compile(&of(&row(13), "i16", "sitofp", ""), tier).expect("code");
            let f: extern "C" fn(*const i16, *mut f32, u32) = function(&code, "f");
            let mut out = vec![0f32; 4 * 13];
            f(input.as_ptr(), out.as_mut_ptr(), 0);
            let expected: Vec<f32> = input.iter().flat_map(|number| [f32::from(*number); 4]).collect();
            assert_eq!(out, expected);
        }
    }
}
