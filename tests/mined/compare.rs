//! What a case expects, in our words, and whether it is what came.

use serde_json::{Value, json};
use sondeo_guest::api::{DelaySource, Ending, OptionKind, Outcome, Phase, Reason};

use super::{
    run::Ran,
    translate::{instant, text},
};

/// Our reasons for a word of the form's.
pub(crate) fn reasons(word: &str) -> Vec<Reason> {
    match word {
        "contradiction" => vec![Reason::ContradictoryResponse],
        "not_found" => vec![Reason::IntegrationFailure, Reason::JobExpired],
        "integration_error" => vec![Reason::IntegrationFailure, Reason::UnreadableResponse],
        // An answer of which no state can be read stops there and here.
        "unknown_state" => vec![Reason::UnknownState, Reason::UnreadableResponse],
        "transport_failure_budget_exhausted" => vec![Reason::ProviderFailure, Reason::AmbiguousDelivery],
        "provider_failure" => vec![Reason::JobFailed],
        "provider_cancelled" => vec![Reason::JobCancelled],
        "provider_expired" => vec![Reason::JobExpired],
        "ambiguous_delivery" => vec![Reason::AmbiguousDelivery, Reason::SubmissionUnknown],
        other => Reason::from_word(other).into_iter().collect(),
    }
}

/// Whether one of the outcomes that the case accepts is what came, and which: 0 is the first choice.
///
/// # Errors
/// How what came differs from the first choice.
pub(crate) fn compare(case: &Value, ran: &Ran) -> Result<usize, String> {
    let expect = &case["expect"];
    if let Some(why) = &ran.unverified {
        return Err(format!("the log does not verify: {why}"));
    }
    let mut first = None;
    for (choice, wanted) in choices(expect).iter().enumerate() {
        let faults = differences(wanted, ran);
        match faults.is_empty() {
            true => return asserted(case, ran).map(|()| choice),
            false => first = first.or(Some(faults)),
        }
    }
    Err(first.unwrap_or_default().join("; "))
}

/// The first choice, then each alternative laid over it. One with another decision is another outcome: it brings its own
/// time, reason, job and counters, or leaves them open; only the requests are the same.
fn choices(expect: &Value) -> Vec<Value> {
    let mut all = vec![expect.clone()];
    for other in expect["also_acceptable"].as_array().into_iter().flatten() {
        let mut wanted = expect.clone();
        if other.get("decision").is_some_and(|decision| *decision != expect["decision"]) {
            let requests = wanted["counters"]["requests_used"].clone();
            wanted = json!({});
            if !requests.is_null() && other["decision"] != json!("ignore") {
                wanted["counters"] = json!({"requests_used": requests});
            }
        }
        for (name, value) in other.as_object().into_iter().flatten() {
            wanted[name] = value.clone();
        }
        all.push(wanted);
    }
    all
}

fn differences(wanted: &Value, ran: &Ran) -> Vec<String> {
    let mut faults = Vec::new();
    decision(wanted, ran, &mut faults);
    if ran.refused.is_none() || ran.operation.is_some() {
        job(wanted, ran, &mut faults);
        counters(wanted, ran, &mut faults);
    }
    if text(wanted, "decision") == Some("wait") {
        next(wanted, ran, &mut faults);
    }
    let sent = ran.sent.iter().filter(|sent| !sent.told).count();
    if let Some(sends) = wanted["sends"].as_u64()
        && u64::try_from(sent) != Ok(sends)
    {
        faults.push(format!("{sent} requests left, not {sends}"));
    }
    if let (Some(worker), Some(sent)) = (text(wanted, "worker"), ran.sent.last())
        && text(wanted, "decision") == Some("send")
        && sent.worker != worker
    {
        faults.push(format!("`{}` sent, not `{worker}`", sent.worker));
    }
    if let Some(allowed) = wanted["allowed_actions"].as_array() {
        options(allowed, ran, &mut faults);
    }
    faults
}

fn phase(ran: &Ran) -> Option<&Phase> {
    ran.operation.as_ref().map(|operation| &operation.phase)
}

fn reason(ran: &Ran) -> Option<Reason> {
    match phase(ran) {
        Some(Phase::Escalated { reason }) => Some(*reason),
        _ => None,
    }
}

/// What came, in a few words.
fn came(ran: &Ran) -> String {
    if let Some(refusal) = &ran.refused {
        return format!("refused: {}", refusal.message);
    }
    match phase(ran) {
        None => "nothing opened".into(),
        Some(Phase::Waiting { next_poll_at, source }) => format!("waits until {next_poll_at} ({source})"),
        Some(Phase::Asking { attempt }) => format!("asks for attempt {attempt}"),
        Some(Phase::Polling { attempt, lease_expires_at, .. }) => {
            format!("attempt {attempt} in flight until {lease_expires_at}")
        }
        Some(Phase::Escalated { reason }) => format!("stopped with {reason}"),
        Some(Phase::Settled { settlement }) => format!("settled: {}", settlement.ending),
    }
}

