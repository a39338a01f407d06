//! Members of structures that are passed by value.

use super::super::func::ENTRY;
use super::super::testing::{block, of_func};
use super::load_first;
use spirv::Op;

/// How many loads of private memory a kernel has in its first block and in the second one.
fn loads(body: &str) -> [usize; 2] {
    let body = format!("OpBranch %next\n%next = OpLabel\n{body}");
    of_func(&body, |mut func| {
        load_first(&mut func);
        [ENTRY, block(1)].map(|at| func.blocks[at].insts.iter().filter(|inst| inst.op == Op::Load).count())
    })
}

const MEMBER: &str = "%m = OpInBoundsAccessChain %private_uint %by_value %uint_1\n%a = OpLoad %uint %m\n";

#[test]
fn members_are_loaded_where_the_kernel_begins() {
    assert_eq!(loads(MEMBER), [1, 0]);
}

#[test]
fn a_member_is_loaded_once_as_each_type() {
    let again = "%p = OpBitcast %private_uint %by_value\n%q = OpInBoundsPtrAccessChain %private_uint %p %ulong_2\n\
        %b = OpLoad %uint %q\n";
    assert_eq!(loads(&format!("{MEMBER}{again}")), [1, 0]);
    let other = "%r = OpBitcast %private_ulong %m\n%c = OpLoad %ulong %r\n";
    assert_eq!(loads(&format!("{MEMBER}{again}{other}")), [2, 0]);
}

#[test]
fn what_is_not_a_member_stays() {
    // That an index chooses, that lies behind the structure, and what may be another value each time.
    let chosen = "%p = OpBitcast %private_uint %by_value\n%q = OpPtrAccessChain %private_uint %p %any_uint\n%a = OpLoad %uint %q";
    assert_eq!(loads(chosen), [0, 1]);
    assert_eq!(loads(&chosen.replace("%any_uint", "%ulong_4")), [0, 1]);
    assert_eq!(loads(&chosen.replace("%any_uint", "%ulong_3")), [1, 0]);
    assert_eq!(loads(&MEMBER.replace("%uint %m", "%uint %m Volatile")), [0, 1]);
}

#[test]
fn structures_that_are_written_to_stay() {
    assert_eq!(loads(&format!("{MEMBER}OpStore %m %any_uint")), [0, 1]);
}

#[test]
fn members_are_known_by_their_place() {
    of_func(MEMBER.trim_end(), |mut func| {
        load_first(&mut func);
        let members: Vec<_> = func.members.keys().map(|id| func.given(*id)).collect();
        let argument = func.params.iter().position(|(param, ty)| super::is_by_value(&func, *param, *ty));
        assert_eq!(members, [Some((argument.expect("there is one"), 8))]);
    });
}
