//! One plain line a decision (D49), like the essay's log.

use alloc::{format, string::String, vec::Vec};

use crate::{
    answer,
    api::{Action, DecisionWhat, DelaySource, Phase, What},
    contract::Outcome,
    provider_text,
    step::Step,
    time::{Instant, format_duration},
};

/// The line for a step that writes an entry.
pub(crate) fn sentence(s: &Step<'_>, what: &What, action: &Action) -> String {
    let mut parts: Vec<String> = Vec::new();
    parts.push(happened(s, what, action));
    if s.lost && !matches!(what, What::Woke { .. } | What::Leased { .. }) {
        parts.push(was_lost(s));
    }
    for note in &s.facts.notes {
        parts.push(note.clone());
    }
    if let Some(led) = led(s, what, action) {
        parts.push(led);
    }
    parts.retain(|part| !part.is_empty());
    format!("{} {}", clock(s, s.at), parts.join(", "))
}

/// `10:20:31`, with the date in front where it is not the day of the start.
fn clock(s: &Step<'_>, at: Instant) -> String {
    if day(at) == day(s.r.started_at) { at.hms() } else { format!("{} {}", day(at), at.hms()) }
}

fn day(at: Instant) -> String {
    let text = format!("{at}");
    text.split_once('T').map(|(day, _)| day.into()).unwrap_or_default()
}

fn happened(s: &Step<'_>, what: &What, action: &Action) -> String {
    match what {
        What::Opened { .. } => opened(s),
        What::Woke { .. } | What::Leased { .. } => match action {
            Action::Send { attempt, .. } => format!("sent request {attempt} of {}", s.r.max_status_requests),
            Action::AskApproval { attempt } => format!("request {attempt} is due and rests until a person approves it"),
            _ if s.lost => was_lost(s),
            _ if answer::ends(action) => String::new(),
            _ => "looked".into(),
        },
        What::Answered { .. } | What::Unanswered { .. } if matches!(action, Action::Rest { .. }) => String::new(),
        What::Answered { .. } => answered(s),
        What::Unanswered { fault, .. } => format!("no answer: {}", fault.as_str().replace('_', " ")),
        What::Paced { until } => format!("the account is paced until {}", clock(s, *until)),
        What::Pushed { .. } => match action {
            Action::Rest { .. } if !s.r.push_waiting => String::new(),
            _ => "a callback came".into(),
        },
        What::Proposed { proposal } => format!("{} proposes to go on: {}", person(&proposal.by), person(&proposal.why)),
        What::Decided { decision } => {
            format!("{} decided: {} ({})", person(&decision.by), decided(s, &decision.what), person(&decision.why))
        }
        What::ComponentChanged { component, by } => {
            format!("{} moved the operation to component {}", person(by), component.get(..12).unwrap_or(component))
        }
        What::Faulted { kind } => format!("the decision component failed: {}", kind.as_str().replace('_', " ")),
    }
}

fn person(text: &str) -> String {
    provider_text::clean(text, 200)
}

/// As the essay's first line; warnings and the first poll stand in the record (D3).
fn opened(s: &Step<'_>) -> String {
    let what = match s.r.phase {
        Phase::Escalated { .. } => "opened a wait without knowing whether its job was submitted".into(),
        _ => format!("submitted job {}", provider_text::clean(&s.r.provider_job_id, 80)),
    };
    let mut text = format!("{what}, deadline {}, budget {}", clock(s, s.r.deadline_at), s.r.max_status_requests);
    if let Some(useful) = s.r.useful_until {
        text.push_str(&format!(", useful until {}", clock(s, useful)));
    }
    text
}

fn was_lost(s: &Step<'_>) -> String {
    format!("request {} was lost: no answer while its lease lasted", s.r.status_requests_used)
}

