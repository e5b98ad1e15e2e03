//! Opening: what is pinned, persisted first, and sensible (D1 to D6).

use alloc::{
    boxed::Box,
    collections::BTreeMap,
    format,
    string::{String, ToString},
    vec::Vec,
};

use crate::{
    api::{DelaySource, Event, Fault, Opening, Phase, Reason, Refusal, RefusalKind, TimeLimit, Transition, What},
    backoff,
    classify::{self, Judged, Known},
    contract::{Approval, Contract, CtxKind, EffectsKind, Outcome},
    delay, digest,
    entry::Facts,
    guidance::{self, Guidance},
    limits,
    observation::{Named, Observation},
    record::{self, Address, Record},
    request,
    step::{self, Next, Step},
    time::Instant,
    url,
};

/// Entry 1 and the first record.
///
/// # Errors
/// `invalid_contract` with every fault, or `invalid_opening` with every field at fault.
pub fn open(contract: &str, opening: &Opening, at: Instant) -> Result<Transition, Refusal> {
    let text = contract;
    let contract = step::checked_contract(text)?;
    let opening = &without_secrets(&contract, opening);
    let mut faults = Vec::new();
    check_fields(&contract, opening, &mut faults);
    let submission = read_submission(opening, &mut faults);
    let limits = resolve_limits(&contract, opening, at, &mut faults);
    let (Some(limits), true) = (limits, faults.is_empty()) else {
        return Err(refused(faults));
    };
    let address = address(&contract, opening, submission.as_ref(), &mut faults);
    if !faults.is_empty() {
        return Err(refused(faults));
    }
    let mut record = record(&contract, opening, at, &limits, address, digest::sha256_hex(text.as_bytes()));
    (record.spent_earliest, record.spent_latest) = budget_spent(&contract, &record, at);
    record.warnings = warnings(&contract, &record, opening);
    let mut step = Step { contract: &contract, r: record, at, facts: Facts::default(), retry_after: None };
    let next = if opening.submission_unknown {
        step.escalate(Reason::SubmissionUnknown)
    } else {
        first_poll(&mut step, submission.as_ref())?
    };
    let event = Event { at, what: What::Opened { opening: Box::new(opening.clone()) } };
    step.finish(None, event, next)
}

/// The opening as entry 1 keeps it: a secret address by its digest (D31).
fn without_secrets(contract: &Contract, opening: &Opening) -> Opening {
    let mut opening = opening.clone();
    if let Some(kept) = opening.address.as_deref().and_then(|address| request::kept(contract, address)) {
        opening.address = Some(kept);
    }
    opening
}

/// The job of an opening as one text (D4), before its limits are looked at.
///
/// # Errors
/// `invalid_contract`, or `invalid_opening` where id parts or address are at fault.
pub fn job(contract: &str, opening: &Opening) -> Result<String, Refusal> {
    let contract = step::contract(contract)?;
    let mut faults = Vec::new();
    if !opening.submission_unknown {
        check_job(&contract, &opening.job, "/job", &mut faults);
    }
    let submission = read_submission(opening, &mut faults);
    let address = if faults.is_empty() { address(&contract, opening, submission.as_ref(), &mut faults) } else { None };
    if !faults.is_empty() {
        return Err(refused(faults));
    }
    Ok(provider_job_id(&contract, opening, address.as_ref()))
}

