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
    let given = &opening.limits;
    let absolute = |limit: TimeLimit| match limit {
        TimeLimit::AfterMs(ms) => at.plus(ms),
        TimeLimit::At(instant) => instant,
    };
    let deadline_at = given.deadline.map(absolute).or_else(|| contract.limits.deadline.map(|ms| at.plus(ms)));
    match deadline_at {
        None => fault(faults, "/limits/deadline", "no deadline: give one, or let the contract have a default (D2)"),
        Some(deadline) if deadline <= at => {
            fault(faults, "/limits/deadline", format!("the deadline {deadline} is not after now ({at})"));
        }
        Some(deadline) => {
            if let Some(ceiling) = contract.limits.ceilings.deadline.filter(|c| deadline > at.plus(*c)) {
                fault(
                    faults,
                    "/limits/deadline",
                    format!(
                        "the deadline {deadline} is beyond the contract's ceiling of {}",
                        crate::time::format_duration(ceiling)
                    ),
                );
            }
        }
    }
    let useful_until = given.useful_until.map(absolute);
    if useful_until.is_some_and(|useful| useful <= at) {
        fault(faults, "/limits/useful_until", format!("`useful_until` is not after now ({at})"));
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
        given.max_throttles.or(own.max_throttles).or(failures),
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
    let mut n: u32 = 1;
    while n < left {
        let raw = backoff::raw(pace, n);
        let (low, high) = bounds(raw);
        // Once at `max` every further delay is alike.
        let steps =
            if raw >= pace.max || backoff::raw(pace, n.saturating_add(1)) == raw { left.saturating_sub(n) } else { 1 };
        earliest = earliest.saturating_add(low.saturating_mul(u64::from(steps)));
        latest = latest.saturating_add(high.saturating_mul(u64::from(steps)));
        n = n.saturating_add(steps);
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
    warnings
}
