//! The one registry of what is supported.
