//! The tools that come with the program.
