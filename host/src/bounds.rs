//! What a component may not do, whatever it says. The one that is embedded never does; another, pinned by an older
//! operation or given from outside, is believed no more than this.
//!
//! Every transition is looked at before it is saved, every request before it is sent. What breaks a bound is a fault of the
//! component (`out-of-bounds`): nothing is saved, nothing leaves. Each sentence that comes back says what it decided and why
//! it may not.

mod opened;
mod plan;
mod texts;

use crate::component::types::{
    Action, DecisionWhat, Ending, Event, Extension, Instant, LeasedEvent, Operation, Phase, Transition, What,
};

pub use opened::check_opened;
pub use plan::check_plan;

type Checked = Result<(), String>;

/// Fails with `why` unless `holds`.
fn hold(holds: bool, why: impl FnOnce() -> String) -> Checked {
    if holds { Ok(()) } else { Err(why()) }
}

/// Looks at what a component made of `event` and the record that `before` is the view of.
///
/// # Errors
/// What it may not do, in a sentence.
pub fn check_bounds(before: &Operation, event: &Event, made: &Transition) -> Result<(), String> {
    texts::check(before.revision, Some(&before.head), made)?;
    if made.entry.is_none() {
        return unchanged(before, event, made);
    }
    let after = &made.operation;
    hold(!matches!(before.phase, Phase::Settled(_)), || "a settled operation never changes (D32)".into())?;
    pinned(before, event, after)?;
    counters(before, event, made)?;
    limits(before, event, after)?;
    authority(before, event, after)?;
    phase(before, event, after)?;
    agrees(made)?;
    match &event.what {
        What::Leased(lease) if matches!(made.action, Action::Send(_)) => {
            send(before, taken_at(before, event), lease, made)
        }
        _ => {
            hold(!matches!(made.action, Action::Send(_)), || "a request is sent under a fresh lease only (D42)".into())
        }
    }
}

/// The earlier of deadline and usefulness: nothing is sent at it or later (D17).
fn stop_at(operation: &Operation) -> Instant {
    operation.useful_until.map_or(operation.deadline_at, |useful| useful.min(operation.deadline_at))
}

/// Without an entry the record is the same, and nothing is done but to rest, or to say that a request is due.
fn unchanged(before: &Operation, event: &Event, made: &Transition) -> Checked {
    hold(made.operation == *before, || "the record changed, and no entry says so (D46)".into())?;
    match &made.action {
        Action::Rest(_) => Ok(()),
        Action::Due(due) => {
            hold(due.attempt == before.requests.used.saturating_add(1), || {
                format!("attempt {} is not the next one after {}", due.attempt, before.requests.used)
            })?;
            may_send(before, taken_at(before, event))
        }
        other => Err(format!("{} needs an entry in the log (D46)", named(other))),
    }
}

/// When an event counts as having happened: one before the record's last is taken at that (D25).
fn taken_at(before: &Operation, event: &Event) -> Instant {
    event.at.max(before.last_at)
}

fn named(action: &Action) -> &'static str {
    match action {
        Action::Due(_) => "`due`",
        Action::Send(_) => "`send`",
        Action::Sleep(_) => "`sleep`",
        Action::AskApproval(_) => "`ask-approval`",
        Action::Escalate(_) => "`escalate`",
        Action::Settle(_) => "`settle`",
        Action::Rest(_) => "`rest`",
    }
}

/// What another request needs: it waits, is due, and has time and all three budgets left (D17 to D22).
fn may_send(before: &Operation, at: Instant) -> Checked {
    let Phase::Waiting(waiting) = &before.phase else {
        return Err("a request may follow on waiting only".into());
    };
    hold(at >= waiting.next_poll_at, || {
        format!("a request at {at} would leave before {}, when it is due", waiting.next_poll_at)
    })?;
    let stop = stop_at(before);
    hold(at < stop, || format!("a request at {at} would leave at or after {stop}, when the wait is over (D17)"))?;
    for (name, spent) in
        [("requests", before.requests), ("failures", before.failures), ("throttled answers", before.throttles)]
    {
        hold(spent.used < spent.max, || {
            format!(
                "another request would pass the budget: {} of {} {name} are used (D19 to D21)",
                spent.used, spent.max
            )
        })?;
    }
    Ok(())
}

/// A charge pays for one request under this lease, and for nothing else (D19, D42).
fn send(before: &Operation, at: Instant, lease: &LeasedEvent, made: &Transition) -> Checked {
    let Action::Send(send) = &made.action else {
        return Ok(());
    };
    let Phase::Polling(polling) = &made.operation.phase else {
        return Err("a request is sent from `polling` only, so that a crash leaves its trace".into());
    };
    may_send(before, at)?;
    let next = before.requests.used.saturating_add(1);
    hold(send.attempt == next && polling.attempt == next && made.operation.requests.used == next, || {
        format!("a request that is sent is number {next}, and is counted so (D19)")
    })?;
    hold(polling.fence == lease.fence && made.operation.fence == lease.fence && lease.fence > before.fence, || {
        format!("a request is sent under the lease's fence {}, above {} (D42)", lease.fence, before.fence)
    })?;
    hold(polling.lease_expires_at == lease.expires_at, || "a lease ends when it was said to end (D42)".into())?;
    let longest = stop_at(before).saturating_sub(at).min(lease.expires_at.saturating_sub(at));
    hold((1..=longest).contains(&send.timeout_ms), || {
        format!(
            "a timeout of {} ms is not between 1 and {longest} ms, to the end of lease and wait (D17)",
            send.timeout_ms
        )
    })
}

