//! Lists whose length a program chooses: that there is no memory for one is an error, not the end of the process.

use crate::error::{Error, Result};
use ze_engine::reserve;

/// What could not be had.
pub fn out_of_memory(what: &str, bytes: usize) -> Error {
    Error::OutOfHostMemory(format!("{bytes} bytes for {what} could not be allocated"))
}

/// Fails where memory is used up: asked before something new is made for the program.
pub fn check_memory() -> Result<()> {
    if reserve::is_whole() { Ok(()) } else { Err(Error::OutOfHostMemory("memory is used up".into())) }
}

/// Fails where the system has not this many bytes now. For work that allocates in many pieces.
pub fn check_room(what: &str, bytes: usize) -> Result<()> {
    if reserve::has_room(bytes) { Ok(()) } else { Err(out_of_memory(what, bytes)) }
}

/// Adds an item to a list.
pub fn push<T>(list: &mut Vec<T>, what: &str, item: T) -> Result<()> {
    if list.try_reserve(1).is_err() {
        return Err(out_of_memory(what, list.len().saturating_add(1).saturating_mul(size_of::<T>())));
    }
    list.push(item);
    Ok(())
}

/// As many items as there are, or the first error.
pub fn collect<T>(what: &str, items: impl Iterator<Item = Result<T>>) -> Result<Vec<T>> {
    let mut list = Vec::new();
    for item in items {
        push(&mut list, what, item?)?;
    }
    Ok(list)
}

/// A copy of bytes.
pub fn copy(what: &str, bytes: &[u8]) -> Result<Vec<u8>> {
    let mut list = Vec::new();
    list.try_reserve_exact(bytes.len()).map_err(|_| out_of_memory(what, bytes.len()))?;
    list.extend_from_slice(bytes);
    Ok(list)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_are_collected_up_to_the_first_error() {
        assert_eq!(collect("numbers", (0..5).map(Ok)).expect("memory is there"), [0, 1, 2, 3, 4]);
        let failing = (0..5).map(|at| if at == 3 { Err(Error::NotReady) } else { Ok(at) });
        assert!(matches!(collect("numbers", failing), Err(Error::NotReady)));
    }

    #[test]
    fn what_no_machine_has_is_an_error() {
        assert!(matches!(check_room("a module", 1 << 60), Err(Error::OutOfHostMemory(_))));
        assert!(check_memory().is_ok() && check_room("a module", 1 << 20).is_ok());
    }
}
