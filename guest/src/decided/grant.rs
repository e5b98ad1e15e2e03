//! Grants: limits rise by what was granted, and the wait goes on within them (D34, D38).

use alloc::format;

use super::refuse;
use crate::{
    api::{Action, DelaySource, Extension, Phase, Refusal, RefusalKind},
    delay, machine, options,
    record::Record,
    step::{Next, Step},
    time::Instant,
};

pub(super) fn stay(s: &Step<'_>, why: &str) -> Next {
    Next::Save(Action::Rest { until: s.r.next_at(), why: why.into() })
}

pub(super) fn carry(s: &mut Step<'_>, extension: Option<&Extension>) -> Result<(), Refusal> {
    match extension {
        Some(extension) => extend(s, extension),
        None => Ok(()),
    }
}

/// Sets limits to what is granted, after every check; none is set if one fails.
pub(super) fn extend(s: &mut Step<'_>, wanted: &Extension) -> Result<(), Refusal> {
    let Some(most) = options::extension(s.contract, &s.r, s.at) else {
        return refuse(
            RefusalKind::NotOffered,
            "no extension is left: amounts are unset, spent, or at a ceiling (D34, D38)",
        );
    };
    for (name, amount, most) in [
        ("time_ms", wanted.time_ms, most.time_ms),
        ("requests", u64::from(wanted.requests), u64::from(most.requests)),
        ("failures", u64::from(wanted.failures), u64::from(most.failures)),
        ("throttles", u64::from(wanted.throttles), u64::from(most.throttles)),
    ] {
        if amount > most {
            return refuse(
                RefusalKind::OverCeiling,
                format!("`{name}` of {amount} is more than the {most} that one extension may add now"),
            );
        }
    }
    let r = &s.r;
    let deadline_at = r.deadline_at.max(s.at.plus(wanted.time_ms));
    let useful_until = useful(r, wanted, deadline_at, s.at)?;
    // After an end a grant is a new authorization: what it names counts from what is used, whatever was left over (D38).
    // While a wait goes on, what is left stays.
    let ended = matches!(r.phase, Phase::Escalated { .. });
    let raise = |max: u32, used: u32, add: u32| match add {
        1.. if ended => used.saturating_add(add),
        _ => max.max(used.saturating_add(add)),
    };
    let requests = raise(r.max_status_requests, r.status_requests_used, wanted.requests);
    let failures = raise(r.max_transport_failures, r.transport_failures_used, wanted.failures);
    let throttles = raise(r.max_throttles, r.throttles_used, wanted.throttles);
    let left = [
        ("request", requests > r.status_requests_used),
        ("failure", failures > r.transport_failures_used),
        ("throttled answer", throttles > r.throttles_used),
        ("future deadline", deadline_at > s.at),
    ];
    if let Some((name, _)) = left.iter().find(|(_, left)| !left) {
        return refuse(RefusalKind::InvalidEvent, format!("this extension would leave no {name}: add some (D38)"));
    }
    s.r.deadline_at = deadline_at;
    s.r.useful_until = useful_until;
    s.r.max_status_requests = requests;
    s.r.max_transport_failures = failures;
    s.r.max_throttles = throttles;
    s.r.extensions_used = s.r.extensions_used.saturating_add(1);
    s.r.backoff_n = 0;
    Ok(())
}

/// A grant can't pass `useful_until` without naming a new one (D17).
fn useful(r: &Record, wanted: &Extension, deadline_at: Instant, at: Instant) -> Result<Option<Instant>, Refusal> {
    let useful_until = wanted.useful_until.or(r.useful_until);
    match useful_until {
        Some(useful) if useful <= at => {
            refuse(RefusalKind::InvalidEvent, "`useful_until` has passed: an extension must name a new one (D17)")
        }
        Some(useful) if wanted.useful_until.is_none() && deadline_at > r.deadline_at && deadline_at > useful => refuse(
            RefusalKind::InvalidEvent,
            format!("the new deadline would pass `useful_until` ({useful}): name a new one (D17)"),
        ),
        other => Ok(other),
    }
}

/// D38: due `min_delay` after the decision, never before a provider's minimum that still holds; a spent limit stops at
/// once under its own reason. A request in flight goes on.
pub(super) fn go_on(s: &mut Step<'_>) -> Result<Next, Refusal> {
    match s.r.phase {
        Phase::Polling { .. } => return Ok(stay(s, "the request in flight goes on")),
        Phase::Asking { .. } => return Ok(stay(s, "the request still rests until it is approved")),
        _ => {}
    }
    if let Some(reason) = machine::spent(&s.r, s.at) {
        return Ok(s.escalate(reason));
    }
    s.r.late_success = false;
    s.r.held_until = None;
    let soonest = s.at.plus(s.stage().pace.min_delay);
    let time = match s.r.provider_not_before {
        Some(minimum) => soonest.max(minimum),
        None => soonest,
    };
    Ok(delay::wait(s, s.at, time, DelaySource::ManualExtension))
}
