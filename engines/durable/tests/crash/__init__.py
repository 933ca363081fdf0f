"""What a journal promises, tried by killing: `cargo xtask crash`, or here `python -m crash`. See docs/internals/crash.md."""
