use super::super::testing::of_func;
use super::access_both;
use spirv::Op;

/// How many selections of numbers, loads and selections of pointers a kernel has then.
fn left(body: &str) -> [usize; 3] {
    of_func(body, |mut func| {
        access_both(&mut func);
        let insts: Vec<_> = func.blocks.values().flat_map(|block| &block.insts).collect();
        let is_pointer = |inst: &&&spirv_env::Inst| {
            let ty = inst.ty.map(|ty| func.module.types.get(ty));
            matches!(ty, Some(spirv_env::Type::Pointer { .. }))
        };
        let choices = || insts.iter().filter(|inst| inst.op == Op::Select);
        let loads = insts.iter().filter(|inst| inst.op == Op::Load).count();
        let pointers = choices().filter(|inst| is_pointer(inst)).count();
        [choices().count() - pointers, loads, pointers]
    })
}

const CHOICE: &str = "%a = OpBitcast %private_uint %words\n%b = OpBitcast %private_uint %zeros\n\
    %p = OpSelect %private_uint %any_bool %a %b\n";

#[test]
fn what_is_loaded_is_chosen() {
    assert_eq!(left(&format!("{CHOICE}%v = OpLoad %uint %p\nOpStore %pointer %v")), [1, 2, 0]);
    let behind =
        "%q = OpInBoundsPtrAccessChain %private_uint %p %ulong_1\n%v = OpLoad %uint %q\nOpStore %pointer %v";
    assert_eq!(left(&format!("{CHOICE}{behind}")), [1, 2, 0], "a member");
    let again = "%q = OpSelect %private_uint %any_bool %p %object\n%v = OpLoad %uint %q\nOpStore %pointer %v";
    assert_eq!(left(&format!("{CHOICE}{again}")), [2, 3, 0], "a choice of a choice");
}

#[test]
fn others_stay() {
    let stored = "OpStore %p %any_uint Volatile\n%v = OpLoad %uint %p\nOpStore %pointer %v";
    assert_eq!(left(&format!("{CHOICE}{stored}")), [1, 2, 1], "what is stored through as well");
    let volatile = "%v = OpLoad %uint %p Volatile\nOpStore %pointer %v";
    assert_eq!(left(&format!("{CHOICE}{volatile}")), [0, 1, 1]);
    let far = "%q = OpInBoundsPtrAccessChain %private_uint %p %ulong_4096\n%v = OpLoad %uint %q\nOpStore %pointer %v";
    let anywhere = format!("{CHOICE}{far}").replace("%ulong_4096", "%any_ulong");
    let of_others = anywhere.replace("%private_uint %zeros", "%private_uint %object");
    let named = "%z = OpBitcast %private_uchar %zeros\n";
    assert_eq!(left(&format!("{named}{of_others}")), [0, 1, 1], "anywhere");
}

#[test]
fn what_is_stored_is_stored_to_both() {
    let stored = "OpStore %p %any_uint\n%v = OpLoad %uint %p\nOpStore %pointer %v";
    assert_eq!(left(&format!("{CHOICE}{stored}")), [3, 4, 0]);
}

#[test]
fn members_and_variables_are_chosen_wherever_they_are_accessed() {
    let member = |at: u32| format!("OpAccessChain %private_uint %by_value %uint_{at}");
    let members = format!(
        "%a = {}\n%b = {}\n%p = OpSelect %private_uint %any_bool %a %b\nOpStore %p %any_uint",
        member(1),
        member(2)
    );
    assert_eq!(left(&members), [2, 2, 0]);
    let element = "%q = OpInBoundsPtrAccessChain %private_uint %p %any_ulong\nOpStore %q %any_uint";
    assert_eq!(left(&format!("{CHOICE}{element}")), [2, 2, 0], "two arrays of 16 bytes");
    let named = "%z = OpBitcast %private_uchar %zeros\n";
    let of_one = format!("{named}{}", CHOICE.replace("%zeros", "%object"));
    assert_eq!(left(&format!("{of_one}{element}")), [0, 0, 1], "one of 4 bytes");
}

#[test]
fn variables_that_change_their_places_are_told_by_a_truth() {
    let rows = |first: &str, second: &str| {
        left(&format!(
            "%a = OpBitcast %private_uint %words\n%b = OpBitcast %private_uint {second}\n%o = OpCopyObject %private_uint %object\n
             OpBranch %head\n%head = OpLabel\n%p = OpPhi %private_uint {first} %entry %q %head\n%q = OpPhi %private_uint %b %entry %p %head\n\
             %n = OpPhi %uint %uint_0 %entry %next %head\n%from = OpInBoundsPtrAccessChain %private_uint %p %any_ulong\n\
             %v = OpLoad %uint %from\n%to = OpInBoundsPtrAccessChain %private_uint %q %any_ulong\nOpStore %to %v\n\
             %next = OpIAdd %uint %n %uint_1\n%more = OpULessThan %bool %next %any_uint\n\
             OpBranchConditional %more %head %left\n%left = OpLabel"
        ))
    };
    assert_eq!(rows("%a", "%zeros"), [3, 4, 0]);
    assert_eq!(rows("%o", "%zeros"), [0, 1, 0], "of other sizes");
}