/// Opening again (D4): with the contract and the limits that were given the first time, the operation there is answers.
///
/// # Errors
/// `contract_mismatch` or `invalid_opening`, naming the operation and what differs; `invalid_record`.
pub fn rejoin(contract: &str, record: &str, opening: &Opening) -> Result<crate::api::Operation, Refusal> {
    let known = Record::parse(record)?;
    let id = &known.operation_id;
    let again = digest::sha256_hex(contract.as_bytes());
    // An amended operation was opened under a contract that its opener may still hold.
    if known.contract_digest != again {
        return Err(Refusal::new(
            RefusalKind::ContractMismatch,
            format!(
                "operation `{id}` waits for this job already, under the contract with SHA-256 {}, not {again}: use that \
                 text, or adopt the new one with `amend`",
                known.contract_digest
            ),
        ));
    }
    let mut faults = Vec::new();
    let (old, new) = (&known.limits_given, &opening.limits);
    for (name, same) in [
        ("deadline", old.deadline == new.deadline),
        ("useful_until", old.useful_until == new.useful_until),
        ("max_status_requests", old.max_status_requests == new.max_status_requests),
        ("max_transport_failures", old.max_transport_failures == new.max_transport_failures),
        ("max_throttles", old.max_throttles == new.max_throttles),
    ] {
        if !same {
            fault(&mut faults, &format!("/limits/{name}"), format!("`{name}` is not as it was given the first time"));
        }
    }
    if opening.fingerprint.is_some() && opening.fingerprint != known.fingerprint {
        fault(&mut faults, "/fingerprint", "the fingerprint is another original request's");
    }
    if faults.is_empty() {
        return Ok(known.view(digest::sha256_hex(record.as_bytes())));
    }
    let words: Vec<String> = faults.iter().map(|f| f.message.clone()).collect();
    let message = format!(
        "operation `{id}` waits, or waited, for this job already, and {}: give the same limits, or decide on that operation (D4)",
        words.join(", ")
    );
    Err(Refusal { kind: RefusalKind::InvalidOpening, message, faults })
}

fn fault(faults: &mut Vec<Fault>, pointer: &str, message: impl Into<String>) {
    faults.push(Fault { pointer: pointer.into(), message: message.into() });
}

fn refused(faults: Vec<Fault>) -> Refusal {
    let words: Vec<String> = faults.iter().map(|f| f.message.clone()).collect();
    Refusal { kind: RefusalKind::InvalidOpening, message: words.join("; "), faults }
}

/// 64 lower-case hexadecimal digits.
pub(crate) fn is_digest(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b))
}

/// A name that people and logs can carry: not empty, bounded, no control characters.
pub(crate) fn is_name(text: &str) -> bool {
    !text.is_empty() && text.len() <= limits::NAME_BYTES_MAX && !text.chars().any(char::is_control)
}

/// One text for the whole job, from its parts in the contract's order (D4).
pub(crate) fn job_text(contract: &Contract, job: &BTreeMap<String, String>) -> String {
    let parts: Vec<&String> = contract.request.id_parts.iter().filter_map(|name| job.get(name)).collect();
    match parts.as_slice() {
        [one] => (*one).clone(),
        many => {
            let encoded: Vec<String> = many.iter().map(|part| url::encode_segment(part).unwrap_or_default()).collect();
            encoded.join("/")
        }
    }
}

fn provider_job_id(contract: &Contract, opening: &Opening, address: Option<&Address>) -> String {
    match (address, contract.request.id_parts.is_empty() || opening.job.is_empty()) {
        (Some(address), true) => format!("address:{}", address.sha256),
        (None, true) => format!("unknown:{}", opening.operation_id),
        (_, false) => job_text(contract, &opening.job),
    }
}

fn check_fields(contract: &Contract, opening: &Opening, faults: &mut Vec<Fault>) {
    for (pointer, name, text) in [
        ("/operation_id", "operation id", &opening.operation_id),
        ("/namespace", "namespace", &opening.namespace),
        ("/account", "account label", &opening.account),
        ("/opened_by", "opener's name", &opening.opened_by),
    ] {
        if !is_name(text) {
            fault(
                faults,
                pointer,
                format!("the {name} must be 1 to {} bytes without control characters", limits::NAME_BYTES_MAX),
            );
        }
    }
    if !is_digest(&opening.component) {
        fault(faults, "/component", "the component must be named by its SHA-256, 64 hexadecimal digits");
    }
    if backoff::parse_seed(&opening.seed).is_none() {
        fault(faults, "/seed", "the seed must be 32 random bytes as 64 hexadecimal digits (D6)");
    }
    if opening.fingerprint.as_ref().is_some_and(|f| !is_name(f)) {
        fault(
            faults,
            "/fingerprint",
            "the fingerprint of the original request must be a short text, such as `sha256:...`",
        );
    }
    if contract.request.timeout >= opening.lease_ms || opening.lease_ms > limits::DURATION_MAX {
        fault(
            faults,
            "/lease_ms",
            format!(
                "the request timeout of {} ms must be shorter than the lease of {} ms: give a longer lease (D3)",
                contract.request.timeout, opening.lease_ms
            ),
        );
    }
    match (&contract.request.credential, &opening.credential) {
        (Some(spec), None) if !opening.submission_unknown => fault(
            faults,
            "/credential",
            format!(
                "the contract sends a credential in `{}`: name where it is found, for example `env:NAME`",
                spec.header
            ),
        ),
        (None, Some(_)) => fault(faults, "/credential", "the contract sends no credential, so none may be given"),
        (_, Some(reference)) if !is_name(reference) => {
            fault(faults, "/credential", "the credential reference must be a short text like `env:NAME`");
        }
        _ => {}
    }
    if !opening.submission_unknown {
        check_job(contract, &opening.job, "/job", faults);
    }
    check_ctx(contract, &opening.ctx, faults);
}

