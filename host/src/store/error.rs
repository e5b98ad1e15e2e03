//! What can go wrong with a store. Whatever it is, nothing is half saved, and nothing is sent until a charge commits (I14).

use std::error::Error;

/// An error of the caller's own that travels through the store.
pub type BoxError = Box<dyn Error + Send + Sync>;

/// Why a store didn't do as asked. `store` is where it lives.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The SQLite within is too old.
    #[error(
        "the SQLite library is {found}, and below {needed} it can damage a store: build sondeo with its bundled one"
    )]
    Library {
        /// What is there.
        found: &'static str,
        /// What is needed.
        needed: &'static str,
    },
    /// The file or its folder can't be used.
    #[error("can't open store `{store}`: {why}")]
    Open {
        /// Where.
        store: String,
        /// Why.
        why: String,
    },
    /// The file holds something else.
    #[error("`{store}` is not a database: name another file, or put the right one back from a backup")]
    NotADatabase {
        /// Where.
        store: String,
    },
    /// The database belongs to another program.
    #[error("`{store}` is a database of another program, and is left alone: name another file")]
    Foreign {
        /// Where.
        store: String,
    },
    /// There is no store to read.
    #[error("there is no store at `{store}`")]
    Absent {
        /// Where.
        store: String,
    },
    /// The store's schema is of a later release.
    #[error("store `{store}` was written by a newer sondeo (schema {found}, this one knows {known}): use that version")]
    Newer {
        /// Where.
        store: String,
        /// The schema that is there.
        found: i64,
        /// The latest that this build knows.
        known: i64,
    },
    /// The store's schema is of an earlier release, and the store can't be written.
    #[error("store `{store}` has schema {found}, this sondeo reads {known}: open it once where it can be written")]
    Older {
        /// Where.
        store: String,
        /// The schema that is there.
        found: i64,
        /// The one that this build reads.
        known: i64,
    },
    /// Something is still in the write-ahead log, and the folder can't be written.
    #[error(
        "store `{store}` was not closed and its folder can't be written: copy file and `-wal` to a folder that can, and read it there"
    )]
    Unclean {
        /// Where.
        store: String,
    },
    /// The store was opened for reading, or can't be written.
    #[error("store `{store}` can't be written: nothing was saved")]
    ReadOnly {
        /// Where.
        store: String,
    },
    /// The disk, or the limit set for the store, is full.
    #[error(
        "no room left for store `{store}`: this was not saved, what was saved before is intact; make room and it goes on"
    )]
    Full {
        /// Where.
        store: String,
    },
    /// The disk or the operating system failed.
    #[error("store `{store}` failed to read or write: {why}; this was not saved, what was saved before is as it was")]
    Io {
        /// Where.
        store: String,
        /// What the engine says.
        why: String,
    },
    /// Somebody else holds the store's lock for longer than is waited for.
    #[error("store `{store}` is held by another process: nothing was saved, try again")]
    Busy {
        /// Where.
        store: String,
    },
    /// What is stored isn't what was stored.
    #[error("damaged: {what}: {why}")]
    Damaged {
        /// Which part.
        what: String,
        /// How it shows.
        why: String,
    },
    /// Something was handed in under a digest that isn't its own.
    #[error("{what} has the digest `{found}`, not `{given}`")]
    Digest {
        /// What was handed in.
        what: &'static str,
        /// The digest it was handed in under.
        given: String,
        /// Its own.
        found: String,
    },
    /// A step would change what it may not, or break a bound: nothing of it was saved.
    #[error("the step breaks a bound of the store: {0}")]
    Bounds(Bound),
    /// No such operation.
    #[error("there is no operation `{0}`")]
    NotFound(String),
    /// The row has another revision.
    #[error("operation `{id}` is at revision {found}, not {expected}: nothing was saved")]
    Stale {
        /// Which.
        id: String,
        /// The revision that was expected.
        expected: u64,
        /// The one that is there.
        found: u64,
    },
    /// The row bears another fencing number (I4).
    #[error("operation `{id}` has passed to fence {found}, this came under {given}: nothing was saved")]
    Fenced {
        /// Which.
        id: String,
        /// The number it came under.
        given: u64,
        /// The one that is there.
        found: u64,
    },
    /// The row bears the host's mark, and the step doesn't account for it (D33).
    #[error("operation `{0}` is marked for a fault of its component: nothing was saved")]
    Marked(String),
    /// The operation ended for good (D32).
    #[error("operation `{0}` is settled and never changes: nothing was saved")]
    Settled(String),
    /// Another operation holds the job (D4).
    #[error("job `{job}` is held by operation `{holder}`: nothing was saved")]
    JobTaken {
        /// The job.
        job: String,
        /// The operation that holds it.
        holder: String,
    },
    /// The caller's own error, as it gave it; nothing was saved.
    #[error(transparent)]
    Refused(BoxError),
    /// The engine failed in a way that has no name here.
    #[error("store `{store}` failed: {why}; nothing was saved")]
    Engine {
        /// Where.
        store: String,
        /// What the engine says.
        why: String,
    },
}

/// What a step would have changed, and how.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bound {
    /// The column, or the store's constraint.
    pub which: String,
    /// How it stands against what is stored.
    pub why: String,
}

impl std::fmt::Display for Bound {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.which, self.why)
    }
}

impl StoreError {
    /// Whether the error is one operation's own, so that others in the same batch can go on.
    pub fn is_local(&self) -> bool {
        matches!(
            self,
            Self::Damaged { .. }
                | Self::Digest { .. }
                | Self::Bounds(_)
                | Self::NotFound(_)
                | Self::Stale { .. }
                | Self::Fenced { .. }
                | Self::Marked(_)
                | Self::Settled(_)
                | Self::JobTaken { .. }
                | Self::Refused(_)
        )
    }

    /// Whether the same call may go through later without anybody changing the store: no room, a lock, the disk.
    pub fn may_pass(&self) -> bool {
        matches!(self, Self::Full { .. } | Self::Io { .. } | Self::Busy { .. })
    }

    /// Says where, in an error that was made without knowing it.
    pub(super) fn at(mut self, place: &str) -> Self {
        match &mut self {
            Self::NotADatabase { store }
            | Self::ReadOnly { store }
            | Self::Full { store }
            | Self::Io { store, .. }
            | Self::Busy { store }
            | Self::Open { store, .. }
            | Self::Engine { store, .. }
                if store.is_empty() =>
            {
                place.clone_into(store);
            }
            _ => {}
        }
        self
    }
}
