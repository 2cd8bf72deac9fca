//! The gate: what a call may do.