/// Exactly the contract's id parts, each of which makes one path segment (D28).
pub(crate) fn check_job(contract: &Contract, job: &BTreeMap<String, String>, pointer: &str, faults: &mut Vec<Fault>) {
    for name in &contract.request.id_parts {
        match job.get(name) {
            None => fault(faults, &format!("{pointer}/{name}"), format!("the contract needs the id part `{name}`")),
            Some(part) if part.len() > limits::NAME_BYTES_MAX => {
                fault(
                    faults,
                    &format!("{pointer}/{name}"),
                    format!("the id part `{name}` is longer than {} bytes", limits::NAME_BYTES_MAX),
                );
            }
            Some(part) => {
                if let Err(why) = url::encode_segment(part) {
                    fault(faults, &format!("{pointer}/{name}"), format!("the id part `{name}` can't be used: {why}"));
                }
                // An id that climbs out of its segment is never meant, even where encoding would hold it.
                if part.split('/').any(|piece| piece == ".." || piece == ".") {
                    fault(faults, &format!("{pointer}/{name}"), format!("the id part `{name}` holds dot segments"));
                }
            }
        }
    }
    for name in job.keys().filter(|name| !contract.request.id_parts.contains(name)) {
        fault(
            faults,
            &format!("{pointer}/{name}"),
            format!(
                "the contract has no id part `{}`; it has {}",
                crate::provider_text::clean(name, 64),
                step::names(contract.request.id_parts.iter().map(String::as_str))
            ),
        );
    }
}

fn check_ctx(contract: &Contract, ctx: &BTreeMap<String, Vec<String>>, faults: &mut Vec<Fault>) {
    for (name, spec) in &contract.ctx {
        let pointer = format!("/ctx/{name}");
        match ctx.get(name).map(Vec::as_slice) {
            None | Some([]) if spec.required => {
                fault(faults, &pointer, format!("the contract needs the fact `{name}` at opening"))
            }
            None | Some([]) => {}
            Some(values) => check_ctx_values(&spec.kind, name, values, &pointer, faults),
        }
    }
    for name in ctx.keys().filter(|name| !contract.ctx.contains_key(*name)) {
        fault(
            faults,
            &format!("/ctx/{name}"),
            format!(
                "the contract declares no fact `{}`; it declares {}",
                crate::provider_text::clean(name, 64),
                step::names(contract.ctx.keys().map(String::as_str))
            ),
        );
    }
}

fn check_ctx_values(kind: &CtxKind, name: &str, values: &[String], pointer: &str, faults: &mut Vec<Fault>) {
    let single = !matches!(kind, CtxKind::ListOf(_));
    if single && values.len() != 1 {
        fault(faults, pointer, format!("the fact `{name}` has one value, not {}", values.len()));
    }
    for value in values {
        match kind {
            CtxKind::OneOf(words) | CtxKind::ListOf(words) if !words.contains(value) => fault(
                faults,
                pointer,
                format!(
                    "`{}` is no value of the fact `{name}`; it is {}",
                    crate::provider_text::clean(value, 64),
                    step::names(words.iter().map(String::as_str))
                ),
            ),
            CtxKind::Time if Instant::parse_rfc3339(value).is_err() => {
                fault(faults, pointer, format!("the fact `{name}` is a time such as 2025-04-18T10:20:00Z"));
            }
            CtxKind::Text if !is_name(value) => {
                fault(faults, pointer, format!("the fact `{name}` must be a short text"))
            }
            _ => {}
        }
    }
}

