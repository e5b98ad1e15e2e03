//! The transition table: every phase with every event, in one file. "The order of checks" of the rules, in code.
//!
//! House rules: an ended record never moves but by a decision (D32) · a refused event changes nothing · what a step
//! changes and its entry are made together · nothing here knows a clock, a store or a network.

use alloc::{format, string::String};

use crate::{
    answer,
    api::{Action, CredentialFact, DecisionWhat, Event, Phase, Push, Reason, Refusal, RefusalKind, Transition, What},
    contract::EffectsKind,
    decided,
    delay::{self, Class},
    entry::Facts,
    guidance::Guidance,
    limits, pinned,
    record::Record,
    step::{self, Next, Step},
    time::Instant,
};

/// One step: what `event` makes of the record. A decision to amend is stepped with the new contract's text.
///
/// # Errors
/// A refusal; the record stays as it was.
pub fn step(contract: &str, record: &str, event: &Event) -> Result<Transition, Refusal> {
    let parsed = Record::parse(record)?;
    let read = pinned::read(contract)?;
    match &event.what {
        What::Decided { decision } if matches!(decision.what, DecisionWhat::Amend { .. }) => {
            step::checked_contract(contract)?;
            decided::amending(&parsed, &read.contract, &read.digest, decision)?;
        }
        _ => step::pinned(&parsed, &read.digest)?,
    }
    let contract = &read.contract;
    let event = decided::without_secrets(contract, event);
    let at = event.at.max(parsed.last_at);
    let mut step = Step { contract, r: parsed, at, facts: Facts::default(), retry_after: None, lost: false };
    if event.at < at {
        step.facts.notes.push("clock_regressed".into());
    }
    let next = transition(&mut step, &event.what)?;
    step.finish(Some(record), event, next)
}

/// The table.
fn transition(s: &mut Step<'_>, what: &What) -> Result<Next, Refusal> {
    use Phase as P;
    use What as W;
    match (s.r.phase.clone(), what) {
        (_, W::Opened { .. }) => {
            Err(Refusal::new(RefusalKind::InvalidEvent, "an opening is made by `open`, not stepped"))
        }

        (P::Settled { .. }, W::Decided { decision }) => decided::after_the_end(s, decision),
        (P::Settled { .. }, W::Proposed { .. }) => Err(ended()),
        (P::Settled { .. }, _) => Ok(rest(None, "ended")),

        (_, W::Decided { decision }) => decided::apply(s, decision),
        (_, W::Proposed { proposal }) => decided::propose(s, proposal),
        (phase, W::ComponentChanged { component, by }) => component_changed(s, &phase, component, by),

        // D33: its entry is what takes the host's mark away; the reason stays.
        (P::Escalated { .. }, W::Faulted { .. }) => {
            Ok(Next::Save(Action::Rest { until: None, why: "the failure is in the log; a decision is awaited".into() }))
        }
        (P::Escalated { .. }, _) => Ok(rest(None, "ended; a decision is awaited")),
        (_, W::Faulted { .. }) => Ok(s.escalate(Reason::PolicyFault)),

        (P::Polling { .. }, W::Woke { .. }) => Ok(in_flight(s)),
        (P::Polling { .. }, W::Leased { fence, .. }) => rising(s, *fence).map(|()| in_flight(s)),
        (_, W::Woke { credential }) => Ok(look(s, credential.as_ref())),
        (_, W::Leased { fence, expires_at, credential }) => leased(s, *fence, *expires_at, credential.as_ref()),

        (P::Polling { attempt, fence, .. }, W::Answered { attempt: a, fence: f, observation })
            if attempt == *a && fence == *f =>
        {
            answer::answered(s, attempt, observation)
        }
        (P::Polling { attempt, fence, .. }, W::Unanswered { attempt: a, fence: f, fault })
            if attempt == *a && fence == *f =>
        {
            Ok(answer::unanswered(s, attempt, *fault))
        }
        (_, W::Answered { attempt, fence, .. } | W::Unanswered { attempt, fence, .. }) => {
            let note = overtaken(s, *attempt, *fence);
            Ok(unless_over(s, note))
        }

        (phase, W::Paced { until }) => {
            let next = paced(s, &phase, *until);
            Ok(as_woken(s, next))
        }
        (phase, W::Pushed { push }) => {
            let next = pushed(s, &phase, push);
            Ok(as_woken(s, next))
        }
    }
}

fn rest(until: Option<Instant>, why: impl Into<String>) -> Next {
    Next::Rest { until, why: why.into() }
}

pub(crate) fn ended() -> Refusal {
    Refusal::new(RefusalKind::Ended, "the operation is settled; nothing changes it any more (D32)")
}

