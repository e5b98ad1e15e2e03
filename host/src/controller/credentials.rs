//! Credentials, resolved when they are used (D13, D31): outside the store's transaction, held no longer than one request.

use zeroize::Zeroizing;

use super::{ControlError, Controller};
use crate::component::types;
use crate::credential::{Credential, CredentialRef};
use crate::store::Stored;

/// The one field of a record that a host reads by itself: the key of last resort for digests (D13).
#[derive(serde::Deserialize)]
struct Seed {
    seed: String,
}

impl Controller {
    /// The credential of an operation and what it says of itself; `None` where the contract sends none.
    ///
    /// # Errors
    /// [`ControlError::Credential`] where the reference leads to none.
    pub(super) async fn credential(
        &self,
        stored: &Stored,
        reference: Option<&str>,
    ) -> Result<Option<(Credential, types::CredentialFact)>, ControlError> {
        let Some(text) = reference else {
            return Ok(None);
        };
        let reference: CredentialRef = parse(text)?;
        let credential = reference.resolve().await?;
        let fact = types::CredentialFact {
            account: credential.account.clone(),
            digest: credential.digest(&self.digest_key(&stored.record)),
        };
        Ok(Some((credential, fact)))
    }

    /// The keyed digest of a credential, as the record of this operation would hold it (D33, `rotated`).
    ///
    /// # Errors
    /// [`ControlError::Credential`] where the reference leads to none.
    pub async fn credential_digest(&self, stored: &Stored, reference: &str) -> Result<String, ControlError> {
        let found = self.credential(stored, Some(reference)).await?;
        Ok(found.map(|(_, fact)| fact.digest).unwrap_or_default())
    }

    /// D13: keyed by the sealing key, else by the operation's seed.
    fn digest_key(&self, record: &str) -> Zeroizing<[u8; 32]> {
        if let Some(key) = &self.key {
            return key.for_digests();
        }
        let mut bytes = Zeroizing::new([0_u8; 32]);
        if let Ok(Seed { seed }) = serde_json::from_str(record) {
            // A seed that isn't one was refused by the component long before.
            let _ = hex::decode_to_slice(seed, bytes.as_mut_slice());
        }
        bytes
    }
}

fn parse(text: &str) -> Result<CredentialRef, ControlError> {
    text.parse().map_err(|error: crate::credential::ReferenceError| {
        ControlError::Refused(types::Refusal {
            kind: types::RefusalKind::InvalidRecord,
            message: error.to_string(),
            faults: Vec::new(),
        })
    })
}
