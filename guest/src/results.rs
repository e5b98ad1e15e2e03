//! Result references: which are there and valid, and what success needs (D11).

use alloc::{format, string::String, vec::Vec};

use crate::{
    api::ResultRef,
    contract::{Contract, Outcome, Place, Reference, Success},
    observation::{self, Observation, Seen},
    rules::{self, Codes, Facts},
};

/// Whether a reference is there: not null, not empty, one value, and as a URL only on `result_origins`. A truth value
/// refers to nothing: it is of a wrong type, which counts as absent (D14).
///
/// # Errors
/// Why not.
pub(crate) fn check(
    contract: &Contract,
    reference: Option<&Reference>,
    seen: Option<&Seen>,
) -> Result<(), &'static str> {
    let Some(value) = seen.filter(|_| rules::is_there(seen)) else {
        return Err("is absent");
    };
    if rules::is_empty(value) {
        return Err("is empty");
    }
    match value {
        Seen::Bool(_) => return Err("is no reference"),
        Seen::Repeated(_) => return Err("stands more than once"),
        Seen::Reference(seen) if seen.kind == "repeated" => return Err("stands more than once"),
        Seen::Reference(seen) if seen.kind == "bool" => return Err("is no reference"),
        _ => {}
    }
    if reference.is_some_and(|reference| reference.url) {
        let origin = match value {
            Seen::Reference(seen) if seen.kind == "text" => seen.origin.as_ref(),
            _ => None,
        };
        return match origin {
            Some(origin) if contract.result_origins.contains(origin) => Ok(()),
            Some(_) => Err("is on an origin that the contract does not allow"),
            None => Err("is not a URL"),
        };
    }
    Ok(())
}

/// The contract's named results that are valid in this answer, in the order of their names.
pub(crate) fn valid(contract: &Contract, seen: &Observation) -> Vec<ResultRef> {
    let refer = |(name, reference): (&String, &Reference)| {
        let value = seen.at(&reference.place);
        check(contract, Some(reference), value).ok()?;
        match value {
            Some(Seen::Reference(value)) => Some(ResultRef {
                name: name.clone(),
                sha256: value.sha256.clone(),
                secret: reference.secret || value.secret,
            }),
            _ => None,
        }
    };
    contract.result.iter().filter_map(refer).collect()
}

/// Names of the contract's actions that need nothing but `results`.
pub(crate) fn permitted(contract: &Contract, results: &[ResultRef]) -> Vec<String> {
    let met = |need: &String| results.iter().any(|result| result.name == *need);
    contract.actions.iter().filter(|action| action.needs.iter().all(met)).map(|action| action.name.clone()).collect()
}

/// What a `succeeded` counts as: itself, `partial`, or a contradiction with what is missing or forbidden.
///
/// # Errors
/// Each fault, as a note.
pub(crate) fn success(contract: &Contract, facts: Facts<'_>) -> Result<Outcome, Vec<String>> {
    let Some(success) = &contract.success else {
        return Err(Vec::from(["the contract doesn't say what success needs".into()]));
    };
    if success.partial_if.iter().any(|when| facts.holds(when, Codes::Any)) {
        return Ok(Outcome::Partial);
    }
    let mut faults: Vec<String> =
        success.require.iter().filter_map(|group| missing(contract, facts.seen, group)).collect();
    faults.extend(forbidden(success, facts.seen));
    if success.require.is_empty() && !success.no_result {
        faults.push("the contract doesn't say what success needs".into());
    }
    if faults.is_empty() { Ok(Outcome::Succeeded) } else { Err(faults) }
}

/// What a group of alternatives lacks; `None` where one of them is there.
fn missing(contract: &Contract, seen: &Observation, group: &[Place]) -> Option<String> {
    let mut whys = Vec::new();
    for place in group {
        // Under several names a place meets what each of them asks.
        let mut named = contract.result.values().filter(|reference| reference.place == *place).peekable();
        let value = seen.at(place);
        let checked = match named.peek() {
            None => check(contract, None, value),
            Some(_) => named.try_for_each(|reference| check(contract, Some(reference), value)),
        };
        match checked {
            Ok(()) => return None,
            Err(why) => whys.push(format!("`{}` {why}", observation::key(place))),
        }
    }
    Some(format!("success without its reference: {}", whys.join(", ")))
}

/// Forbidden is what is there and neither null nor empty.
fn forbidden<'a>(success: &'a Success, seen: &'a Observation) -> impl Iterator<Item = String> + 'a {
    success.forbid.iter().filter_map(|place| {
        let value = seen.at(place);
        let stands = rules::is_there(value) && !value.is_some_and(rules::is_empty);
        stands.then(|| format!("success with `{}`", observation::key(place)))
    })
}