/// What never changes, and what only one kind of event changes (D1).
fn pinned(before: &Operation, event: &Event, after: &Operation) -> Checked {
    let decided = decision(event);
    let same = |name: &str, same: bool| hold(same, || format!("`{name}` changed, and nothing may change it here (D1)"));
    same("operation_id", before.operation_id == after.operation_id)?;
    same("namespace", before.namespace == after.namespace)?;
    same("contract_id", before.contract_id == after.contract_id)?;
    same("account", before.account == after.account)?;
    same("started_at", before.started_at == after.started_at)?;
    same("opened_by", before.opened_by == after.opened_by)?;
    same("submitted_at", before.submitted_at == after.submitted_at)?;
    same("lease_ms", before.lease_ms == after.lease_ms)?;
    same("limits_given", before.limits_given == after.limits_given)?;
    same("followed", after.followed.starts_with(&before.followed))?;
    same("approval_per_request", after.approval_per_request || !before.approval_per_request)?;
    let contract = match decided {
        Some(DecisionWhat::Amend(amend)) => amend.contract.as_str(),
        _ => before.contract_digest.as_str(),
    };
    same("contract_digest", after.contract_digest == contract)?;
    let component = match &event.what {
        What::ComponentChanged(change) => change.component.as_str(),
        _ => before.component_digest.as_str(),
    };
    same("component_digest", after.component_digest == component)?;
    let credential = match decided {
        Some(DecisionWhat::RenewCredential(renew)) => renew.credential.as_ref().or(before.credential.as_ref()),
        _ => before.credential.as_ref(),
    };
    same("credential", after.credential.as_ref() == credential)?;
    let adopts = matches!(decided, Some(DecisionWhat::Adopt(_)));
    same("provider_job_id", adopts || after.provider_job_id == before.provider_job_id)?;
    let moves = adopts || matches!(decided, Some(DecisionWhat::Amend(_))) || matches!(event.what, What::Answered(_));
    same("address", moves || (after.address == before.address && after.address_secret == before.address_secret))?;
    same("held_until", decided.is_some() || after.held_until == before.held_until)
}

/// What was used never falls, and one event uses at most one of each (D19 to D22).
fn counters(before: &Operation, event: &Event, made: &Transition) -> Checked {
    let after = &made.operation;
    let sends = matches!(made.action, Action::Send(_));
    let exchange = matches!(event.what, What::Answered(_) | What::Unanswered(_));
    for (name, before, after, may_rise) in [
        ("requests", before.requests.used, after.requests.used, sends),
        ("failures", before.failures.used, after.failures.used, exchange),
        ("throttled answers", before.throttles.used, after.throttles.used, exchange),
    ] {
        let most = if may_rise { before.saturating_add(1) } else { before };
        hold((before..=most).contains(&after), || {
            format!("used {name} can't go from {before} to {after} here: they never fall, and count one by one (D22)")
        })?;
    }
    hold(after.fence == before.fence || sends, || {
        format!("the fence can't go from {} to {} without a request (D42)", before.fence, after.fence)
    })
}

fn decision(event: &Event) -> Option<&DecisionWhat> {
    match &event.what {
        What::Decided(decision) => Some(&decision.what),
        _ => None,
    }
}

/// The grant that a decision carries.
fn grant(event: &Event) -> Option<&Extension> {
    match decision(event)? {
        DecisionWhat::Extend(extend) => Some(&extend.extension),
        DecisionWhat::Amend(amend) => amend.extension.as_ref(),
        DecisionWhat::RenewCredential(renew) => renew.extension.as_ref(),
        DecisionWhat::Cancel(extension) => extension.as_ref(),
        DecisionWhat::Adopt(adopt) => adopt.extension.as_ref(),
        DecisionWhat::AcceptResult
        | DecisionWhat::Hold(_)
        | DecisionWhat::Close
        | DecisionWhat::Resubmit
        | DecisionWhat::NewOperation(_)
        | DecisionWhat::Approve(_)
        | DecisionWhat::Decline(_) => None,
    }
}