/// The first limit that stops the wait before another request (D17, D20 to D22), in the order of the rules.
pub(crate) fn spent(r: &Record, at: Instant) -> Option<Reason> {
    out_of_time(r, at).or_else(|| {
        if r.transport_failures_used >= r.max_transport_failures {
            Some(answer::failure_reason(r))
        } else if r.throttles_used >= r.max_throttles {
            Some(Reason::RateLimited)
        } else if r.status_requests_used >= r.max_status_requests {
            Some(Reason::RequestBudgetExhausted)
        } else {
            None
        }
    })
}

/// The earlier of usefulness and deadline, if it has passed; usefulness on a tie (D17).
pub(crate) fn out_of_time(r: &Record, at: Instant) -> Option<Reason> {
    if at < r.stop_at() {
        None
    } else if r.useful_until.is_some_and(|useful| useful <= r.deadline_at) {
        Some(Reason::UsefulnessExpired)
    } else {
        Some(Reason::DeadlineExceeded)
    }
}

/// D17: every event looks at the deadline of a wait that goes on. What the event itself has changed stays.
pub(crate) fn unless_over(s: &mut Step<'_>, next: Next) -> Next {
    if !matches!(s.r.phase, Phase::Waiting { .. } | Phase::Asking { .. }) {
        return next;
    }
    match out_of_time(&s.r, s.at) {
        Some(reason) => {
            s.facts.notes.extend(next.note());
            s.escalate(reason)
        }
        None => next,
    }
}

/// "Then as `woke`": the deadline, and a request that was lost meanwhile.
fn as_woken(s: &mut Step<'_>, next: Next) -> Next {
    match s.r.phase {
        Phase::Polling { lease_expires_at, .. } if s.at >= lease_expires_at => {
            s.facts.notes.extend(next.note());
            in_flight(s)
        }
        _ => unless_over(s, next),
    }
}

/// `woke` in `waiting` and `asking`.
fn look(s: &mut Step<'_>, credential: Option<&CredentialFact>) -> Next {
    if let Some(reason) = spent(&s.r, s.at) {
        return s.escalate(reason);
    }
    let Phase::Waiting { next_poll_at, .. } = s.r.phase else {
        return rest(Some(s.r.stop_at()), "a person must approve this request");
    };
    if s.at < next_poll_at {
        return rest(Some(next_poll_at), "not due");
    }
    if let Some(account) = credential.and_then(|c| c.account.as_deref())
        && account != s.r.account
    {
        s.facts.notes.push("the credential says that it belongs to another account".into());
        return s.escalate(Reason::IdentityMismatch);
    }
    let attempt = s.r.next_attempt();
    if s.r.approval_per_request && s.r.approved_attempt != Some(attempt) {
        s.r.phase = Phase::Asking { attempt };
        return Next::Save(Action::AskApproval { attempt });
    }
    Next::Due { attempt }
}

fn rising(s: &Step<'_>, fence: u64) -> Result<(), Refusal> {
    if fence > s.r.fence && fence <= limits::FENCE_MAX {
        return Ok(());
    }
    Err(Refusal::new(
        RefusalKind::Stale,
        format!("the fence {fence} does not rise above {}: another worker holds, or held, the lease", s.r.fence),
    ))
}

/// `leased`: every check again, then the charge.
fn leased(
    s: &mut Step<'_>,
    fence: u64,
    expires_at: Instant,
    credential: Option<&CredentialFact>,
) -> Result<Next, Refusal> {
    rising(s, fence)?;
    let attempt = match look(s, credential) {
        Next::Due { attempt } => attempt,
        other => return Ok(other),
    };
    if expires_at <= s.at {
        return Err(Refusal::new(RefusalKind::InvalidEvent, "the lease is over before it began"));
    }
    if expires_at.since(s.at) > s.r.lease_ms {
        return Err(Refusal::new(
            RefusalKind::InvalidEvent,
            format!("a lease of this operation lasts {} ms at most, as it was opened with (D1)", s.r.lease_ms),
        ));
    }
    // INVARIANT (paid-first): the charge is in the record that is saved before the request leaves (D19).
    s.r.status_requests_used = attempt;
    s.r.fence = fence;
    s.r.credential_digest = credential.map(|c| c.digest.clone());
    s.r.approved_attempt = None;
    s.r.phase = Phase::Polling { attempt, since: s.at, fence, lease_expires_at: expires_at };
    let timeout_ms = s.stage().request.timeout.min(s.r.stop_at().since(s.at)).min(expires_at.since(s.at));
    Ok(Next::Save(Action::Send { attempt, timeout_ms }))
}

