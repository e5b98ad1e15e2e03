//! Variants that come back with something else than the real component. Record and entry are made anew around the lie, so
//! that the chain holds and only the decision is wrong.

use alloc::{string::String, vec};

use sondeo_guest::api::{Action, DelaySource, OptionKind, Phase, Reason, Spent};
use sondeo_guest::bindings::generated::exports::sondeo::policy::{decide::Guest as _, types};
use sondeo_guest::contract::{Ratio, parse};
use sondeo_guest::entry::Entry;
use sondeo_guest::record::Record;
use sondeo_guest::{backoff, bindings, time::Instant};

/// What `open` says instead.
pub(super) fn opened(contract: &str, at: u64, made: types::Transition) -> types::Transition {
    if super::is("sleep7") {
        return sleep(made, at, 7_000);
    }
    if super::is("floor_third") {
        return floor_third(contract, made);
    }
    made
}

/// What `step` says instead.
pub(super) fn stepped(
    contract: &str,
    before: &str,
    event: &types::Event,
    made: types::Transition,
) -> types::Transition {
    use types::What as W;
    let exchange = matches!(event.what, W::Answered(_) | W::Unanswered(_));
    if super::is("sleep7") && exchange {
        return sleep(made, event.at, 7_000);
    }
    if super::is("escalate") && (exchange || matches!(event.what, W::Leased(_))) {
        return escalate(before, made);
    }
    if super::is("floor_third") {
        return floor_third(contract, made);
    }
    if super::is("over_budget") && exchange {
        return match made.action {
            types::Action::Escalate(_) => sleep(made, event.at, 1_000),
            _ => made,
        };
    }
    if super::is("poll_after_deadline") || super::is("over_budget") {
        return match (&event.what, &made.action) {
            (W::Leased(lease), types::Action::Escalate(_)) => send(before, event.at, lease, made),
            (W::Woke(_), types::Action::Escalate(_)) => due(before, made),
            _ => made,
        };
    }
    made
}

/// Waits this long from `at`, or to the end of the wait.
fn sleep(made: types::Transition, at: u64, ms: u64) -> types::Transition {
    retell(made, |record| {
        let stop = record.useful_until.map_or(record.deadline_at, |useful| useful.min(record.deadline_at));
        let until = Instant::from_ms(at.saturating_add(ms)).map_or(stop, |until| until.min(stop));
        record.authority_revision = 0;
        record.phase = Phase::Waiting { next_poll_at: until, source: DelaySource::LocalBackoff };
        Action::Sleep { until, source: DelaySource::LocalBackoff }
    })
}

/// Ends the wait, and takes a charge back.
fn escalate(before: &str, made: types::Transition) -> types::Transition {
    let Ok(before) = Record::parse(before) else {
        return made;
    };
    retell(made, |record| {
        record.status_requests_used = before.status_requests_used;
        record.fence = before.fence;
        record.authority_revision = record.revision;
        record.phase = Phase::Escalated { reason: Reason::UnknownState };
        let options = vec![OptionKind::Amend, OptionKind::Hold, OptionKind::Inspect, OptionKind::Close];
        Action::Escalate { reason: Reason::UnknownState, options }
    })
}

/// Sends all the same.
fn send(before: &str, at: u64, lease: &types::LeasedEvent, made: types::Transition) -> types::Transition {
    let (Ok(before), Some(since), Some(expires)) =
        (Record::parse(before), Instant::from_ms(at), Instant::from_ms(lease.expires_at))
    else {
        return made;
    };
    retell(made, |record| {
        let attempt = before.next_attempt();
        record.status_requests_used = attempt;
        record.fence = lease.fence;
        record.authority_revision = before.authority_revision;
        record.phase = Phase::Polling { attempt, since, fence: lease.fence, lease_expires_at: expires };
        Action::Send { attempt, timeout_ms: 1_000 }
    })
}

/// Says that a request is due all the same.
fn due(before: &str, made: types::Transition) -> types::Transition {
    match (Record::parse(before), bindings::Component::read(before.into())) {
        (Ok(record), Ok(operation)) => types::Transition {
            record: before.into(),
            operation,
            action: types::Action::Due(types::DueAction { attempt: record.next_attempt() }),
            entry: None,
            sentence: None,
        },
        _ => made,
    }
}

