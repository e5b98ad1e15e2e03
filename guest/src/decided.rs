//! A person's decisions, and an agent's proposals (D33, D34, D38 to D41). The order: same id · settled · revision ·
//! option in today's table · not the opener's agent · ceilings · leaves something to spend · apply · delay.

mod acts;
mod grant;
mod propose;

use alloc::{format, string::String, vec::Vec};

pub(crate) use propose::propose;

use acts::{adopt, amend, approve, hold, renew};
use grant::{carry, extend, go_on, stay};

use crate::{
    api::{Decision, DecisionWhat, Ending, Event, OptionKind, Phase, Reason, Refusal, RefusalKind, Settlement, What},
    contract::Contract,
    digest, limits, machine, open, options,
    record::{Decided, Record},
    request,
    step::{Next, Step},
};

fn refuse<T>(kind: RefusalKind, message: impl Into<String>) -> Result<T, Refusal> {
    Err(Refusal::new(kind, message))
}

/// The option that a decision chooses; approvals and declines are answers to what was asked, not options of D33.
const fn option(what: &DecisionWhat) -> Option<OptionKind> {
    match what {
        DecisionWhat::Extend { .. } => Some(OptionKind::Extend),
        DecisionWhat::Amend { .. } => Some(OptionKind::Amend),
        DecisionWhat::RenewCredential { .. } => Some(OptionKind::RenewCredential),
        DecisionWhat::AcceptResult => Some(OptionKind::AcceptResult),
        DecisionWhat::Hold { .. } => Some(OptionKind::Hold),
        DecisionWhat::Close => Some(OptionKind::Close),
        DecisionWhat::Cancel { .. } => Some(OptionKind::Cancel),
        DecisionWhat::Adopt { .. } => Some(OptionKind::Adopt),
        DecisionWhat::Resubmit => Some(OptionKind::Resubmit),
        DecisionWhat::NewOperation { .. } => Some(OptionKind::NewOperation),
        DecisionWhat::Approve { .. } | DecisionWhat::Decline { .. } => None,
    }
}

/// Before an amendment is stepped: the text is the contract that the decision names, for the same id.
pub(crate) fn amending(record: &Record, contract: &Contract, digest: &str, decision: &Decision) -> Result<(), Refusal> {
    let DecisionWhat::Amend { contract: named, .. } = &decision.what else {
        return Ok(());
    };
    if named != digest {
        return refuse(
            RefusalKind::ContractMismatch,
            format!("the decision names the contract {named}, this text has {digest}"),
        );
    }
    if record.contract_id != contract.id {
        return refuse(
            RefusalKind::ContractMismatch,
            format!("an amendment keeps the contract's id `{}`; this one is `{}`", record.contract_id, contract.id),
        );
    }
    Ok(())
}

/// The event as its entry keeps it: an adopted address that is secret by its digest (D31).
pub(crate) fn without_secrets(contract: &Contract, event: &Event) -> Event {
    let mut event = event.clone();
    if let What::Decided { decision } = &mut event.what
        && let DecisionWhat::Adopt { address: Some(address), .. } = &mut decision.what
        && let Some(kept) = request::kept(contract, address)
    {
        *address = kept;
    }
    event
}

/// A decision on a settled operation: the earlier answer to the same id, or a refusal (D38).
pub(crate) fn after_the_end(s: &Step<'_>, decision: &Decision) -> Result<Next, Refusal> {
    earlier(s, decision)?.ok_or_else(machine::ended)
}

/// The same decision again changes nothing; another one under the same id is refused.
fn earlier(s: &Step<'_>, decision: &Decision) -> Result<Option<Next>, Refusal> {
    let Some(known) = s.r.decisions.iter().find(|known| known.id == decision.id) else {
        return Ok(None);
    };
    if known.sha256 != fingerprint(decision) {
        return refuse(RefusalKind::NotAllowed, format!("another decision was made under the id `{}`", decision.id));
    }
    Ok(Some(Next::Rest { until: s.r.next_at(), why: format!("decided already, in revision {}", known.revision) }))
}

fn fingerprint(decision: &Decision) -> String {
    digest::canonical_of(decision).map(|text| digest::sha256_hex(text.as_bytes())).unwrap_or_default()
}

/// `decided` on an operation that is not settled.
pub(crate) fn apply(s: &mut Step<'_>, decision: &Decision) -> Result<Next, Refusal> {
    if let Some(answer) = earlier(s, decision)? {
        return Ok(answer);
    }
    check_words(decision)?;
    if decision.revision != s.r.authority_revision {
        return refuse(
            RefusalKind::StaleRevision,
            format!(
                "the decision was made on revision {}, the operation is at {}: look again and decide on what is there now",
                decision.revision, s.r.authority_revision
            ),
        );
    }
    check_offered(s, decision)?;
    check_person(s, decision)?;
    if let Some(id) = &decision.proposal {
        if !s.r.proposals.iter().any(|proposal| proposal.id == *id) {
            return refuse(RefusalKind::InvalidEvent, "there is no such open proposal");
        }
        s.r.proposals.retain(|proposal| proposal.id != *id);
    }
    let next = act(s, decision)?;
    let revision = s.revision_after();
    s.r.authority_revision = revision;
    // The oldest is forgotten, and never made again: the revision that it was made on has passed.
    if s.r.decisions.len() >= limits::DECISIONS_MAX {
        s.r.decisions.remove(0);
    }
    s.r.decisions.push(Decided { id: decision.id.clone(), sha256: fingerprint(decision), revision });
    Ok(next)
}

