//! From a case in the neutral form to a contract, an opening, a record and answers of ours.
//!
//! What the form says and we have no place for is an `Err` with why: the case can't be expressed. A value that makes no
//! sense (an interval of `"two"`) is handed on as it stands, for the core to refuse.

use std::io::Read;

use base64::Engine;
use serde_json::{Map, Value, json};
use sondeo_guest::{
    api::{Answer, Body, DelaySource, Ending, Opening, Outcome, Phase, Reason, Settlement, TransportFault, Unreadable},
    digest,
    record::Record,
    time::Instant,
    url::Url,
};

use super::compare;

const POLICY: &[&str] = &[
    "base_delay_ms",
    "max_delay_ms",
    "jitter",
    "min_delay_ms",
    "hint_max_ms",
    "deadline",
    "request_budget",
    "transport_failure_budget",
    "request_timeout_ms",
    "max_body_bytes",
    // D29: none is followed.
    "max_redirects",
    "not_found_grace_ms",
    "lease_ttl_ms",
];

const CONTRACT: &[&str] = &[
    "provider",
    "job_id",
    "account",
    "request_fingerprint",
    "status_url",
    "status_url_template",
    "status_url_from",
    "status_origin",
    "submitted_at",
    "state_at",
    "states",
    "state_match",
    "state_trusted_on_status",
    "done_at",
    "response_at",
    "error_at",
    "select",
    "redirect_means",
    "id_at",
    "account_at",
    "result_ref_at",
    "result_ref_from",
    "result_ref_required",
    "result_origins",
    "expires_at_at",
    "hints",
];

/// Fields of a record; what decides nothing here is among them (whose zone the host is in, how much it logs).
const RECORD: &[&str] = &[
    "requests_used",
    "transport_failures_used",
    "throttles_used",
    "backoff_n",
    "last_state",
    "next_at",
    "seed",
    "stopped",
    "etag",
    "cancel_requested_at",
    "useful_until",
    "last_change_at",
    "host_time_zone",
    "log_level",
    "siblings",
    "audit_head",
];

/// Refuses what the form has and this translation doesn't know.
pub(crate) fn known(what: &str, given: &Value, names: &[&str]) -> Result<(), String> {
    let unknown = given.as_object().into_iter().flatten().map(|(name, _)| name).find(|n| !names.contains(&n.as_str()));
    unknown.map_or(Ok(()), |name| Err(format!("{what} has `{name}`, which this translation doesn't know")))
}

/// The text at this name, if there is one.
pub(crate) fn text<'v>(value: &'v Value, name: &str) -> Option<&'v str> {
    value[name].as_str()
}

/// An instant of the form.
pub(crate) fn instant(value: &Value) -> Result<Instant, String> {
    let given = value.as_str().ok_or_else(|| format!("`{value}` is no time"))?;
    Instant::parse_rfc3339(given).map_err(|why| format!("`{given}`: {why}"))
}

/// The contract's text. Sound cases give a sound one; `{"base_delay_ms": 0}` gives one that the core refuses.
pub(crate) fn contract(case: &Value) -> Result<String, String> {
    let (given, policy) = (&case["given"]["contract"], &case["given"]["policy"]);
    known("the contract", given, CONTRACT)?;
    known("the policy", policy, POLICY)?;
    let results = results(given);
    let mut contract = json!({
        "format": "sondeo.contract/1", "id": "mined", "provider": text(given, "provider").unwrap_or("p1"),
        "sources": ["the case"],
        "effects": {"kind": "none", "known": "the case"},
        "request": {
            "id_parts": ["id"],
            "credential": {"header": "authorization", "prefix": "Bearer "},
            "timeout": duration(&policy["request_timeout_ms"]),
            "conditional": timeline(case).iter().any(|event| !event["set"]["etag"].is_null()),
        },
        "origins": [{"origin": origin(given)}],
        "decide": decide(given)?,
        "identity": identity(given),
        "result": results.iter().enumerate().map(|(i, place)| (format!("result_{i}"), place.clone())).collect::<Map<_, _>>(),
        "result_origins": given.get("result_origins").cloned()
            .unwrap_or_else(|| json!(["https://files.provider.example", "https://api.provider.example"])),
        "hints": hints(given)?,
        "not_found": {"grace": duration(&policy["not_found_grace_ms"])},
        "pace": pace(case)?,
        "limits": limits(case),
    });
    match (text(given, "status_url_template"), text(given, "status_url_from")) {
        (Some(template), _) => contract["request"]["url"] = json!(template.replace("{job_id}", "{id}")),
        (None, Some(from)) => {
            contract["request"]["url_from"] = place(from);
            contract["url_policy"] = json!("may_change");
        }
        (None, None) => contract["request"]["url_from"] = json!("opening"),
    }
    if contract["decide"].to_string().contains("\"succeeded\"") {
        contract["success"] = success(given, &results);
    }
    if let Some(at) = text(given, "error_at") {
        contract["error"] = json!([{"at": at}]);
    }
    if let Some(at) = text(given, "expires_at_at") {
        contract["expiry"] = json!({"at": at, "format": "rfc3339"});
    }
    Ok(contract.to_string())
}

