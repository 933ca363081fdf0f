//! The vectors, their generator and their runner.