fn check_words(decision: &Decision) -> Result<(), Refusal> {
    let names = [("id", &decision.id), ("by", &decision.by), ("role", &decision.role)];
    if let Some((name, _)) = names.iter().find(|(_, text)| !open::is_name(text)) {
        return refuse(
            RefusalKind::InvalidEvent,
            format!(
                "a decision needs `{name}`, 1 to {} bytes without control characters (D38)",
                limits::NAME_BYTES_MAX
            ),
        );
    }
    let done = match &decision.what {
        DecisionWhat::Extend { done, .. } => done.as_ref(),
        _ => None,
    };
    let texts = [("why", Some(&decision.why)), ("done", done)];
    if let Some((name, _)) = texts.iter().find(|(_, text)| text.is_some_and(|text| !open::is_words(text))) {
        return refuse(
            RefusalKind::InvalidEvent,
            format!("`{name}` is words of at most {} bytes, without terminal codes (D38)", limits::WHY_BYTES_MAX),
        );
    }
    Ok(())
}

fn check_offered(s: &Step<'_>, decision: &Decision) -> Result<(), Refusal> {
    let Some(option) = option(&decision.what) else {
        return Ok(());
    };
    let offered = options::offered(s.contract, &s.r, s.at);
    if offered.contains(&option) {
        return Ok(());
    }
    refuse(
        RefusalKind::NotOffered,
        format!(
            "`{option}` is not offered now; what is: {}",
            crate::step::names(offered.iter().map(|option| option.as_str()))
        ),
    )
}

/// D40: the agent that waits, whoever opened on its behalf, and the proposer can't decide.
fn check_person(s: &Step<'_>, decision: &Decision) -> Result<(), Refusal> {
    if s.r.opened_by != "cli" && decision.by == s.r.opened_by {
        return refuse(RefusalKind::NotAllowed, "whoever opened the operation can't decide about it (D40)");
    }
    // Without a daemon all names are the operating system's user (D40); even there nobody grants what they asked for.
    let named = |id: &String| Some(id) == decision.proposal.as_ref();
    if s.r.proposals.iter().any(|p| p.by == decision.by && (s.r.opened_by != "cli" || named(&p.id))) {
        return refuse(RefusalKind::NotAllowed, "whoever asks for a decision can't make it (D40)");
    }
    Ok(())
}

fn act(s: &mut Step<'_>, decision: &Decision) -> Result<Next, Refusal> {
    match &decision.what {
        DecisionWhat::Extend { extension, done } => {
            if matches!(s.r.phase, Phase::Escalated { reason: Reason::NeedsAction }) && done.is_none() {
                return refuse(RefusalKind::InvalidEvent, "`extend` after `needs_action` states what was done (D33)");
            }
            extend(s, extension)?;
            go_on(s)
        }
        DecisionWhat::Amend { contract, extension } => amend(s, contract, extension.as_ref()),
        DecisionWhat::RenewCredential { renewal, credential, extension } => {
            renew(s, renewal, credential.as_ref())?;
            carry(s, extension.as_ref())?;
            go_on(s)
        }
        DecisionWhat::AcceptResult => {
            let settlement =
                Settlement { ending: Ending::Accepted, results: s.r.results.clone(), actions: s.r.actions.clone() };
            Ok(s.settle(settlement))
        }
        DecisionWhat::Hold { until } => hold(s, *until),
        DecisionWhat::Close => {
            let settlement = Settlement { ending: Ending::Closed, results: Vec::new(), actions: Vec::new() };
            Ok(s.settle(settlement))
        }
        DecisionWhat::Cancel { extension } => {
            s.r.cancel_requested_at = Some(s.at);
            match extension {
                Some(extension) => {
                    extend(s, extension)?;
                    go_on(s)
                }
                None => Ok(machine::unless_over(s, stay(s, "the cancellation is recorded"))),
            }
        }
        DecisionWhat::Adopt { job, address, extension } => adopt(s, job, address.as_deref(), extension.as_ref()),
        DecisionWhat::Resubmit => {
            s.r.resubmit_authorized_at = Some(s.at);
            Ok(stay(s, "one resubmission with the same key is authorized"))
        }
        DecisionWhat::NewOperation { operation_id } => {
            if !open::is_name(operation_id) {
                return refuse(RefusalKind::InvalidEvent, "the new operation must be named");
            }
            s.r.successor = Some(operation_id.clone());
            Ok(stay(s, "a new operation is linked"))
        }
        DecisionWhat::Approve { attempt } => approve(s, *attempt),
        DecisionWhat::Decline { proposal } => {
            let before = s.r.proposals.len();
            s.r.proposals.retain(|p| p.id != *proposal);
            if s.r.proposals.len() == before {
                return refuse(RefusalKind::InvalidEvent, "there is no such open proposal");
            }
            Ok(machine::unless_over(s, stay(s, "the proposal is declined")))
        }
    }
}
