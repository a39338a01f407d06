use super::super::testing::of_func;
use super::load_both;
use spirv::Op;

/// How many selections of numbers, loads and selections of pointers a kernel has then.
fn left(body: &str) -> [usize; 3] {
    of_func(body, |mut func| {
        load_both(&mut func);
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
    let stored = "OpStore %p %any_uint\n%v = OpLoad %uint %p\nOpStore %pointer %v";
    assert_eq!(left(&format!("{CHOICE}{stored}")), [1, 2, 1], "what is stored through as well");
    let volatile = "%v = OpLoad %uint %p Volatile\nOpStore %pointer %v";
    assert_eq!(left(&format!("{CHOICE}{volatile}")), [0, 1, 1]);
    let far = "%q = OpInBoundsPtrAccessChain %private_uint %p %ulong_4096\n%v = OpLoad %uint %q\nOpStore %pointer %v";
    assert_eq!(left(&format!("{CHOICE}{far}").replace("%ulong_4096", "%any_ulong")), [0, 1, 1], "anywhere");
}
