//! Reference arithmetic of arbitrary precision: GNU MPFR, opened at run time.
//!
//! Only what the accuracy tests need: functions of up to three doubles, evaluated at 256 bits and returned as the sum
//! of two doubles.

use std::collections::HashMap;
use std::ffi::{c_int, c_long, c_ulong};
use std::mem::MaybeUninit;
use std::sync::{LazyLock, Mutex};

/// Bits of the intermediate results. An argument reduction of the largest double needs about 1100, which MPFR adds
/// itself; the result is correctly rounded to this many.
const PRECISION: c_long = 256;
/// `MPFR_RNDN`.
const TO_NEAREST: c_int = 0;

/// `__mpfr_struct` of the C interface.
#[repr(C)]
struct Number {
    precision: c_long,
    sign: c_int,
    exponent: c_long,
    limbs: *mut c_ulong,
}

type Unary = unsafe extern "C" fn(*mut Number, *const Number, c_int) -> c_int;
type Binary = unsafe extern "C" fn(*mut Number, *const Number, *const Number, c_int) -> c_int;
type Ternary = unsafe extern "C" fn(*mut Number, *const Number, *const Number, *const Number, c_int) -> c_int;

struct Library {
    library: libloading::Library,
    init2: unsafe extern "C" fn(*mut Number, c_long),
    clear: unsafe extern "C" fn(*mut Number),
    set_d: unsafe extern "C" fn(*mut Number, f64, c_int) -> c_int,
    get_d: unsafe extern "C" fn(*const Number, c_int) -> f64,
    sub_d: unsafe extern "C" fn(*mut Number, *const Number, f64, c_int) -> c_int,
    functions: Mutex<HashMap<String, usize>>,
}

static LIBRARY: LazyLock<Library> = LazyLock::new(|| {
    // SAFETY: MPFR's initialisers are benign, and the symbols have the signatures of its header.
    unsafe {
        let library =
            libloading::Library::new("libmpfr.so.6").expect("libmpfr.so.6 (Debian's libmpfr6) opens");
        macro_rules! symbol {
            ($name:literal) => {
                *library.get(concat!($name, "\0").as_bytes()).expect($name)
            };
        }
        Library {
            init2: symbol!("mpfr_init2"),
            clear: symbol!("mpfr_clear"),
            set_d: symbol!("mpfr_set_d"),
            get_d: symbol!("mpfr_get_d"),
            sub_d: symbol!("mpfr_sub_d"),
            functions: Mutex::new(HashMap::new()),
            library,
        }
    }
});

/// A number that is freed.
struct Owned(Number);

impl Owned {
    fn new(value: f64) -> Owned {
        let mut number = MaybeUninit::uninit();
        // SAFETY: `mpfr_init2` initialises all of it.
        unsafe {
            (LIBRARY.init2)(number.as_mut_ptr(), PRECISION);
            let mut owned = Owned(number.assume_init());
            (LIBRARY.set_d)(&mut owned.0, value, TO_NEAREST);
            owned
        }
    }
}

impl Drop for Owned {
    fn drop(&mut self) {
        // SAFETY: initialised by `new`.
        unsafe { (LIBRARY.clear)(&mut self.0) };
    }
}

/// A real number as the unevaluated sum of two doubles, the first being the sum rounded.
#[derive(Clone, Copy, Debug)]
pub struct Reference {
    pub high: f64,
    pub low: f64,
}

/// The value of MPFR's `mpfr_<function>` for one to three arguments.
pub fn evaluate(function: &str, arguments: &[f64]) -> Reference {
    let address =
        *LIBRARY.functions.lock().expect("no panic while locked").entry(function.to_owned()).or_insert_with(
            || {
                // SAFETY: only the address is taken.
                let symbol = unsafe {
                    LIBRARY.library.get::<unsafe extern "C" fn()>(format!("mpfr_{function}\0").as_bytes())
                };
                *symbol.unwrap_or_else(|_| panic!("MPFR has no mpfr_{function}")) as usize
            },
        );
    let numbers: Vec<Owned> = arguments.iter().map(|&value| Owned::new(value)).collect();
    let mut result = Owned::new(0.0);
    // SAFETY: the functions that tests name take as many numbers as they pass, and a rounding mode.
    unsafe {
        match numbers.as_slice() {
            [x] => std::mem::transmute::<usize, Unary>(address)(&mut result.0, &x.0, TO_NEAREST),
            [x, y] => std::mem::transmute::<usize, Binary>(address)(&mut result.0, &x.0, &y.0, TO_NEAREST),
            [x, y, z] => {
                std::mem::transmute::<usize, Ternary>(address)(&mut result.0, &x.0, &y.0, &z.0, TO_NEAREST)
            }
            _ => panic!("one to three arguments"),
        };
        let high = (LIBRARY.get_d)(&result.0, TO_NEAREST);
        if !high.is_finite() {
            return Reference { high, low: 0.0 };
        }
        let mut rest = Owned::new(0.0);
        (LIBRARY.sub_d)(&mut rest.0, &result.0, high, TO_NEAREST);
        Reference { high, low: (LIBRARY.get_d)(&rest.0, TO_NEAREST) }
    }
}
