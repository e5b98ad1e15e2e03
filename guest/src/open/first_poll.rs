//! When the first poll is due, and what the submission's answer says about it (D3, D23, D24).

use alloc::{format, string::String};

use crate::{
    api::{DelaySource, Fault, Reason, Refusal, RefusalKind},
    backoff,
    classify::{self, Judged, Known},
    contract::Outcome,
    delay::{self, Class},
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
    let planned = delay::guided(step, step.at, (local, DelaySource::FirstDelay), Class::Pending, &guidance);
    let time = planned.time;
    if !planned.by_provider && time >= step.r.stop_at() {
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
    Ok(planned.wait(step, step.at))
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
        // D9: which word was taken as what.
        step.facts.notes.extend(judgement.notes);
        step.r.last_known_state = judgement.word;
        step.r.last_outcome = Some(Outcome::Pending);
        step.r.first_seen_at = Some(step.at);
        step.r.last_seen_at = Some(step.at);
    }
    match judgement.expires {
        Some(Ok(expires)) => step.r.job_expires_at = Some(expires),
        Some(Err(why)) => step.facts.notes.push(format!("the job's expiry was not used: {why}")),
        None => {}
    }
    for (place, value) in judgement.pins {
        step.r.incarnation.insert(place, value);
    }
    let guidance = guidance::read(step.contract, observation, step.at, delay::max_hint(step));
    step.facts.guidance_rejected.clone_from(&guidance.rejected);
    Ok(guidance)
}
