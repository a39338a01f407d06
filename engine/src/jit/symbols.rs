//! What compiled code may refer to by name. Nothing else: a kernel cannot reach into the process.

use crate::builtins::{libmvec, print};
use crate::exec::failure::ze_cpu_fail;
use crate::image::{self, slots::handles};
use crate::print::Buffer;
use spirv_env::Id;

/// Prefix of the symbols that stand for module-scope variables.
const GLOBAL_PREFIX: &str = "ze_cpu_global_";

/// The external symbol that stands for a module-scope variable. Its address is the variable's storage.
pub fn global_symbol(id: Id) -> String {
    format!("{GLOBAL_PREFIX}{}", id.0)
}

/// The variable that a symbol stands for.
pub fn global_id(symbol: &str) -> Option<Id> {
    symbol.strip_prefix(GLOBAL_PREFIX)?.parse().ok().map(Id)
}

/// Prefix of the symbols that stand for the addresses of the module's functions.
const POINTER_PREFIX: &str = "ze_cpu_pointer_";

/// The external symbol whose address is what a pointer to a function of the module holds.
pub fn pointer_symbol(function: Id) -> String {
    format!("{POINTER_PREFIX}{}", function.0)
}

/// The function whose address a symbol stands for.
pub fn pointer_id(symbol: &str) -> Option<Id> {
    symbol.strip_prefix(POINTER_PREFIX)?.parse().ok().map(Id)
}

/// The symbol of the program's [`Lookup`](crate::pointers::Lookup).
pub const LOOKUP: &str = "ze_cpu_lookup";

/// The address of a function that any kernel may call, or of what any kernel may read.
pub fn function_address(symbol: &str) -> Option<usize> {
    let scalar = SCALAR.iter().find(|(name, _)| *name == symbol).map(|(_, function)| *function as usize);
    let image = match symbol {
        EMPTY_IMAGE => Some(std::ptr::from_ref(image::empty()) as usize),
        IMAGE_SLOTS => Some(handles().start as usize),
        IMAGE_SLOTS_USED => Some(std::ptr::from_ref(handles().used_bytes) as usize),
        _ => None,
    };
    if image.is_some() {
        return image;
    }
    let own = || OWN.iter().find(|(name, _)| *name == symbol).map(|(_, function)| *function as usize);
    let fail = || (symbol == FAIL).then_some(ze_cpu_fail as *const () as usize);
    scalar.or_else(own).or_else(fail).or_else(|| libmvec::address(symbol))
}

/// Declares functions of the C and compiler run-time libraries and makes the table of their addresses. They
/// are never called from here, so their parameters do not matter.
macro_rules! functions {
    ($($name:ident)*) => {
        // SAFETY: the names are functions of libc, libm and the compiler's run-time library.
        unsafe extern "C" {
            $(fn $name();)*
        }
        const SCALAR: &[(&str, unsafe extern "C" fn())] = &[$((stringify!($name), $name)),*];
    };
}

functions! {
    memcpy memmove memset memcmp

    acos acosh asin asinh atan atan2 atanh cbrt ceil copysign cos cosh erf erfc exp exp10 exp2 expm1 fabs fdim
    floor fma fmax fmin fmod frexp hypot ilogb ldexp lgamma lgamma_r log log10 log1p log2 logb modf nextafter
    pow remainder remquo rint round roundeven scalbn sin sincos sinh sqrt tan tanh tgamma trunc nearbyint

    acosf acoshf asinf asinhf atanf atan2f atanhf cbrtf ceilf copysignf cosf coshf erff erfcf expf exp10f exp2f
    expm1f fabsf fdimf floorf fmaf fmaxf fminf fmodf frexpf hypotf ilogbf ldexpf lgammaf lgammaf_r logf log10f
    log1pf log2f logbf modff nextafterf powf remainderf remquof rintf roundf roundevenf scalbnf sinf sincosf
    sinhf sqrtf tanf tanhf tgammaf truncf nearbyintf

    __extendhfsf2 __truncsfhf2 __truncdfhf2
    __divti3 __modti3 __udivti3 __umodti3 __multi3
    __fixsfti __fixunssfti __fixdfti __fixunsdfti __floattisf __floatuntisf __floattidf __floatuntidf
}

/// A function of `builtins::print`.
type Print = unsafe extern "C" fn(*const Buffer, *const u64, u64, u64, u64, u64) -> u64;

/// The engine's own functions.
const OWN: &[(&str, Print)] = &[(PRINT, print::ze_cpu_print), (ASSERT, print::ze_cpu_assert)];

/// The symbol of [`image::empty`].
pub const EMPTY_IMAGE: &str = "ze_cpu_empty_image";
/// The symbols of the first slot of images, and of the number of bytes of slots that are used ([`handles`]).
pub const IMAGE_SLOTS: &str = "ze_cpu_image_slots";
pub const IMAGE_SLOTS_USED: &str = "ze_cpu_image_slots_used";
/// The symbol of [`print::ze_cpu_print`].
pub const PRINT: &str = "ze_cpu_print";
/// The symbol of [`ze_cpu_fail`].
pub const FAIL: &str = "ze_cpu_fail";
/// The symbol of [`print::ze_cpu_assert`].
pub const ASSERT: &str = "ze_cpu_assert";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn global_symbols_are_read_back() {
        assert_eq!(global_id(&global_symbol(Id(17))), Some(Id(17)));
        assert_eq!(global_id("ze_cpu_global_x"), None);
        assert_eq!(global_id("sinf"), None);
    }

    #[test]
    fn functions_outside_the_table_are_not_found() {
        assert!(function_address("sinf").is_some());
        assert!(function_address("system").is_none());
    }
}
