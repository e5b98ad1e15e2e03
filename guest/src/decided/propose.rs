//! An agent's proposals: kept and shown, changing nothing else (D39).

use alloc::format;

use super::{grant::stay, refuse};
use crate::{
    api::{Proposal, Refusal, RefusalKind},
    limits, open,
    step::{Next, Step},
};

/// D39: a proposal is kept and shown; it changes nothing else.
pub(crate) fn propose(s: &mut Step<'_>, proposal: &Proposal) -> Result<Next, Refusal> {
    for text in [&proposal.id, &proposal.by] {
        if !open::is_name(text) {
            return refuse(RefusalKind::InvalidEvent, "a proposal needs an id and a name");
        }
    }
    if proposal.why.len() > limits::WHY_BYTES_MAX || proposal.expected_effect.len() > limits::WHY_BYTES_MAX {
        return refuse(
            RefusalKind::InvalidEvent,
            format!("a proposal's texts hold at most {} bytes", limits::WHY_BYTES_MAX),
        );
    }
    if s.r.proposals.iter().any(|known| known.id == proposal.id) {
        return Ok(Next::Rest { until: s.r.next_at(), why: "proposed already".into() });
    }
    if s.r.proposals.len() >= limits::PROPOSALS_MAX {
        return refuse(RefusalKind::OverCeiling, "as many proposals are open as a record holds");
    }
    s.r.proposals.push(proposal.clone());
    Ok(stay(s, "a proposal changes nothing until a person grants it"))
}
