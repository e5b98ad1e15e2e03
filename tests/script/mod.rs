//! Drives one operation through the JSON twin, of the crate or of the component: the same script, the same bytes.
#![allow(dead_code, reason = "each test uses its part")]

use std::collections::BTreeMap;

use serde_json::{Value, json};
use sondeo::component::Component;

/// Digest that the operations here are pinned to.
pub(crate) const COMPONENT: &str = "0000000000000000000000000000000000000000000000000000000000000000";

/// A contract like the essay's example, with `spread: 0`.
pub(crate) const CONTRACT: &str = include_str!("contract.json");

/// The same, which knows `paused`.
pub(crate) fn amended() -> String {
    CONTRACT.replace("\"queued\": \"pending\"", "\"queued\": \"pending\", \"paused\": \"pending\"")
}

/// One face of the core.
pub(crate) trait Core {
    /// A call of the twin; the error is a refusal.
    fn call(&self, function: &str, input: &Value) -> Result<Value, Value>;
}

/// The crate.
pub(crate) struct Native;

impl Core for Native {
    fn call(&self, function: &str, input: &Value) -> Result<Value, Value> {
        read(sondeo_guest::json::call(function, &input.to_string()))
    }
}

impl Core for Component {
    fn call(&self, function: &str, input: &Value) -> Result<Value, Value> {
        read(self.json(function, &input.to_string()).expect("the component works"))
    }
}

fn read(result: Result<String, String>) -> Result<Value, Value> {
    let value = |text: String| serde_json::from_str(&text).expect("JSON");
    result.map(value).map_err(value)
}

/// Milliseconds since the epoch of a time of the essay's day.
pub(crate) fn at(time: &str) -> u64 {
    let text = format!("2025-04-18T{time}Z");
    u64::try_from(chrono::DateTime::parse_from_rfc3339(&text).unwrap().timestamp_millis()).unwrap()
}

fn instant(ms: u64) -> Value {
    let time = chrono::DateTime::from_timestamp_millis(i64::try_from(ms).unwrap()).unwrap();
    json!(time.format("%Y-%m-%dT%H:%M:%S%.3fZ").to_string())
}

/// One operation under a script.
pub(crate) struct Run<'c> {
    core: &'c dyn Core,
    pub(crate) opening: Value,
    pub(crate) contract: String,
    pub(crate) contracts: Vec<String>,
    pub(crate) record: String,
    pub(crate) entries: Vec<String>,
    pub(crate) view: Value,
    pub(crate) action: Value,
    pub(crate) credential: Option<Value>,
    pub(crate) at: u64,
    fence: u64,
    decisions: u32,
}

impl<'c> Run<'c> {
    /// Opened at 10:20:00, as the essay's.
    pub(crate) fn new(core: &'c dyn Core) -> Self {
        let job = BTreeMap::from([("id", "exp_71c")]);
        let opening = json!({"operation_id": "report-export-2025-04-18-01", "namespace": "default", "component": COMPONENT,
            "account": "default", "job": job, "opened_by": "cli", "lease_ms": 60_000, "seed": "07".repeat(32)});
        let mut run = Self {
            core,
            opening,
            contract: CONTRACT.to_owned(),
            contracts: vec![CONTRACT.to_owned()],
            record: String::new(),
            entries: Vec::new(),
            view: Value::Null,
            action: Value::Null,
            credential: None,
            at: 0,
            fence: 0,
            decisions: 0,
        };
        run.reopen();
        run
    }

    /// Opens anew, with what `opening` says now.
    pub(crate) fn reopen(&mut self) {
        self.at = at("10:20:00");
        self.entries.clear();
        let input = json!({"contract": self.contract, "opening": self.opening, "at": instant(self.at)});
        let made = self.core.call("open", &input).unwrap_or_else(|refusal| panic!("{refusal}"));
        self.take(&made);
    }

    fn take(&mut self, made: &Value) {
        self.record = made["record"].as_str().unwrap().to_owned();
        self.entries.extend(made["entry"].as_str().map(str::to_owned));
        self.view = made["operation"].clone();
        self.action = made["action"].clone();
    }

