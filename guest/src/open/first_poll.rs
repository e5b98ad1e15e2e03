//! When the first poll is due, and what the submission's answer says about it (D3, D23, D24).

use alloc::{format, string::String};

use crate::{
    api::{DelaySource, Fault, Reason, Refusal, RefusalKind},
    backoff,
    classify::{self, Judged, Known},
    contract::Outcome,
    delay,
    guidance::{self, Guidance},
    observation::Observation,
    step::{Next, Step},
};

/// The first delay, the submission's guidance, the clip (D23, D24, D3).
pub(super) fn first_poll(step: &mut Step<'_>, submission: Option<&Observation>) -> Result<Next, Refusal> {
    let pace = &step.contract.pace;
    let raw = pace.first_delay.unwrap_or_else(|| backoff::raw(pace, 0));
    let local = step.at.plus(delay::local(step, raw));
    let guidance = match submission {
        Some(observation) => submitted(step, observation)?,
        None => Guidance::default(),
    };
    let (mut time, mut source) = match guidance.at {
        Some((at, source)) => (at.max(step.at.plus(pace.min_delay)), source),
        None => (local, DelaySource::FirstDelay),
    };
    if let Some(eta) = guidance.eta {
        let soonest = pace.max_interval.map_or(eta, |max| eta.min(step.at.plus(max)));
        if soonest > time {
            (time, source) = (soonest, DelaySource::ProviderPollHint);
        }
    }
    if guidance.at.is_none() && guidance.eta.is_none() && time >= step.r.stop_at() {
        return Err(Refusal {
            kind: RefusalKind::InvalidOpening,
            message: format!(
                "the first poll at {time} would not be before the deadline {}: give more time (D3)",
                step.r.stop_at()
            ),
            faults: alloc::vec![Fault {
                pointer: "/limits/deadline".into(),
                message: "the first poll would not be before the deadline".into()
            }],
        });
    }
    step.r.provider_not_before = guidance.at.map(|(at, _)| at);
    Ok(delay::wait(step, step.at, time, source))
}

/// D3: the submission's answer gives guidance, expiry and identity; an end is left to the first poll, which proves it.
fn submitted(step: &mut Step<'_>, observation: &Observation) -> Result<Guidance, Refusal> {
    let refuse = |message: String| {
        Err(Refusal {
            kind: RefusalKind::InvalidOpening,
            faults: alloc::vec![Fault { pointer: "/submission".into(), message: message.clone() }],
            message,
        })
    };
    if let Some(fault) = observation.incomplete {
        return refuse(format!(
            "the submission's answer did not arrive whole ({fault}): open with the submission's fate unknown"
        ));
    }
    if !(200..300).contains(&observation.status) {
        return refuse(format!("the submission was answered with {}: no job is known to run", observation.status));
    }
    let known = Known {
        job: &step.r.job,
        account: &step.r.account,
        ctx: &step.r.ctx,
        incarnation: &step.r.incarnation,
        conditional_sent: false,
    };
    let judgement = classify::classify(step.contract, &known, observation);
    if judgement.judged == Judged::Stop(Reason::IdentityMismatch) {
        return refuse("the submission's answer names another job or account".into());
    }
    if judgement.judged == Judged::Is(Outcome::Pending) {
        step.r.last_known_state = judgement.word;
        step.r.last_outcome = Some(Outcome::Pending);
        step.r.first_seen_at = Some(step.at);
        step.r.last_seen_at = Some(step.at);
    }
    if let Some(Ok(expires)) = judgement.expires {
        step.r.job_expires_at = Some(expires);
    }
    for (place, value) in judgement.pins {
        step.r.incarnation.insert(place, value);
    }
    let guidance = guidance::read(step.contract, observation, step.at, delay::max_hint(step));
    step.facts.guidance_rejected.clone_from(&guidance.rejected);
    Ok(guidance)
}
