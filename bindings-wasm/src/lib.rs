//! The core for JavaScript and TypeScript: numbers in, numbers out.
