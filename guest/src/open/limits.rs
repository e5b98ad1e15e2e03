//! Deadline and budgets: given, sensible, and what they come to (D2, D3).

use alloc::{
    format,
    string::{String, ToString},
    vec::Vec,
};

use super::fault;
use crate::{
    api::{Fault, Opening, TimeLimit},
    backoff,
    contract::Contract,
    limits,
    record::Record,
    time::Instant,
};

/// Limits as absolute times and numbers.
pub(super) struct Resolved {
    pub(super) deadline_at: Instant,
    pub(super) useful_until: Option<Instant>,
    pub(super) requests: u32,
    pub(super) failures: u32,
    pub(super) throttles: u32,
}

/// D2: all required, from the opening or the contract, none zero or unlimited. D3: none above its ceiling.
pub(super) fn resolve_limits(
    contract: &Contract,
    opening: &Opening,
    at: Instant,
    faults: &mut Vec<Fault>,
) -> Option<Resolved> {
    let deadline_at = deadline(contract, opening, at, faults);
    let given = &opening.limits;
    let useful_until = given.useful_until.map(|limit| absolute(limit, at));
    match useful_until {
        Some(useful) if useful <= at => {
            fault(faults, "/limits/useful_until", format!("`useful_until` is not after now ({at})"));
        }
        Some(useful) if useful.since(at) > limits::DURATION_MAX => {
            fault(faults, "/limits/useful_until", "`useful_until` is more than a hundred years away");
        }
        _ => {}
    }
    let own = &contract.limits;
    let failures = budget(
        "max_transport_failures",
        given.max_transport_failures.or(own.max_transport_failures),
        own.ceilings.max_transport_failures,
        faults,
    );
    let requests = budget(
        "max_status_requests",
        given.max_status_requests.or(own.max_status_requests),
        own.ceilings.max_status_requests,
        faults,
    );
    let throttles = budget(
        "max_throttles",
        given.max_throttles.or(own.max_throttles).or_else(|| within(failures, own.ceilings.max_throttles)),
        own.ceilings.max_throttles,
        faults,
    );
    if let (Some(p), Some(requests), Some(failures), Some(throttles)) =
        (&opening.predecessor, requests, failures, throttles)
        && (p.status_requests_used >= requests
            || p.transport_failures_used >= failures
            || p.throttles_used >= throttles)
    {
        fault(faults, "/limits", "the budgets leave nothing beyond what the operation before has used (D4)");
    }
    Some(Resolved {
        deadline_at: deadline_at?,
        useful_until,
        requests: requests?,
        failures: failures?,
        throttles: throttles?,
    })
}

fn absolute(limit: TimeLimit, at: Instant) -> Instant {
    match limit {
        TimeLimit::AfterMs(ms) => at.plus(ms),
        TimeLimit::At(instant) => instant,
    }
}

fn deadline(contract: &Contract, opening: &Opening, at: Instant, faults: &mut Vec<Fault>) -> Option<Instant> {
    let given = opening.limits.deadline.map(|limit| absolute(limit, at));
    let Some(deadline) = given.or_else(|| contract.limits.deadline.map(|ms| at.plus(ms))) else {
        fault(faults, "/limits/deadline", "no deadline: give one, or let the contract have a default (D2)");
        return None;
    };
    let ceiling = contract.limits.ceilings.deadline.filter(|ceiling| deadline > at.plus(*ceiling));
    let why = match ceiling {
        _ if deadline <= at => format!("the deadline {deadline} is not after now ({at})"),
        Some(ceiling) => format!(
            "the deadline {deadline} is beyond the contract's ceiling of {}",
            crate::time::format_duration(ceiling)
        ),
        None if deadline.since(at) > limits::DURATION_MAX => {
            format!("the deadline {deadline} is more than a hundred years away: none is unlimited (D2)")
        }
        None => return Some(deadline),
    };
    fault(faults, "/limits/deadline", why);
    Some(deadline)
}

fn within(value: Option<u32>, ceiling: Option<u32>) -> Option<u32> {
    Some(value?.min(ceiling.unwrap_or(u32::MAX)))
}

fn budget(name: &str, value: Option<u32>, ceiling: Option<u32>, faults: &mut Vec<Fault>) -> Option<u32> {
    let pointer = format!("/limits/{name}");
    match value {
        None => fault(faults, &pointer, format!("no `{name}`: give one, or let the contract have a default (D2)")),
        Some(0) => fault(faults, &pointer, format!("`{name}` is zero: nothing could be asked (D2)")),
        Some(n) if n > limits::BUDGET_MAX => {
            fault(faults, &pointer, format!("`{name}` of {n} is above {}: none is unlimited (D2)", limits::BUDGET_MAX));
        }
        Some(n) => match ceiling {
            Some(ceiling) if n > ceiling => {
                fault(faults, &pointer, format!("`{name}` of {n} is above the contract's ceiling of {ceiling}"));
            }
            _ => return Some(n),
        },
    }
    None
}

/// D3: when the requests would be spent if every answer were pending and nobody gave guidance: earliest and latest.
pub(super) fn budget_spent(contract: &Contract, record: &Record, at: Instant) -> (Instant, Instant) {
    let pace = &contract.pace;
    let left = record.max_status_requests.saturating_sub(record.status_requests_used);
    let bounds = |raw: u64| {
        let capped = pace.max_interval.unwrap_or(u64::MAX);
        let low = backoff::low(pace, raw).min(capped).max(pace.min_delay);
        (low, raw.min(capped).max(pace.min_delay))
    };
    let (mut earliest, mut latest) = bounds(pace.first_delay.unwrap_or_else(|| backoff::raw(pace, 0)));
    let mut raw = backoff::raw(pace, 0);
    let mut delays = left.saturating_sub(1);
    while delays > 0 {
        let grown = backoff::grown(pace, raw);
        // Once it grows no more, every further delay is alike; past the end of time nothing is worth counting.
        let alike = grown == raw || at.plus(earliest) == at.plus(u64::MAX);
        let steps = if alike { delays } else { 1 };
        raw = grown;
        let (low, high) = bounds(raw);
        earliest = earliest.saturating_add(low.saturating_mul(u64::from(steps)));
        latest = latest.saturating_add(high.saturating_mul(u64::from(steps)));
        delays = delays.saturating_sub(steps);
    }
    (at.plus(earliest), at.plus(latest))
}

pub(super) fn warnings(contract: &Contract, record: &Record, opening: &Opening) -> Vec<String> {
    let mut warnings = Vec::new();
    let half = record.started_at.plus(record.span_ms().checked_div(2).unwrap_or(0));
    if record.spent_latest < half {
        warnings.push(format!(
            "the request budget would be spent by {} at the latest, before half of the time to the deadline",
            record.spent_latest.hms()
        ));
    }
    if let Some(retention) = contract.retention {
        let kept_until = record.submitted_at.unwrap_or(record.started_at).plus(retention);
        if record.deadline_at > kept_until {
            warnings.push(format!("the deadline lies beyond the provider's documented retention ({kept_until})"));
        }
    }
    if !opening.sealing && contract.result.values().any(|reference| reference.secret) {
        warnings.push("there is no sealing key, so a secret result will be kept by its digest only".to_string());
    }
    for warning in crate::contract::check::warnings(contract) {
        warnings.push(warning.message);
    }
    warnings.truncate(limits::WARNINGS_MAX);
    warnings.iter().map(|warning| crate::provider_text::clean(warning, limits::NOTE_BYTES_MAX)).collect()
}
