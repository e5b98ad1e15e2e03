//! A demo of the whole: a provider on loopback, a dozen jobs waited for at once, and a witness of what was sent.
//!
//! Nothing here is special to the demo but the provider and shortened delays: the waits go through the same controller,
//! component and store as any other. With the same seed the provider tells the same story; delays differ, since each
//! operation's seed is drawn by the operating system (D6), and the endings are the same whatever they are.

pub mod provider;
pub mod script;
pub mod stories;

use std::time::Duration;

use crate::audit::Finding;
use crate::component::types;
use crate::controller::{ControlError, Controller, NewOperation, Tick, ending_word, reason_word};
use provider::Provider;
use stories::Story;

/// Id of the demo's contract.
pub const CONTRACT_ID: &str = "demo.jobs";
/// The demo's contract, for a provider on port 8080.
const CONTRACT: &str = include_str!("../contracts/demo/jobs.json");
/// The authority in it.
const AUTHORITY: &str = "127.0.0.1:8080";
/// How long a request may hold its operation.
const LEASE_MS: u64 = 60_000;
/// The longest sleep between two looks.
const LOOK_MS: u64 = 1_000;
/// How long to rest after a failure of the store that may pass.
const REST: Duration = Duration::from_millis(250);

/// The contract for the provider that listens there.
pub fn contract(address: std::net::SocketAddr) -> String {
    CONTRACT.replace(AUTHORITY, &address.to_string())
}

/// Shown after each look at a job: which story, what came of it, the time in ms since the epoch.
pub type Shown<'a> = dyn Fn(usize, &Tick, u64) + 'a;

/// What became of a wait.
#[derive(Debug, Clone)]
pub struct Waited {
    /// The job.
    pub story: Story,
    /// The operation at its end.
    pub operation: types::Operation,
    /// How it ended: the word of the ending, or of the reason.
    pub ended: &'static str,
    /// Requests that the provider counted, for the job and the ids that it went on under.
    pub counted: u32,
    /// What `verify` found.
    pub finding: Finding,
}

impl Waited {
    /// It ended as its story has it.
    pub fn as_scripted(&self) -> bool {
        self.ended == self.story.ends
    }

    /// No request came that was not charged (I1).
    pub fn paid(&self) -> bool {
        self.counted <= self.operation.requests.used
    }

    /// It ended as scripted, every request was charged, and the log verifies.
    pub fn is_fine(&self) -> bool {
        self.as_scripted() && self.paid() && self.finding.is_fine()
    }
}

/// Waits for all of the provider's jobs at once, and checks what came of it.
///
/// # Errors
/// What store, component or network say where it doesn't pass by itself.
pub async fn run(controller: &Controller, provider: &Provider, shown: &Shown<'_>) -> Result<Vec<Waited>, ControlError> {
    let contract = contract(provider.address());
    let contract = contract.as_str();
    let waits = provider.stories().iter().enumerate().map(|(index, story)| async move {
        let id = open(controller, contract, story)?;
        wait(controller, &id, &|tick, now| shown(index, tick, now)).await?;
        Ok::<_, ControlError>(id)
    });
    let ids = futures_util::future::try_join_all(waits).await?;
    let ended = provider.stories().iter().zip(ids);
    ended.map(|(story, id)| waited(controller, provider, story, &id)).collect()
}

fn open(controller: &Controller, contract: &str, story: &Story) -> Result<String, ControlError> {
    let opening = types::Opening {
        operation_id: String::new(),
        namespace: "demo".to_owned(),
        component: String::new(),
        account: "default".to_owned(),
        credential: None,
        job: vec![("job".to_owned(), story.job.to_owned())],
        address: None,
        ctx: Vec::new(),
        fingerprint: None,
        opened_by: "cli".to_owned(),
        submitted_at: None,
        job_expires_at: None,
        limits: types::LimitsGiven {
            deadline: story.deadline_ms.map(types::TimeLimit::AfterMs),
            useful_until: None,
            max_status_requests: None,
            max_transport_failures: story.failures_max,
            max_throttles: None,
        },
        approval_per_request: false,
        lease_ms: LEASE_MS,
        seed: String::new(),
        submission: None,
        submission_unknown: false,
        sealing: false,
        predecessor: None,
    };
    let new =
        NewOperation { contract: contract.to_owned(), contract_id: CONTRACT_ID.to_owned(), opening, kept: Vec::new() };
    Ok(controller.open(&new)?.operation.operation_id)
}

/// Looks until the operation has ended, or a component that failed has left it to a person.
async fn wait(controller: &Controller, id: &str, shown: &dyn Fn(&Tick, u64)) -> Result<(), ControlError> {
    loop {
        let tick = match controller.tick(id).await {
            Ok(tick) => tick,
            // Marked by now: the next look says so and sends nothing (D33).
            Err(ControlError::Faulted { .. }) => controller.tick(id).await?,
            Err(ControlError::Store(error)) if error.may_pass() => {
                tokio::time::sleep(REST).await;
                continue;
            }
            Err(error) => return Err(error),
        };
        let now = controller.store().now()?;
        shown(&tick, now);
        if ended(&tick.operation, tick.marked.is_some()).is_some() {
            return Ok(());
        }
        let next = tick.operation.next_at.unwrap_or(now);
        // Due, and yet nothing was done: no hot loop.
        let least = if next <= now && tick.action.is_none() { now.saturating_add(LOOK_MS) } else { now };
        controller.clock().sleep_until(next.max(least).min(now.saturating_add(LOOK_MS))).await;
    }
}

/// The word of an end; `None` while it goes on.
fn ended(operation: &types::Operation, marked: bool) -> Option<&'static str> {
    match &operation.phase {
        types::Phase::Settled(settlement) => Some(ending_word(settlement.ending)),
        types::Phase::Escalated(reason) => Some(reason_word(*reason)),
        _ => marked.then_some(reason_word(types::Reason::PolicyFault)),
    }
}

fn waited(controller: &Controller, provider: &Provider, story: &Story, id: &str) -> Result<Waited, ControlError> {
    let stored = controller.stored(id)?;
    let operation = controller.pinned(&stored.row.component_digest)?.read(&stored.record)?;
    let finding = controller.verify(id, None)?;
    let jobs = std::iter::once(story.job).chain(operation.followed.iter().map(String::as_str));
    let counted = jobs.fold(0_u32, |sum, job| sum.saturating_add(provider.counted(job)));
    let ended = ended(&operation, stored.mark.is_some()).unwrap_or("waiting");
    Ok(Waited { story: story.clone(), operation, ended, counted, finding })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_contract_is_fine_for_any_port() {
        let component = crate::component::Component::embedded().unwrap();
        for port in [1, 65535] {
            let text = contract(([127, 0, 0, 1], port).into());
            assert!(text.contains(&format!("http://127.0.0.1:{port}/v1/jobs/")) && !text.contains(AUTHORITY));
            let summary = component.check_contract(&text).unwrap();
            assert_eq!((summary.id.as_str(), summary.warnings.as_slice()), (CONTRACT_ID, [].as_slice()));
        }
    }
}
