//! Ratios against the peers and the floors, in one run.
