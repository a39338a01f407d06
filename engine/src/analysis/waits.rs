//! Kernels whose sub-groups may wait for each other where several are side by side.
//!
//! In a loop that work-items leave at different times, or that those enter only which data chooses, a bundle of sub-groups goes on as long as any of its
//! work-items does, and the others' instructions are executed for nothing. Where one work-item in a hundred has something to do, a sub-group of 16
//! seldom has one, and one of four nearly always. Where all of them are at it, four hide each other's latencies. Data decides, so launches find out (`exec/trial.rs`).

use super::Analysis;
use super::loops::Loop;
use spirv_env::Inst;
use spirv_env::opcodes::Memory;

impl Analysis<'_> {
    /// Whether sub-groups of a bundle may wait for each other, and for nothing else.
    pub fn waits_in_bundles(&self) -> bool {
        let waits = self.loops.loops.iter().any(|(id, this)| {
            self.control.divergent_loops.contains(id) || self.is_entered_by_what_is_loaded(this)
        });
        waits && !self.insts_in_blocks().any(|(block, inst)| self.may_wait_for_others(block, inst))
    }

    /// Whether it depends on what work-items have loaded which of them come to a loop.
    fn is_entered_by_what_is_loaded(&self, this: &Loop) -> bool {
        let is_loaded = |_, inst: &Inst| {
            matches!(inst.row().memory, Memory::Read { .. }) && !self.builtins.contains_key(&inst.id(0))
        };
        self.control.class[this.header].is_some()
            && self.control.varying.iter().any(|block| {
                block != this.header
                    && self.doms.dominates(block, this.header)
                    && self.branches_by(block, &is_loaded)
            })
    }
}

#[cfg(test)]
mod tests {
    use crate::analysis::testing::{VARIANT, counted_loop, of_blocks};

    const OWN: &str = "%id = OpLoad %ulong %GlobalLinearId
        %place = OpInBoundsPtrAccessChain %to_uint %pointer %id\n%loaded = OpLoad %uint %place\n%own = OpUConvert %uint %id\n";

    /// Whether sub-groups may wait that go through a loop of these instructions if they like a number.
    fn waits(number: &str, inside: &str) -> bool {
        let body = counted_loop("", inside).replace("%entry ", "%before ").replacen(
            "OpBranch %head",
            &format!(
                "%wanted = OpIEqual %bool %{number} %uint_4\nOpBranchConditional %wanted %before %exit\n\
                 %before = OpLabel\nOpBranch %head"
            ),
            1,
        );
        of_blocks(&format!("{OWN}{body}"), VARIANT, |a| a.waits_in_bundles())
    }

    /// The same of a loop that all go through, up to a number.
    fn waits_up_to(number: &str) -> bool {
        let body = counted_loop("", "").replace("%bool %n %any_uint", &format!("%bool %n %{number}"));
        of_blocks(&format!("{OWN}{body}"), VARIANT, |a| a.waits_in_bundles())
    }

    #[test]
    fn work_items_that_data_sends_into_loops_keep_others_waiting() {
        assert!(waits("loaded", ""));
        assert!(!waits("own", ""), "a bound");
        assert!(!waits("any_uint", ""), "all or none");
        assert!(!waits("loaded", "%seen = OpLoad %uint %place Volatile"), "may wait for others");
        let looks = "%seen = OpAtomicIAdd %uint %place %uint_1 %uint_0 %n\nOpStore %place %seen";
        assert!(waits("loaded", looks), "a place in a list");
    }

    #[test]
    fn those_that_go_on_for_longer_do() {
        assert!(waits_up_to("own") && waits_up_to("loaded"));
        assert!(!waits_up_to("any_uint"));
    }
}
