//! A scripted operation, for tests beside the core.

use alloc::{
    boxed::Box,
    collections::BTreeMap,
    format,
    string::{String, ToString},
    vec::Vec,
};

use crate::{
    api::{Action, Answer, Body, Decision, DecisionWhat, Event, Opening, Refusal, Transition, TransportFault, What},
    check, machine, open,
    time::Instant,
};

/// A contract like the essay's example, with `spread: 0`.
pub(crate) const CONTRACT: &str = include_str!("../../tests/script/contract.json");

pub(crate) fn at(text: &str) -> Instant {
    Instant::parse_rfc3339(&format!("2025-04-18T{text}Z")).unwrap()
}

pub(crate) fn opening() -> Opening {
    Opening {
        operation_id: "report-export-2025-04-18-01".into(),
        namespace: "default".into(),
        component: "c".repeat(64).replace('c', "0"),
        account: "default".into(),
        credential: None,
        job: BTreeMap::from([("id".to_string(), "exp_71c".to_string())]),
        address: None,
        ctx: BTreeMap::new(),
        fingerprint: None,
        opened_by: "cli".into(),
        submitted_at: None,
        job_expires_at: None,
        limits: Default::default(),
        approval_per_request: false,
        lease_ms: 60_000,
        seed: "07".repeat(32),
        submission: None,
        submission_unknown: false,
        sealing: false,
        predecessor: None,
    }
}

/// One operation under test: its record, log and last action.
pub(crate) struct Run {
    pub(crate) contract: String,
    pub(crate) record: String,
    pub(crate) entries: Vec<String>,
    pub(crate) sentences: Vec<String>,
    pub(crate) action: Action,
    pub(crate) fence: u64,
}

impl Run {
    pub(crate) fn open_with(contract: &str, opening: &Opening, when: Instant) -> Run {
        let opened = open::open(contract, opening, when).unwrap();
        let mut run = Run {
            contract: contract.into(),
            record: String::new(),
            entries: Vec::new(),
            sentences: Vec::new(),
            action: opened.action.clone(),
            fence: 0,
        };
        run.take(opened);
        run
    }

    pub(crate) fn open(when: &str) -> Run {
        Run::open_with(CONTRACT, &opening(), at(when))
    }

    fn take(&mut self, made: Transition) {
        self.record = made.record;
        self.entries.extend(made.entry);
        self.sentences.extend(made.sentence);
        self.action = made.action;
    }

    pub(crate) fn step(&mut self, when: Instant, what: What) -> Result<&Action, Refusal> {
        let made = machine::step(&self.contract, &self.record, &Event { at: when, what })?;
        self.take(made);
        Ok(&self.action)
    }

    pub(crate) fn view(&self) -> crate::api::Operation {
        crate::record::read(&self.record).unwrap()
    }

    pub(crate) fn next(&self) -> Instant {
        self.view().next_at.unwrap()
    }

    /// Takes a lease and expects to be sent.
    pub(crate) fn charge(&mut self, when: Instant) -> u32 {
        self.fence += 1;
        let lease = What::Leased { fence: self.fence, expires_at: when.plus(60_000), credential: None };
        match self.step(when, lease).unwrap() {
            Action::Send { attempt, .. } => *attempt,
            other => panic!("not sent: {other:?}"),
        }
    }

    pub(crate) fn answer(&mut self, when: Instant, status: u16, headers: &[(&str, &str)], body: &str) -> &Action {
        let attempt = self.view().requests.used;
        let answer = Answer {
            status,
            headers: headers.iter().map(|(n, v)| (n.to_string(), v.to_string())).collect(),
            body: if body.is_empty() { Body::None } else { Body::Text(body.into()) },
            incomplete: None,
            sent_at: when,
            received_at: when,
        };
        let observed = check::observe(&self.contract, Some(&self.record), &answer).unwrap();
        let observation = Box::new(serde_json::from_str(&observed.observation).unwrap());
        self.step(when, What::Answered { attempt, fence: self.fence, observation }).unwrap()
    }

    /// Waits for the next poll, charges it, and answers with this state.
    pub(crate) fn poll(&mut self, status: u16, headers: &[(&str, &str)], body: &str) -> &Action {
        let when = self.next();
        self.charge(when);
        self.answer(when, status, headers, body)
    }

    pub(crate) fn state(&mut self, state: &str) -> &Action {
        let body = format!(r#"{{"job_id": "exp_71c", "state": "{state}"}}"#);
        self.poll(200, &[], &body)
    }

    pub(crate) fn fault(&mut self, fault: TransportFault) -> &Action {
        let when = self.next();
        let attempt = self.charge(when);
        self.step(when, What::Unanswered { attempt, fence: self.fence, fault }).unwrap()
    }

    pub(crate) fn decide(&mut self, when: Instant, id: &str, what: DecisionWhat) -> Result<&Action, Refusal> {
        let revision = self.view().authority_revision;
        let decision = Decision {
            id: id.into(),
            by: "ana".into(),
            role: "os_user".into(),
            why: "tested".into(),
            revision,
            what,
            proposal: None,
        };
        self.step(when, What::Decided { decision: Box::new(decision) })
    }
}
