//! The CPU execution engine.
