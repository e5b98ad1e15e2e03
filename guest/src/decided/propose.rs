//! An agent's proposals: kept and shown, changing nothing else (D39).

use alloc::{format, string::String};

use super::{grant::stay, refuse};
use crate::{
    api::{Proposal, Refusal, RefusalKind},
    limits, machine, open,
    step::{Next, Step},
};

/// D39: a proposal is kept and shown; it changes nothing else.
pub(crate) fn propose(s: &mut Step<'_>, proposal: &Proposal) -> Result<Next, Refusal> {
    if let Some(why) = fault(proposal) {
        return refuse(RefusalKind::InvalidEvent, why);
    }
    if let Some(known) = s.r.proposals.iter().find(|known| known.id == proposal.id) {
        if known != proposal {
            return refuse(RefusalKind::InvalidEvent, "another proposal is open under this id");
        }
        let next = Next::Rest { until: s.r.next_at(), why: "proposed already".into() };
        return Ok(machine::unless_over(s, next));
    }
    if s.r.proposals.len() >= limits::PROPOSALS_MAX {
        return refuse(RefusalKind::OverCeiling, "as many proposals are open as a record holds");
    }
    s.r.proposals.push(proposal.clone());
    Ok(machine::unless_over(s, stay(s, "a proposal changes nothing until a person grants it")))
}

/// A proposal is bounded, in what it says and in what it asks for.
fn fault(proposal: &Proposal) -> Option<String> {
    if !open::is_name(&proposal.id) || !open::is_name(&proposal.by) {
        return Some("a proposal needs an id and a name".into());
    }
    if !open::is_words(&proposal.why) || !open::is_words(&proposal.expected_effect) {
        return Some(format!(
            "a proposal says why, and what it expects, in at most {} bytes each without terminal codes",
            limits::WHY_BYTES_MAX
        ));
    }
    let asked = &proposal.extension;
    let most = [asked.requests, asked.failures, asked.throttles].into_iter().max().unwrap_or_default();
    if asked.time_ms > limits::DURATION_MAX || most > limits::BUDGET_MAX {
        return Some(format!("a proposal asks for a hundred years and {} at most", limits::BUDGET_MAX));
    }
    None
}