/// The real component with one default changed: jitter from a third of the backoff, not from a half.
fn floor_third(contract: &str, made: types::Transition) -> types::Transition {
    let types::Action::Sleep(types::SleepAction {
        source: types::DelaySource::LocalBackoff | types::DelaySource::FirstDelay,
        ..
    }) = made.action
    else {
        return made;
    };
    let Ok(contract) = parse::parse(contract) else {
        return made;
    };
    retell(made, |record| {
        let mut pace = contract.stage(record.stage).pace.clone();
        pace.floor = Ratio { num: 1, den: 3 };
        let Phase::Waiting { next_poll_at, source } = record.phase else {
            return Action::Rest { until: None, why: String::new() };
        };
        let raw = match (source, pace.first_delay) {
            (DelaySource::FirstDelay, Some(first)) => first,
            _ => backoff::raw(&pace, record.backoff_n),
        };
        let delay = match backoff::parse_seed(&record.seed) {
            Some(seed) => backoff::jitter(&pace, &seed, record.status_requests_used, raw).max(pace.min_delay),
            None => raw,
        };
        let until = record.planned_at.plus(delay).min(record.stop_at());
        record.planned_ms = delay;
        record.phase = Phase::Waiting { next_poll_at: if delay == 0 { next_poll_at } else { until }, source };
        Action::Sleep { until, source }
    })
}

/// The same step with another record and action; what rests stays as it is.
fn retell(made: types::Transition, lie: impl FnOnce(&mut Record) -> Action) -> types::Transition {
    let read = |made: &types::Transition| {
        let entry = Entry::parse(made.entry.as_deref()?).ok()?;
        Some((Record::parse(&made.record).ok()?, entry))
    };
    let Some((mut record, mut entry)) = read(&made) else {
        return made;
    };
    entry.action = lie(&mut record);
    let action = said(&entry.action);
    (entry.phase, entry.reason) = match &record.phase {
        Phase::Waiting { .. } => ("waiting".into(), None),
        Phase::Asking { .. } => ("asking".into(), None),
        Phase::Polling { .. } => ("polling".into(), None),
        Phase::Escalated { reason } => ("escalated".into(), Some(*reason)),
        Phase::Settled { .. } => ("settled".into(), None),
    };
    if let (Some(delay), Phase::Waiting { next_poll_at, .. }) = (&mut entry.facts.delay, &record.phase) {
        delay.ms = next_poll_at.since(delay.from);
    }
    entry.next_at = record.next_at();
    entry.fence = record.fence;
    entry.requests = Spent { used: record.status_requests_used, max: record.max_status_requests };
    entry.sentence = "told otherwise".into();
    let Ok(text) = entry.seal() else {
        return made;
    };
    record.head = entry.sha256;
    let Ok(record) = record.text() else {
        return made;
    };
    match bindings::Component::read(record.clone()) {
        Ok(operation) => {
            types::Transition { record, operation, action, entry: Some(text), sentence: Some(entry.sentence) }
        }
        Err(_) => made,
    }
}

/// The few actions that lies are told with.
fn said(action: &Action) -> types::Action {
    match action {
        Action::Sleep { until, source } => types::Action::Sleep(types::SleepAction {
            until: until.ms(),
            source: match source {
                DelaySource::FirstDelay => types::DelaySource::FirstDelay,
                _ => types::DelaySource::LocalBackoff,
            },
        }),
        Action::Send { attempt, timeout_ms } => {
            types::Action::Send(types::SendAction { attempt: *attempt, timeout_ms: *timeout_ms })
        }
        Action::Escalate { .. } => types::Action::Escalate(types::EscalateAction {
            reason: types::Reason::UnknownState,
            options: vec![
                types::OptionKind::Amend,
                types::OptionKind::Hold,
                types::OptionKind::Inspect,
                types::OptionKind::Close,
            ],
        }),
        _ => types::Action::Rest(types::RestAction { until: None, why: String::new() }),
    }
}
