//! Numbers of pace, limits and price that make no sense (D2, D3, D23 to D25, D34).

use alloc::format;

use super::Stage;
use crate::contract::Ratio;

pub(super) fn check(stage: &Stage<'_>) {
    pace(stage);
    limits(stage);
    if stage.contract.request.timeout == 0 {
        stage.add("/request/timeout", "must be above 0");
    }
}

fn pace(stage: &Stage<'_>) {
    let pace = &stage.contract.pace;
    let above_one = |ratio: Ratio| ratio.num > ratio.den;
    if pace.base == 0 {
        stage.add("/pace/base", "must be above 0");
    }
    if pace.base > pace.max {
        stage.add("/pace/base", format!("is {} ms, above `max` with {} ms", pace.base, pace.max));
    }
    if pace.factor.num < pace.factor.den {
        stage.add("/pace/factor", "is below 1: the delays would shrink");
    }
    if above_one(pace.floor) {
        stage.add("/pace/floor", "is above 1: it is a share of the delay");
    }
    if above_one(pace.spread) {
        stage.add("/pace/spread", "is above 1: it is a share of the guidance");
    }
    if pace.min_delay == 0 {
        stage.add("/pace/min_delay", "must be above 0");
    }
    if pace.max_interval.is_some_and(|max| max < pace.min_delay) {
        stage.add("/pace/max_interval", "is below `min_delay`");
    }
    if pace.max_hint == Some(0) {
        stage.add("/pace/max_hint", "must be above 0");
    }
    if pace.throttle_steps == 0 {
        stage.add("/pace/throttle_steps", "must be above 0: a throttled attempt has ended too (D18)");
    }
}

fn limits(stage: &Stage<'_>) {
    let limits = &stage.contract.limits;
    let ceilings = &limits.ceilings;
    let four = [
        ("deadline", limits.deadline, ceilings.deadline),
        ("max_status_requests", limits.max_status_requests.map(u64::from), ceilings.max_status_requests.map(u64::from)),
        (
            "max_transport_failures",
            limits.max_transport_failures.map(u64::from),
            ceilings.max_transport_failures.map(u64::from),
        ),
        ("max_throttles", limits.max_throttles.map(u64::from), ceilings.max_throttles.map(u64::from)),
    ];
    for (name, default, ceiling) in four {
        if default == Some(0) {
            stage.add(format!("/limits/{name}"), "must be above 0 (D2)");
        }
        if ceiling == Some(0) {
            stage.add(format!("/limits/ceilings/{name}"), "must be above 0 (D2)");
        } else if let (Some(default), Some(ceiling)) = (default, ceiling)
            && default > ceiling
        {
            stage.add(format!("/limits/{name}"), "is above its own ceiling");
        }
    }
    if let Some(extension) = &limits.extension {
        let amounts = [extension.requests, extension.failures, extension.throttles];
        if extension.time == 0 && amounts.iter().all(|n| *n == 0) {
            stage.add("/limits/extension", "gives nothing");
        }
    }
}

/// D23: a poll much earlier than the job can be done only costs.
pub(super) fn warn(stage: &Stage<'_>) {
    let (pace, Some(typical)) = (&stage.contract.pace, stage.contract.typical_duration) else {
        return;
    };
    let early = |delay: u64| delay.saturating_mul(10) < typical;
    if early(pace.base) {
        stage.add("/pace/base", format!("{} ms is under a tenth of `typical_duration` ({typical} ms)", pace.base));
    }
    if let Some(first) = pace.first_delay.filter(|first| early(*first)) {
        stage.add("/pace/first_delay", format!("{first} ms is under a tenth of `typical_duration` ({typical} ms)"));
    }
}
