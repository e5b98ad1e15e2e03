//! Components by digest: an operation goes on with the one that it is pinned to (D48).

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use super::load::sha256;
use super::{Component, LoadError};

/// Why a pinned component can't decide here. The operation is marked and rests; another is never taken in its place.
#[derive(Debug, thiserror::Error)]
pub enum PinnedError<E> {
    /// Nobody has its bytes.
    #[error("the component with SHA-256 {0} is not kept here: put its file into the store")]
    Absent(String),
    /// The bytes that were kept are others.
    #[error("what is kept as the component with SHA-256 {wanted} has SHA-256 {found}: it is damaged and not used")]
    Damaged {
        /// The pinned digest.
        wanted: String,
        /// The digest of what is there.
        found: String,
    },
    /// It can't be loaded.
    #[error("the component with SHA-256 {sha256} can't be used: {error}")]
    Load {
        /// The pinned digest.
        sha256: String,
        /// Why.
        #[source]
        error: LoadError,
    },
    /// The store could not be asked.
    #[error("{0}")]
    Fetch(#[source] E),
}

/// The embedded component, and those that were pinned earlier, each compiled once.
#[derive(Debug)]
pub struct Components {
    embedded: Component,
    earlier: Mutex<HashMap<String, Component>>,
}

impl Components {
    /// With this component for what is opened from now on.
    pub fn new(embedded: Component) -> Components {
        Components { embedded, earlier: Mutex::default() }
    }

    /// The component for what is opened from now on.
    pub const fn embedded(&self) -> &Component {
        &self.embedded
    }

    /// The component with this digest; where it is not known yet, `fetch` is asked for its bytes, and they are compiled.
    ///
    /// # Errors
    /// Where the bytes are not there, damaged, or can't be used.
    pub fn pinned<E>(
        &self,
        digest: &str,
        fetch: impl FnOnce() -> Result<Option<Vec<u8>>, E>,
    ) -> Result<Component, PinnedError<E>> {
        if digest == self.embedded.sha256() {
            return Ok(self.embedded.clone());
        }
        if let Some(known) = self.earlier.lock().unwrap_or_else(PoisonError::into_inner).get(digest) {
            return Ok(known.clone());
        }
        let bytes = fetch().map_err(PinnedError::Fetch)?.ok_or_else(|| PinnedError::Absent(digest.to_owned()))?;
        let found = sha256(&bytes);
        if found != digest {
            return Err(PinnedError::Damaged { wanted: digest.to_owned(), found });
        }
        // Compiled outside the lock: others need not wait. Two at once make the same thing twice.
        let loaded = Component::load(&bytes).map_err(|error| PinnedError::Load { sha256: digest.to_owned(), error })?;
        let mut earlier = self.earlier.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(earlier.entry(found).or_insert(loaded).clone())
    }
}