/// An attempt is in flight: wait for its lease, or take it as lost.
fn in_flight(s: &mut Step<'_>) -> Next {
    let Phase::Polling { attempt, since, lease_expires_at, .. } = s.r.phase else {
        return rest(s.r.next_at(), "no request is in flight");
    };
    if s.at < lease_expires_at {
        return rest(Some(lease_expires_at), "a request is in flight");
    }
    s.lost = true;
    s.r.backoff_n = s.r.backoff_n.saturating_add(1);
    s.r.last_exchange = Some(crate::api::Exchange {
        attempt,
        status: None,
        fault: None,
        sent_at: Some(since),
        at: s.at,
        request_id: None,
    });
    if let Some(reason) = out_of_time(&s.r, s.at) {
        return s.escalate(reason);
    }
    if s.stage().effects.kind != EffectsKind::None {
        return s.escalate(Reason::AmbiguousDelivery);
    }
    if s.r.status_requests_used >= s.r.max_status_requests {
        return s.escalate(Reason::RequestBudgetExhausted);
    }
    delay::plan(s, since, Class::Refusal, &Guidance::default())
}

/// An answer that belongs to no request in flight is noted, and ends nothing (D13).
fn overtaken(s: &Step<'_>, attempt: u32, fence: u64) -> Next {
    Next::Note(format!(
        "an answer to attempt {attempt} under fence {fence} came too late (attempt {}, fence {} now) and was not used",
        s.r.status_requests_used, s.r.fence
    ))
}

/// D44.
fn paced(s: &mut Step<'_>, phase: &Phase, until: Instant) -> Next {
    if until.since(s.at) > delay::max_hint(s) {
        return Next::Note("pacing beyond `max_hint` was not used".into());
    }
    if until <= s.at || s.r.paced_until.is_some_and(|now| until <= now) {
        return rest(s.r.next_at(), "paced already");
    }
    // Remembered even where no plan moves now: a push, a decision or an approval may yet ask for an earlier one.
    s.r.paced_until = Some(until);
    match phase {
        Phase::Waiting { next_poll_at, .. } if until > *next_poll_at => {
            s.r.planned_ms = until.since(s.r.planned_at);
            delay::set(s, s.at, until, crate::api::DelaySource::AccountPacing)
        }
        _ => Next::Save(Action::Rest { until: s.r.next_at(), why: "pacing is remembered".into() }),
    }
}

/// D45: a hint, never a verdict.
fn pushed(s: &mut Step<'_>, phase: &Phase, push: &Push) -> Next {
    let ours = push.job.as_ref().is_some_and(|job| {
        *job == s.r.provider_job_id || s.r.followed.contains(job) || s.r.job.values().any(|p| p == job)
    });
    if !push.authentic || !ours {
        return Next::Note("a callback without the operation's secret, or for another job, was not used".into());
    }
    if s.r.pushes >= limits::PUSHES_MAX {
        return Next::Note("further callbacks bring no poll forward".into());
    }
    match phase {
        Phase::Polling { .. } if !s.r.push_waiting => {
            s.r.push_waiting = true;
            s.r.pushes = s.r.pushes.saturating_add(1);
            Next::Save(Action::Rest {
                until: s.r.next_at(),
                why: "a callback is remembered for after this request".into(),
            })
        }
        Phase::Waiting { next_poll_at, .. } => match delay::pushed_time(s, *next_poll_at) {
            Some(earlier) => {
                s.r.pushes = s.r.pushes.saturating_add(1);
                delay::set(s, s.at, earlier, crate::api::DelaySource::Push)
            }
            None => Next::Note("a callback could not bring the poll forward".into()),
        },
        _ => Next::Note("a callback could not bring the poll forward".into()),
    }
}

/// D48: the operation goes on with another component; limits untouched.
fn component_changed(s: &mut Step<'_>, phase: &Phase, component: &str, by: &str) -> Result<Next, Refusal> {
    if !crate::open::is_name(by) {
        return Err(Refusal::new(RefusalKind::InvalidEvent, "a change of component names who made it"));
    }
    if !crate::open::is_digest(component) {
        return Err(Refusal::new(
            RefusalKind::InvalidEvent,
            "a component is named by its SHA-256, 64 hexadecimal digits",
        ));
    }
    if s.r.component_digest == component {
        return Ok(rest(s.r.next_at(), "this component decides already"));
    }
    s.r.component_digest = component.into();
    let next = match phase {
        Phase::Escalated { .. } | Phase::Settled { .. } => rest(None, "ended; a decision is awaited"),
        Phase::Polling { .. } => in_flight(s),
        _ => look(s, None),
    };
    Ok(match next {
        Next::Rest { until, why } => Next::Save(Action::Rest { until, why }),
        Next::Due { attempt } => Next::Save(Action::Due { attempt }),
        other => other,
    })
}

#[cfg(test)]
mod clauses;
#[cfg(test)]
mod exhaustive;
#[cfg(test)]
mod tests;
