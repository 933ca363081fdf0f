//! The core for C and C++: caller-owned memory, no allocation, no libc.
