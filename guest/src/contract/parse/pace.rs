//! When to ask again, and how often at most (D2, D23 to D25, D34).

use super::{
    fields::{duration, ratio, sentence, word},
    node::{Fields, Node},
};
use crate::{
    contract::{Ceilings, ExtensionSpec, Limits, Pace, Ratio},
    limits::BUDGET_MAX,
};

/// The defaults of D23 to D25.
pub(super) fn default() -> Pace {
    Pace {
        first_delay: None,
        base: 5_000,
        max: 120_000,
        factor: Ratio { num: 2, den: 1 },
        floor: Ratio { num: 1, den: 2 },
        min_delay: 1_000,
        max_interval: None,
        max_hint: None,
        spread: Ratio { num: 1, den: 10 },
        throttle_steps: 3,
        on_hint_past_deadline_escalate: false,
    }
}

pub(super) fn pace(node: &Node<'_>) -> Option<Pace> {
    let unset = default();
    let mut fields = node.fields()?;
    let first_delay = fields.opt("first_delay", duration);
    let base = fields.or("base", unset.base, duration);
    let max = fields.or("max", unset.max, duration);
    let factor = fields.or("factor", unset.factor, ratio);
    let floor = fields.or("floor", unset.floor, ratio);
    let min_delay = fields.or("min_delay", unset.min_delay, duration);
    let max_interval = fields.opt("max_interval", duration);
    let max_hint = fields.opt("max_hint", duration);
    let spread = fields.or("spread", unset.spread, ratio);
    let throttle_steps = fields.or("throttle_steps", unset.throttle_steps, count);
    let escalate = fields.or("on_hint_past_deadline", false, |node| word(node, &[("clip", false), ("escalate", true)]));
    fields.end();
    Some(Pace {
        first_delay: first_delay?,
        base: base?,
        max: max?,
        factor: factor?,
        floor: floor?,
        min_delay: min_delay?,
        max_interval: max_interval?,
        max_hint: max_hint?,
        spread: spread?,
        throttle_steps: throttle_steps?,
        on_hint_past_deadline_escalate: escalate?,
    })
}

fn count(node: &Node<'_>) -> Option<u32> {
    node.whole(BUDGET_MAX.into()).and_then(|n| u32::try_from(n).ok())
}

/// The four limits, which stand as defaults and as ceilings.
fn four(fields: &mut Fields<'_>) -> Option<Ceilings> {
    let deadline = fields.opt("deadline", duration);
    let requests = fields.opt("max_status_requests", count);
    let failures = fields.opt("max_transport_failures", count);
    let throttles = fields.opt("max_throttles", count);
    Some(Ceilings {
        deadline: deadline?,
        max_status_requests: requests?,
        max_transport_failures: failures?,
        max_throttles: throttles?,
    })
}

pub(super) fn limits(node: &Node<'_>) -> Option<Limits> {
    let mut fields = node.fields()?;
    let defaults = four(&mut fields);
    let ceilings = fields.or("ceilings", Ceilings::default(), |node| {
        let mut fields = node.fields()?;
        let ceilings = four(&mut fields);
        fields.end();
        ceilings
    });
    let why = fields.opt("why", sentence);
    let extension = fields.opt("extension", extension);
    let max_extensions = fields.or("max_extensions", MAX_EXTENSIONS, count);
    fields.end();
    let defaults = defaults?;
    Some(Limits {
        deadline: defaults.deadline,
        max_status_requests: defaults.max_status_requests,
        max_transport_failures: defaults.max_transport_failures,
        max_throttles: defaults.max_throttles,
        ceilings: ceilings?,
        why: why?,
        extension: extension?,
        max_extensions: max_extensions?,
    })
}

/// Default of `limits.max_extensions` (D38).
const MAX_EXTENSIONS: u32 = 1;

/// The limits of a contract that states none.
pub(super) fn no_limits() -> Limits {
    Limits { max_extensions: MAX_EXTENSIONS, ..Limits::default() }
}

fn extension(node: &Node<'_>) -> Option<ExtensionSpec> {
    let mut fields = node.fields()?;
    let time = fields.req("time", duration);
    let requests = fields.req("requests", count);
    let failures = fields.or("failures", 0, count);
    let throttles = fields.or("throttles", 0, count);
    fields.end();
    Some(ExtensionSpec { time: time?, requests: requests?, failures: failures?, throttles: throttles? })
}