    /// An event so many milliseconds later.
    pub(crate) fn event(&mut self, later: u64, what: Value) {
        self.at += later;
        let event = json!({"at": instant(self.at), "what": what});
        let input = json!({"contract": self.contract, "record": self.record, "event": event});
        let made = self.core.call("step", &input).unwrap_or_else(|refusal| panic!("{event}: {refusal}"));
        self.take(&made);
    }

    /// The instant so many milliseconds from now.
    pub(crate) fn after(&self, later: u64) -> Value {
        instant(self.at + later)
    }

    /// Whether the wait has ended.
    pub(crate) fn ended(&self) -> bool {
        self.view["next_at"].is_null()
    }

    fn until_next(&mut self) {
        let next = self.view["next_at"].as_str().expect("it waits");
        let next = chrono::DateTime::parse_from_rfc3339(next).unwrap().timestamp_millis();
        self.at = self.at.max(u64::try_from(next).unwrap());
    }

    /// Looks when the next poll is due.
    pub(crate) fn wake(&mut self) {
        self.until_next();
        self.event(0, json!({"woke": {}}));
    }

    /// Takes a lease when the next poll is due, or now if later.
    pub(crate) fn charge(&mut self) {
        self.until_next();
        self.fence += 1;
        let lease =
            json!({"fence": self.fence, "expires_at": instant(self.at + 60_000), "credential": self.credential});
        self.event(0, json!({"leased": lease}));
        assert!(self.action.get("send").is_some(), "not sent: {}", self.action);
    }

    /// Answers the request in flight.
    pub(crate) fn answer(&mut self, status: u16, headers: Value, body: Value) {
        let body = if body.is_null() { json!("none") } else { json!({"text": body.to_string()}) };
        self.answered(status, &headers, &body);
    }

    fn answered(&mut self, status: u16, headers: &Value, body: &Value) {
        let headers: Vec<(&String, &Value)> = headers.as_object().into_iter().flatten().collect();
        let answer = json!({"status": status, "headers": headers, "body": body, "sent_at": instant(self.at), "received_at": instant(self.at)});
        let seen =
            self.core.call("observe", &json!({"contract": self.contract, "record": self.record, "answer": answer}));
        let observation: Value = serde_json::from_str(seen.unwrap()["observation"].as_str().unwrap()).unwrap();
        let attempt = self.view["requests"]["used"].clone();
        self.event(0, json!({"answered": {"attempt": attempt, "fence": self.fence, "observation": observation}}));
    }

    /// One whole poll.
    pub(crate) fn poll(&mut self, status: u16, headers: Value, body: Value) {
        self.charge();
        self.answer(status, headers, body);
    }

    /// One whole poll with this text as its body.
    pub(crate) fn poll_text(&mut self, status: u16, body: &str) {
        self.charge();
        self.answered(status, &json!({}), &json!({"text": body}));
    }

    /// One whole poll that answers with this state.
    pub(crate) fn state(&mut self, state: &str) {
        self.poll(200, json!({}), json!({"job_id": "exp_71c", "state": state}));
    }

    /// One poll without an answer.
    pub(crate) fn fault(&mut self, fault: &str) {
        self.charge();
        let attempt = self.view["requests"]["used"].clone();
        self.event(0, json!({"unanswered": {"attempt": attempt, "fence": self.fence, "fault": fault}}));
    }

    /// A person's decision, so many milliseconds later.
    pub(crate) fn decide(&mut self, later: u64, what: Value) {
        self.decisions += 1;
        let what = match what.as_object().and_then(|map| map.iter().next()) {
            Some((word, Value::Null)) => json!(word),
            Some((word, until)) if word == "hold" => json!({"hold": {"until": until}}),
            _ => what,
        };
        let decision = json!({"id": format!("d{}", self.decisions), "by": "ana", "role": "os_user", "why": "tested",
            "revision": self.view["authority_revision"], "what": what});
        self.event(later, json!({"decided": {"decision": decision}}));
    }

    /// Adopts a revised contract.
    pub(crate) fn amend(&mut self, contract: &str, later: u64) {
        self.contract = contract.to_owned();
        self.contracts.push(contract.to_owned());
        let digest = sondeo_guest::digest::sha256_hex(contract.as_bytes());
        self.decide(later, json!({"amend": {"contract": digest}}));
    }
}
