//! What one step works on, and how it is finished: record and entry made together (D46), or nothing changed.

use alloc::{format, string::String, vec::Vec};

use crate::{
    api::{Action, Event, Fault, Phase, Reason, Refusal, RefusalKind, Settlement, Spent, Transition, What},
    contract::Contract,
    digest,
    entry::{self, Entry, Facts},
    limits, options, provider_text,
    record::Record,
    story,
    time::Instant,
};

/// A step under way.
pub(crate) struct Step<'a> {
    /// The whole contract file.
    pub(crate) contract: &'a Contract,
    pub(crate) r: Record,
    /// The event's time, never before the record's last.
    pub(crate) at: Instant,
    pub(crate) facts: Facts,
    /// `Retry-After` as it was written, for the sentence.
    pub(crate) retry_after: Option<String>,
    /// This step found that a request was lost.
    pub(crate) lost: bool,
}

/// How a step ends.
pub(crate) enum Next {
    /// Nothing has changed; no entry.
    Rest { until: Option<Instant>, why: String },
    /// Nothing has changed; a request is due.
    Due { attempt: u32 },
    /// The record has changed.
    Save(Action),
    /// Only this note is new; not repeated until something else has happened.
    Note(String),
}

impl Next {
    /// The note that this step would have made.
    pub(crate) fn note(self) -> Option<String> {
        match self {
            Next::Note(note) => Some(note),
            Next::Rest { .. } | Next::Due { .. } | Next::Save(_) => None,
        }
    }
}

impl<'a> Step<'a> {
    /// The stage of the contract that is in force.
    pub(crate) fn stage(&self) -> &'a Contract {
        self.contract.stage(self.r.stage)
    }

    /// The revision that this step makes.
    pub(crate) fn revision_after(&self) -> u64 {
        self.r.revision.saturating_add(1)
    }

    /// Ends the wait without an accepted result (D32, D33).
    pub(crate) fn escalate(&mut self, reason: Reason) -> Next {
        if reason == Reason::AuthorizationDenied {
            self.r.denials = self.r.denials.saturating_add(1);
        }
        // What was remembered for this wait's next request ends with it; a new end asks anew (D33, D41, D45).
        self.r.approved_attempt = None;
        self.r.push_waiting = false;
        self.r.held_until = None;
        self.r.phase = Phase::Escalated { reason };
        self.r.authority_revision = self.revision_after();
        let options = options::offered(self.contract, &self.r, self.at);
        Next::Save(Action::Escalate { reason, options })
    }

    /// Ends the wait for good (D32).
    pub(crate) fn settle(&mut self, settlement: Settlement) -> Next {
        self.r.phase = Phase::Settled { settlement: settlement.clone() };
        self.r.authority_revision = self.revision_after();
        Next::Save(Action::Settle { settlement })
    }

    /// Writes the entry and the record, or gives the record back as it was.
    pub(crate) fn finish(self, before: Option<&str>, event: Event, next: Next) -> Result<Transition, Refusal> {
        match (next, before) {
            (Next::Rest { until, why }, Some(before)) => self.unchanged(before, Action::Rest { until, why }),
            (Next::Due { attempt }, Some(before)) => self.unchanged(before, Action::Due { attempt }),
            (Next::Note(note), Some(before)) if self.noted().any(|known| known == note) => {
                let until = self.r.next_at();
                self.unchanged(before, Action::Rest { until, why: note })
            }
            (Next::Note(note), before) => {
                let mut step = self;
                let until = step.r.next_at();
                let known = step.noted().take(limits::NOTES_REMEMBERED.saturating_sub(1));
                let all: Vec<&str> = core::iter::once(note.as_str()).chain(known).collect();
                step.r.last_note = Some(all.join("\n"));
                step.facts.notes.push(note.clone());
                step.append(before, event, Action::Rest { until, why: note })
            }
            (Next::Save(action), before) => {
                let mut step = self;
                step.r.last_note = None;
                step.append(before, event, action)
            }
            (Next::Rest { .. } | Next::Due { .. }, None) => {
                Err(Refusal::new(RefusalKind::InvalidEvent, "an opening can't rest"))
            }
        }
    }

    /// The notes since something last happened, the newest first; none of them is repeated.
    fn noted(&self) -> impl Iterator<Item = &str> {
        self.r.last_note.iter().flat_map(|all| all.split('\n'))
    }

    fn unchanged(self, before: &str, action: Action) -> Result<Transition, Refusal> {
        let record: String = before.into();
        let operation = self.r.view(digest::sha256_hex(record.as_bytes()));
        Ok(Transition { record, operation, action, entry: None, sentence: None })
    }

    fn append(mut self, before: Option<&str>, event: Event, action: Action) -> Result<Transition, Refusal> {
        let previous = (!self.r.head.is_empty()).then(|| self.r.head.clone());
        let revision_before = self.r.revision;
        self.r.revision = self.revision_after();
        self.r.last_at = self.at;
        self.bound_facts();
        let room = room(&event.what);
        let sentence = provider_text::clean(&story::sentence(&self, &event.what, &action), limits::SENTENCE_BYTES_MAX);
        let mut entry = Entry {
            format: entry::FORMAT.into(),
            operation_id: self.r.operation_id.clone(),
            sequence: self.r.revision,
            revision_before,
            event,
            at: self.at,
            facts: core::mem::take(&mut self.facts),
            phase: phase_word(&self.r.phase).into(),
            reason: match self.r.phase {
                Phase::Escalated { reason } => Some(reason),
                _ => None,
            },
            state: self.r.last_known_state.clone(),
            requests: Spent { used: self.r.status_requests_used, max: self.r.max_status_requests },
            failures: Spent { used: self.r.transport_failures_used, max: self.r.max_transport_failures },
            throttles: Spent { used: self.r.throttles_used, max: self.r.max_throttles },
            backoff_n: self.r.backoff_n,
            deadline_at: self.r.deadline_at,
            next_at: self.r.next_at(),
            action: action.clone(),
            fence: self.r.fence,
            contract_digest: self.r.contract_digest.clone(),
            component_digest: self.r.component_digest.clone(),
            record_before: before.map(|text| digest::sha256_hex(text.as_bytes())),
            sentence: sentence.clone(),
            previous,
            sha256: String::new(),
        };
        let entry_text = entry.seal()?;
        self.r.head = entry.sha256;
        let record = self.r.text()?;
        if record.len() > room {
            return Err(Refusal::new(
                RefusalKind::OverCeiling,
                format!("the record would have {} bytes, where this may bring it to {room} at most", record.len()),
            ));
        }
        let operation = self.r.view(digest::sha256_hex(record.as_bytes()));
        Ok(Transition { record, operation, action, entry: Some(entry_text), sentence: Some(sentence) })
    }

    /// What an entry says besides the event is bounded, whatever contract and answer hold.
    fn bound_facts(&mut self) {
        self.facts.guidance_rejected.truncate(limits::NOTES_MAX);
        self.facts.notes.truncate(limits::NOTES_MAX);
        for note in &mut self.facts.notes {
            *note = provider_text::clean(note, limits::NOTE_BYTES_MAX);
        }
    }
}

