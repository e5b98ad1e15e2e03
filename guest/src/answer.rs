//! `answered` and `unanswered`: from an observation, or a fault, to an end or to the next wait.

use alloc::{collections::BTreeMap, format, string::String};

use crate::{
    api::{Action, Ending, Exchange, Phase, Reason, Refusal, RefusalKind, Settlement, TransportFault},
    classify::{self, Judged, Judgement, Known},
    contract::{Contract, EffectsKind, FollowTarget, Outcome, Place, UrlPolicy},
    delay::{self, Class},
    guidance::{self, Guidance},
    limits, machine,
    observation::{self, Observation, Seen},
    provider_text,
    record::Record,
    request,
    step::{Next, Step},
};

/// What an answer leads to, before the limits are looked at.
enum Led {
    Settle(Settlement),
    Stop(Reason),
    Wait(Class),
}

/// Which budget the exchange spends.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Budget {
    None,
    Failure,
    Throttle,
}

/// `answered(attempt, fence, observation)` for the attempt in flight.
pub(crate) fn answered(s: &mut Step<'_>, attempt: u32, observation: &Observation) -> Result<Next, Refusal> {
    if observation.format != observation::FORMAT {
        return Err(Refusal::new(
            RefusalKind::UnknownVersion,
            format!("the observation's format is not `{}`: let `observe` make it", observation::FORMAT),
        ));
    }
    s.r.last_exchange = Some(Exchange {
        attempt,
        status: Some(observation.status),
        fault: observation.incomplete,
        sent_at: Some(observation.sent_at),
        at: s.at,
        request_id: observation
            .request_id
            .as_deref()
            .map(|id| provider_text::clean(id, limits::PROVIDER_TEXT_BYTES_MAX)),
    });
    if let Some(fault) = observation.incomplete {
        return Ok(incomplete(s, observation, fault));
    }
    let guidance = read_guidance(s, observation);
    let judgement = judge(s, observation);
    if judgement.judged != Judged::Stop(Reason::IdentityMismatch) {
        remember(s, &guidance);
    }
    let led = apply(s, observation, &judgement);
    let (steps, budget) = match judgement.judged {
        Judged::Is(Outcome::Throttled) if guidance.at.is_none() => (s.stage().pace.throttle_steps, Budget::Throttle),
        Judged::Is(Outcome::Throttled) => (1, Budget::Throttle),
        Judged::Is(Outcome::Unavailable) => (1, Budget::Failure),
        _ => (1, Budget::None),
    };
    Ok(conclude(s, led, steps, budget, &guidance))
}

/// `unanswered(fault)` for the attempt in flight.
pub(crate) fn unanswered(s: &mut Step<'_>, attempt: u32, fault: TransportFault) -> Next {
    let sent_at = match s.r.phase {
        Phase::Polling { since, .. } => Some(since),
        _ => None,
    };
    s.r.last_exchange =
        Some(Exchange { attempt, status: None, fault: Some(fault), sent_at, at: s.at, request_id: None });
    let led = faulted(s, fault);
    conclude(s, led, 1, Budget::Failure, &Guidance::default())
}

/// D5: a request that may have had an effect, and whose answer was lost, is not repeated.
fn faulted(s: &Step<'_>, fault: TransportFault) -> Led {
    if fault.may_have_left() && s.stage().effects.kind != EffectsKind::None {
        return Led::Stop(Reason::AmbiguousDelivery);
    }
    Led::Wait(Class::Refusal)
}

/// D14: the state of an answer that was cut off isn't trusted, but 429 and 503 and their guidance count.
fn incomplete(s: &mut Step<'_>, observation: &Observation, fault: TransportFault) -> Next {
    let guidance = match observation.status {
        429 | 503 => read_guidance(s, observation),
        _ => Guidance::default(),
    };
    remember(s, &guidance);
    let led = faulted(s, fault);
    if observation.status == 429 {
        s.facts.outcome = Some(Outcome::Throttled);
        let steps = if guidance.at.is_none() { s.stage().pace.throttle_steps } else { 1 };
        return conclude(s, led, steps, Budget::Throttle, &guidance);
    }
    conclude(s, led, 1, Budget::Failure, &guidance)
}

