//! A person's decisions, and an agent's proposals (D33, D34, D38 to D41). The order: same id · settled · revision ·
//! option in today's table · not the opener's agent · ceilings · leaves something to spend · apply · delay.

use alloc::{collections::BTreeMap, format, string::String, vec::Vec};

use crate::{
    api::{
        Action, Decision, DecisionWhat, DelaySource, Ending, Event, Extension, Fault, OptionKind, Phase, Proposal,
        Reason, Refusal, RefusalKind, Renewal, Settlement, What,
    },
    contract::{Approval, Contract, EffectsKind},
    delay, digest, limits, machine, open, options,
    record::{Decided, Record},
    request,
    step::{Next, Step},
    time::Instant,
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
    if s.r.decisions.len() >= limits::DECISIONS_MAX {
        return refuse(RefusalKind::OverCeiling, "the operation has as many decisions as a record holds: close it");
    }
    if let Some(id) = &decision.proposal {
        s.r.proposals.retain(|proposal| proposal.id != *id);
    }
    let next = act(s, decision)?;
    let revision = s.revision_after();
    s.r.authority_revision = revision;
    s.r.decisions.push(Decided { id: decision.id.clone(), sha256: fingerprint(decision), revision });
    Ok(next)
}

fn check_words(decision: &Decision) -> Result<(), Refusal> {
    for (name, text, max) in [
        ("id", &decision.id, limits::NAME_BYTES_MAX),
        ("by", &decision.by, limits::NAME_BYTES_MAX),
        ("role", &decision.role, limits::NAME_BYTES_MAX),
        ("why", &decision.why, limits::WHY_BYTES_MAX),
    ] {
        if text.trim().is_empty() || text.len() > max {
            return refuse(RefusalKind::InvalidEvent, format!("a decision needs `{name}`, 1 to {max} bytes (D38)"));
        }
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
    let own = s.r.proposals.iter().any(|p| Some(&p.id) == decision.proposal.as_ref() && p.by == decision.by);
    if own {
        return refuse(RefusalKind::NotAllowed, "whoever proposed can't grant the proposal (D40)");
    }
    Ok(())
}

fn act(s: &mut Step<'_>, decision: &Decision) -> Result<Next, Refusal> {
    match &decision.what {
        DecisionWhat::Extend { extension, done } => {
            if matches!(s.r.phase, Phase::Escalated { reason: Reason::NeedsAction })
                && done.as_ref().is_none_or(|d| d.trim().is_empty())
            {
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
                None => Ok(stay(s, "the cancellation is recorded")),
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
            Ok(stay(s, "the proposal is declined"))
        }
    }
}

fn stay(s: &Step<'_>, why: &str) -> Next {
    Next::Save(Action::Rest { until: s.r.next_at(), why: why.into() })
}

fn carry(s: &mut Step<'_>, extension: Option<&Extension>) -> Result<(), Refusal> {
    match extension {
        Some(extension) => extend(s, extension),
        None => Ok(()),
    }
}

/// Sets limits to what is granted, after every check; none is set if one fails.
fn extend(s: &mut Step<'_>, wanted: &Extension) -> Result<(), Refusal> {
    let Some(most) = most(s) else {
        return refuse(
            RefusalKind::NotOffered,
            "no extension is left: amounts are unset, spent, or at a ceiling (D34, D38)",
        );
    };
    for (name, amount, most) in [
        ("time_ms", wanted.time_ms, most.time_ms),
        ("requests", u64::from(wanted.requests), u64::from(most.requests)),
        ("failures", u64::from(wanted.failures), u64::from(most.failures)),
        ("throttles", u64::from(wanted.throttles), u64::from(most.throttles)),
    ] {
        if amount > most {
            return refuse(
                RefusalKind::OverCeiling,
                format!("`{name}` of {amount} is more than the {most} that one extension may add now"),
            );
        }
    }
    let r = &s.r;
    let deadline_at = r.deadline_at.max(s.at.plus(wanted.time_ms));
    let useful_until = useful(r, wanted, deadline_at, s.at)?;
    // After an end a grant is a new authorization: what it names counts from what is used, whatever was left over (D38).
    // While a wait goes on, what is left stays.
    let ended = matches!(r.phase, Phase::Escalated { .. });
    let raise = |max: u32, used: u32, add: u32| match add {
        1.. if ended => used.saturating_add(add),
        _ => max.max(used.saturating_add(add)),
    };
    let requests = raise(r.max_status_requests, r.status_requests_used, wanted.requests);
    let failures = raise(r.max_transport_failures, r.transport_failures_used, wanted.failures);
    let throttles = raise(r.max_throttles, r.throttles_used, wanted.throttles);
    let left = [
        ("request", requests > r.status_requests_used),
        ("failure", failures > r.transport_failures_used),
        ("throttled answer", throttles > r.throttles_used),
        ("future deadline", deadline_at > s.at),
    ];
    if let Some((name, _)) = left.iter().find(|(_, left)| !left) {
        return refuse(RefusalKind::InvalidEvent, format!("this extension would leave no {name}: add some (D38)"));
    }
    s.r.deadline_at = deadline_at;
    s.r.useful_until = useful_until;
    s.r.max_status_requests = requests;
    s.r.max_transport_failures = failures;
    s.r.max_throttles = throttles;
    s.r.extensions_used = s.r.extensions_used.saturating_add(1);
    s.r.backoff_n = 0;
    Ok(())
}

/// The most that one extension may add; in an amendment or renewal the reason's own row does not limit it.
fn most(s: &Step<'_>) -> Option<Extension> {
    options::extension(s.contract, &s.r, s.at)
}

/// A grant can't pass `useful_until` without naming a new one (D17).
fn useful(r: &Record, wanted: &Extension, deadline_at: Instant, at: Instant) -> Result<Option<Instant>, Refusal> {
    let useful_until = wanted.useful_until.or(r.useful_until);
    match useful_until {
        Some(useful) if useful <= at => {
            refuse(RefusalKind::InvalidEvent, "`useful_until` has passed: an extension must name a new one (D17)")
        }
        Some(useful) if wanted.useful_until.is_none() && deadline_at > r.deadline_at && deadline_at > useful => refuse(
            RefusalKind::InvalidEvent,
            format!("the new deadline would pass `useful_until` ({useful}): name a new one (D17)"),
        ),
        other => Ok(other),
    }
}

/// D38: due `min_delay` after the decision, never before a provider's minimum that still holds; a spent limit stops at
/// once under its own reason. A request in flight goes on.
fn go_on(s: &mut Step<'_>) -> Result<Next, Refusal> {
    match s.r.phase {
        Phase::Polling { .. } => return Ok(stay(s, "the request in flight goes on")),
        Phase::Asking { .. } => return Ok(stay(s, "the request still rests until it is approved")),
        _ => {}
    }
    if let Some(reason) = machine::spent(&s.r, s.at) {
        return Ok(s.escalate(reason));
    }
    s.r.late_success = false;
    s.r.held_until = None;
    let soonest = s.at.plus(s.stage().pace.min_delay);
    let time = match s.r.provider_not_before {
        Some(minimum) => soonest.max(minimum),
        None => soonest,
    };
    Ok(delay::wait(s, s.at, time, DelaySource::ManualExtension))
}

/// D10: a contract revision, adopted for this operation. Limits stay; nothing already seen is judged again.
fn amend(s: &mut Step<'_>, contract: &str, extension: Option<&Extension>) -> Result<Next, Refusal> {
    if s.r.contract_digest == contract {
        return refuse(RefusalKind::InvalidEvent, "the operation is under this contract already");
    }
    let stage = s.stage();
    if let Some(address) = &s.r.address
        && address.template
    {
        match request::address_from_template(stage, &s.r.job, &s.r.ctx) {
            Ok(Some(address)) => s.r.address = Some(address),
            Ok(None) => {}
            Err(why) => {
                return refuse(RefusalKind::InvalidContract, format!("the status address can't be built: {why}"));
            }
        }
    }
    s.r.contract_digest = contract.into();
    s.r.approval_per_request |= stage.approval == Approval::PerRequest || stage.effects.kind != EffectsKind::None;
    s.r.backoff_n = 0;
    carry(s, extension)?;
    go_on(s)
}

/// D33: `rotated` is checked by its keyed digest, `access_restored` is attested by the decider's name.
fn renew(s: &mut Step<'_>, renewal: &Renewal, credential: Option<&String>) -> Result<(), Refusal> {
    if let Renewal::Rotated { digest } = renewal
        && s.r.credential_digest.as_ref() == Some(digest)
    {
        return refuse(
            RefusalKind::InvalidEvent,
            "the credential is the one that was refused: rotate it, or attest that its access was restored",
        );
    }
    if let Some(reference) = credential {
        if !open::is_name(reference) {
            return refuse(RefusalKind::InvalidEvent, "the credential reference must be a short text like `env:NAME`");
        }
        s.r.credential = Some(reference.clone());
    }
    s.r.backoff_n = 0;
    Ok(())
}

fn hold(s: &mut Step<'_>, until: Instant) -> Result<Next, Refusal> {
    if until <= s.at {
        return refuse(RefusalKind::InvalidEvent, "a hold ends in the future");
    }
    s.r.held_until = Some(until);
    Ok(stay(s, "nobody is asked again before then"))
}

/// `submission_unknown`: the job was found.
fn adopt(
    s: &mut Step<'_>,
    job: &BTreeMap<String, String>,
    address: Option<&str>,
    extension: Option<&Extension>,
) -> Result<Next, Refusal> {
    let mut faults: Vec<Fault> = Vec::new();
    open::check_job(s.contract, job, "/what/adopt/job", &mut faults);
    if let Some(first) = faults.first() {
        let message = first.message.clone();
        return Err(Refusal { kind: RefusalKind::InvalidEvent, message, faults });
    }
    let address = open::resolve_address(s.contract, job, &s.r.ctx, address, None)
        .map_err(|why| Refusal::new(RefusalKind::InvalidEvent, why))?;
    if address.secret && !s.r.sealing {
        return refuse(RefusalKind::InvalidEvent, "the status address is secret and there is no key to keep it (D31)");
    }
    s.r.provider_job_id =
        if job.is_empty() { format!("address:{}", address.sha256) } else { open::job_text(s.contract, job) };
    s.r.job = job.clone();
    s.r.address = Some(address);
    carry(s, extension)?;
    go_on(s)
}

/// D41: a grant for exactly the attempt that rests.
fn approve(s: &mut Step<'_>, attempt: u32) -> Result<Next, Refusal> {
    match s.r.phase {
        Phase::Asking { attempt: asked } if asked == attempt => {}
        _ => return refuse(RefusalKind::NotOffered, "no request of this number rests until it is approved"),
    }
    if let Some(reason) = machine::spent(&s.r, s.at) {
        return Ok(s.escalate(reason));
    }
    s.r.approved_attempt = Some(attempt);
    let at = s.at;
    Ok(delay::wait(s, at, at, DelaySource::ManualExtension))
}

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
