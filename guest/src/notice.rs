//! What a person needs to decide (D33 to D35): enough to decide, no secret, provider text marked as such.

use alloc::{format, string::String, vec::Vec};

use crate::{
    api::{Notice, NoticeOption, OptionKind, Phase, Reason, Refusal},
    contract::Contract,
    options, pinned,
    provider_text::clean,
    record::Record,
    step,
    time::{Instant, format_duration},
};

/// The notice for a record as it is at `at`.
///
/// # Errors
/// `contract_mismatch`, `invalid_record`.
pub fn notice(contract: &str, record: &str, at: Instant) -> Result<Notice, Refusal> {
    let read = pinned::read(contract)?;
    let record = Record::parse(record)?;
    step::pinned(&record, &read.digest)?;
    Ok(make(&read.contract, &record, at.max(record.last_at)))
}

fn make(contract: &Contract, r: &Record, at: Instant) -> Notice {
    let reason = match r.phase {
        Phase::Escalated { reason } => Some(reason),
        _ => None,
    };
    let view = r.view(String::new());
    let mut notice = Notice {
        operation_id: r.operation_id.clone(),
        reason,
        asks: reason.is_some_and(options::asks),
        revision: r.authority_revision,
        provider: contract.provider.clone(),
        contract_id: r.contract_id.clone(),
        job: r.provider_job_id.clone(),
        account: r.account.clone(),
        last_state: r.last_known_state.clone(),
        error: r.error.clone(),
        submitted_at: r.submitted_at,
        first_seen_at: r.first_seen_at,
        last_seen_at: r.last_seen_at,
        elapsed_ms: match r.phase {
            Phase::Escalated { .. } | Phase::Settled { .. } => r.last_at.since(r.started_at),
            _ => at.since(r.started_at),
        },
        requests: view.requests,
        failures: view.failures,
        throttles: view.throttles,
        last_exchange: r.last_exchange.clone(),
        held_until: r.held_until,
        options: offered(contract, r, at),
        text: String::new(),
    };
    notice.text = render(&notice, r);
    notice
}

fn offered(contract: &Contract, r: &Record, at: Instant) -> Vec<NoticeOption> {
    options::offered(contract, r, at)
        .into_iter()
        .map(|option| {
            let extension = if option == OptionKind::Extend { options::extension(contract, r, at) } else { None };
            NoticeOption {
                option,
                effect: options::effect(contract, r, option, at),
                until: extension.map(|extension| r.deadline_at.max(at.plus(extension.time_ms))),
                extension,
            }
        })
        .collect()
}

/// The essay's form, one fact a line.
fn render(notice: &Notice, r: &Record) -> String {
    let mut lines: Vec<String> = Vec::new();
    lines.push(
        match (notice.asks, &r.phase) {
            (true, _) => "External job needs a decision",
            (false, Phase::Escalated { .. }) => "External job ended without a result",
            (false, Phase::Settled { .. }) => "External job is settled",
            _ => "External job is being waited for",
        }
        .into(),
    );
    lines.push(format!("Operation: {}", clean(&notice.operation_id, 256)));
    lines.push(format!("Provider: {} ({})", clean(&notice.provider, 80), notice.contract_id));
    lines.push(format!("Provider job: {}", clean(&notice.job, 256)));
    lines.push(format!("Account: {}", clean(&notice.account, 256)));
    let quoted = |text: &Option<String>| match text {
        Some(text) => format!("\u{201c}{}\u{201d}", clean(text, 256)),
        None => "none seen".into(),
    };
    lines.push(format!("Last state (provider's word): {}", quoted(&notice.last_state)));
    if notice.error.is_some() {
        lines.push(format!("Error (provider's words, not ours): {}", quoted(&notice.error)));
    }
    for (name, at) in
        [("Submitted", notice.submitted_at), ("First seen", notice.first_seen_at), ("Last seen", notice.last_seen_at)]
    {
        if let Some(at) = at {
            lines.push(format!("{name}: {at}"));
        }
    }
    lines.push(format!(
        "Elapsed time: {}",
        format_duration(notice.elapsed_ms.saturating_sub(notice.elapsed_ms.checked_rem(1000).unwrap_or(0)))
    ));
    lines.push(format!("Status requests: {} of {}", notice.requests.used, notice.requests.max));
    lines.push(format!(
        "Failures: {} of {} · throttled: {} of {}",
        notice.failures.used, notice.failures.max, notice.throttles.used, notice.throttles.max
    ));
    lines.push(format!("Last exchange: {}", exchange(notice)));
    if let Some(reason) = notice.reason {
        lines.push(format!("Stopped because: {reason}"));
        if reason == Reason::AuthorizationDenied && notice.last_exchange.as_ref().is_some_and(|e| e.status == Some(407))
        {
            lines.push("A proxy refused (407), not the provider".into());
        }
    }
    if let Some(until) = notice.held_until {
        lines.push(format!("Held until: {until}"));
    }
    for proposal in &r.proposals {
        lines.push(format!(
            "Proposed by {} (`{}`): {}; would add {}; expects: {}",
            clean(&proposal.by, 80),
            clean(&proposal.id, 80),
            clean(&proposal.why, 200),
            options::amounts(&proposal.extension),
            clean(&proposal.expected_effect, 200)
        ));
    }
    if !notice.options.is_empty() {
        lines.push(format!("Options (decide on revision {}):", notice.revision));
    }
    for option in &notice.options {
        lines.push(format!("  {}: {}", option.option, option.effect));
    }
    lines.join("\n")
}

fn exchange(notice: &Notice) -> String {
    let Some(exchange) = &notice.last_exchange else {
        return "none".into();
    };
    let what = match (exchange.status, exchange.fault) {
        (Some(status), None) => format!("HTTP {status}"),
        (Some(status), Some(fault)) => format!("HTTP {status}, cut off ({fault})"),
        (None, Some(fault)) => format!("no answer ({fault})"),
        (None, None) => "lost".into(),
    };
    let id = exchange.request_id.as_ref().map(|id| format!(", request id \u{201c}{id}\u{201d}")).unwrap_or_default();
    format!("{what} at {}{id}", exchange.at)
}