fn read_guidance(s: &mut Step<'_>, observation: &Observation) -> Guidance {
    let guidance = guidance::read(s.stage(), observation, s.at, delay::max_hint(s));
    s.facts.guidance_rejected.clone_from(&guidance.rejected);
    if let Some(Seen::Text(text)) = observation.at(&Place::Header("retry-after".into())) {
        s.retry_after = Some(provider_text::clean(text, 40));
    }
    guidance
}

/// A provider's minimum holds whatever this answer leads to: a grant after an end doesn't undercut it (D38, D50).
fn remember(s: &mut Step<'_>, guidance: &Guidance) {
    if let Some((at, _)) = guidance.at {
        s.r.provider_not_before = Some(at);
    }
}

fn judge(s: &mut Step<'_>, observation: &Observation) -> Judgement {
    let known = Known {
        job: &s.r.job,
        account: &s.r.account,
        ctx: &s.r.ctx,
        incarnation: &s.r.incarnation,
        conditional_sent: s.r.etag.is_some() && s.stage().request.conditional,
    };
    let judgement = classify::classify(s.stage(), &known, observation);
    s.facts.rule = judgement.rule;
    s.facts.notes.extend(judgement.notes.iter().cloned());
    judgement
}

/// Takes what the answer says into the record, and tells what it leads to.
fn apply(s: &mut Step<'_>, observation: &Observation, judgement: &Judgement) -> Led {
    let outcome = match judgement.judged {
        Judged::Is(outcome) => outcome,
        Judged::NotModified => return not_modified(s),
        Judged::Stop(reason) => {
            if reason == Reason::ContradictoryResponse {
                s.r.results.clone_from(&judgement.results);
                s.r.actions.clone_from(&judgement.actions);
                // What a 304 would repeat is no longer what is known.
                s.r.etag = None;
            }
            return Led::Stop(reason);
        }
    };
    s.facts.outcome = Some(outcome);
    match outcome {
        Outcome::NotFound => return not_found(s),
        Outcome::Throttled | Outcome::Unavailable => return Led::Wait(Class::Refusal),
        Outcome::Unauthorized => return Led::Stop(Reason::AuthorizationDenied),
        _ => {}
    }
    match judgement.expires {
        Some(Ok(at)) => s.r.job_expires_at = Some(at),
        Some(Err(why)) => s.facts.notes.push(format!("the job's expiry was not used: {why}")),
        None => {}
    }
    if outcome == Outcome::Pending && past_expiry(s) {
        s.facts.notes.push("pending after the job's own expiry".into());
        return Led::Stop(Reason::ContradictoryResponse);
    }
    seen(s, observation, judgement, outcome);
    match outcome {
        Outcome::Pending => pending(s, observation),
        Outcome::Follow => follow(s, observation),
        outcome => ended(s, outcome),
    }
}

/// What an outcome of the job that is no wait leads to.
fn ended(s: &Step<'_>, outcome: Outcome) -> Led {
    match outcome {
        Outcome::Succeeded => Led::Settle(Settlement {
            ending: Ending::Succeeded,
            results: s.r.results.clone(),
            actions: s.r.actions.clone(),
        }),
        Outcome::Partial => Led::Stop(Reason::PartialResult),
        Outcome::Failed => Led::Stop(Reason::JobFailed),
        Outcome::Cancelled => Led::Stop(Reason::JobCancelled),
        Outcome::Expired => Led::Stop(Reason::JobExpired),
        Outcome::NeedsAction => Led::Stop(Reason::NeedsAction),
        _ => Led::Stop(Reason::UnknownState),
    }
}

