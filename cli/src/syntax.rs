//! Texts as trees, a file for each format. Every value keeps its place.

pub(crate) mod broken;
pub(crate) mod haproxy;
pub(crate) mod hcl;
mod indentation;
pub(crate) mod json;
pub(crate) mod nginx;
mod places;
pub(crate) mod properties;
pub(crate) mod sections;
pub(crate) mod yaml;