/// The events of a case.
pub(crate) fn timeline(case: &Value) -> &[Value] {
    case["given"]["timeline"].as_array().map_or(&[], Vec::as_slice)
}

/// A pointer, or the name of a header.
fn place(name: &str) -> Value {
    if name.starts_with('/') { json!({"at": name}) } else { json!({"header": name.to_ascii_lowercase()}) }
}

fn origin(given: &Value) -> String {
    let address =
        text(given, "status_url").or(text(given, "status_url_template")).map(|url| url.replace("{job_id}", "x"));
    let of_address = address.and_then(|url| Url::parse(&url).ok()).map(|url| url.origin());
    text(given, "status_origin").map(Into::into).or(of_address).unwrap_or_else(|| "https://api.provider.example".into())
}

/// `1500` is `"1500ms"`; what is no whole number stays what it is.
fn duration(value: &Value) -> Value {
    value.as_u64().map_or_else(|| value.clone(), |ms| json!(format!("{ms}ms")))
}

fn outcome(word: &Value) -> Result<&'static str, String> {
    Ok(match word.as_str().unwrap_or_default() {
        "pending" => "pending",
        "success" | "succeeded" => "succeeded",
        "failure" | "failed" => "failed",
        "cancelled" => "cancelled",
        "expired" => "expired",
        "partial" => "partial",
        "needs_action" => "needs_action",
        other => return Err(format!("a state means `{other}`")),
    })
}

fn decide(given: &Value) -> Result<Vec<Value>, String> {
    let mut rules = Vec::new();
    for (code, word) in given["redirect_means"].as_object().into_iter().flatten() {
        rules.push(json!({"when": {"code": code}, "then": outcome(word)?, "source": "the case: redirect_means"}));
    }
    if let Some(done) = text(given, "done_at") {
        let is = |value: bool| json!({"at": done, "is": value});
        if let Some(error) = text(given, "error_at") {
            rules.push(json!({"when": {"test": [is(true), {"at": error, "present": true}]}, "then": "failed"}));
        }
        rules.push(json!({"when": {"test": [is(true)]}, "then": "succeeded"}));
        rules.push(json!({"when": {"test": [is(false)]}, "then": "pending"}));
    }
    let mut words = Map::new();
    for (word, means) in given["states"].as_object().into_iter().flatten() {
        words.insert(word.clone(), json!(outcome(means)?));
    }
    if let Some(select) = given["select"].as_object() {
        known("`select`", &given["select"], &["list", "id", "state"])?;
        for (word, means) in &words {
            let test = json!([{"at": select["id"], "is": given["job_id"]}, {"at": select["state"], "is": word}]);
            rules.push(json!({"when": {"any": {"at": "", "test": test}}, "then": means}));
        }
    } else if let Some(at) = text(given, "state_at").filter(|_| !words.is_empty()) {
        let fold = text(given, "state_match") == Some("ascii_case_insensitive");
        let mut rule = json!({"map": {"at": at, "values": words, "fold": fold}});
        if !given["state_trusted_on_status"].is_null() {
            rule["when"] = json!({"code": given["state_trusted_on_status"]});
        }
        rules.push(rule);
    }
    Ok(rules)
}

