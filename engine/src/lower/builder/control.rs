//! Basic blocks, branches and phis.

use super::{Builder, Function, Label, NAME, Value, symbol};
use crate::analysis::leaves::Scalar;
use crate::jit::pieces::distinct_node;
use llvm_sys::core::*;

/// How often what usually happens does so, for once that it does not.
const USUALLY: u32 = 1 << 20;

impl Builder {
    pub fn block(&self, function: Function, name: &str) -> Label {
        let name = symbol(name);
        Label(llvm!(LLVMAppendBasicBlockInContext(self.context, function.value, name.as_ptr())))
    }

    /// Another block of the function that is being made.
    pub fn block_here(&self) -> Label {
        llvm!({
            let function = LLVMGetBasicBlockParent(LLVMGetInsertBlock(self.raw));
            Label(LLVMAppendBasicBlockInContext(self.context, function, NAME))
        })
    }

    /// The value of one of two pieces of code, of which only one runs.
    pub fn branch(
        &self,
        condition: Value,
        then: impl FnOnce() -> Value,
        els: impl FnOnce() -> Value,
    ) -> Value {
        self.branch_of_many(condition, || vec![then()], || vec![els()])[0]
    }

    /// The values of one of two pieces of code, of which only one runs. Both make as many.
    pub fn branch_of_many(
        &self,
        condition: Value,
        then: impl FnOnce() -> Vec<Value>,
        els: impl FnOnce() -> Vec<Value>,
    ) -> Vec<Value> {
        self.branch_with(condition, None, then, els)
    }

    /// The same of what nearly always runs and what hardly ever does. Registers are spilled there rather than here.
    pub fn branch_usually(
        &self,
        condition: Value,
        usual: impl FnOnce() -> Vec<Value>,
        rare: impl FnOnce() -> Vec<Value>,
    ) -> Vec<Value> {
        self.branch_with(condition, Some([USUALLY, 1]), usual, rare)
    }

    fn branch_with(
        &self,
        condition: Value,
        weights: Option<[u32; 2]>,
        then: impl FnOnce() -> Vec<Value>,
        els: impl FnOnce() -> Vec<Value>,
    ) -> Vec<Value> {
        let (then_start, els_start, join) = (self.block_here(), self.block_here(), self.block_here());
        let branch = llvm!(LLVMBuildCondBr(self.raw, condition.0, then_start.0, els_start.0));
        if let Some(weights) = weights {
            self.set_weights(Value(branch), weights);
        }
        self.at_end(then_start);
        let then_values = then();
        let then_end = self.here();
        self.br(join);
        self.at_end(els_start);
        let els_values = els();
        let els_end = self.here();
        self.br(join);
        self.at_end(join);
        let join = |(then_value, els_value): (Value, Value)| {
            let phi = self.phi(self.scalar_of(then_value), self.lanes(then_value));
            self.add_incoming(phi, then_value, then_end);
            self.add_incoming(phi, els_value, els_end);
            phi
        };
        then_values.into_iter().zip(els_values).map(join).collect()
    }

    /// What a piece of code makes that hardly ever runs, or else this value. Registers are spilled there, and not in front of it.
    pub fn branch_rarely(&self, condition: Value, rare: impl FnOnce() -> Value, usual: Value) -> Value {
        let before = self.here();
        let (start, join) = (self.block_here(), self.block_here());
        let branch = llvm!(LLVMBuildCondBr(self.raw, condition.0, start.0, join.0));
        self.set_weights(Value(branch), [1, USUALLY]);
        self.at_end(start);
        let value = rare();
        let end = self.here();
        self.br(join);
        self.at_end(join);
        let phi = self.phi(self.scalar_of(value), self.lanes(value));
        self.add_incoming(phi, usual, before);
        self.add_incoming(phi, value, end);
        phi
    }

