//! One flaky server, five hosts: the same decisions in each.