fn identity(given: &Value) -> Vec<Value> {
    let id = text(given, "id_at").filter(|_| given["select"].is_null());
    let id = id.map(|at| json!({"at": at, "equals": "part:id"}));
    let account = text(given, "account_at").map(|at| json!({"at": at, "equals": "account"}));
    id.into_iter().chain(account).collect()
}

/// Where results are referred to; a reference is a URL unless its name says that it is an id.
fn results(given: &Value) -> Vec<Value> {
    // Rules look at a list's elements, references don't.
    if !given["select"].is_null() {
        return Vec::new();
    }
    let names = ["result_ref_at", "result_ref_from", "response_at"].into_iter().filter_map(|name| text(given, name));
    names
        .map(|name| {
            let mut reference = place(name);
            let value = name.ends_with("id") || text(given, "response_at") == Some(name);
            reference["url"] = json!(!value);
            reference
        })
        .collect()
}

fn success(given: &Value, results: &[Value]) -> Value {
    let places: Vec<Value> = results
        .iter()
        .map(|reference| {
            let mut place = reference.clone();
            if let Some(members) = place.as_object_mut() {
                members.remove("url");
            }
            place
        })
        .collect();
    let needed = given["result_ref_required"] != json!(false) && !places.is_empty();
    let mut success = json!({"source": "the case"});
    if needed {
        success["require"] = json!([{"any": places}]);
    } else {
        success["no_result"] = json!(true);
    }
    if let Some(at) = text(given, "error_at") {
        success["forbid"] = json!([{"at": at}]);
    }
    success
}

fn hints(given: &Value) -> Result<Vec<Value>, String> {
    let hints = given["hints"].as_object().into_iter().flatten();
    hints
        .map(|(name, unit)| {
            let (unit, kind) = match unit.as_str().unwrap_or_default() {
                "seconds" | "s" => ("s", "delay"),
                "milliseconds" | "ms" => ("ms", "delay"),
                "rfc3339" => ("rfc3339", "at"),
                "http_date" => ("http_date", "at"),
                "epoch_seconds" | "epoch_s" => ("epoch_s", "at"),
                "epoch_milliseconds" | "epoch_ms" => ("epoch_ms", "at"),
                other => return Err(format!("a hint is in `{other}`")),
            };
            let mut hint = place(name);
            hint["unit"] = json!(unit);
            hint["kind"] = json!(kind);
            Ok(hint)
        })
        .collect()
}

fn pace(case: &Value) -> Result<Value, String> {
    let policy = &case["given"]["policy"];
    let jitter: Vec<f64> = policy["jitter"].as_array().into_iter().flatten().filter_map(Value::as_f64).collect();
    let [low, 1.0] = jitter.as_slice() else {
        return Err(format!("jitter of {} goes past the delay or stays below it", policy["jitter"]));
    };
    let mut pace = json!({
        "base": duration(&policy["base_delay_ms"]),
        "max": duration(&policy["max_delay_ms"]),
        "floor": format!("{:.0}/1000", low * 1000.0),
        "min_delay": duration(&policy["min_delay_ms"]),
        "max_hint": duration(&policy["hint_max_ms"]),
    });
    // The form counts every answer as one poll; a case that wants our default (D18) says so in its id.
    if !text(case, "id").is_some_and(|id| id.ends_with("-steps")) {
        pace["throttle_steps"] = json!(1);
    }
    Ok(pace)
}

/// Budgets as they stand; a person's extension is what the contract allows for one.
fn limits(case: &Value) -> Value {
    let policy = &case["given"]["policy"];
    let mut limits = Map::new();
    for (name, given) in
        [("max_status_requests", "request_budget"), ("max_transport_failures", "transport_failure_budget")]
    {
        if !policy[given].is_null() {
            limits.insert(name.into(), policy[given].clone());
        }
    }
    // The form has no budget of throttled answers: requests bound them.
    if let Some(requests) = policy["request_budget"].as_u64().filter(|requests| *requests < 1_000_000) {
        limits.insert("max_throttles".into(), json!(requests + 1));
    }
    let granted = timeline(case).iter().find(|event| !event["minutes"].is_null());
    if let Some(grant) = granted {
        let time = format!("{}m", grant["minutes"]);
        limits.insert(
            "extension".into(),
            json!({"time": time, "requests": grant["checks"], "failures": 1, "throttles": 1}),
        );
    }
    Value::Object(limits)
}