fn read_submission(opening: &Opening, faults: &mut Vec<Fault>) -> Option<Observation> {
    let text = opening.submission.as_ref()?;
    match serde_json::from_str::<Observation>(text) {
        Ok(observation) => Some(observation),
        Err(_) => {
            fault(faults, "/submission", "the submission's answer must be an observation that `observe` made");
            None
        }
    }
}

/// Limits as absolute times and numbers.
struct Resolved {
    deadline_at: Instant,
    useful_until: Option<Instant>,
    requests: u32,
    failures: u32,
    throttles: u32,
}

/// D2: all required, from the opening or the contract, none zero or unlimited. D3: none above its ceiling.
fn resolve_limits(contract: &Contract, opening: &Opening, at: Instant, faults: &mut Vec<Fault>) -> Option<Resolved> {
    let given = &opening.limits;
    let absolute = |limit: TimeLimit| match limit {
        TimeLimit::AfterMs(ms) => at.plus(ms),
        TimeLimit::At(instant) => instant,
    };
    let deadline_at = given.deadline.map(absolute).or_else(|| contract.limits.deadline.map(|ms| at.plus(ms)));
    match deadline_at {
        None => fault(faults, "/limits/deadline", "no deadline: give one, or let the contract have a default (D2)"),
        Some(deadline) if deadline <= at => {
            fault(faults, "/limits/deadline", format!("the deadline {deadline} is not after now ({at})"));
        }
        Some(deadline) => {
            if let Some(ceiling) = contract.limits.ceilings.deadline.filter(|c| deadline > at.plus(*c)) {
                fault(
                    faults,
                    "/limits/deadline",
                    format!(
                        "the deadline {deadline} is beyond the contract's ceiling of {}",
                        crate::time::format_duration(ceiling)
                    ),
                );
            }
        }
    }
    let useful_until = given.useful_until.map(absolute);
    if useful_until.is_some_and(|useful| useful <= at) {
        fault(faults, "/limits/useful_until", format!("`useful_until` is not after now ({at})"));
    }
    let own = &contract.limits;
    let failures = budget(
        "max_transport_failures",
        given.max_transport_failures.or(own.max_transport_failures),
        own.ceilings.max_transport_failures,
        faults,
    );
    let requests = budget(
        "max_status_requests",
        given.max_status_requests.or(own.max_status_requests),
        own.ceilings.max_status_requests,
        faults,
    );
    let throttles = budget(
        "max_throttles",
        given.max_throttles.or(own.max_throttles).or(failures),
        own.ceilings.max_throttles,
        faults,
    );
    if let (Some(p), Some(requests), Some(failures), Some(throttles)) =
        (&opening.predecessor, requests, failures, throttles)
        && (p.status_requests_used >= requests
            || p.transport_failures_used >= failures
            || p.throttles_used >= throttles)
    {
        fault(faults, "/limits", "the budgets leave nothing beyond what the operation before has used (D4)");
    }
    Some(Resolved {
        deadline_at: deadline_at?,
        useful_until,
        requests: requests?,
        failures: failures?,
        throttles: throttles?,
    })
}

fn budget(name: &str, value: Option<u32>, ceiling: Option<u32>, faults: &mut Vec<Fault>) -> Option<u32> {
    let pointer = format!("/limits/{name}");
    match value {
        None => fault(faults, &pointer, format!("no `{name}`: give one, or let the contract have a default (D2)")),
        Some(0) => fault(faults, &pointer, format!("`{name}` is zero: nothing could be asked (D2)")),
        Some(n) if n > limits::BUDGET_MAX => {
            fault(faults, &pointer, format!("`{name}` of {n} is above {}: none is unlimited (D2)", limits::BUDGET_MAX));
        }
        Some(n) => match ceiling {
            Some(ceiling) if n > ceiling => {
                fault(faults, &pointer, format!("`{name}` of {n} is above the contract's ceiling of {ceiling}"));
            }
            _ => return Some(n),
        },
    }
    None
}

