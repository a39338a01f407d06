//! SPIR-V intake.