/// The opening. `Ok(Err)`: it can't even be written as one, so it is refused.
pub(crate) fn opening(case: &Value, seed: u64) -> Result<Opening, String> {
    let (given, policy) = (&case["given"]["contract"], &case["given"]["policy"]);
    let mut opening = json!({
        "operation_id": case["id"], "namespace": "default", "component": "0".repeat(64),
        "account": given["account"], "credential": "env:TOKEN", "opened_by": "agent-1",
        "fingerprint": given["request_fingerprint"], "submitted_at": given["submitted_at"],
        "lease_ms": policy["lease_ttl_ms"], "seed": format!("{seed:064x}"), "sealing": true,
        "job": {}, "limits": {},
    });
    if !given["job_id"].is_null() {
        opening["job"] = json!({"id": given["job_id"]});
    }
    if !policy["deadline"].is_null() {
        opening["limits"]["deadline"] = json!({"at": policy["deadline"]});
    }
    if text(given, "status_url_template").is_none() {
        opening["address"] = given["status_url"].clone();
    }
    serde_json::from_value(opening).map_err(|why| format!("the opening: {why}"))
}

/// The record that a case begins with, made from a fresh one.
pub(crate) fn record(fresh: &str, case: &Value, event: &Value, at: Instant) -> Result<String, String> {
    let (set, given) = (&event["set"], &case["given"]["contract"]);
    known("the record", set, RECORD)?;
    let mut r = Record::parse(fresh).map_err(|refusal| refusal.message)?;
    let count =
        |name: &str| u32::try_from(set[name].as_u64().unwrap_or(0)).map_err(|_| format!("`{name}` is too large"));
    r.status_requests_used = count("requests_used")?;
    r.transport_failures_used = count("transport_failures_used")?;
    r.throttles_used = count("throttles_used")?;
    // The form's is the exponent of the next delay, ours that of the last.
    r.backoff_n = count("backoff_n")?.saturating_sub(1);
    if let Some(word) = text(set, "last_state") {
        r.last_known_state = Some(word.into());
        let means = given["states"].get(word).map(outcome).transpose()?;
        r.last_outcome = Some(means.and_then(Outcome::from_word).unwrap_or(Outcome::Unknown));
        (r.first_seen_at, r.last_seen_at) = (Some(at), Some(at));
    }
    let next = if set["next_at"].is_null() { at } else { instant(&set["next_at"])? };
    r.phase = match text(set, "stopped") {
        None => Phase::Waiting { next_poll_at: next, source: DelaySource::LocalBackoff },
        Some("succeeded") => Phase::Settled {
            settlement: Settlement { ending: Ending::Succeeded, results: Vec::new(), actions: Vec::new() },
        },
        Some(word) => match compare::reasons(word).first() {
            Some(reason) => Phase::Escalated { reason: *reason },
            None => return Err(format!("the record stopped with `{word}`")),
        },
    };
    (r.planned_at, r.planned_ms, r.last_at) = (at, next.since(at), at);
    r.etag = text(set, "etag").map(Into::into);
    if !set["cancel_requested_at"].is_null() {
        r.cancel_requested_at = Some(instant(&set["cancel_requested_at"])?);
    }
    if !set["useful_until"].is_null() {
        r.useful_until = Some(instant(&set["useful_until"])?);
    }
    if matches!(r.phase, Phase::Escalated { reason: Reason::AuthorizationDenied }) {
        r.denials = 1;
    }
    r.text().map_err(|refusal| refusal.message)
}