/// D28: from the template, the opener, or the submission's answer; never guessed.
fn address(
    contract: &Contract,
    opening: &Opening,
    submission: Option<&Observation>,
    faults: &mut Vec<Fault>,
) -> Option<Address> {
    if opening.submission_unknown {
        return None;
    }
    match resolve_address(contract, &opening.job, &opening.ctx, opening.address.as_deref(), submission) {
        Ok(address) if address.secret && !opening.sealing => {
            fault(
                faults,
                "/address",
                "the status address holds query parameters that the contract doesn't list as public, so it is a secret, \
                 and there is no key to keep it: give a sealing key (D31)",
            );
            None
        }
        Ok(address) => Some(address),
        Err(why) => {
            fault(faults, "/address", why);
            None
        }
    }
}

/// The status address in force at the start.
pub(crate) fn resolve_address(
    contract: &Contract,
    job: &BTreeMap<String, String>,
    ctx: &BTreeMap<String, Vec<String>>,
    given: Option<&str>,
    submission: Option<&Observation>,
) -> Result<Address, String> {
    let built = request::address_from_template(contract, job, ctx)
        .map_err(|why| format!("the status address can't be built: {why}"))?;
    if let Some(address) = built {
        return match given {
            Some(_) => Err("the contract builds the status address itself, so none may be given".into()),
            None => Ok(address),
        };
    }
    if let Some(text) = given {
        return request::given(contract, text).map_err(|why| format!("the status address can't be used: {why}"));
    }
    match submission.and_then(|s| s.address.as_ref()) {
        Some(Named::Address { url, sha256, secret }) => {
            Ok(Address { url: url.clone(), sha256: sha256.clone(), secret: *secret, template: false })
        }
        Some(Named::Refused { why }) => {
            Err(format!("the status address in the submission's answer can't be used: {why}"))
        }
        None => Err(
            "the contract takes the status address from the opening or the submission's answer, and neither has one"
                .into(),
        ),
    }
}

fn record(
    contract: &Contract,
    opening: &Opening,
    at: Instant,
    limits: &Resolved,
    address: Option<Address>,
    contract_digest: String,
) -> Record {
    let provider_job_id = provider_job_id(contract, opening, address.as_ref());
    let used = opening.predecessor.as_ref();
    Record {
        format: record::FORMAT.into(),
        operation_id: opening.operation_id.clone(),
        namespace: opening.namespace.clone(),
        contract_id: contract.id.clone(),
        contract_digest,
        component_digest: opening.component.clone(),
        account: opening.account.clone(),
        credential: opening.credential.clone(),
        credential_digest: None,
        provider_job_id,
        job: opening.job.clone(),
        followed: Vec::new(),
        stage: 0,
        follows: 0,
        address,
        fingerprint: opening.fingerprint.clone(),
        ctx: opening.ctx.clone(),
        opened_by: opening.opened_by.clone(),
        predecessor: used.map(|p| p.operation_id.clone()),
        submitted_at: opening.submitted_at,
        limits_given: opening.limits.clone(),
        approval_per_request: opening.approval_per_request
            || contract.approval == Approval::PerRequest
            || contract.effects.kind != EffectsKind::None,
        sealing: opening.sealing,
        lease_ms: opening.lease_ms,
        seed: opening.seed.clone(),
        started_at: at,
        deadline_at: limits.deadline_at,
        useful_until: limits.useful_until,
        job_expires_at: opening.job_expires_at,
        max_status_requests: limits.requests,
        max_transport_failures: limits.failures,
        max_throttles: limits.throttles,
        status_requests_used: used.map_or(0, |p| p.status_requests_used),
        transport_failures_used: used.map_or(0, |p| p.transport_failures_used),
        throttles_used: used.map_or(0, |p| p.throttles_used),
        backoff_n: 0,
        spent_earliest: at,
        spent_latest: at,
        warnings: Vec::new(),
        phase: Phase::Waiting { next_poll_at: at, source: DelaySource::FirstDelay },
        planned_at: at,
        planned_ms: 0,
        provider_not_before: None,
        paced_until: None,
        pushes: 0,
        push_waiting: false,
        approved_attempt: None,
        fence: 0,
        last_known_state: None,
        last_outcome: None,
        first_seen_at: None,
        last_seen_at: None,
        last_exchange: None,
        progress: None,
        error: None,
        etag: None,
        incarnation: BTreeMap::new(),
        results: Vec::new(),
        actions: Vec::new(),
        late_success: false,
        extensions_used: 0,
        denials: 0,
        held_until: None,
        cancel_requested_at: None,
        resubmit_authorized_at: None,
        successor: None,
        proposals: Vec::new(),
        decisions: Vec::new(),
        last_note: None,
        last_at: at,
        authority_revision: 0,
        revision: 0,
        head: String::new(),
    }
}

