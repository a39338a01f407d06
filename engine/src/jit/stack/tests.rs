//! Which accesses are told apart.

use super::super::target::Target;
use super::super::{Context, IrModule};

/// The lines of a function's IR that say something of scopes, with that, once accesses are told apart.
fn told(body: &str) -> Vec<String> {
    let text = format!("declare void @g(ptr)\ndefine void @f(ptr %p, i64 %i) {{\n{body}  ret void\n}}\n");
    let target = Target::host().expect("target");
    let context = Context::new();
    let ir = IrModule::parse(&context, &text, &target).expect("IR");
    super::tell_apart(&ir);
    ir.verify().expect("valid");
    let said = |line: &&str| line.starts_with("  ") && line.contains(", !");
    ir.text().lines().filter(said).map(|line| line.trim().to_owned()).collect()
}

const ARRAY: &str = "  %a = alloca [64 x float]\n  %e = getelementptr float, ptr %a, i64 %i\n";

#[test]
fn an_array_whose_address_nobody_has_is_no_other_memory() {
    let body =
        format!("{ARRAY}  %x = load float, ptr %p\n  store float %x, ptr %e\n  %y = load float, ptr %e\n");
    let told = told(&body);
    let has = |line: usize, scope: &str| told[line].contains(scope);
    assert_eq!(told.len(), 3, "{told:?}");
    assert!(has(0, "!noalias") && !has(0, "!alias.scope"), "{told:?}");
    assert!(has(1, "!alias.scope") && has(2, "!alias.scope"), "{told:?}");
    assert!(!has(1, "!noalias") && !has(2, "!noalias"), "{told:?}");
}

#[test]
fn what_was_said_before_stays() {
    let body =
        format!("{ARRAY}  %x = load float, ptr %p, !noalias !2\n  store float %x, ptr %e, !noalias !2\n");
    let text = format!(
        "define void @f(ptr %p, i64 %i) {{\n{body}  ret void\n}}\n!0 = distinct !{{!0}}\n!1 = distinct !{{!1, !0}}\n!2 = !{{!1}}\n"
    );
    let target = Target::host().expect("target");
    let context = Context::new();
    let ir = IrModule::parse(&context, &text, &target).expect("IR");
    super::tell_apart(&ir);
    let text = ir.text();
    let of = |what: &str| text.lines().find(|line| line.contains(what)).expect("there").to_owned();
    let list = |line: &str| {
        let node = line.rsplit_once("!noalias ").expect("a list").1.to_owned();
        of(&format!("{node} = !{{"))
    };
    assert_eq!(
        list(&of("load float")).matches('!').count(),
        4,
        "its own node, the list, and two scopes: {text}"
    );
    assert_eq!(list(&of("store float")).matches('!').count(), 3, "as before: {text}");
}

#[test]
fn an_array_whose_address_somebody_may_have_is_told_from_nothing() {
    for gives_away in [
        "  call void @g(ptr %e)\n",
        "  store ptr %e, ptr %p\n",
        "  %n = ptrtoint ptr %e to i64\n  store i64 %n, ptr %p\n",
        "  %q = select i1 true, ptr %e, ptr %p\n  store float 1.0, ptr %q\n",
        "  %v = insertelement <2 x ptr> poison, ptr %e, i64 0\n  store <2 x ptr> %v, ptr %p\n",
        "  %old = cmpxchg ptr %p, ptr null, ptr %e seq_cst seq_cst\n",
    ] {
        let body = format!("{ARRAY}  store float 2.0, ptr %e\n{gives_away}");
        assert_eq!(told(&body), [""; 0], "{gives_away}");
    }
}
