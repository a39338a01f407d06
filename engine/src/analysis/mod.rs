//! Analyses over a kernel: one a file. Their results are in [`Analysis`].

mod alignment;
pub mod builtins;
pub mod bundles;
pub mod calls;
pub mod cfg;
mod columns;
mod duration;
pub mod exits;
mod facts;
mod fixpoint;
pub mod func;
pub mod guards;
mod hope;
pub mod inlining;
pub mod invariant_loads;
pub mod joins;
pub mod leaves;
pub mod lengths;
pub mod linearization;
mod lists;
pub mod loops;
pub mod mem2reg;
pub mod members;
mod neighbours;
pub mod packed;
mod participants;
mod pointers;
pub mod private;
mod ranges;
pub mod read_ahead;
mod rearrangement;
pub mod regions;
pub mod shapes;
pub mod simplify;
mod steps;
pub mod streaming;
pub mod strips;
pub mod tables;
#[cfg(test)]
pub(crate) mod testing;
mod transfer;
mod uniform_objects;
mod unrolling;
pub mod walks;
pub mod work;

pub use facts::Analysis;
