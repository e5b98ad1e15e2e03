//! One scripted operation, moved through a component as a host would, with its bounds looked at on the way.

use sondeo::bounds::{check_bounds, check_opened};
use sondeo::component::types::{
    Action, Answer, Body, Event, LeasedEvent, LimitsGiven, Opening, Operation, Transition, TransportFault,
    UnansweredEvent, What, WokeEvent,
};
use sondeo::component::{CallError, Component};

/// Like the essay's example, without spread.
pub(crate) const CONTRACT: &str = r#"{
  "format": "sondeo.contract/1", "id": "test.exports", "provider": "Test", "sources": ["made for tests"],
  "console": {"url": "https://console.provider.example/exports"},
  "request": {"method": "GET", "url": "https://api.provider.example/v1/jobs/{id}", "id_parts": ["id"], "timeout": "30s"},
  "effects": {"kind": "none", "known": "made for tests"},
  "origins": [{"origin": "https://api.provider.example"}],
  "decide": [{"when": {"code": 200}, "map": {"at": "/state",
     "values": {"queued": "pending", "running": "pending", "succeeded": "succeeded", "failed": "failed",
                "cancelled": "cancelled", "expired": "expired", "waiting": "needs_action", "part": "partial"}}}],
  "identity": [{"at": "/job_id", "equals": "part:id"}],
  "success": {"require": [{"at": "/result_url"}]},
  "result": {"file": {"at": "/result_url", "url": true}},
  "result_origins": ["https://files.provider.example"],
  "actions": [{"name": "fetch", "needs": ["file"]}],
  "error": [{"at": "/error"}],
  "expiry": {"at": "/expires_at", "format": "rfc3339"},
  "not_found": {"grace": "30s"},
  "pace": {"spread": "0"},
  "cancel": {"method": "POST", "url": "https://api.provider.example/v1/jobs/{id}/cancel", "effect": "stops the export"},
  "limits": {"deadline": "40m", "max_status_requests": 12, "max_transport_failures": 3, "max_throttles": 3,
    "extension": {"time": "15m", "requests": 4, "failures": 2, "throttles": 2}}
}"#;

/// 2025-04-18T10:00:00Z.
pub(crate) const START: u64 = 1_744_970_400_000;

/// How long a lease is.
pub(crate) const LEASE_MS: u64 = 60_000;

/// The opening of the scripted operation.
pub(crate) fn opening(component: &Component) -> Opening {
    Opening {
        operation_id: "report-export-2025-04-18-01".into(),
        namespace: "default".into(),
        component: component.sha256().into(),
        account: "default".into(),
        credential: None,
        job: vec![("id".into(), "exp_71c".into())],
        address: None,
        ctx: vec![],
        fingerprint: None,
        opened_by: "cli".into(),
        submitted_at: None,
        job_expires_at: None,
        limits: LimitsGiven {
            deadline: None,
            useful_until: None,
            max_status_requests: None,
            max_transport_failures: None,
            max_throttles: None,
        },
        approval_per_request: false,
        lease_ms: LEASE_MS,
        seed: "07".repeat(32),
        submission: None,
        submission_unknown: false,
        sealing: false,
        predecessor: None,
    }
}

/// The operation, and all that it left behind.
pub(crate) struct Script {
    /// What decides.
    pub(crate) component: Component,
    /// The last transition.
    pub(crate) made: Transition,
    /// The log.
    pub(crate) entries: Vec<String>,
    /// What the bounds said of each step that broke them.
    pub(crate) broken: Vec<String>,
    fence: u64,
}

#[allow(dead_code, reason = "each test uses what it needs")]
impl Script {
    /// Opens at [`START`].
    pub(crate) fn open(component: &Component) -> Script {
        Script::open_with(component, &opening(component))
    }

    /// Opens at [`START`].
    pub(crate) fn open_with(component: &Component, opening: &Opening) -> Script {
        let made = component.open(CONTRACT, opening, START).unwrap();
        check_opened(opening, START, &made).unwrap();
        let entries = made.entry.iter().cloned().collect();
        Script { component: component.clone(), made, entries, broken: Vec::new(), fence: 0 }
    }

    /// The operation now.
    pub(crate) fn operation(&self) -> &Operation {
        &self.made.operation
    }

    /// One step; what breaks a bound is noted, and taken all the same.
    pub(crate) fn step(&mut self, at: u64, what: What) -> Result<Action, CallError> {
        let event = Event { at, what };
        let made = self.component.step(CONTRACT, &self.made.record, &event)?;
        self.broken.extend(check_bounds(&self.made.operation, &event, &made).err());
        self.entries.extend(made.entry.clone());
        self.made = made;
        Ok(self.made.action.clone())
    }

    /// When to look again.
    pub(crate) fn next(&self) -> u64 {
        self.operation().next_at.expect("it has ended")
    }

    /// Somebody looks.
    pub(crate) fn wake(&mut self, at: u64) -> Result<Action, CallError> {
        self.step(at, What::Woke(WokeEvent { credential: None }))
    }

    /// Takes a lease.
    pub(crate) fn lease(&mut self, at: u64) -> Result<Action, CallError> {
        self.fence += 1;
        let lease = LeasedEvent { fence: self.fence, expires_at: at + LEASE_MS, credential: None };
        self.step(at, What::Leased(lease))
    }

    /// Takes a lease when it is due, and answers.
    pub(crate) fn poll(&mut self, status: u16, headers: &[(&str, &str)], body: &str) -> Result<Action, CallError> {
        let at = self.next();
        let action = self.lease(at)?;
        assert!(matches!(action, Action::Send(_)), "{action:?}");
        self.answer(at + 10, status, headers, body)
    }

    /// Answers the request in flight.
    pub(crate) fn answer(
        &mut self,
        at: u64,
        status: u16,
        headers: &[(&str, &str)],
        body: &str,
    ) -> Result<Action, CallError> {
        let answer = Answer {
            status,
            headers: headers.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect(),
            body: if body.is_empty() { Body::None } else { Body::Text(body.into()) },
            incomplete: None,
            sent_at: at,
            received_at: at,
        };
        let observed = self.component.observe(CONTRACT, Some(&self.made.record), &answer)?;
        let attempt = self.operation().requests.used;
        let answered =
            sondeo::component::types::AnsweredEvent { attempt, fence: self.fence, observation: observed.observation };
        self.step(at, What::Answered(answered))
    }

    /// Takes a lease when it is due; the answer is this state.
    pub(crate) fn state(&mut self, state: &str) -> Result<Action, CallError> {
        self.poll(200, &[], &body(state))
    }

    /// Takes a lease when it is due; no answer comes.
    pub(crate) fn fault(&mut self, fault: TransportFault) -> Result<Action, CallError> {
        let at = self.next();
        self.lease(at)?;
        let attempt = self.operation().requests.used;
        self.step(at + 10, What::Unanswered(UnansweredEvent { attempt, fence: self.fence, fault }))
    }
}

/// A body that says this state, with a result.
pub(crate) fn body(state: &str) -> String {
    format!(r#"{{"job_id": "exp_71c", "state": "{state}", "result_url": "https://files.provider.example/f"}}"#)
}
