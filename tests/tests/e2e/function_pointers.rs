//! Pointers to device functions: the host asks for them, kernels of linked modules call through them, and what is no
//! function costs a launch and nothing else.

use std::ffi::CStr;
use std::ptr;

use ze_headers::*;
use ze_tests::{CommandList, ListOptions, Module, platform};

use crate::modules::link;

fn function(module: &Module, name: &CStr) -> ze_tests::Result<u64> {
    let mut pointer = ptr::null_mut();
    // SAFETY: a live module, a name and a place for the answer.
    let code =
        unsafe { platform().api.zeModuleGetFunctionPointer(module.handle, name.as_ptr(), &mut pointer) };
    platform().check("zeModuleGetFunctionPointer", code).map(|()| pointer as u64)
}

/// A module whose kernels call functions of another one, linked with that.
fn linked(user: &str) -> (Module, Module) {
    let (user, library) = (Module::named(user), Module::named("function_pointers_library"));
    link(&[&user, &library]).unwrap();
    (user, library)
}

const COUNT: usize = 1000;

/// A buffer with these elements.
fn buffer<T: Copy>(len: usize, element: impl FnMut(usize) -> T) -> ze_tests::Buffer<T> {
    platform().buffer(&(0..len).map(element).collect::<Vec<T>>())
}

#[test]
fn functions_of_linked_modules_are_called_through_pointers() {
    let (user, library) = linked("function_pointers");
    let input = buffer(COUNT, |at| at as i32 * 3 - 700);
    let out = platform().filled(0i32, COUNT);
    let pointers = platform().filled(0u64, COUNT);
    user.kernel("call_imported").run_1d(COUNT, 40, &[&input, &out, &pointers]);
    let [plus_one, square] = [c"plus_one", c"square"].map(|name| function(&library, name).unwrap());
    for at in 0..COUNT {
        let (x, odd) = (input[at], input[at] & 1 != 0);
        assert_eq!(out[at], if odd { x + 1 } else { x * x }, "{at}");
        // It is the same function for the host, for the module that has it and for the one that imports it.
        assert_eq!(pointers[at], if odd { plus_one } else { square }, "{at}");
    }
    assert_eq!(function(&user, c"square").unwrap(), square);
}

/// SYCL's runtime gives the module of virtual functions once for each kernel that needs it.
#[test]
fn equal_modules_are_linked_as_one() {
    let [user, again] = [(); 2].map(|()| Module::named("function_pointers"));
    let [library, twice] = [(); 2].map(|()| Module::named("function_pointers_library"));
    link(&[&user, &library, &again, &twice]).unwrap();
    let input = buffer(64, |at| at as i32);
    for module in [&user, &again] {
        let (out, pointers) = (platform().filled(0i32, 64), platform().filled(0u64, 64));
        module.kernel("call_imported").run_1d(64, 16, &[&input, &out, &pointers]);
        assert!((0..64).all(|at| out[at] == if at % 2 == 1 { at as i32 + 1 } else { (at * at) as i32 }));
    }
}

#[test]
fn the_host_makes_tables_of_functions() {
    let (user, library) = linked("function_pointers_given");
    let table = buffer(3, |at| function(&library, if at == 1 { c"square" } else { c"plus_one" }).unwrap());
    let input = buffer(COUNT, |at| at as i32);
    let out = platform().filled(0i32, COUNT);
    for group_size in [1, 8, 40] {
        user.kernel("call_given").run_1d(COUNT, group_size, &[&table, &input, &out]);
        for at in 0..COUNT {
            let x = at as i32;
            assert_eq!(out[at], if at % 3 == 1 { x * x } else { x + 1 }, "{at}");
        }
    }
}

#[test]
fn only_functions_whose_address_can_be_had_have_a_pointer() {
    let library = Module::named("function_pointers_library");
    for name in [c"cube", c"", c"plus_one "] {
        let error = function(&library, name).unwrap_err();
        assert_eq!(error.code, ZE_RESULT_ERROR_INVALID_FUNCTION_NAME, "{name:?}");
    }
    // SAFETY: null is what the call refuses.
    unsafe {
        let api = &platform().api;
        let code = api.zeModuleGetFunctionPointer(library.handle, c"square".as_ptr(), ptr::null_mut());
        assert_eq!(code, ZE_RESULT_ERROR_INVALID_NULL_POINTER);
        let mut pointer = ptr::null_mut();
        let code = api.zeModuleGetFunctionPointer(library.handle, ptr::null(), &mut pointer);
        assert_eq!(code, ZE_RESULT_ERROR_INVALID_NULL_POINTER);
    }
}

#[test]
fn a_call_through_what_is_no_function_loses_the_launch_and_nothing_else() {
    let (user, library) = linked("function_pointers_given");
    let square = function(&library, c"square").unwrap();
    let input = buffer(COUNT, |at| at as i32);
    let out = platform().filled(0i32, COUNT);
    let kernel = user.kernel("call_given");
    for (bad, reason) in [(0, "null"), (square + 4, "no function"), (out.pointer() as u64, "no function")] {
        let table = buffer(3, |at| if at == 2 { bad } else { square });
        let error = kernel.try_run([25, 1, 1], [40, 1, 1], &[&table, &input, &out]).unwrap_err();
        assert_eq!(error.code, ZE_RESULT_ERROR_DEVICE_LOST, "{error:?}");
        assert!(error.reason.contains(reason) && error.reason.contains("call_given"), "{error:?}");
        // Asynchronously, the wait tells it.
        let list = CommandList::immediate(ListOptions::asynchronous()).unwrap();
        list.launch(&kernel, [25, 1, 1], None, &[]).unwrap();
        let error = list.synchronize(u64::MAX).unwrap_err();
        assert_eq!(error.code, ZE_RESULT_ERROR_DEVICE_LOST, "{error:?}");
        let table = platform().filled(square, 3);
        kernel.run([25, 1, 1], [40, 1, 1], &[&table, &input, &out]);
        assert!((0..COUNT).all(|at| out[at] == (at * at) as i32));
    }
}
