//! The smallest host: the loop that the README shows, run, and its log checked (D2, D47, I12).
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test that goes wrong should stop at once"
)]

#[path = "support/script.rs"]
mod script;

use anyhow::Result;
use sondeo::component::Component;
use sondeo::component::types::{
    Action, Answer, AnsweredEvent, Body, Event, LeasedEvent, Opening, Operation, Phase, RequestPlan, What,
};

use script::{CONTRACT, LEASE_MS, START, opening};

/// Keeps the record and appends the entry, in one transaction.
#[derive(Default)]
struct Store {
    record: String,
    entries: Vec<String>,
}

impl Store {
    fn save(&mut self, record: &str, entry: Option<String>) -> Result<()> {
        self.record = record.to_owned();
        self.entries.extend(entry);
        Ok(())
    }
}

/// Sends one request, reads its answer, and knows the time.
struct Provider {
    states: std::vec::IntoIter<&'static str>,
    now: u64,
}

impl Provider {
    fn ask(&mut self, at: u64, plan: &RequestPlan) -> Answer {
        assert_eq!(plan.url.as_deref(), Some("https://api.provider.example/v1/jobs/exp_71c"));
        let state = self.states.next().unwrap();
        self.now = at + 10;
        Answer {
            status: 200,
            headers: Vec::new(),
            body: Body::Text(format!(
                r#"{{"job_id": "exp_71c", "state": "{state}", "result_url": "https://files.provider.example/a"}}"#
            )),
            incomplete: None,
            sent_at: at,
            received_at: self.now,
        }
    }
}

fn wait(contract: &str, opening: &Opening, store: &mut Store, provider: &mut Provider) -> Result<Operation> {
    let component = Component::embedded()?;
    let opened = component.open(contract, opening, provider.now)?;
    store.save(&opened.record, opened.entry)?;
    let (mut record, mut operation) = (opened.record, opened.operation);
    while let Some(at) = operation.next_at {
        // Sleep until `at`, without a lease. Then take one, charge, and save before anything is sent.
        let lease = LeasedEvent { fence: operation.fence + 1, expires_at: at + LEASE_MS, credential: None };
        let charged = component.step(contract, &record, &Event { at, what: What::Leased(lease) })?;
        store.save(&charged.record, charged.entry)?;
        (record, operation) = (charged.record, charged.operation);
        let Action::Send(send) = charged.action else { continue };
        // One request, as the plan has it, and what came of it.
        let answer = provider.ask(at, &component.request(contract, &record)?);
        let observation = component.observe(contract, Some(&record), &answer)?.observation;
        let what = What::Answered(AnsweredEvent { attempt: send.attempt, fence: operation.fence, observation });
        let reduced = component.step(contract, &record, &Event { at: answer.received_at, what })?;
        store.save(&reduced.record, reduced.entry)?;
        (record, operation) = (reduced.record, reduced.operation);
    }
    Ok(operation)
}

#[test]
fn the_loop_of_the_readme_waits_and_its_log_is_whole() {
    let component = Component::embedded().unwrap();
    let (mut store, states) = (Store::default(), vec!["queued", "running", "succeeded"]);
    let mut provider = Provider { states: states.into_iter(), now: START };
    let operation = wait(CONTRACT, &opening(&component), &mut store, &mut provider).unwrap();
    assert!(matches!(operation.phase, Phase::Settled(_)), "{:?}", operation.phase);
    assert_eq!(operation.requests.used, 3);
    // One entry for the opening, two for each request.
    assert_eq!(store.entries.len(), 7);
    let read = component.read(&store.record).unwrap();
    assert_eq!(read.head, operation.head);
}

#[test]
fn the_readme_shows_the_loop_word_for_word() {
    let own = include_str!("embedding.rs");
    let start = own.find("fn wait(").unwrap();
    let shown = &own[start..start + own[start..].find("\n}\n").unwrap() + 3];
    let readme = include_str!("../README.md");
    assert!(readme.contains(&format!("```rust\n{shown}```")), "README.md does not show:\n{shown}");
}
