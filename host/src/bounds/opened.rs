//! The first transition of an operation (D1, D2).

use super::{Checked, agrees, hold, stop_at, texts};
use crate::component::types::{Action, Instant, Opening, Phase, TimeLimit, Transition};

/// Looks at what a component made of an opening.
///
/// # Errors
/// What it may not do, in a sentence.
pub fn check_opened(opening: &Opening, at: Instant, made: &Transition) -> Result<(), String> {
    hold(made.entry.is_some(), || "an opening makes entry 1 (D2)".into())?;
    texts::check(0, None, made)?;
    let after = &made.operation;
    let same = |name: &str, same: bool| hold(same, || format!("`{name}` is not what the opening says (D1)"));
    same("operation_id", after.operation_id == opening.operation_id)?;
    same("namespace", after.namespace == opening.namespace)?;
    same("component_digest", after.component_digest == opening.component)?;
    same("account", after.account == opening.account)?;
    same("credential", after.credential == opening.credential)?;
    same("opened_by", after.opened_by == opening.opened_by)?;
    same("lease_ms", after.lease_ms == opening.lease_ms)?;
    same("limits_given", after.limits_given == opening.limits)?;
    same("started_at", after.started_at == at)?;
    same("approval_per_request", after.approval_per_request || !opening.approval_per_request)?;
    limits(opening, at, made)?;
    hold(matches!(after.phase, Phase::Waiting(_) | Phase::Escalated(_)), || {
        "an opening neither sends, asks nor succeeds (D2)".into()
    })?;
    hold(!matches!(made.action, Action::Due(_)), || "an opening plans the first look (D23)".into())?;
    hold(after.fence == 0, || "nobody holds a lease at the opening".into())?;
    agrees(made)
}

/// None is zero or unlimited, none is other than given, and what an operation before it used goes on (D2, D4).
fn limits(opening: &Opening, at: Instant, made: &Transition) -> Checked {
    let after = &made.operation;
    let given = &opening.limits;
    let used = opening.predecessor.as_ref().map_or((0, 0, 0), |before| {
        (before.status_requests_used, before.transport_failures_used, before.throttles_used)
    });
    for (name, spent, used, given) in [
        ("requests", after.requests, used.0, given.max_status_requests),
        ("failures", after.failures, used.1, given.max_transport_failures),
        ("throttled answers", after.throttles, used.2, given.max_throttles),
    ] {
        hold(spent.used == used, || format!("used {name} begin at {used}, not at {} (D4)", spent.used))?;
        hold(spent.max > 0 && given.is_none_or(|given| given == spent.max), || {
            format!("{} allowed {name} are not what was given (D2)", spent.max)
        })?;
    }
    let instant = |limit: TimeLimit| match limit {
        TimeLimit::AfterMs(ms) => at.saturating_add(ms),
        TimeLimit::At(instant) => instant,
    };
    hold(given.deadline.is_none_or(|limit| instant(limit) == after.deadline_at), || {
        "the deadline is not the one that was given (D2)".into()
    })?;
    hold(after.useful_until == given.useful_until.map(instant), || {
        "`useful_until` is not the one that was given (D17)".into()
    })?;
    hold(stop_at(after) > at, || "a wait that is over can't be opened (D3)".into())
}
