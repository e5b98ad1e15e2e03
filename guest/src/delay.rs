//! When to ask again: backoff, guidance, spread and clip, in D23's order.

use crate::{
    api::{Action, DelaySource, Phase, Reason},
    backoff,
    entry::Delay,
    guidance::Guidance,
    limits,
    step::{Next, Step},
    time::Instant,
};

/// What the guidance of an answer may do (D24).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Class {
    /// It replaces the backoff: a pending answer, a follow, a 404 in grace.
    Pending,
    /// It is a minimum: the provider refused.
    Refusal,
}

/// The longest guidance that is believed (D25).
pub(crate) fn max_hint(step: &Step<'_>) -> u64 {
    match step.stage().pace.max_hint {
        Some(max) => max,
        None => limits::MAX_HINT_DEFAULT_MS.max(step.r.span_ms()),
    }
}

/// The jittered local delay for the exponent in force, within `min_delay` and `max_interval`.
pub(crate) fn local(step: &Step<'_>, raw: u64) -> u64 {
    let pace = &step.stage().pace;
    let jittered = match backoff::parse_seed(&step.r.seed) {
        Some(seed) => backoff::jitter(pace, &seed, step.r.status_requests_used, raw),
        None => raw,
    };
    let capped = match pace.max_interval {
        Some(max) => jittered.min(max),
        None => jittered,
    };
    capped.max(pace.min_delay)
}

/// What backoff and guidance make together, before pacing, push and clip.
pub(crate) struct Planned {
    pub(crate) time: Instant,
    source: DelaySource,
    /// The provider set it.
    pub(crate) by_provider: bool,
    /// What the provider asked for lies at the end of the wait, or later (D25).
    past_the_end: bool,
}

impl Planned {
    /// The wait; or its end, where the contract wants to be told of guidance that lies past it.
    pub(crate) fn wait(self, step: &mut Step<'_>, from: Instant) -> Next {
        if self.past_the_end && step.stage().pace.on_hint_past_deadline_escalate {
            return step.escalate(Reason::ProviderWaitExceedsDeadline);
        }
        wait(step, from, self.time, self.source)
    }
}

/// D24: guidance replaces the local delay, or is a minimum; an expected completion only ever adds.
pub(crate) fn guided(
    step: &Step<'_>,
    from: Instant,
    local: (Instant, DelaySource),
    class: Class,
    guidance: &Guidance,
) -> Planned {
    let pace = &step.stage().pace;
    let (mut time, mut source) = match (guidance.at, class) {
        (None, _) => local,
        (Some((at, source)), Class::Pending) => (at.max(from.plus(pace.min_delay)), source),
        (Some((at, source)), Class::Refusal) => {
            let (later, source) = if at >= local.0 { (at, source) } else { local };
            (later.plus(spread(step, at.since(from))), source)
        }
    };
    let mut asked = guidance.at.map(|(at, _)| at);
    if let Some(eta) = guidance.eta {
        let soonest = pace.max_interval.map_or(eta, |max| eta.min(from.plus(max)));
        asked = asked.max(Some(soonest));
        if soonest > time {
            (time, source) = (soonest, DelaySource::ProviderPollHint);
        }
    }
    let by_provider = matches!(source, DelaySource::ProviderRetryAfter | DelaySource::ProviderPollHint);
    Planned { time, source, by_provider, past_the_end: asked.is_some_and(|at| at >= step.r.stop_at()) }
}

/// Plans the next poll after an answer, a fault or a lost request, from that instant.
pub(crate) fn plan(step: &mut Step<'_>, from: Instant, class: Class, guidance: &Guidance) -> Next {
    let backoff_at = from.plus(local(step, backoff::raw(&step.stage().pace, step.r.backoff_n)));
    guided(step, from, (backoff_at, DelaySource::LocalBackoff), class, guidance).wait(step, from)
}

fn spread(step: &Step<'_>, guidance_ms: u64) -> u64 {
    match backoff::parse_seed(&step.r.seed) {
        Some(seed) => backoff::spread(&step.stage().pace, &seed, step.r.status_requests_used, guidance_ms),
        None => 0,
    }
}

/// Waits until `time`: not before the account's pacing, a remembered push applied, clipped at the earlier of deadline
/// and usefulness (D25: no wake-up is planned after it).
pub(crate) fn wait(step: &mut Step<'_>, from: Instant, time: Instant, source: DelaySource) -> Next {
    let (mut time, mut source) = (time, source);
    if let Some(paced) = step.r.paced_until
        && paced > time
    {
        (time, source) = (paced, DelaySource::AccountPacing);
    }
    step.r.planned_at = from;
    step.r.planned_ms = time.since(from);
    if step.r.push_waiting {
        step.r.push_waiting = false;
        if let Some(earlier) = pushed_time(step, time) {
            (time, source) = (earlier, DelaySource::Push);
        }
    }
    set(step, from, time, source)
}

/// Writes the planned time, clipped, with what clipped it.
pub(crate) fn set(step: &mut Step<'_>, from: Instant, time: Instant, source: DelaySource) -> Next {
    let stop_at = step.r.stop_at();
    let clipped = (time >= stop_at).then(|| {
        if step.r.useful_until.is_some_and(|useful| useful <= step.r.deadline_at) { "useful_until" } else { "deadline" }
    });
    let until = time.min(stop_at);
    step.facts.delay = Some(Delay { source, from, ms: until.since(from), clipped: clipped.map(Into::into) });
    step.r.phase = Phase::Waiting { next_poll_at: until, source };
    Next::Save(Action::Sleep { until, source })
}

/// The earliest time that a push may set, if that is sooner than `planned` (D45).
pub(crate) fn pushed_time(step: &Step<'_>, planned: Instant) -> Option<Instant> {
    let half = step.r.planned_ms.div_ceil(2);
    let mut earliest = step.at.max(step.r.planned_at.plus(half.max(step.stage().pace.min_delay)));
    for floor in [step.r.provider_not_before, step.r.paced_until].into_iter().flatten() {
        earliest = earliest.max(floor);
    }
    (earliest < planned).then_some(earliest)
}
