//! Opening: durable before the first request (D2), one wait a job (D4).

use super::{ControlError, Controller, staged, whole};
use crate::bounds::check_opened;
use crate::component::{Component, types};
use crate::store::{self, ContractText, JobKey, Open, Stored};

/// An operation to be opened; the seed and the id are drawn here.
#[derive(Debug, Clone)]
pub struct NewOperation {
    /// The contract's text.
    pub contract: String,
    /// Its id, as the summary gives it.
    pub contract_id: String,
    /// Everything that the opener says; `operation_id`, `component`, `seed` and `sealing` are filled in.
    pub opening: types::Opening,
    /// Values that the submission's answer named, where one is handed over (D3).
    pub kept: Vec<types::Kept>,
}

/// What became of an opening.
#[derive(Debug, Clone)]
pub struct Opened {
    /// The operation, new or as it was.
    pub operation: types::Operation,
    /// It was there before (D4).
    pub existing: bool,
    /// The first line of a new one's story.
    pub sentence: Option<String>,
}

impl Controller {
    /// Opens an operation, or finds the one that waits, or waited, for the job under the same limits (D4).
    ///
    /// # Errors
    /// [`ControlError::Refused`] with every field at fault; a job that is waited for with other limits names its operation.
    pub fn open(&self, new: &NewOperation) -> Result<Opened, ControlError> {
        let mut opening = new.opening.clone();
        opening.operation_id = self.random_hex::<16>()?;
        opening.seed = self.random_hex::<32>()?;
        opening.component = self.component.sha256().to_owned();
        opening.sealing = self.key.is_some();
        let key = match opening.submission_unknown {
            true => None,
            false => Some(JobKey {
                namespace: opening.namespace.clone(),
                contract_id: new.contract_id.clone(),
                account: opening.account.clone(),
                job: self.component.job(&new.contract, &opening)?,
            }),
        };
        let digest = sha256(new.contract.as_bytes());
        let component = self.stored_component()?;
        let judge = self.judge(key.as_ref())?;
        let mut made = None;
        let mut found = None;
        let outcome = self.store.open_operation(key.as_ref(), &mut |there| {
            if let (Some(existing), None) = (&there.existing, &opening.predecessor) {
                found = Some(rejoin(&judge, new, existing, &opening).map_err(ControlError::boxed)?);
                return Ok(Open::UseExisting);
            }
            let transition = self
                .component
                .open(&new.contract, &opening, there.at)
                .map_err(|error| ControlError::from(error).boxed())?;
            check_opened(&opening, there.at, &transition).map_err(|why| broken(&why).boxed())?;
            let mut staged = staged(&transition)
                .map_err(ControlError::boxed)?
                .ok_or_else(|| broken("an opening without an entry").boxed())?;
            staged.authority = true;
            staged.contract = Some(ContractText { digest: digest.clone(), text: new.contract.clone() });
            staged.component = Some(component.clone());
            staged.kept = self
                .kept_address(&transition.operation, &new.kept, opening.address.as_deref())
                .map_err(ControlError::boxed)?;
            made = Some(transition);
            Ok(Open::Create(Box::new(staged)))
        })?;
        match (outcome, made, found) {
            (store::Opened::Created(_), Some(transition), _) => {
                Ok(Opened { operation: transition.operation, existing: false, sentence: transition.sentence })
            }
            (store::Opened::Exists(_), _, Some(operation)) => Ok(Opened { operation, existing: true, sentence: None }),
            (store::Opened::Exists(stored), ..) => {
                let operation = rejoin(&judge, new, &stored, &opening)?;
                Ok(Opened { operation, existing: true, sentence: None })
            }
            (store::Opened::Created(_), None, _) => Err(broken("an opening that was not made")),
        }
    }

    /// Random bytes in hexadecimal (D6).
    fn random_hex<const N: usize>(&self) -> Result<String, ControlError> {
        let mut bytes = [0_u8; N];
        (self.random)(&mut bytes).map_err(ControlError::Random)?;
        Ok(hex::encode(bytes))
    }

    /// The component as the store keeps it (D48).
    pub(super) fn stored_component(&self) -> Result<store::Component, ControlError> {
        let about = self.component.about()?;
        Ok(store::Component {
            digest: self.component.sha256().to_owned(),
            core_digest: self.component.core_sha256().unwrap_or_default().to_owned(),
            version: about.version,
            bytes: self.component.bytes().to_vec(),
        })
    }

    /// The component that judges an opening again: the one that the operation there is pinned to, where it can be had.
    fn judge(&self, key: Option<&JobKey>) -> Result<Component, ControlError> {
        let existing = match key {
            Some(key) => self.store.find_job(key)?,
            None => None,
        };
        match existing {
            Some(existing) => self.pinned(&existing.row.component_digest),
            None => Ok(self.component.clone()),
        }
    }
}

/// The operation there is, where it was opened alike (D4). One that isn't whole is never joined, nor replaced (D47).
fn rejoin(
    judge: &Component,
    new: &NewOperation,
    existing: &Stored,
    opening: &types::Opening,
) -> Result<types::Operation, ControlError> {
    whole::whole(judge, &existing.row, &existing.record)?;
    Ok(judge.rejoin(&new.contract, &existing.record, opening)?)
}

pub(super) fn broken(detail: &str) -> ControlError {
    ControlError::Faulted { kind: types::FaultKind::OutOfBounds, detail: detail.to_owned() }
}

/// SHA-256 in lower-case hexadecimal.
pub(crate) fn sha256(bytes: &[u8]) -> String {
    use sha2::Digest as _;
    hex::encode(sha2::Sha256::digest(bytes))
}
