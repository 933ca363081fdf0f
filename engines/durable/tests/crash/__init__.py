"""What a journal promises, tried by killing: `cargo xtask crash`, or `python -m crash`: docs/internals/crash.md."""
