//! What commands of the model do: something that the test sees.

use crate::error::{Error, Result};
use crate::metrics::usage::Usage;
use crate::signal::Signal;
use crate::sysman::activity::Work;
use std::sync::Arc;

/// A function of the test.
pub type Function = Arc<dyn Fn() + Send + Sync>;

/// The kinds of commands that streams tell apart.
pub enum Operation {
    Barrier,
    ResetEvent(Arc<Signal>),
    /// A short copy: executed by whoever submits it.
    Copy(Function),
    /// A kernel without loops, which is not known to be short.
    Launch(Function),
    /// One that may wait for the program by looking at memory.
    Loop(Function),
    /// It may wait for events, and so for other streams.
    HostFunction(Function),
    Failing,
}

impl Operation {
    pub fn reset(&self) -> Option<&Arc<Signal>> {
        match self {
            Operation::ResetEvent(signal) => Some(signal),
            _ => None,
        }
    }

    pub fn is_host_function(&self) -> bool {
        matches!(self, Operation::HostFunction(_))
    }

    pub fn is_instant(&self) -> bool {
        matches!(self, Operation::Barrier | Operation::ResetEvent(_) | Operation::Copy(_))
    }

    pub fn surely_ends(&self) -> bool {
        !matches!(self, Operation::Loop(_) | Operation::HostFunction(_))
    }

    pub fn work(&self) -> Option<Work> {
        match self {
            Operation::Copy(_) => Some(Work::Copy),
            Operation::Launch(_) | Operation::Loop(_) => Some(Work::Compute),
            _ => None,
        }
    }

    pub fn execute(&self, _: Option<&Usage>) -> Result<()> {
        match self {
            Operation::Barrier | Operation::ResetEvent(_) => Ok(()),
            Operation::Copy(function)
            | Operation::Launch(function)
            | Operation::Loop(function)
            | Operation::HostFunction(function) => {
                function();
                Ok(())
            }
            Operation::Failing => Err(Error::Unknown("no memory".into())),
        }
    }
}
