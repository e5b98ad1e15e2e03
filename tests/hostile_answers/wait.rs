//! The real path: controller, embedded component, store on disk, transport; one request for each case.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use sondeo::clock::SystemClock;
use sondeo::component::Component;
use sondeo::component::types::{LimitsGiven, Opening, Operation, Phase};
use sondeo::controller::{ControlError, Controller, NewOperation};
use sondeo::store::SqliteStore;
use tempfile::TempDir;

use super::case::{Case, Stands};
use super::server::{Elsewhere, Server};

/// What must not arrive anywhere but at the provider, nor be written anywhere.
pub(crate) const CANARY: &str = "canary-7d1c0b5e94";

/// Operations at once; each has one connection.
const AT_ONCE: usize = 16;

/// A provider, another origin, a folder, and a controller over a store in it.
pub(crate) struct Place {
    pub(crate) server: Server,
    pub(crate) elsewhere: Elsewhere,
    pub(crate) folder: TempDir,
    controller: Controller,
}

impl Place {
    pub(crate) fn new() -> Place {
        let elsewhere = Elsewhere::start();
        let folder = TempDir::new().unwrap();
        std::fs::write(folder.path().join("canary"), CANARY).unwrap();
        let clock = Arc::new(SystemClock::new());
        let store = SqliteStore::open(&folder.path().join("jobs.db"), clock.clone()).unwrap();
        let controller = Controller::new(Arc::new(store), clock, Component::embedded().unwrap(), None);
        Place { server: Server::start(&elsewhere.origin()), elsewhere, folder, controller }
    }

    pub(crate) fn credential(&self) -> String {
        format!("file:{}", self.folder.path().join("canary").display())
    }

    /// The contract for this server.
    pub(crate) fn contract(&self, short: bool) -> String {
        let timeout = if short { "2s" } else { "50s" };
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/hostile_answers/contract.json");
        let contract = std::fs::read_to_string(path).unwrap();
        contract.replace("$HERE", &self.server.origin()).replace("$TIMEOUT", timeout)
    }

    /// Opens an operation for this job.
    pub(crate) fn open(&self, job: &str, short: bool, last: bool) -> Result<Operation, ControlError> {
        let max = last.then_some(1);
        let opening = Opening {
            operation_id: String::new(),
            namespace: "default".to_owned(),
            component: String::new(),
            account: "default".to_owned(),
            credential: Some(self.credential()),
            job: vec![("id".to_owned(), job.to_owned())],
            address: None,
            ctx: Vec::new(),
            fingerprint: None,
            opened_by: "test".to_owned(),
            submitted_at: None,
            job_expires_at: None,
            limits: LimitsGiven {
                deadline: None,
                useful_until: None,
                max_status_requests: max,
                max_transport_failures: max,
                max_throttles: max,
            },
            approval_per_request: false,
            lease_ms: 60_000,
            seed: String::new(),
            submission: None,
            submission_unknown: false,
            sealing: false,
            predecessor: None,
        };
        let contract = self.contract(short);
        let new = NewOperation { contract, contract_id: "test.hostile".to_owned(), opening, kept: Vec::new() };
        self.controller.open(&new).map(|opened| opened.operation)
    }

    /// What is wrong with any of these cases, by name.
    pub(crate) fn wrong(self: &Arc<Self>, cases: Vec<Case>) -> Vec<String> {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(8).enable_all().build().unwrap();
        let slots = Arc::new(tokio::sync::Semaphore::new(AT_ONCE));
        let tasks: Vec<_> = cases
            .into_iter()
            .enumerate()
            .map(|(number, case)| {
                let (place, slots) = (Arc::clone(self), Arc::clone(&slots));
                runtime.spawn(async move {
                    let _slot = slots.acquire_owned().await.unwrap();
                    place.one(number, &case).await
                })
            })
            .collect();
        tasks.into_iter().flat_map(|task| runtime.block_on(task).unwrap()).collect()
    }

