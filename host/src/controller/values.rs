//! Values that the log names by digest only: secret addresses and results (D11, D31).

use super::{ControlError, Controller, open::sha256};
use crate::component::types;
use crate::credential::Secret;
use crate::store::KeptRow;

/// The role of a status address.
const ADDRESS: &str = "address";

/// A settled result as it may be shown to whoever waited.
#[derive(Clone)]
pub struct ResultValue {
    /// Its name in the contract.
    pub name: String,
    /// SHA-256 of the value.
    pub sha256: String,
    /// The value; `None` where only its digest was kept, or no key is given.
    pub value: Option<String>,
    /// Why there is no value.
    pub why: Option<String>,
}

impl std::fmt::Debug for ResultValue {
    /// Never shows the value: it may be a signed address (I18).
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ResultValue").field("name", &self.name).field("sha256", &self.sha256).finish_non_exhaustive()
    }
}

impl Controller {
    /// The rows to keep of an answer: those that the step's record names, and no other.
    pub(super) fn kept(
        &self,
        operation: &types::Operation,
        kept: &[types::Kept],
    ) -> Result<Vec<KeptRow>, ControlError> {
        let mut rows = Vec::new();
        for value in kept {
            let named = if value.role == ADDRESS {
                operation.address_secret.as_ref() == Some(&value.sha256)
            } else {
                operation.results.iter().any(|r| r.sha256 == value.sha256 && value.role == format!("result:{}", r.name))
            };
            if named {
                rows.extend(self.seal(
                    &operation.operation_id,
                    &value.role,
                    &value.sha256,
                    &value.value,
                    value.secret,
                )?);
            }
        }
        Ok(rows)
    }

    /// What is to be kept with an opening or an adoption: what an answer named, and the address that was given, as it was
    /// typed and in its normal form, by whose digest the component names it.
    pub(super) fn kept_address(
        &self,
        operation: &types::Operation,
        named: &[types::Kept],
        given: Option<&str>,
    ) -> Result<Vec<KeptRow>, ControlError> {
        let mut values = named.to_vec();
        let normal = given.and_then(|address| reqwest::Url::parse(address).ok()).map(String::from);
        let typed = given.map(str::to_owned).filter(|typed| normal.as_ref() != Some(typed));
        values.extend(typed.into_iter().chain(normal).map(|value| types::Kept {
            sha256: sha256(value.as_bytes()),
            value,
            secret: true,
            role: ADDRESS.to_owned(),
        }));
        let rows = self.kept(operation, &values)?;
        match &operation.address_secret {
            // A secret address that is not kept could never be asked: then nothing is opened.
            Some(sha256) if !rows.iter().any(|row| row.sha256 == *sha256) => Err(ControlError::Lost {
                id: operation.operation_id.clone(),
                what: "whole of the secret status address (give it in full, in its normal form)".to_owned(),
            }),
            _ => Ok(rows),
        }
    }

    /// `None` for a secret value without a key: it is settled by its digest (D31).
    fn seal(
        &self,
        id: &str,
        role: &str,
        sha256: &str,
        value: &str,
        secret: bool,
    ) -> Result<Option<KeptRow>, ControlError> {
        let value = match (secret, &self.key) {
            (false, _) => value.as_bytes().to_vec(),
            (true, Some(key)) => key.seal(id, sha256, &Secret::new(value.to_owned()))?,
            (true, None) => return Ok(None),
        };
        Ok(Some(KeptRow { sha256: sha256.to_owned(), role: role.to_owned(), sealed: secret, value }))
    }

    /// The whole of a secret status address, to send to (D31).
    pub(super) fn secret_address(&self, id: &str, sha256: &str) -> Result<Secret, ControlError> {
        let lost = || ControlError::Lost { id: id.to_owned(), what: "status address".to_owned() };
        let kept = self.store.kept(id)?;
        let row = kept.iter().find(|row| row.role == ADDRESS && row.sha256 == sha256).ok_or_else(lost)?;
        let key = self.key.as_ref().ok_or_else(|| ControlError::NoKey(id.to_owned()))?;
        Ok(key.open(id, sha256, &row.value)?)
    }

    /// The results of a settled operation; of any other, none (D11).
    ///
    /// # Errors
    /// What the store says; a value that can't be opened says why instead of failing the rest.
    pub fn results(&self, operation: &types::Operation) -> Result<Vec<ResultValue>, ControlError> {
        let types::Phase::Settled(settlement) = &operation.phase else {
            return Ok(Vec::new());
        };
        if settlement.results.is_empty() {
            return Ok(Vec::new());
        }
        let kept = self.store.kept(&operation.operation_id)?;
        Ok(settlement
            .results
            .iter()
            .map(|result| {
                let role = format!("result:{}", result.name);
                let row = kept.iter().find(|row| row.role == role && row.sha256 == result.sha256);
                let (value, why) = match row.map(|row| self.reveal(&operation.operation_id, row)) {
                    Some(Ok(value)) => (Some(value), None),
                    Some(Err(why)) => (None, Some(why)),
                    None => (None, Some("only its digest was kept".to_owned())),
                };
                ResultValue { name: result.name.clone(), sha256: result.sha256.clone(), value, why }
            })
            .collect())
    }

    fn reveal(&self, id: &str, row: &KeptRow) -> Result<String, String> {
        let value = match (row.sealed, &self.key) {
            (false, _) => String::from_utf8(row.value.clone()).map_err(|_| "it is damaged".to_owned())?,
            (true, Some(key)) => {
                key.open(id, &row.sha256, &row.value).map_err(|error| error.to_string())?.expose().to_owned()
            }
            (true, None) => return Err("it is sealed: give the sealing key".to_owned()),
        };
        if sha256(value.as_bytes()) != row.sha256 {
            return Err("it is not what its digest was made of".to_owned());
        }
        Ok(value)
    }

    /// Roles to drop with a step that ends the wait: the status address is of no more use (D31).
    pub(super) fn dropped(operation: &types::Operation) -> Vec<String> {
        match operation.phase {
            types::Phase::Settled(_) => vec![ADDRESS.to_owned()],
            _ => Vec::new(),
        }
    }
}
