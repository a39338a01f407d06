//! What work-groups leave in local memory.

use super::super::testing::{VARIANT, of_blocks};
use super::Most;

/// The bytes that a kernel may have written of a local array of 255 `uint` that begins as zeros, `None` if that may be any. `%l` is the local id in
/// x, `%m` that in y.
fn touched(body: &str) -> Option<Most> {
    let ids = "%lids = OpLoad %ulong3 %LocalInvocationId\n%l = OpCompositeExtract %ulong %lids 0\n\
        %m = OpCompositeExtract %ulong %lids 1";
    of_blocks(&format!("{ids}\n{body}"), VARIANT, |a| {
        let found = a.touched(false);
        assert_eq!(found.len(), 1, "{body}");
        assert_eq!(found[0].size, 1020);
        found[0].bytes
    })
}

fn at(index: &str) -> String {
    format!("{index}\n%p = OpInBoundsPtrAccessChain %to_local %tile %ulong_0 %i\nOpStore %p %any_uint")
}

#[test]
fn stores_by_local_ids_reach_as_far_as_those() {
    let most = |constant, of_ids| Some(Most { constant, of_ids });
    assert_eq!(
        touched("%q = OpInBoundsPtrAccessChain %to_local %tile %ulong_0 %l\n%x = OpLoad %uint %q"),
        most(0, [0; 3])
    );
    assert_eq!(touched(&at("%i = OpCopyObject %ulong %l")), most(4, [4, 0, 0]));
    let tile =
        "%row = OpIMul %ulong %m %ulong_16\n%sum = OpIAdd %ulong %row %l\n%i = OpIAdd %ulong %sum %ulong_3";
    assert_eq!(touched(&at(tile)), most(16, [4, 64, 0]));
    assert_eq!(touched(&at("%i = OpShiftLeftLogical %ulong %l %ulong_1")), most(4, [8, 0, 0]));
    assert_eq!(touched(&at("%i = OpBitwiseAnd %ulong %any_ulong %ulong_7")), most(32, [0; 3]));
}

#[test]
fn stores_of_which_less_is_known_reach_anywhere() {
    for index in [
        "%i = OpCopyObject %ulong %any_ulong",
        "%i = OpISub %ulong %l %ulong_1",
        "%i = OpIMul %ulong %l %any_ulong",
        // The sign of a byte of an id.
        "%byte = OpUConvert %uchar %l\n%i = OpSConvert %ulong %byte",
    ] {
        assert_eq!(touched(&at(index)), None, "{index}");
    }
    // Farther than the variable: all of it is meant.
    assert_eq!(touched(&at("%i = OpIMul %ulong %l %ulong_255")), None);
    let stored = "%p = OpInBoundsPtrAccessChain %to_local %tile %ulong_0 %l\n%n = OpConvertPtrToU %ulong %p";
    assert_eq!(touched(stored), None);
}