fn decision(wanted: &Value, ran: &Ran, faults: &mut Vec<String>) {
    let word = text(wanted, "decision").unwrap_or_default();
    let holds = match word {
        "wait" => {
            let waits =
                matches!(phase(ran), Some(Phase::Waiting { .. } | Phase::Asking { .. } | Phase::Polling { .. }));
            ran.refused.is_none() && waits
        }
        "send" => !ran.sent.is_empty() && matches!(phase(ran), Some(Phase::Polling { .. })),
        "stop" => return stop(wanted, ran, faults),
        "ignore" => ran.refused.is_none() && ran.unchanged,
        "refuse" => ran.refused.is_some(),
        other => return faults.push(format!("the form has a decision `{other}`")),
    };
    if !holds {
        faults.push(format!("not `{word}`: {}", came(ran)));
    }
}

fn stop(wanted: &Value, ran: &Ran, faults: &mut Vec<String>) {
    let word = text(wanted, "stop_reason").unwrap_or_default();
    let holds = match (phase(ran), word) {
        (Some(Phase::Settled { settlement }), _) => word == "succeeded" && settlement.ending == Ending::Succeeded,
        (Some(Phase::Escalated { reason }), _) => reasons(word).contains(reason),
        // A submission's answer that can't be used opens nothing (D3).
        (None, _) => ran.refused.is_some() && reasons(word).contains(&Reason::IntegrationFailure),
        _ => false,
    };
    if !holds {
        faults.push(format!("not `stop` with `{word}`: {}", came(ran)));
    }
}

/// The job's last known fact (D7).
fn fact(ran: &Ran) -> &'static str {
    match (phase(ran), ran.operation.as_ref().and_then(|operation| operation.last_outcome)) {
        (Some(Phase::Settled { settlement }), _) if settlement.ending == Ending::Succeeded => "success",
        (Some(Phase::Escalated { reason: Reason::JobFailed }), _) => "failure",
        (Some(Phase::Escalated { reason: Reason::JobCancelled }), _) => "cancelled",
        (Some(Phase::Escalated { reason: Reason::JobExpired }), _) => "expired",
        (_, Some(Outcome::Pending)) => "pending",
        (_, Some(Outcome::Succeeded)) => "success",
        (_, Some(Outcome::Failed)) => "failure",
        (_, Some(Outcome::Cancelled)) => "cancelled",
        (_, Some(Outcome::Expired)) => "expired",
        _ => "unknown",
    }
}

fn job(wanted: &Value, ran: &Ran, faults: &mut Vec<String>) {
    let (Some(job), fact) = (text(wanted, "job"), fact(ran)) else {
        return;
    };
    // The form takes an answer that can't be used as the end of what is known; here the last known fact stays (D7).
    let stays = matches!(
        reason(ran),
        Some(
            Reason::IntegrationFailure
                | Reason::JobExpired
                | Reason::ContradictoryResponse
                | Reason::IdentityMismatch
                | Reason::UnreadableResponse
        )
    );
    if job == "unknown" && stays {
        if fact == "success" {
            faults.push("the job is a success".into());
        }
    } else if job != fact {
        faults.push(format!("the job is `{fact}`, not `{job}`"));
    }
}

fn counters(wanted: &Value, ran: &Ran, faults: &mut Vec<String>) {
    let Some(operation) = &ran.operation else {
        return;
    };
    let unreadable = reason(ran) == Some(Reason::UnreadableResponse);
    for (name, used, compared) in [
        ("requests_used", operation.requests.used, true),
        ("transport_failures_used", operation.failures.used, !unreadable),
        ("throttles_used", operation.throttles.used, true),
    ] {
        if let Some(count) = wanted["counters"][name].as_u64()
            && compared
            && u64::from(used) != count
        {
            faults.push(format!("`{name}` is {used}, not {count}"));
        }
    }
}

