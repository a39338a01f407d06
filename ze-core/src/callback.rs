//! Functions of the program that are called when something of the driver's ends.

use crate::error::Result;
use crate::fallible;
use crate::fork::Mutex;
use std::ffi::c_void;

/// A function of the program, and what it is called with.
struct Callback {
    function: unsafe extern "C" fn(*mut c_void),
    data: usize,
}

/// Those of one object, each of which is called once.
#[derive(Default)]
pub(crate) struct Callbacks(Mutex<Vec<Callback>>);

impl Callbacks {
    pub fn add(
        &self,
        of: &'static str,
        function: unsafe extern "C" fn(*mut c_void),
        data: *mut c_void,
    ) -> Result<()> {
        fallible::push(&mut self.0.lock(), of, Callback { function, data: data as usize })
    }

    /// Calls them, in the order in which they were added. No lock is held meanwhile: they may call the driver.
    pub fn call(&self) {
        let callbacks = std::mem::take(&mut *self.0.lock());
        for Callback { function, data } in callbacks {
            // SAFETY: the program's own function with the program's own argument.
            unsafe { function(data as *mut c_void) };
        }
    }
}
