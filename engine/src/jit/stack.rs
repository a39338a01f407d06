//! Arrays on the stack, told apart from all other memory.
//!
//! LLVM keeps elements of an array in registers over a loop if nothing else in the loop can be the same memory. Of an array whose address is
//! nowhere but in its own accesses that is certain, but it looks at a hundred uses of the address at most, and an array of 64 sums has
//! more when its loops are unrolled. So it is said here of each access, while there are few, whether it is one of such an array.

use super::blocks::{blocks, calls, functions, instructions, opcode, users};
use super::context::IrModule;
use super::pieces::distinct_node;
use llvm_sys::LLVMOpcode;
use llvm_sys::core::*;
use llvm_sys::prelude::*;
use rustc_hash::FxHashSet;
use std::ffi::CStr;

/// Arrays with more uses of their addresses than this are left alone.
const MOST_USES: usize = 1 << 12;

/// Says of all accesses whether they are of arrays on the stack whose address nobody else has.
pub fn tell_apart(module: &IrModule) {
    for function in functions(module) {
        let insts: Vec<LLVMValueRef> = blocks(function).into_iter().flat_map(instructions).collect();
        let arrays = insts.iter().filter(|inst| opcode(**inst) == LLVMOpcode::LLVMAlloca);
        // SAFETY: everything is the module's, and alive.
        let own: FxHashSet<LLVMValueRef> =
            unsafe { arrays.filter_map(|array| accesses(*array)).flatten().collect() };
        if own.is_empty() {
            continue;
        }
        // SAFETY: as above.
        unsafe {
            let scope = Scope::new(module.context().raw());
            for inst in insts {
                match own.contains(&inst) {
                    true => scope.add(c"alias.scope", inst),
                    false if accesses_memory(inst) => scope.add(c"noalias", inst),
                    false => {}
                }
            }
        }
    }
}

/// Whether an instruction loads, stores or calls something.
fn accesses_memory(inst: LLVMValueRef) -> bool {
    use LLVMOpcode::{LLVMAtomicCmpXchg, LLVMAtomicRMW, LLVMCall, LLVMLoad, LLVMStore};
    matches!(opcode(inst), LLVMLoad | LLVMStore | LLVMCall | LLVMAtomicRMW | LLVMAtomicCmpXchg)
}

/// The accesses of an array, if its address is used for nothing else.
unsafe fn accesses(array: LLVMValueRef) -> Option<Vec<LLVMValueRef>> {
    let (mut found, mut uses) = (Vec::new(), 0);
    let mut work = vec![array];
    while let Some(address) = work.pop() {
        for user in users(address) {
            uses += 1;
            // SAFETY: users of a value that is alive, which have the operands of their kind.
            unsafe {
                let operand = |at: u32| LLVMGetOperand(user, at) == address;
                match opcode(user) {
                    LLVMOpcode::LLVMLoad => found.push(user),
                    LLVMOpcode::LLVMStore if !operand(0) => found.push(user),
                    LLVMOpcode::LLVMGetElementPtr if operand(0) => work.push(user),
                    LLVMOpcode::LLVMCall => match access(user)? {
                        Some(at) if operand(at) => found.push(user),
                        Some(_) => return None,
                        None => {}
                    },
                    _ => return None,
                }
            }
        }
        if uses > MOST_USES {
            return None;
        }
    }
    Some(found)
}

/// Which operand of a call is the address of its only access, none if it has no access. `None` for calls that may keep an address.
fn access(call: LLVMValueRef) -> Option<Option<u32>> {
    const ACCESSES: [(&str, u32); 5] = [
        ("llvm.masked.load", 0),
        ("llvm.masked.store", 1),
        ("llvm.masked.gather", 0),
        ("llvm.masked.scatter", 1),
        ("llvm.memset", 0),
    ];
    const OTHERS: [&str; 2] = ["llvm.lifetime.start", "llvm.lifetime.end"];
    match ACCESSES.iter().find(|(name, _)| calls(call, name)) {
        Some((_, at)) => Some(Some(*at)),
        None => OTHERS.iter().any(|name| calls(call, name)).then_some(None),
    }
}

/// A set of accesses that no others may be the same memory as.
struct Scope {
    context: LLVMContextRef,
    scope: LLVMMetadataRef,
}

impl Scope {
    unsafe fn new(context: LLVMContextRef) -> Scope {
        // SAFETY: the context is alive, and so is the domain.
        unsafe {
            let domain = distinct_node(context, &[]);
            Scope { context, scope: distinct_node(context, &[domain]) }
        }
    }

    /// Adds this to the scopes that an instruction has of one kind.
    unsafe fn add(&self, kind: &CStr, inst: LLVMValueRef) {
        // SAFETY: the caller's instruction is alive, and what it has is a list of scopes.
        unsafe {
            let kind = LLVMGetMDKindIDInContext(self.context, kind.as_ptr(), kind.to_bytes().len() as u32);
            let before = LLVMGetMetadata(inst, kind);
            let mut scopes = Vec::new();
            if !before.is_null() {
                let mut values = vec![std::ptr::null_mut(); LLVMGetMDNodeNumOperands(before) as usize];
                LLVMGetMDNodeOperands(before, values.as_mut_ptr());
                scopes.extend(values.into_iter().map(|value| LLVMValueAsMetadata(value)));
            }
            scopes.push(self.scope);
            let list = LLVMMDNodeInContext2(self.context, scopes.as_mut_ptr(), scopes.len());
            LLVMSetMetadata(inst, kind, LLVMMetadataAsValue(self.context, list));
        }
    }
}

#[cfg(test)]
mod tests;