    /// Opens, asks once, and compares; then the log is verified.
    async fn one(&self, number: usize, case: &Case) -> Vec<String> {
        let made_up = format!("job-{number}");
        let (job, segment) = case.job.clone().unwrap_or_else(|| (made_up.clone(), made_up));
        self.server.answers(&segment, &case.answer);
        let name = format!("{} {}", case.rule, case.what);
        let operation = match self.open(&job, case.short, case.last) {
            Ok(operation) => operation,
            Err(error) => return vec![format!("{name}: not opened: {error}")],
        };
        let id = &operation.operation_id;
        let mut detail = None;
        let operation = loop {
            match self.controller.tick(id).await {
                Ok(tick) if tick.marked.is_some() => return vec![format!("{name}: the component failed")],
                Ok(tick) if tick.action.is_some() => {
                    detail = tick.detail.or(detail);
                    break tick.operation;
                }
                Ok(_) => tokio::time::sleep(Duration::from_millis(2)).await,
                Err(error) => return vec![format!("{name}: {error}")],
            }
        };
        let mut wrong = compare(case, &operation);
        let entries = self.controller.store().entries(id, 1, 10).unwrap();
        let last: Value = serde_json::from_str(&entries.last().unwrap().text).unwrap();
        let rejected = last["facts"]["guidance_rejected"].as_array().map_or(0, Vec::len);
        if rejected != case.expect.rejected {
            wrong.push(format!("{rejected} pieces of guidance rejected, not {}", case.expect.rejected));
        }
        wrong.extend(request_faults(&self.server.asked(&segment), &segment, &job));
        let found = self.controller.verify(id, None).unwrap();
        if found.verdict != "verified" || !found.is_fine() {
            wrong.push(format!("{found:?}"));
        }
        let told = format!("{} ({})", last["sentence"], detail.unwrap_or_default());
        wrong.into_iter().map(|wrong| format!("{name}: {wrong}: {told}")).collect()
    }
}

/// What differs from what the case expects.
fn compare(case: &Case, operation: &Operation) -> Vec<String> {
    let mut wrong = Vec::new();
    let expect = &case.expect;
    let exchange = operation.last_exchange.as_ref().unwrap();
    match (&expect.stands, &operation.phase) {
        (Stands::Sleeps(source, least, most), Phase::Waiting(waiting)) => {
            let delay = waiting.next_poll_at - exchange.at;
            if waiting.source != *source || !(*least..=*most).contains(&delay) {
                wrong.push(format!("waits {delay} ms by {:?}, not {least} to {most} by {source:?}", waiting.source));
            }
        }
        (Stands::Asks(reason), Phase::Escalated(found)) if reason == found => {}
        (Stands::Settles, Phase::Settled(_)) => {}
        (stands, phase) => wrong.push(format!("{phase:?}, not {stands:?}")),
    }
    let used = (operation.requests.used, operation.failures.used, operation.throttles.used);
    if used != (1, expect.failures, expect.throttles) {
        let expected = (1, expect.failures, expect.throttles);
        wrong.push(format!("used {used:?} of requests, failures, throttles, not {expected:?}"));
    }
    if expect.status.is_some_and(|status| exchange.status != Some(status)) {
        wrong.push(format!("status {:?}, not {:?}", exchange.status, expect.status));
    }
    if exchange.fault != expect.fault {
        wrong.push(format!("fault {:?}, not {:?}", exchange.fault, expect.fault));
    }
    wrong
}

/// One request, to one segment, with one credential and nothing that an id could have brought along.
fn request_faults(asked: &[String], segment: &str, job: &str) -> Vec<String> {
    let [head] = asked else {
        return vec![format!("{} requests were received", asked.len())];
    };
    let mut wrong = Vec::new();
    let mut lines = head.trim_end().split("\r\n");
    let line = format!("GET /v1/jobs/{segment} HTTP/1.1");
    if lines.next() != Some(&line) {
        wrong.push(format!("not `{line}`"));
    }
    let mut named: Vec<(String, &str)> = lines
        .filter_map(|line| line.split_once(':').map(|(name, value)| (name.to_ascii_lowercase(), value.trim())))
        .collect();
    named.sort();
    let names: Vec<&str> = named.iter().map(|(name, _)| name.as_str()).collect();
    let expected = ["accept", "accept-encoding", "authorization", "cache-control", "host", "user-agent", "x-job"];
    if names != expected {
        wrong.push(format!("headers {names:?}, not {expected:?}"));
    }
    for (name, value) in [("authorization", format!("Bearer {CANARY}")), ("x-job", job.trim().to_owned())] {
        if !named.iter().any(|(given, found)| given == name && *found == value) {
            wrong.push(format!("no header `{name}: {value}`"));
        }
    }
    wrong
}