/// D3: when the requests would be spent if every answer were pending and nobody gave guidance: earliest and latest.
fn budget_spent(contract: &Contract, record: &Record, at: Instant) -> (Instant, Instant) {
    let pace = &contract.pace;
    let left = record.max_status_requests.saturating_sub(record.status_requests_used);
    let bounds = |raw: u64| {
        let capped = pace.max_interval.unwrap_or(u64::MAX);
        let low = backoff::low(pace, raw).min(capped).max(pace.min_delay);
        (low, raw.min(capped).max(pace.min_delay))
    };
    let (mut earliest, mut latest) = bounds(pace.first_delay.unwrap_or_else(|| backoff::raw(pace, 0)));
    let mut n: u32 = 1;
    while n < left {
        let raw = backoff::raw(pace, n);
        let (low, high) = bounds(raw);
        // Once at `max` every further delay is alike.
        let steps =
            if raw >= pace.max || backoff::raw(pace, n.saturating_add(1)) == raw { left.saturating_sub(n) } else { 1 };
        earliest = earliest.saturating_add(low.saturating_mul(u64::from(steps)));
        latest = latest.saturating_add(high.saturating_mul(u64::from(steps)));
        n = n.saturating_add(steps);
    }
    (at.plus(earliest), at.plus(latest))
}

fn warnings(contract: &Contract, record: &Record, opening: &Opening) -> Vec<String> {
    let mut warnings = Vec::new();
    let half = record.started_at.plus(record.span_ms().checked_div(2).unwrap_or(0));
    if record.spent_latest < half {
        warnings.push(format!(
            "the request budget would be spent by {} at the latest, before half of the time to the deadline",
            record.spent_latest.hms()
        ));
    }
    if let Some(retention) = contract.retention {
        let kept_until = record.submitted_at.unwrap_or(record.started_at).plus(retention);
        if record.deadline_at > kept_until {
            warnings.push(format!("the deadline lies beyond the provider's documented retention ({kept_until})"));
        }
    }
    if !opening.sealing && contract.result.values().any(|reference| reference.secret) {
        warnings.push("there is no sealing key, so a secret result will be kept by its digest only".to_string());
    }
    for warning in crate::contract::check::warnings(contract) {
        warnings.push(warning.message);
    }
    warnings.truncate(limits::WARNINGS_MAX);
    warnings
}

/// The first delay, the submission's guidance, the clip (D23, D24, D3).
fn first_poll(step: &mut Step<'_>, submission: Option<&Observation>) -> Result<Next, Refusal> {
    let pace = &step.contract.pace;
    let raw = pace.first_delay.unwrap_or_else(|| backoff::raw(pace, 0));
    let local = step.at.plus(delay::local(step, raw));
    let guidance = match submission {
        Some(observation) => submitted(step, observation)?,
        None => Guidance::default(),
    };
    let (mut time, mut source) = match guidance.at {
        Some((at, source)) => (at.max(step.at.plus(pace.min_delay)), source),
        None => (local, DelaySource::FirstDelay),
    };
    if let Some(eta) = guidance.eta {
        let soonest = pace.max_interval.map_or(eta, |max| eta.min(step.at.plus(max)));
        if soonest > time {
            (time, source) = (soonest, DelaySource::ProviderPollHint);
        }
    }
    if guidance.at.is_none() && guidance.eta.is_none() && time >= step.r.stop_at() {
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
    Ok(delay::wait(step, step.at, time, source))
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
        step.r.last_known_state = judgement.word;
        step.r.last_outcome = Some(Outcome::Pending);
        step.r.first_seen_at = Some(step.at);
        step.r.last_seen_at = Some(step.at);
    }
    if let Some(Ok(expires)) = judgement.expires {
        step.r.job_expires_at = Some(expires);
    }
    for (place, value) in judgement.pins {
        step.r.incarnation.insert(place, value);
    }
    let guidance = guidance::read(step.contract, observation, step.at, delay::max_hint(step));
    step.facts.guidance_rejected.clone_from(&guidance.rejected);
    Ok(guidance)
}