/// The job's facts that this answer brought (D7, D16).
fn seen(s: &mut Step<'_>, observation: &Observation, judgement: &Judgement, outcome: Outcome) {
    if outcome != Outcome::Follow {
        s.r.last_known_state = judgement.word.clone().or_else(|| Some(outcome.as_str().into()));
        s.r.last_outcome = Some(outcome);
    }
    s.r.first_seen_at = s.r.first_seen_at.or(Some(s.at));
    s.r.last_seen_at = Some(s.at);
    let clean = |text: &String| provider_text::clean(text, limits::PROVIDER_TEXT_BYTES_MAX);
    s.r.error = observation.error.as_ref().map(clean);
    if let Some(progress) = &observation.progress {
        s.r.progress = Some(clean(progress));
    }
    // INVARIANT (tag-and-outcome): the tag is of the answer that gave the last outcome, which a 304 to it repeats (D29).
    s.r.etag = observation.etag.clone().filter(|tag| tag.len() <= limits::VALUE_BYTES_MAX);
    for (place, value) in &judgement.pins {
        s.r.incarnation.insert(place.clone(), value.clone());
    }
    if !judgement.results.is_empty() || matches!(outcome, Outcome::Succeeded | Outcome::Partial) {
        s.r.results.clone_from(&judgement.results);
        s.r.actions.clone_from(&judgement.actions);
    }
}

/// D12: pending with `at > job_expires_at` plus grace.
fn past_expiry(s: &Step<'_>) -> bool {
    let grace = s.stage().expiry.as_ref().map_or(0, |expiry| expiry.grace);
    s.r.job_expires_at.is_some_and(|expires| s.at > expires.plus(grace))
}

/// D29: a 304 to our own `ETag` repeats the last outcome.
fn not_modified(s: &mut Step<'_>) -> Led {
    let Some(outcome) = s.r.last_outcome else {
        return Led::Stop(Reason::IntegrationFailure);
    };
    s.facts.outcome = Some(outcome);
    if outcome == Outcome::Pending && past_expiry(s) {
        s.facts.notes.push("pending after the job's own expiry".into());
        return Led::Stop(Reason::ContradictoryResponse);
    }
    s.r.last_seen_at = Some(s.at);
    match outcome {
        Outcome::Pending => Led::Wait(Class::Pending),
        outcome => ended(s, outcome),
    }
}

/// D27.
fn not_found(s: &mut Step<'_>) -> Led {
    let contract = s.stage();
    let since = s.r.submitted_at.unwrap_or(s.r.started_at);
    if s.at < since.plus(contract.not_found.grace) {
        return Led::Wait(Class::Pending);
    }
    let retained = contract.retention.is_some_and(|retention| s.at < since.plus(retention));
    if s.r.first_seen_at.is_some() && contract.not_found.after_seen_expired && !retained {
        return Led::Stop(Reason::JobExpired);
    }
    Led::Stop(Reason::IntegrationFailure)
}

/// A pending answer may name the next address, where the contract lets it change (D28).
fn pending(s: &mut Step<'_>, observation: &Observation) -> Led {
    if s.stage().url_policy == UrlPolicy::MayChange && observation.address.is_some() {
        return match take_address(s, s.stage(), observation) {
            Ok(()) => Led::Wait(Class::Pending),
            Err(reason) => Led::Stop(reason),
        };
    }
    Led::Wait(Class::Pending)
}

/// Takes the address that the answer names, under the contract in force there.
fn take_address(s: &mut Step<'_>, there: &Contract, observation: &Observation) -> Result<(), Reason> {
    let named = match &observation.address {
        Some(named) => request::named(there, named).map_err(|why| format!("the status address was not used: {why}")),
        None => Err("the answer names no status address where the contract says it does".into()),
    };
    match named {
        Ok(address) if address.secret && !s.r.sealing => {
            s.facts.notes.push("the status address is secret and there is no key to keep it".into());
            Err(Reason::IntegrationFailure)
        }
        Ok(address) => {
            // An entity tag belongs to the address that it came from.
            if s.r.address.as_ref().is_none_or(|asked| asked.sha256 != address.sha256) {
                s.r.etag = None;
            }
            s.r.address = Some(address);
            Ok(())
        }
        Err(why) => {
            s.facts.notes.push(why);
            Err(Reason::IntegrationFailure)
        }
    }
}