fn answered(s: &Step<'_>) -> String {
    let Some(exchange) = &s.r.last_exchange else {
        return String::new();
    };
    let status = exchange.status.unwrap_or(0);
    if let Some(fault) = exchange.fault {
        return format!("received {status}, cut off: {}{}", fault.as_str().replace('_', " "), retry_after(s));
    }
    let state = s.r.last_known_state.as_deref().unwrap_or("none");
    match s.facts.outcome {
        Some(Outcome::NotFound) => format!("received {status}, no such job{}", retry_after(s)),
        Some(Outcome::Follow) => format!("polled, the job goes on as {}", goes_on(s)),
        Some(Outcome::Throttled | Outcome::Unavailable | Outcome::Unauthorized) | None => {
            format!("received {status}{}", retry_after(s))
        }
        Some(_) if status == 304 => format!("polled, not modified, state {state}"),
        Some(_) if (200..300).contains(&status) => format!("polled, state {state}"),
        Some(_) => format!("received {status}, state {state}"),
    }
}

fn goes_on(s: &Step<'_>) -> String {
    provider_text::clean(s.r.followed.last().map_or("", String::as_str), 80)
}

fn retry_after(s: &Step<'_>) -> String {
    s.retry_after.as_ref().map(|text| format!(", Retry-After {text}")).unwrap_or_default()
}

fn decided(s: &Step<'_>, what: &DecisionWhat) -> String {
    match what {
        DecisionWhat::Extend { extension, .. } => format!(
            "extend {}, {} requests, {} failures, {} throttled answers",
            format_duration(extension.time_ms),
            extension.requests,
            extension.failures,
            extension.throttles
        ),
        DecisionWhat::Amend { contract, .. } => {
            format!("amend to contract {}", contract.get(..12).unwrap_or(contract))
        }
        DecisionWhat::RenewCredential { .. } => "renew credential".into(),
        DecisionWhat::AcceptResult => "accept the result".into(),
        DecisionWhat::Hold { until } => format!("hold until {}", clock(s, *until)),
        DecisionWhat::Close => "close".into(),
        DecisionWhat::Cancel { .. } => "cancel at the provider".into(),
        DecisionWhat::Adopt { .. } => format!("adopt job {}", provider_text::clean(&s.r.provider_job_id, 80)),
        DecisionWhat::Resubmit => "resubmit with the same key".into(),
        DecisionWhat::NewOperation { operation_id } => format!("new operation {}", person(operation_id)),
        DecisionWhat::Approve { attempt } => format!("approve request {attempt}"),
        DecisionWhat::Decline { proposal } => format!("decline proposal {}", person(proposal)),
    }
}

/// What it led to.
fn led(s: &Step<'_>, what: &What, action: &Action) -> Option<String> {
    match action {
        Action::Sleep { .. } if matches!(what, What::Opened { .. }) => None,
        Action::Sleep { until, source } => Some(next(s, *until, *source)),
        Action::Escalate { reason, .. } => {
            let words = reason.as_str().replace('_', " ");
            Some(match &s.r.error {
                Some(error) if matches!(what, What::Answered { .. }) => {
                    format!("{words}, escalated (the provider says: \u{201c}{error}\u{201d})")
                }
                _ => format!("{words}, escalated"),
            })
        }
        Action::Settle { settlement } => Some(format!("settled: {}", settlement.ending)),
        Action::Rest { .. } | Action::Due { .. } | Action::Send { .. } | Action::AskApproval { .. } => {
            match s.r.phase {
                Phase::Waiting { next_poll_at, source }
                    if matches!(what, What::Decided { .. } | What::ComponentChanged { .. }) =>
                {
                    Some(next(s, next_poll_at, source))
                }
                _ => None,
            }
        }
    }
}

fn next(s: &Step<'_>, until: Instant, source: DelaySource) -> String {
    let source = match source {
        DelaySource::ProviderRetryAfter | DelaySource::ProviderPollHint => "provider guidance",
        DelaySource::LocalBackoff => "local backoff",
        DelaySource::ManualExtension => "manual extension",
        DelaySource::FirstDelay => "first delay",
        DelaySource::AccountPacing => "account pacing",
        DelaySource::Push => "push",
    };
    match s.facts.delay.as_ref().and_then(|delay| delay.clipped.as_deref()) {
        Some(by) => format!("no further poll before {} ({})", clock(s, until), by.replace('_', " ")),
        None => format!("next poll {} from {source}", clock(s, until)),
    }
}
