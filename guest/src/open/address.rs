//! The status address in force at the start (D28, D31).

use alloc::{collections::BTreeMap, format, string::String, vec::Vec};

use super::fault;
use crate::{
    api::{Fault, Opening},
    contract::Contract,
    observation::Observation,
    record::Address,
    request,
};

/// D28: from the template, the opener, or the submission's answer; never guessed.
pub(super) fn address(
    contract: &Contract,
    opening: &Opening,
    submission: Option<&Observation>,
    faults: &mut Vec<Fault>,
) -> Option<Address> {
    if opening.submission_unknown {
        return None;
    }
    match resolve_address(contract, &opening.job, &opening.ctx, opening.address.as_deref(), submission) {
        Ok(address) if address.secret && !opening.sealing => {
            fault(
                faults,
                "/address",
                "the status address holds query parameters that the contract doesn't list as public, so it is a secret, \
                 and there is no key to keep it: give a sealing key (D31)",
            );
            None
        }
        Ok(address) => Some(address),
        Err(why) => {
            fault(faults, "/address", why);
            None
        }
    }
}

/// The status address in force at the start.
pub(crate) fn resolve_address(
    contract: &Contract,
    job: &BTreeMap<String, String>,
    ctx: &BTreeMap<String, Vec<String>>,
    given: Option<&str>,
    submission: Option<&Observation>,
) -> Result<Address, String> {
    let built = request::address_from_template(contract, job, ctx)
        .map_err(|why| format!("the status address can't be built: {why}"))?;
    if let Some(address) = built {
        return match given {
            Some(_) => Err("the contract builds the status address itself, so none may be given".into()),
            None => Ok(address),
        };
    }
    if let Some(text) = given {
        return request::given(contract, text).map_err(|why| format!("the status address can't be used: {why}"));
    }
    match submission.and_then(|s| s.address.as_ref()) {
        Some(named) => request::named(contract, named)
            .map_err(|why| format!("the status address in the submission's answer can't be used: {why}")),
        None => Err(
            "the contract takes the status address from the opening or the submission's answer, and neither has one"
                .into(),
        ),
    }
}