    /// How often each way is taken, compared with the other.
    fn set_weights(&self, branch: Value, weights: [u32; 2]) {
        let (kind, name) = ("prof", "branch_weights");
        llvm!({
            let name = LLVMMDStringInContext2(self.context, name.as_ptr().cast(), name.len());
            let weights = weights.map(|weight| LLVMValueAsMetadata(self.i32(weight).0));
            let mut parts = [name, weights[0], weights[1]];
            let node = LLVMMDNodeInContext2(self.context, parts.as_mut_ptr(), parts.len());
            let kind = LLVMGetMDKindIDInContext(self.context, kind.as_ptr().cast(), kind.len() as u32);
            LLVMSetMetadata(branch.0, kind, LLVMMetadataAsValue(self.context, node));
        });
    }

    /// Goes on at the end of a block.
    pub fn at_end(&self, label: Label) {
        llvm!(LLVMPositionBuilderAtEnd(self.raw, label.0));
        self.locate();
    }

    /// The block where the next instruction goes.
    pub fn here(&self) -> Label {
        Label(llvm!(LLVMGetInsertBlock(self.raw)))
    }

    pub fn br(&self, to: Label) {
        llvm!(LLVMBuildBr(self.raw, to.0));
    }

    /// The branch back of a loop that LLVM shall not unroll.
    pub fn br_back_rolled(&self, to: Label) {
        let branch = llvm!(LLVMBuildBr(self.raw, to.0));
        self.keep_rolled(Value(branch));
    }

    /// The branch back of such a loop, or behind it.
    pub fn cond_br_back_rolled(&self, condition: Value, back: Label, behind: Label) {
        let branch = llvm!(LLVMBuildCondBr(self.raw, condition.0, back.0, behind.0));
        self.keep_rolled(Value(branch));
    }

    /// The branch back of a loop that LLVM shall make straight code of.
    pub fn br_back_unrolled(&self, to: Label) {
        let branch = llvm!(LLVMBuildBr(self.raw, to.0));
        self.say_of_loop(Value(branch), "llvm.loop.unroll.full");
    }

    fn keep_rolled(&self, branch: Value) {
        self.say_of_loop(branch, "llvm.loop.unroll.disable");
    }

    /// Gives a loop a property, by its branch back.
    fn say_of_loop(&self, branch: Value, property: &str) {
        let kind = "llvm.loop";
        llvm!({
            let name = LLVMMDStringInContext2(self.context, property.as_ptr().cast(), property.len());
            let mut name = [name];
            let property = LLVMMDNodeInContext2(self.context, name.as_mut_ptr(), name.len());
            // No two loops share a node.
            let node = distinct_node(self.context, &[property]);
            let kind = LLVMGetMDKindIDInContext(self.context, kind.as_ptr().cast(), kind.len() as u32);
            LLVMSetMetadata(branch.0, kind, LLVMMetadataAsValue(self.context, node));
        });
    }

    pub fn cond_br(&self, condition: Value, then: Label, els: Label) {
        llvm!(LLVMBuildCondBr(self.raw, condition.0, then.0, els.0));
    }

    /// The same where the first label is where control nearly always goes.
    pub fn cond_br_usually(&self, condition: Value, usual: Label, rare: Label) {
        let branch = llvm!(LLVMBuildCondBr(self.raw, condition.0, usual.0, rare.0));
        self.set_weights(Value(branch), [USUALLY, 1]);
    }

    pub fn switch(&self, value: Value, default: Label, cases: &[(u64, Label)]) {
        llvm!({
            let switch = LLVMBuildSwitch(self.raw, value.0, default.0, cases.len() as u32);
            for (number, label) in cases {
                let number = LLVMConstInt(LLVMTypeOf(value.0), *number, 0);
                LLVMAddCase(switch, number, label.0);
            }
        });
    }

    /// The end of code that nothing reaches.
    pub fn unreachable(&self) {
        llvm!(LLVMBuildUnreachable(self.raw));
    }

    pub fn ret(&self) {
        llvm!(LLVMBuildRetVoid(self.raw));
    }

    /// A phi to which [`Builder::add_incoming`] adds operands.
    pub fn phi(&self, scalar: Scalar, lanes: u32) -> Value {
        Value(llvm!(LLVMBuildPhi(self.raw, self.ty(scalar, lanes), NAME)))
    }

    pub fn add_incoming(&self, phi: Value, value: Value, from: Label) {
        let (mut value, mut from) = (value.0, from.0);
        llvm!(LLVMAddIncoming(phi.0, &mut value, &mut from, 1));
    }
}
