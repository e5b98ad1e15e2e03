//! What happens around a request: callbacks, people and agents, leases, a store that fails, two who write at once.

use serde_json::{Value, json};
use sondeo_guest::{
    api::{
        Decision, DecisionWhat, Event, Extension, Proposal, Push, Refusal, RefusalKind, Renewal, TransportFault, What,
    },
    machine,
    record::Record,
    time::Instant,
    verify::{self, Verdict},
};

use super::{super::translate::text, Runner, Stretch, worker};

impl Runner<'_> {
    pub(super) fn webhook(&mut self, event: &Value, at: Instant) -> Result<(), String> {
        let id = text(&self.case["given"]["contract"], "id_at").and_then(|at| event["json"].pointer(at));
        let job = id.map(|id| id.as_str().map_or_else(|| id.to_string(), Into::into));
        let push = Push { authentic: event["signature_valid"] == json!(true), job };
        self.step(at, What::Pushed { push }).map(drop)
    }

    pub(super) fn decided(&mut self, kind: &str, event: &Value, at: Instant) -> Result<(), String> {
        let number = |name: &str| event[name].as_u64().unwrap_or(0);
        let extension = Extension {
            time_ms: number("minutes") * 60_000,
            requests: u32::try_from(number("checks")).map_err(|_| "too many checks")?,
            failures: 1,
            throttles: 1,
            useful_until: None,
        };
        let what = match text(event, "action").unwrap_or_default() {
            "get_status" | "inspect" | "inspect_once" | "show" => {
                // D37: reading sends nothing.
                self.view()?;
                return Ok(());
            }
            "extend" => DecisionWhat::Extend { extension, done: text(event, "done").map(Into::into) },
            "resubmit" => DecisionWhat::Resubmit,
            "cancel" => DecisionWhat::Cancel { extension: None },
            "accept_result" => DecisionWhat::AcceptResult,
            "abandon" | "close" => DecisionWhat::Close,
            "renew_credentials_then_resume" | "renew_credential" => {
                DecisionWhat::RenewCredential { renewal: Renewal::AccessRestored, credential: None, extension: None }
            }
            other => return Err(format!("the decision `{other}`")),
        };
        let by = if kind == "agent" { "agent-1" } else { text(event, "approver").unwrap_or("person-1") };
        let id = text(event, "approval_id").map_or_else(|| format!("decision at {at}"), Into::into);
        let now = self.view()?.authority_revision;
        let revision = *self.seen.entry(id.clone()).or_insert(now);
        let decision = Decision {
            id,
            by: by.into(),
            role: "operator".into(),
            why: "the case says so".into(),
            revision,
            what,
            proposal: None,
        };
        self.step(at, What::Decided { decision: Box::new(decision) }).map(drop)
    }

    /// A lease alone is no claim; what it gives is the fence of the claim that may come.
    pub(super) fn lease(&mut self, event: &Value, at: Instant) -> Result<(), String> {
        let (worker, token) = (worker(event), event["token"].as_u64());
        match (text(event, "op").unwrap_or_default(), text(event, "result")) {
            ("acquire", Some("ok")) => {
                self.fences.insert(worker.clone(), token.ok_or("a lease without a token")?);
                self.holder = Some(worker);
            }
            ("acquire" | "renew", _) => {}
            ("release", _) => {
                // Who releases has nothing in flight; by an older token that changes nothing for the one who holds it now.
                let fence = token.ok_or("a release without a token")?;
                let attempt = self.view()?.requests.used;
                self.step(at, What::Unanswered { attempt, fence, fault: TransportFault::NotSent })?;
                self.holder.take_if(|holder| *holder == worker);
            }
            (other, _) => return Err(format!("a lease is asked to `{other}`")),
        }
        Ok(())
    }

    pub(super) fn store_error(&mut self, event: &Value, at: Instant) -> Result<(), String> {
        if text(event, "op") != Some("load") {
            // What was not saved has not happened, and was not sent (D2, D19).
            self.state = self.before.clone();
            return Ok(());
        }
        if self.state.is_none() {
            self.open(at, None)?;
        }
        if let Some(state) = &mut self.state {
            let half = state.record.len() / 2;
            state.record.truncate(half);
        }
        self.refused = self.state.as_ref().and_then(|state| Record::parse(&state.record).err());
        self.state = None;
        Ok(())
    }

    /// Two workers append to the same head: the log takes one, and shows a second as a fork.
    pub(super) fn append(&mut self, event: &Value, at: Instant) -> Result<(), String> {
        let now = self.record_text().ok_or("an event before there is an operation")?;
        let base =
            self.heads.entry(text(event, "prev").unwrap_or_default().into()).or_insert_with(|| now.clone()).clone();
        let proposal = Proposal {
            id: worker(event),
            by: worker(event),
            why: "something to write".into(),
            extension: Extension::default(),
            expected_effect: "an entry".into(),
        };
        if base == now {
            return self.step(at, What::Proposed { proposal }).map(drop);
        }
        let other = machine::step(&self.contract, &base, &Event { at, what: What::Proposed { proposal } });
        let entry = other.ok().and_then(|made| made.entry).ok_or("the other worker wrote nothing")?;
        let state = self.state.as_ref().ok_or("an event before there is an operation")?;
        let entries: Vec<String> = state.open.entries.iter().cloned().chain([entry]).collect();
        let forked = Stretch { start: state.open.start.clone(), entries };
        let report = verify::verify(&forked.log(&self.contract, None));
        if report.verdict == Verdict::Broken {
            let why = report.why.unwrap_or_default();
            self.refused = Some(Refusal::new(RefusalKind::Stale, why));
        }
        Ok(())
    }
}
