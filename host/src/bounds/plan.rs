//! A request that a component planned, against the contract that a person wrote (D28, D29).

use serde_json::Value;

use super::hold;
use crate::component::types::{Operation, RequestPlan};

/// Looks at a planned request: it goes to an origin that the contract names, to no other address than the record's, with no
/// other credential than the operation's.
///
/// # Errors
/// What it may not do, in a sentence.
pub fn check_plan(contract: &str, operation: &Operation, plan: &RequestPlan) -> Result<(), String> {
    let named = origins(contract)?;
    let allowed = |origin: &str, private: bool| named.iter().any(|(name, may)| name == origin && (*may || !private));
    for origin in &plan.origins {
        hold(allowed(&origin.origin, origin.allow_private), || {
            format!("the contract does not name the origin `{}` so (D28)", origin.origin)
        })?;
    }
    hold(plan.origins.iter().any(|origin| origin.origin == plan.origin), || {
        format!("`{}` is not among the origins that the request may go to (D28)", plan.origin)
    })?;
    hold(plan.url.is_some() != plan.secret_url_sha256.is_some(), || "a request has one address".into())?;
    hold(plan.url.is_none() || plan.url == operation.address, || "the address is not the record's (D28)".into())?;
    hold(plan.secret_url_sha256 == operation.address_secret, || "the secret address is not the record's (D31)".into())?;
    let Some(credential) = &plan.credential else {
        return Ok(());
    };
    hold(Some(&credential.reference) == operation.credential.as_ref(), || {
        "the credential is not the operation's (D1)".into()
    })?;
    let clash = plan.headers.iter().any(|(name, _)| name.eq_ignore_ascii_case(&credential.header));
    hold(!clash, || format!("the header `{}` is the credential's alone", credential.header))
}

/// Every origin that the contract names, in any of its stages, and whether non-public addresses are allowed there.
fn origins(contract: &str) -> Result<Vec<(String, bool)>, String> {
    let root: Value = serde_json::from_str(contract).map_err(|_| "the contract is not JSON".to_owned())?;
    let mut found = Vec::new();
    let mut stage = Some(&root);
    while let Some(now) = stage {
        for origin in now.get("origins").and_then(Value::as_array).into_iter().flatten() {
            if let Some(name) = origin.get("origin").and_then(Value::as_str) {
                let private = origin.get("allow_private").and_then(Value::as_bool).unwrap_or(false);
                found.push((name.to_owned(), private));
            }
        }
        stage = now.pointer("/follow/contract");
    }
    Ok(found)
}
