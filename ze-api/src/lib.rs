//! The `ze*` C entry points.
