//! What says how long a kernel's loops are, so that it can be told whether a launch will take as long as one before.

use super::Analysis;
use super::func::BlockId;
use crate::abi::LoopInputs;
use rustc_hash::FxHashSet;
use spirv_env::Id;
use spirv_env::opcodes::{Family, Memory};

impl Analysis<'_> {
    /// The arguments that decide how often loops go round, and whether anything else does.
    pub fn loop_inputs(&self) -> LoopInputs {
        let mut insts = self.func.blocks.values().flat_map(|block| &block.insts);
        let inputs = LoopInputs { data: insts.any(|inst| inst.row().family == Family::Call), arguments: 0 };
        let leaves_loop: FxHashSet<BlockId> =
            self.loops.loops.values().flat_map(|this| &this.exits).map(|(from, _)| *from).collect();
        let mut walk = Walk { inputs, seen: FxHashSet::default(), joins: false };
        let condition = |block: &BlockId| self.func.blocks[*block].term.condition();
        leaves_loop.iter().filter_map(condition).for_each(|id| walk.follow(self, id));
        if walk.joins {
            // Which way was taken decides, so what decides that does.
            let inside = self.func.block_ids().filter(|block| self.loops.of(*block).is_some());
            inside.filter_map(|block| condition(&block)).for_each(|id| walk.follow(self, id));
        }
        // Whoever does not go into a loop at all is soon done, and so is who has less to do in it.
        let Walk { inputs: LoopInputs { data, .. }, .. } = walk;
        self.func.block_ids().filter_map(|block| condition(&block)).for_each(|id| walk.follow(self, id));
        LoopInputs { data, ..walk.inputs }
    }
}

struct Walk {
    inputs: LoopInputs,
    seen: FxHashSet<Id>,
    /// Some value is one of several, as control came.
    joins: bool,
}

impl Walk {
    /// Notes what a value is made of.
    fn follow(&mut self, a: &Analysis<'_>, id: Id) {
        let mut work = vec![id];
        while let Some(id) = work.pop() {
            if !self.seen.insert(id) {
                continue;
            }
            if let Some(at) = a.func.params.iter().position(|(param, _)| *param == id) {
                self.inputs.arguments |= LoopInputs::bit(at);
            } else if let Some(inst) = a.definition(id) {
                match inst.row().memory {
                    Memory::Read { .. } if a.builtins.contains_key(&inst.id(0)) => {}
                    Memory::None => work.extend(inst.ids()),
                    Memory::ByCallee
                        if inst.opencl_std(a.func.module).is_some_and(|function| function.is_pure()) =>
                    {
                        work.extend(inst.ids());
                    }
                    _ => self.inputs.data = true,
                }
            } else if let Some(&block) = a.def.get(&id) {
                let is_header = a.loops.headed_by(block).is_some();
                self.joins |= !is_header;
                let phis = a.func.blocks[block].phis.iter().filter(|phi| phi.result == id);
                work.extend(phis.flat_map(|phi| phi.incoming.iter().map(|(_, id)| *id)));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{VARIANT, a_loop, of_blocks};
    use super::*;

    /// Arguments are numbered as they are in `testing`: `%any_uchar`, `%any_ushort`, `%any_uint`, `%any_ulong`, `%any_float`, `%pointer`.
    fn inputs(condition: &str, inside: &str) -> LoopInputs {
        let phis = "%n = OpPhi %uint %uint_0 %entry %next %inside";
        let body = a_loop(phis, condition, &format!("{inside}\n%next = OpIAdd %uint %n %uint_1"));
        of_blocks(&body, VARIANT, |analysis| analysis.loop_inputs())
    }

    fn of(arguments: &[usize], data: bool) -> LoopInputs {
        let arguments = arguments.iter().map(|at| LoopInputs::bit(*at)).fold(0, |all, bit| all | bit);
        LoopInputs { arguments, data }
    }

    #[test]
    fn what_a_loop_compares_with_says_how_long_it_is() {
        let more = "%more = OpULessThan %bool %n %any_uint";
        assert_eq!(inputs(more, ""), of(&[2], false));
        let stored = "%sum = OpIAdd %ulong %any_ulong %ulong_1\n%narrow = OpUConvert %uint %sum\nOpStore %pointer %narrow";
        assert_eq!(inputs(more, stored), of(&[2], false), "what it computes does not");
        let sum = "%bound = OpUConvert %uint %any_uchar\n%both = OpIAdd %uint %any_uint %bound\n\
                   %more = OpULessThan %bool %n %both";
        assert_eq!(inputs(sum, ""), of(&[0, 2], false));
        assert_eq!(inputs("%more = OpULessThan %bool %n %uint_8", ""), of(&[], false));
    }

    #[test]
    fn what_is_loaded_is_data() {
        let loaded = "%bound = OpLoad %uint %pointer Aligned 4\n%more = OpULessThan %bool %n %bound";
        assert!(inputs(loaded, "").data);
        let id = "%bound = OpLoad %uint %SubgroupId\n%more = OpULessThan %bool %n %bound";
        assert_eq!(inputs(id, ""), of(&[], false));
    }
}
