//! Rules as a document says them.

use super::{CLASSES, GRPC, HTTP, KINDS, LISTS, Lists, Operations, PATTERNS, RETRIED, Rules, slot};
use crate::decide::grpc::GrpcCode;
use crate::json::{Open, Out};
use core::fmt;

impl Rules {
    /// The path of every list that there is, as a document has it: `retry_on.http`.
    pub fn names() -> impl Iterator<Item = &'static str> {
        LISTS.into_iter().map(|list| list.1)
    }

    /// Writes the lists for some operations into an object; `patterns` writes the list of patterns, if there is one.
    pub(crate) fn write(
        &self,
        operations: Operations,
        object: &mut Open<'_>,
        patterns: impl FnOnce(Out<'_>) -> fmt::Result,
    ) -> fmt::Result {
        let lists = self.lists(operations);
        if lists.listed & HTTP != 0 {
            lists.write_http(object.field("http")?)?;
        }
        if lists.listed & GRPC != 0 {
            write_codes(lists.grpc, object.field("grpc")?)?;
        }
        if lists.listed & KINDS != 0 {
            let kinds = RETRIED.into_iter().filter(|kind| lists.kinds >> kind.code() & 1 == 1);
            crate::json::texts(object.field("kinds")?, kinds.map(crate::FailureKind::name))?;
        }
        if lists.listed & PATTERNS != 0 {
            patterns(object.field("patterns")?)?;
        }
        Ok(())
    }

    /// True if operations that may not run twice have rules of their own.
    pub(crate) const fn tells_apart(&self) -> bool {
        self.non_idempotent.listed != 0
    }

    /// The codes of the list of gRPC codes, one bit for each, when it is all there is.
    pub(crate) fn only_codes(&self) -> Option<u32> {
        let codes = Self { all: Lists { grpc: self.all.grpc, listed: GRPC, ..Lists::NONE }, ..Self::NONE };
        if *self == codes { Some(self.all.grpc) } else { None }
    }

    /// True if a list of patterns is all there is.
    pub(crate) fn has_only_patterns(&self) -> bool {
        *self == Self { all: Lists { listed: PATTERNS, ..Lists::NONE }, ..Self::NONE }
    }
}

/// A list of the names of codes.
pub(crate) fn write_codes(codes: u32, out: Out<'_>) -> fmt::Result {
    let listed = GrpcCode::ALL.into_iter().filter(|code| codes >> code.code() & 1 == 1);
    crate::json::texts(out, listed.map(GrpcCode::name))
}

impl Lists {
    /// Whole classes by their name, other statuses one by one.
    fn write_http(&self, out: Out<'_>) -> fmt::Result {
        let mut list = Open::new(out, '[')?;
        for (class, first) in CLASSES {
            let statuses = first..first.saturating_add(100);
            if statuses.clone().all(|status| self.has_status(status)) {
                crate::json::text(list.item()?, class)?;
                continue;
            }
            for status in statuses.filter(|status| slot(*status).is_some() && self.has_status(*status)) {
                write!(list.item()?, "{status}")?;
            }
        }
        list.end(']')
    }
}
