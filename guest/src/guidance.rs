//! What an answer says about when to ask again: all of its guidance, checked (D24, D25).

use alloc::{string::String, vec::Vec};

use serde::{Deserialize, Serialize};

use crate::{
    api::DelaySource,
    contract::{Contract, HintKind, Place},
    fill::fields,
    hint::{self, Reading},
    observation::{self, Observation, Seen},
    time::Instant,
};

/// The guidance of one answer, read afresh from it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Guidance {
    /// The latest valid time before which not to ask, and what named it.
    pub at: Option<(Instant, DelaySource)>,
    /// The latest valid time at which the provider expects the job to end.
    pub eta: Option<Instant>,
    /// What was not by its grammar, or absurd: not used, and as good as none (D25).
    pub rejected: Vec<Rejected>,
}

/// A piece of guidance that was not used.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Rejected {
    /// `/pointer` or `header:name`.
    pub place: String,
    /// Lower case, without the value.
    pub why: String,
}

fields! {
    Rejected { place, why }
}

/// Reads `Retry-After` and the contract's hints. Zero, past, null and absent are no guidance; anything more than
/// `max_hint_ms` after `received` is rejected as absurd (D25). Of two equal times the one from `Retry-After` counts.
pub fn read(contract: &Contract, seen: &Observation, received: Instant, max_hint_ms: u64) -> Guidance {
    let mut guidance = Guidance::default();
    let retry_after = Place::Header("retry-after".into());
    let readings = seen.at(&retry_after).map(|value| (&retry_after, HintKind::Delay, plain(value, received)));
    let hints = contract.hints.iter().filter_map(|hint| {
        let counts =
            hint.code.as_ref().is_none_or(|all| all.iter().any(|(low, high)| (*low..=*high).contains(&seen.status)));
        let value = seen.at(&hint.place).filter(|_| counts)?;
        Some((&hint.place, hint.kind, hint::hint(hint, value, received)))
    });
    for (index, (place, kind, reading)) in readings.into_iter().chain(hints).enumerate() {
        let source = match (index, place == &retry_after) {
            (0, true) => DelaySource::ProviderRetryAfter,
            _ => DelaySource::ProviderPollHint,
        };
        guidance.take(place, kind, source, bounded(reading, received, max_hint_ms));
    }
    guidance
}

fn plain(value: &Seen, received: Instant) -> Reading {
    match value {
        Seen::Text(text) => hint::retry_after(text, received),
        Seen::Repeated(_) => Reading::Rejected("stands twice"),
        Seen::Long { .. } => Reading::Rejected("too long"),
        Seen::Null | Seen::Bool(_) | Seen::Number(_) | Seen::Array(_) | Seen::Object(_) | Seen::Reference(_) => {
            Reading::Rejected("wrong type")
        }
    }
}

fn bounded(reading: Reading, received: Instant, max_hint_ms: u64) -> Reading {
    match reading {
        Reading::At(at) if at.since(received) > max_hint_ms => Reading::Rejected("absurd: beyond `max_hint`"),
        reading => reading,
    }
}

impl Guidance {
    fn take(&mut self, place: &Place, kind: HintKind, source: DelaySource, reading: Reading) {
        match reading {
            Reading::None => {}
            Reading::Rejected(why) => {
                self.rejected.push(Rejected { place: observation::key(place), why: why.into() });
            }
            Reading::At(at) if kind == HintKind::Eta => self.eta = self.eta.max(Some(at)),
            Reading::At(at) => {
                if self.at.is_none_or(|(latest, _)| at > latest) {
                    self.at = Some((at, source));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
