//! What kernels print (OpenCL C 2.0 §6.13.13), and assertions that fail.
//!
//! ```text
//! compiled code ──arguments of all lanes──▶ buffer ──the launch has ended──▶ format, render ──▶ output
//! ```
//!
//! Compiled code evaluates the arguments and calls [`builtins::print`](crate::builtins::print), which puts one
//! record a lane into the launch's [`Buffer`]. Nothing is formatted before the launch has ended.

mod assertion;
mod buffer;
mod format;
mod output;
mod render;

pub use assertion::Assertion;
pub use buffer::{Buffer, Call};

/// The type of an argument, as compiled code tells it: a word of its own in each record.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ArgumentType {
    pub kind: PrintKind,
    /// Of a component.
    pub bits: u32,
    /// 1, or those of a vector.
    pub components: u32,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PrintKind {
    Int,
    Float,
    Pointer,
}

impl ArgumentType {
    /// The word that stands for it.
    pub fn to_word(self) -> u64 {
        self.kind as u64 | u64::from(self.bits as u16) << 16 | u64::from(self.components) << 32
    }

    fn of_word(word: u64) -> ArgumentType {
        let kind = match word & 0xffff {
            0 => PrintKind::Int,
            1 => PrintKind::Float,
            _ => PrintKind::Pointer,
        };
        ArgumentType { kind, bits: (word >> 16) as u32 & 0xffff, components: (word >> 32) as u32 }
    }
}