/// What was received, as a host hands it over: coding undone, size bounded.
pub(crate) fn answer(case: &Value, event: &Value, sent_at: Instant, received_at: Instant) -> Result<Answer, String> {
    let status = event["status"].as_u64().and_then(|status| u16::try_from(status).ok());
    let headers: Vec<(String, String)> =
        serde_json::from_value(event["headers"].clone()).map_err(|_| "headers are not pairs of texts".to_owned())?;
    let mut bytes = body(event)?;
    let mut incomplete = match &event["incomplete"] {
        Value::Null | Value::Bool(false) => None,
        Value::Bool(true) => Some(TransportFault::Truncated),
        other => Some(fault(other)?),
    };
    let coding = headers.iter().find(|(name, _)| name.eq_ignore_ascii_case("content-encoding"));
    if let Some((_, coding)) = coding.filter(|_| incomplete.is_none()) {
        match decoded(coding, &bytes) {
            Some(plain) => bytes = plain,
            None => incomplete = Some(TransportFault::Undecodable),
        }
    }
    let most = case["given"]["policy"]["max_body_bytes"].as_u64().unwrap_or(u64::MAX);
    Ok(Answer {
        status: status.ok_or("a status is from 100 to 599")?,
        headers,
        body: if incomplete.is_some() { Body::None } else { read(bytes, most) },
        incomplete,
        sent_at,
        received_at,
    })
}

fn body(event: &Value) -> Result<Vec<u8>, String> {
    if let Some(json) = event.get("json") {
        return Ok(json.to_string().into_bytes());
    }
    if let Some(text) = text(event, "text") {
        return Ok(text.as_bytes().to_vec());
    }
    if let Some(coded) = text(event, "base64") {
        return base64::engine::general_purpose::STANDARD.decode(coded).map_err(|why| why.to_string());
    }
    let Some(made) = event.get("generated") else {
        return Ok(Vec::new());
    };
    known("`generated`", made, &["prefix", "repeat", "times", "suffix"])?;
    let times = made["times"].as_u64().and_then(|times| usize::try_from(times).ok()).unwrap_or(0);
    let middle = text(made, "repeat").unwrap_or_default().repeat(times.min(16 * 1024 * 1024));
    let (prefix, suffix) = (text(made, "prefix").unwrap_or_default(), text(made, "suffix").unwrap_or_default());
    Ok(format!("{prefix}{middle}{suffix}").into_bytes())
}

fn decoded(coding: &str, bytes: &[u8]) -> Option<Vec<u8>> {
    let mut plain = Vec::new();
    match coding.trim().to_ascii_lowercase().as_str() {
        "identity" | "" => return Some(bytes.to_vec()),
        "gzip" | "x-gzip" => flate2::read::GzDecoder::new(bytes).read_to_end(&mut plain).ok()?,
        "deflate" => flate2::read::ZlibDecoder::new(bytes).read_to_end(&mut plain).ok()?,
        _ => return None,
    };
    Some(plain)
}

fn read(bytes: Vec<u8>, most: u64) -> Body {
    let size = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
    let unreadable = |why: &str| Unreadable { why: why.into(), sha256: digest::sha256_hex(&bytes), bytes: size };
    if size > most {
        return Body::Unreadable(unreadable("too_large"));
    }
    match std::str::from_utf8(&bytes) {
        Ok("") => Body::None,
        Ok(text) => Body::Text(text.into()),
        Err(_) => Body::Unreadable(unreadable("not_utf8")),
    }
}

/// A class of failure as D20 names it.
pub(crate) fn fault(class: &Value) -> Result<TransportFault, String> {
    let word = class.as_str().unwrap_or_default();
    if let Some(fault) = TransportFault::from_word(word) {
        return Ok(fault);
    }
    match word {
        "dns_nxdomain" | "dns_timeout" | "dns_servfail" => Ok(TransportFault::Dns),
        "connect_refused" | "connection_refused" => Ok(TransportFault::Refused),
        "connection_reset" | "eof" | "broken_pipe" => Ok(TransportFault::Reset),
        "timeout" => Ok(TransportFault::ReadTimeout),
        other if other.starts_with("tls") => Ok(TransportFault::Tls),
        other => Err(format!("a transport failure of class `{other}`")),
    }
}
