//! What does no harm to a sub-group that is not there.

use super::super::func::ENTRY;
use super::super::testing::{VARIANT, of_last};
use super::is_harmless;
use crate::abi::{Coarsening, Variant};

/// Whether the last instruction may run in lockstep for a sub-group without a lane that is on.
fn harmless(body: &str) -> bool {
    let values = "%ids = OpLoad %ulong3 %GlobalInvocationId\n%x = OpCompositeExtract %ulong %ids 0\n\
                  %mine = OpInBoundsPtrAccessChain %to_uint %pointer %x\n";
    let variant = Variant { coarsening: Coarsening::AlongX(2), ..VARIANT };
    of_last(&format!("{values}{body}"), variant, |analysis, inst| is_harmless(analysis, ENTRY, inst))
}

#[test]
fn what_computes_or_reads_is_harmless_to_a_sub_group_that_is_not_there() {
    for body in [
        "OpIAdd %ulong %x %x",
        "OpLoad %uint %pointer",
        "OpLoad %uint %mine",
        "OpLoad %ulong3 %LocalInvocationId",
        "OpCompositeConstruct %ulong2 %x %x",
    ] {
        assert!(harmless(body), "{body}");
    }
    for body in [
        "OpUDiv %ulong %x %x",
        "OpAtomicIIncrement %uint %mine %uint_1 %uint_0",
        "OpFunctionCall %uint %callee %any_uint",
    ] {
        assert!(!harmless(body), "{body}");
    }
}