/// How large a record this event may make. What people and agents add leaves room for what answers and ends add, so that no
/// wait is stopped from ending by its own record.
const fn room(what: &What) -> usize {
    match what {
        What::Opened { .. } => limits::RECORD_OPENED_BYTES_MAX,
        What::Proposed { .. } => limits::RECORD_PROPOSED_BYTES_MAX,
        _ => limits::RECORD_BYTES_MAX,
    }
}

/// The phase's word in entries and indexes.
pub(crate) const fn phase_word(phase: &Phase) -> &'static str {
    match phase {
        Phase::Waiting { .. } => "waiting",
        Phase::Asking { .. } => "asking",
        Phase::Polling { .. } => "polling",
        Phase::Escalated { .. } => "escalated",
        Phase::Settled { .. } => "settled",
    }
}

/// Reads a contract that an operation is pinned to. It was checked as a whole when it was adopted: a build that checks more
/// strands no operation (D48).
pub(crate) fn contract(text: &str) -> Result<Contract, Refusal> {
    crate::contract::parse::parse(text).map_err(faulty)
}

/// Reads a contract that is to be adopted: checked as a whole, its samples run (D3).
pub(crate) fn checked_contract(text: &str) -> Result<Contract, Refusal> {
    crate::check::whole(text).map_err(faulty)
}

fn faulty(faults: Vec<Fault>) -> Refusal {
    let first = faults.first().map(|f| format!("`{}` {}", f.pointer, f.message)).unwrap_or_default();
    Refusal {
        kind: RefusalKind::InvalidContract,
        message: format!("the contract has {} fault(s), the first at {first}", faults.len()),
        faults,
    }
}

/// Refuses a contract that is not the one pinned (D1).
pub(crate) fn pinned(record: &Record, digest: &str) -> Result<(), Refusal> {
    if record.contract_digest == digest {
        return Ok(());
    }
    Err(Refusal::new(
        RefusalKind::ContractMismatch,
        format!(
            "the operation is pinned to the contract with SHA-256 {}, this text has {digest}: bring the pinned text, or amend",
            record.contract_digest
        ),
    ))
}

/// Names, joined for a message.
pub(crate) fn names<'n>(names: impl Iterator<Item = &'n str>) -> String {
    let all: Vec<String> = names.map(|n| format!("`{n}`")).collect();
    all.join(", ")
}
