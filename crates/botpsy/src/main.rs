//! The `botpsy` program.
fn main() {}
