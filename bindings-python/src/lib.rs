//! The core for Python: decorator, iterator, caller object and raw machines.