/// D28: the job goes on under another id or address; pinned before anything is asked there.
fn follow(s: &mut Step<'_>, observation: &Observation) -> Led {
    let contract = s.stage();
    let Some(spec) = contract.follow.as_ref() else {
        return Led::Stop(Reason::IntegrationFailure);
    };
    if s.r.follows >= limits::FOLLOWS_MAX {
        s.facts.notes.push("the job was followed as often as is allowed".into());
        return Led::Stop(Reason::IntegrationFailure);
    }
    let next = spec.contract.as_deref().unwrap_or(contract);
    let taken = match &spec.target {
        FollowTarget::Address(_) => take_address(s, next, observation).map(|()| address_id(&s.r)),
        FollowTarget::Parts(places) => take_parts(s, next, places, observation),
    };
    let id = match taken {
        Ok(id) => id,
        Err(reason) => return Led::Stop(reason),
    };
    s.r.follows = s.r.follows.saturating_add(1);
    if spec.contract.is_some() {
        s.r.stage = s.r.stage.saturating_add(1);
    }
    s.r.incarnation.clear();
    s.r.etag = None;
    // D5: what the requests there do is that stage's to say.
    s.r.approval_per_request |= next.asks_for_each();
    if id != s.r.provider_job_id && !s.r.followed.contains(&id) {
        s.r.followed.push(id);
    }
    Led::Wait(Class::Pending)
}

fn address_id(r: &Record) -> String {
    r.address.as_ref().map_or_else(String::new, |address| format!("address:{}", address.sha256))
}

fn take_parts(
    s: &mut Step<'_>,
    next: &Contract,
    places: &BTreeMap<String, Place>,
    observation: &Observation,
) -> Result<String, Reason> {
    let mut job = s.r.job.clone();
    for (name, place) in places {
        match observation.at(place) {
            Some(Seen::Text(text) | Seen::Number(text)) if crate::open::unusable_part(text).is_none() => {
                job.insert(name.clone(), text.clone());
            }
            _ => {
                s.facts.notes.push(format!("the answer has no usable id part `{name}` to follow"));
                return Err(Reason::IntegrationFailure);
            }
        }
    }
    job.retain(|name, _| next.request.id_parts.contains(name));
    let address = request::address_from_template(next, &job, &s.r.ctx).map_err(|why| {
        s.facts.notes.push(format!("the address to follow can't be built: {why}"));
        Reason::IntegrationFailure
    })?;
    let id = crate::open::job_text(next, &job);
    s.r.job = job;
    if let Some(address) = address {
        s.r.address = Some(address);
    }
    Ok(id)
}

/// Counters, limits, then the end or the next wait: the second half of the order of checks.
fn conclude(s: &mut Step<'_>, led: Led, steps: u32, budget: Budget, guidance: &Guidance) -> Next {
    s.r.backoff_n = s.r.backoff_n.saturating_add(steps);
    match budget {
        Budget::Failure => s.r.transport_failures_used = s.r.transport_failures_used.saturating_add(1),
        Budget::Throttle => s.r.throttles_used = s.r.throttles_used.saturating_add(1),
        Budget::None => {}
    }
    if let Some(reason) = machine::out_of_time(&s.r, s.at) {
        s.r.late_success = matches!(led, Led::Settle(_));
        return s.escalate(reason);
    }
    let class = match led {
        Led::Settle(settlement) => return s.settle(settlement),
        Led::Stop(reason) => return s.escalate(reason),
        Led::Wait(class) => class,
    };
    if budget == Budget::Failure && s.r.transport_failures_used >= s.r.max_transport_failures {
        let reason = failure_reason(&s.r);
        return s.escalate(reason);
    }
    if budget == Budget::Throttle && s.r.throttles_used >= s.r.max_throttles {
        return s.escalate(Reason::RateLimited);
    }
    if s.r.status_requests_used >= s.r.max_status_requests {
        return s.escalate(Reason::RequestBudgetExhausted);
    }
    delay::plan(s, s.at, class, guidance)
}

/// D20: ambiguous if the last request may have left and got no answer, else the provider failed.
pub(crate) fn failure_reason(r: &Record) -> Reason {
    let ambiguous = r
        .last_exchange
        .as_ref()
        .is_some_and(|exchange| exchange.status.is_none() && exchange.fault.is_none_or(TransportFault::may_have_left));
    if ambiguous { Reason::AmbiguousDelivery } else { Reason::ProviderFailure }
}

/// What a sleep or an end is called in a sentence.
pub(crate) fn ends(action: &Action) -> bool {
    matches!(action, Action::Escalate { .. } | Action::Settle { .. })
}
