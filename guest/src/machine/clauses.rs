//! Clauses of the rules that a reading of the code against them found broken, or that nothing else holds.

use alloc::{boxed::Box, format, string::String, string::ToString, vec::Vec};

use super::*;
use crate::{
    api::{
        Body, Decision, DelaySource, Ending, Extension, FaultKind, OptionKind, Outcome, Predecessor, Proposal, Renewal,
        TimeLimit, TransportFault,
    },
    digest,
    testing::{CONTRACT, Run, at, opening},
    verify::{self, Log, Verdict},
};

mod answers;
mod decisions;
mod events;
mod opening;

const EXTENSION: Extension = Extension { time_ms: 900_000, requests: 4, failures: 2, throttles: 2, useful_until: None };
const ONE: Extension = Extension { time_ms: 900_000, requests: 1, failures: 1, throttles: 1, useful_until: None };

fn extend(extension: Extension) -> DecisionWhat {
    DecisionWhat::Extend { extension, done: None }
}

fn changed(from: &str, to: &str) -> String {
    assert!(CONTRACT.contains(from), "{from}");
    CONTRACT.replace(from, to)
}

fn reason(action: &Action) -> Option<Reason> {
    match action {
        Action::Escalate { reason, .. } => Some(*reason),
        _ => None,
    }
}

fn offered(run: &Run) -> Vec<OptionKind> {
    let record = run.record();
    crate::options::offered(&step::contract(&run.contract).unwrap(), &record, record.last_at)
}

impl Run {
    fn record(&self) -> Record {
        Record::parse(&self.record).unwrap()
    }

    fn verified(&self, others: &[&str]) {
        let mut contracts: Vec<String> = others.iter().map(|text| text.to_string()).collect();
        contracts.push(self.contract.clone());
        let log = Log {
            entries: self.entries.clone(),
            contracts,
            start: None,
            current: Some(self.record.clone()),
            component: "0".repeat(64),
        };
        let report = verify::verify(&log);
        let changed = self.view().component_digest != "0".repeat(64);
        let expected = if changed { Verdict::VerifiedOtherBuild } else { Verdict::Verified };
        assert_eq!(report.verdict, expected, "{report:?}");
    }

    fn woke(&mut self, when: Instant) -> &Action {
        self.step(when, What::Woke { credential: None }).unwrap()
    }

    /// The event changes nothing, byte for byte.
    fn refuses(&mut self, when: Instant, what: What) -> RefusalKind {
        let (record, entries) = (self.record.clone(), self.entries.len());
        let refusal = self.step(when, what).unwrap_err();
        assert_eq!((&record, entries), (&self.record, self.entries.len()), "a refusal changed something");
        refusal.kind
    }

    fn decides(&self, by: &str, id: &str, what: DecisionWhat, proposal: Option<&str>) -> What {
        What::Decided {
            decision: Box::new(Decision {
                id: id.into(),
                by: by.into(),
                role: "os_user".into(),
                why: "tested".into(),
                revision: self.view().authority_revision,
                what,
                proposal: proposal.map(Into::into),
            }),
        }
    }

    /// Charged and answered at this very time.
    fn at_poll(&mut self, when: Instant, status: u16, headers: &[(&str, &str)], body: &str) -> &Action {
        self.charge(when);
        self.answer(when, status, headers, body)
    }
}

fn proposal(id: &str) -> Proposal {
    Proposal {
        id: id.into(),
        by: "agent-7".into(),
        why: "it is nearly done".into(),
        extension: ONE,
        expected_effect: "it ends".into(),
    }
}

fn pushed_by(job: &str) -> What {
    What::Pushed { push: Push { authentic: true, job: Some(job.into()) } }
}

/// The jobs API that first answers with a queue item, whose job is then asked for elsewhere.
fn following(second_effects: &str, second_timeout: &str) -> String {
    let approval = if second_effects == "none" { "" } else { r#""approval": "per_request","# };
    format!(
        r#"{{"format": "sondeo.contract/1", "id": "test.queue", "provider": "Test", "sources": ["made for tests"],
  "request": {{"url": "https://api.provider.example/queue/{{item}}", "id_parts": ["item"], "timeout": "30s"}},
  "effects": {{"kind": "none", "known": "made for tests"}},
  "origins": [{{"origin": "https://api.provider.example"}}],
  "decide": [{{"when": {{"test": [{{"at": "/run", "present": true}}]}}, "then": "follow"}},
             {{"map": {{"at": "/state", "values": {{"queued": "pending"}}}}}}],
  "follow": {{"id_parts": {{"run": {{"at": "/run"}}}}, "contract": {{
     "id": "test.run", "provider": "Test", "sources": ["made for tests"], {approval}
     "request": {{"url": "https://api.provider.example/runs/{{run}}", "id_parts": ["run"], "timeout": "{second_timeout}"}},
     "effects": {{"kind": "{second_effects}", "known": "made for tests"}},
     "origins": [{{"origin": "https://api.provider.example"}}],
     "decide": [{{"map": {{"at": "/state", "values": {{"running": "pending", "done": "succeeded"}}}}}}],
     "identity": [{{"at": "/run", "equals": "part:run"}}],
     "success": {{"require": [{{"at": "/url"}}]}},
     "result": {{"file": {{"at": "/url"}}}}}}}},
  "limits": {{"deadline": "40m", "max_status_requests": 12, "max_transport_failures": 3,
    "extension": {{"time": "15m", "requests": 4, "failures": 2, "throttles": 2}}}}}}"#
    )
}

fn queue_opening() -> crate::api::Opening {
    let mut opening = opening();
    opening.job = [("item".to_string(), "q1".to_string())].into();
    opening
}