/// Limits rise by a grant only, by no more than it says; after an end a budget that it names may be less than was left, and
/// else none falls (D22, D38).
fn limits(before: &Operation, event: &Event, after: &Operation) -> Checked {
    let grant = grant(event);
    let ended = matches!(before.phase, Phase::Escalated(_));
    let (time, requests, failures, throttles) =
        grant.map_or((0, 0, 0, 0), |grant| (grant.time_ms, grant.requests, grant.failures, grant.throttles));
    for (name, before, after, granted) in [
        ("requests", before.requests, after.requests, requests),
        ("failures", before.failures, after.failures, failures),
        ("throttled answers", before.throttles, after.throttles, throttles),
    ] {
        let given = before.used.saturating_add(granted);
        let least = if ended && granted > 0 { before.max.min(given) } else { before.max };
        let most = before.max.max(given);
        hold((least..=most).contains(&after.max), || {
            format!("the allowed {name} can't go from {} to {}: {most} is the most here (D38)", before.max, after.max)
        })?;
    }
    let at = event.at.max(before.last_at);
    let latest = match grant {
        // Time counts from the decision, which may be taken at the record's last time (D25).
        Some(_) => before.deadline_at.max(at).saturating_add(time),
        None => before.deadline_at,
    };
    hold((before.deadline_at..=latest).contains(&after.deadline_at), || {
        format!(
            "the deadline can't go from {} to {}: {latest} is the latest here (D38)",
            before.deadline_at, after.deadline_at
        )
    })?;
    let useful = grant.and_then(|grant| grant.useful_until).or(before.useful_until);
    hold(after.useful_until == useful, || "only a grant that names it changes `useful_until` (D17)".into())?;
    let most = before.extensions_used.saturating_add(u32::from(grant.is_some()));
    hold((before.extensions_used..=most).contains(&after.extensions_used), || {
        format!("used extensions can't go from {} to {} here", before.extensions_used, after.extensions_used)
    })
}

/// What a decision must have seen moves with an end or a decision, to the revision that it makes (D38).
fn authority(before: &Operation, event: &Event, after: &Operation) -> Checked {
    let ends = ended(&after.phase) && after.phase != before.phase;
    let expected = if ends || decision(event).is_some() { after.revision } else { before.authority_revision };
    hold(after.authority_revision == expected, || {
        format!("`authority_revision` is {} where it is {expected}", after.authority_revision)
    })
}

const fn ended(phase: &Phase) -> bool {
    matches!(phase, Phase::Escalated(_) | Phase::Settled(_))
}

/// Ways that no event opens: out of an end, into a request, or to another lease (D32, D42).
fn phase(before: &Operation, event: &Event, after: &Operation) -> Checked {
    let decided = decision(event).is_some();
    if matches!(before.phase, Phase::Escalated(_)) && !decided {
        return hold(after.phase == before.phase, || "only a decision leads out of an escalation (D32)".into());
    }
    match &after.phase {
        Phase::Polling(_) => {
            let kept = after.phase == before.phase;
            hold(kept || matches!(event.what, What::Leased(_)), || "a request needs a lease (D42)".into())
        }
        Phase::Asking(asking) => {
            let next = after.requests.used.saturating_add(1);
            hold(after.approval_per_request && asking.attempt == next, || {
                format!("attempt {} needs no approval, or is not the next one (D41)", asking.attempt)
            })
        }
        Phase::Settled(settlement) => hold(may_end(settlement.ending, event), || {
            "an operation succeeds by an answer, and is accepted or closed by a person (D32)".into()
        }),
        Phase::Waiting(_) | Phase::Escalated(_) => Ok(()),
    }
}

const fn may_end(ending: Ending, event: &Event) -> bool {
    match (ending, &event.what) {
        (Ending::Succeeded, What::Answered(_)) => true,
        (Ending::Accepted, What::Decided(decision)) => matches!(decision.what, DecisionWhat::AcceptResult),
        (Ending::Closed, What::Decided(decision)) => matches!(decision.what, DecisionWhat::Close),
        _ => false,
    }
}

/// Action, phase and next look say the same, and no look is planned after the end of the wait (D25).
fn agrees(made: &Transition) -> Checked {
    let after = &made.operation;
    let said = match (&made.action, &after.phase) {
        (Action::Send(_), Phase::Polling(_)) | (Action::Due(_), Phase::Waiting(_)) | (Action::Rest(_), _) => true,
        (Action::Sleep(sleep), Phase::Waiting(waiting)) => {
            sleep.until == waiting.next_poll_at && sleep.source == waiting.source
        }
        (Action::AskApproval(ask), Phase::Asking(asking)) => ask.attempt == asking.attempt,
        (Action::Escalate(escalate), Phase::Escalated(reason)) => escalate.reason == *reason,
        (Action::Settle(settlement), Phase::Settled(settled)) => settlement == settled,
        _ => false,
    };
    hold(said, || format!("{} does not go with the record's phase", named(&made.action)))?;
    let stop = stop_at(after);
    let expected = match &after.phase {
        Phase::Waiting(waiting) => {
            hold(waiting.next_poll_at <= stop, || {
                format!("a look at {} would come after {stop}, when the wait is over (D25)", waiting.next_poll_at)
            })?;
            Some(waiting.next_poll_at)
        }
        Phase::Asking(_) => Some(stop),
        Phase::Polling(polling) => Some(polling.lease_expires_at),
        Phase::Escalated(_) | Phase::Settled(_) => None,
    };
    hold(after.next_at == expected, || "`next_at` is not when the phase says to look again".into())
}