fn next(wanted: &Value, ran: &Ran, faults: &mut Vec<String>) {
    let window = &wanted["next"];
    let (until, source) = match phase(ran) {
        Some(Phase::Waiting { next_poll_at, source }) => (*next_poll_at, *source),
        Some(Phase::Polling { lease_expires_at, .. }) => (*lease_expires_at, DelaySource::LocalBackoff),
        _ => return,
    };
    if let Ok(earliest) = instant(&window["not_before"])
        && until < earliest
    {
        faults.push(format!("asks again at {until}, before {earliest}"));
    }
    if let Ok(latest) = instant(&window["not_after"]) {
        // The exponent of the next delay is never 0 here once an answer has come (D18).
        let latest = if ran.from_zero && source == DelaySource::LocalBackoff {
            latest.plus(latest.since(ran.at))
        } else {
            latest
        };
        if until > latest {
            faults.push(format!("asks again at {until}, after {latest}"));
        }
    }
    let source = if source == DelaySource::Push { DelaySource::LocalBackoff } else { source };
    if let Some(word) = text(window, "source").filter(|word| *word != source.as_str()) {
        faults.push(format!("the time is from {source}, not {word}"));
    }
}

/// Actions of the form are sets for one situation; what they have in common with ours is that none is a plain extension, and
/// that those which mend something are there.
fn options(allowed: &[Value], ran: &Ran, faults: &mut Vec<String>) {
    let Some(notice) = &ran.notice else {
        return;
    };
    let offered = |option: OptionKind| notice.options.iter().find(|offer| offer.option == option);
    let names = |name: &str| allowed.iter().any(|action| action == name);
    let plain =
        offered(OptionKind::Extend).and_then(|offer| offer.extension).is_some_and(|extension| extension.requests > 1);
    if plain && !names("extend") {
        faults.push("a plain extension is offered".into());
    }
    for (name, option) in [
        ("extend", OptionKind::Extend),
        ("extend_contract_with_review", OptionKind::Amend),
        ("abandon", OptionKind::Close),
        ("inspect", OptionKind::Inspect),
        ("inspect_once", OptionKind::Inspect),
        ("renew_credentials_then_resume", OptionKind::RenewCredential),
        ("accept_result", OptionKind::AcceptResult),
    ] {
        if names(name) && offered(option).is_none() {
            faults.push(format!("`{option}` is not offered"));
        }
    }
}

/// Sentences of the form that can be tested.
fn asserted(case: &Value, ran: &Ran) -> Result<(), String> {
    let sentences = |name: &str| case["expect"][name].as_array().into_iter().flatten().filter_map(Value::as_str);
    for sentence in sentences("must") {
        if must(sentence, ran) == Some(false) {
            return Err(format!("must, and doesn't: {sentence}"));
        }
    }
    for sentence in sentences("must_not") {
        let secret = sentence.split([' ', ',']).find(|word| word.starts_with("S3CR3T"));
        if secret.is_some_and(|_| ran.shown.contains("S3CR3T")) {
            return Err(format!("must not, and does: {sentence}"));
        }
    }
    let steers = |c: char| c.is_control() && c != '\n';
    if ran.notice.as_ref().is_some_and(|notice| notice.text.contains(steers))
        || ran.entries.iter().any(|entry| entry.sentence.contains(char::is_control))
    {
        return Err("a control character is shown (D35)".into());
    }
    Ok(())
}

/// Whether a sentence holds; `None` where it is for a person.
fn must(sentence: &str, ran: &Ran) -> Option<bool> {
    let operation = ran.operation.as_ref();
    Some(match sentence {
        s if s.starts_with("record the hint as rejected") => {
            ran.entries.iter().any(|entry| !entry.facts.guidance_rejected.is_empty())
        }
        s if s.starts_with("new deadline ") || s.starts_with("deadline ") => {
            let wanted = s.split(' ').find_map(|word| instant(&json!(word)).ok())?;
            operation?.deadline_at == wanted
                && (!s.contains("4 checks") || operation?.requests.max == operation?.requests.used + 4)
        }
        "at most 4 more requests" => operation?.requests.max == operation?.requests.used + 4,
        s if s.starts_with("send Cache-Control: no-cache") => {
            ran.request.as_ref()?.headers.iter().any(|(name, value)| name == "cache-control" && value == "no-cache")
        }
        "store the Location as result reference" | "keep the reference marked partial" => {
            !operation?.results.is_empty()
        }
        s if s.starts_with("bound the exchange by request_timeout_ms") => ran.sent.last()?.timeout_ms <= 10_000,
        "stop at that wake without sending" => ran.entries.last()?.facts.delay.as_ref()?.clipped.is_some(),
        "keep the old record intact" => matches!(phase(ran), Some(Phase::Polling { .. })),
        "keep the code 410 in the reason" => ran.notice.as_ref()?.text.contains("410"),
        s if s.starts_with("name ") => {
            let refusal = ran.refused.as_ref()?;
            let word = match s.trim_start_matches("name ") {
                "base_delay_ms" => "/pace/base",
                "deadline" => "/limits/deadline",
                _ => return None,
            };
            refusal.message.contains(word) || refusal.faults.iter().any(|fault| fault.pointer == word)
        }
        _ => return None,
    })
}
