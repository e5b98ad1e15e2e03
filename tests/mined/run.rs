//! Moves one operation through the core, event by event of a case, as a controller would: a wake that is due takes a lease,
//! every request is charged first, an answer carries the attempt and the fence that it was sent under.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use sondeo_guest::{
    api::{
        Action, CredentialFact, Event, Notice, Operation, Phase, Refusal, RefusalKind, RequestPlan, Transition, What,
    },
    check,
    entry::Entry,
    machine, notice, open,
    record::{self, Record},
    request,
    time::Instant,
    verify::{self, Log, Verdict},
};

use super::translate::{self, instant, text, timeline};

/// A request that left.
#[derive(Clone)]
pub(crate) struct Sent {
    pub(crate) worker: String,
    pub(crate) attempt: u32,
    pub(crate) fence: u64,
    pub(crate) timeout_ms: u64,
    /// The case said that it left; nothing here chose the time.
    pub(crate) told: bool,
    at: Instant,
}

/// A stretch of the log between records that the case sets by hand.
#[derive(Clone, Default)]
struct Stretch {
    start: Option<String>,
    entries: Vec<String>,
}

/// What a store would hold, and what has left.
#[derive(Clone, Default)]
struct State {
    record: String,
    done: Vec<(Stretch, String)>,
    open: Stretch,
    sent: Vec<Sent>,
    action: Option<Action>,
}

/// What came of a case.
pub(crate) struct Ran {
    /// None where nothing was opened.
    pub(crate) operation: Option<Operation>,
    /// Of the last event.
    pub(crate) refused: Option<Refusal>,
    /// The last kind of event left the operation as it was, notes aside.
    pub(crate) unchanged: bool,
    pub(crate) sent: Vec<Sent>,
    pub(crate) entries: Vec<Entry>,
    pub(crate) notice: Option<Notice>,
    pub(crate) request: Option<RequestPlan>,
    /// Everything that is kept or shown.
    pub(crate) shown: String,
    /// Time of the last event.
    pub(crate) at: Instant,
    /// The exponent of the first delay is the form's zero (see [`super::compare`]).
    pub(crate) from_zero: bool,
    /// The first stretch of the log that does not verify, and why.
    pub(crate) unverified: Option<String>,
}

mod around;

struct Runner<'c> {
    case: &'c Value,
    contract: String,
    seed: u64,
    state: Option<State>,
    /// Before the last event: what a store that failed still holds.
    before: Option<State>,
    refused: Option<Refusal>,
    credential: Option<CredentialFact>,
    submission_unknown: bool,
    /// Milliseconds that the wall clock was stepped by.
    stepped: i64,
    /// Fences by worker, from the store's leases.
    fences: BTreeMap<String, u64>,
    holder: Option<String>,
    /// Attempt and fence by the case's own number of a request.
    numbered: BTreeMap<u64, (u32, u64)>,
    /// Records by the case's name for the head of their log.
    heads: BTreeMap<String, String>,
    /// What an approval has seen, by its id: the same one again names the same.
    seen: BTreeMap<String, u64>,
}

/// Runs a case with this seed.
///
/// # Errors
/// Why it can't be expressed.
pub(crate) fn run(case: &Value, seed: u64) -> Result<Ran, String> {
    let mut runner = Runner {
        case,
        contract: translate::contract(case)?,
        seed,
        state: None,
        before: None,
        refused: None,
        credential: None,
        submission_unknown: false,
        stepped: 0,
        fences: BTreeMap::new(),
        holder: None,
        numbered: BTreeMap::new(),
        heads: BTreeMap::new(),
        seen: BTreeMap::new(),
    };
    let mut at = Instant::EPOCH;
    let mut begun = (String::new(), None);
    for event in timeline(case) {
        let kind = text(event, "event").unwrap_or_default();
        if begun.0 != kind || kind == "operator" {
            begun = (kind.to_owned(), runner.record_text());
        }
        at = runner.time(event)?;
        runner.refused = None;
        let before = runner.state.clone();
        runner.event(kind, event, at)?;
        runner.before = before;
    }
    if runner.submission_unknown && runner.state.is_none() && runner.refused.is_none() {
        runner.open(at, None)?;
    }
    runner.finish(at, begun.1.as_deref())
}

impl Runner<'_> {
    fn record_text(&self) -> Option<String> {
        self.state.as_ref().map(|state| state.record.clone())
    }

    /// What the wall clock shows.
    fn time(&self, event: &Value) -> Result<Instant, String> {
        if !event["wall"].is_null() {
            return instant(&event["wall"]);
        }
        let at = instant(&event["at"])?;
        let shifted = at.ms().checked_add_signed(self.stepped).and_then(Instant::from_ms);
        shifted.ok_or_else(|| "a clock step leaves the calendar".into())
    }

    fn event(&mut self, kind: &str, event: &Value, at: Instant) -> Result<(), String> {
        match kind {
            "record" => self.begin(event, at),
            "register" => self.register(event, at),
            "wake" => self.wake(&worker(event), at),
            "request_sent" => {
                self.charge(&worker(event), at, true)?;
                self.number(event);
                Ok(())
            }
            "response" | "transport_failure" if text(event, "of") == Some("submit") => self.submitted(kind, event, at),
            "response" | "transport_failure" if event.get("of").is_some() && text(event, "of") != Some("status") => {
                Err(format!("an answer of `{}`: a wait never asks for it (D36)", event["of"]))
            }
            "response" | "transport_failure" => self.ended(kind, event, at),
            "webhook" => self.webhook(event, at),
            "operator" | "agent" => self.decided(kind, event, at),
            "lease" => self.lease(event, at),
            "credential_context" => {
                let account = text(event, "account").map(Into::into);
                self.credential = Some(CredentialFact { account, digest: "ab".repeat(32) });
                Ok(())
            }
            "clock_step" => {
                let (before, after) = (instant(&event["wall_before"])?, instant(&event["wall_after"])?);
                let step = i64::try_from(after.since(before)).ok().zip(i64::try_from(before.since(after)).ok());
                self.stepped += step.map(|(on, back)| on - back).ok_or("too large a step")?;
                Ok(())
            }
            "store_error" => self.store_error(event, at),
            "audit_append" => self.append(event, at),
            "restart" | "load_record" | "read" => {
                if let Some(state) = &self.state {
                    self.refused = Record::parse(&state.record).err();
                }
                Ok(())
            }
            // Checked at the end of every case.
            "replay" | "audit_verify" => Ok(()),
            // Nothing happens: no sleep is awaited, no worker holds anything in memory.
            "suspend" | "resume" | "sleep" | "crash" | "lease_expired" => Ok(()),
            other => Err(format!("an event `{other}`")),
        }
    }

    fn step(&mut self, at: Instant, what: What) -> Result<Option<Action>, String> {
        let state = self.state.as_mut().ok_or("an event before there is an operation")?;
        match machine::step(&self.contract, &state.record, &Event { at, what }) {
            Ok(made) => {
                state.take(made);
                Ok(state.action.clone())
            }
            Err(refusal) => {
                self.refused = Some(refusal);
                Ok(None)
            }
        }
    }

    fn view(&self) -> Result<Operation, String> {
        let state = self.state.as_ref().ok_or("an event before there is an operation")?;
        record::read(&state.record).map_err(|refusal| refusal.message)
    }

    fn open(&mut self, at: Instant, submission: Option<String>) -> Result<(), String> {
        let mut opening = match translate::opening(self.case, self.seed) {
            Ok(opening) => opening,
            Err(why) => {
                self.refused = Some(Refusal::new(RefusalKind::InvalidOpening, why));
                return Ok(());
            }
        };
        opening.submission_unknown = self.submission_unknown;
        opening.submission = submission;
        match open::open(&self.contract, &opening, at) {
            Ok(made) => {
                let mut state = State::default();
                state.take(made);
                self.state = Some(state);
            }
            Err(refusal) => self.refused = Some(refusal),
        }
        Ok(())
    }

    /// The operation was opened some time ago and has come so far.
    fn begin(&mut self, event: &Value, at: Instant) -> Result<(), String> {
        let submitted = &self.case["given"]["contract"]["submitted_at"];
        let opened = if submitted.is_null() { at } else { instant(submitted)?.min(at) };
        // Where the answer of a submission is to come, it brings what the opening needs.
        if timeline(self.case).iter().any(|event| text(event, "of") == Some("submit")) {
            return Ok(());
        }
        self.open(opened, None)?;
        if let Some(refusal) = &self.refused {
            return Err(format!("the record can't have been opened: {}", refusal.message));
        }
        let fresh = self.record_text().unwrap_or_default();
        self.set(translate::record(&fresh, self.case, event, at)?);
        Ok(())
    }

    /// A record that the case says is there, whatever led to it.
    fn set(&mut self, record: String) {
        if let Some(state) = &mut self.state {
            let old = std::mem::replace(&mut state.record, record.clone());
            let stretch = std::mem::replace(&mut state.open, Stretch { start: Some(record), entries: Vec::new() });
            state.done.push((stretch, old));
        }
    }

    fn register(&mut self, event: &Value, at: Instant) -> Result<(), String> {
        if event.get("job_id").is_some_and(Value::is_null) && !self.submission_unknown {
            return Err("a job without an id, and nothing says that its submission was lost".into());
        }
        self.open(at, None)
    }

    fn submitted(&mut self, kind: &str, event: &Value, at: Instant) -> Result<(), String> {
        if kind == "transport_failure" {
            self.submission_unknown = translate::fault(&event["class"])?.may_have_left();
            return Ok(());
        }
        let answer = translate::answer(self.case, event, at, at)?;
        let observed = check::observe(&self.contract, None, &answer).map_err(|refusal| refusal.message)?;
        self.open(at, Some(observed.observation))
    }

    fn wake(&mut self, worker: &str, at: Instant) -> Result<(), String> {
        if self.holder.as_ref().is_some_and(|holder| holder != worker) {
            return self.step(at, self.woke()).map(drop);
        }
        self.charge(worker, at, false)
    }

    fn woke(&self) -> What {
        What::Woke { credential: self.credential.clone() }
    }

    /// Looks, and takes a lease where a request is due. `told`: the case says that a request went out, whatever our own
    /// plan; limits still hold.
    fn charge(&mut self, worker: &str, at: Instant, told: bool) -> Result<(), String> {
        if let Phase::Polling { lease_expires_at, .. } = self.view()?.phase {
            if told && at < lease_expires_at {
                return Ok(());
            }
            let woke = self.woke();
            self.step(at, woke)?;
        }
        if told {
            self.make_due(at)?;
        }
        let woke = self.woke();
        let Some(Action::Due { .. }) = self.step(at, woke)? else {
            return Ok(());
        };
        let operation = self.view()?;
        let fence = self.fences.get(worker).copied().unwrap_or(operation.fence + 1);
        let leased =
            What::Leased { fence, expires_at: at.plus(operation.lease_ms), credential: self.credential.clone() };
        if let Some(Action::Send { attempt, timeout_ms }) = self.step(at, leased)?
            && let Some(state) = &mut self.state
        {
            state.sent.push(Sent { worker: worker.into(), attempt, fence, timeout_ms, told, at });
        }
        Ok(())
    }

    fn make_due(&mut self, at: Instant) -> Result<(), String> {
        let mut record = Record::parse(&self.record_text().unwrap_or_default()).map_err(|refusal| refusal.message)?;
        if let Phase::Waiting { next_poll_at, source } = record.phase
            && next_poll_at > at.max(record.last_at)
        {
            record.phase = Phase::Waiting { next_poll_at: at.max(record.last_at), source };
            self.set(record.text().map_err(|refusal| refusal.message)?);
        }
        Ok(())
    }

    fn number(&mut self, event: &Value) {
        let last = self.state.as_ref().and_then(|state| state.sent.last());
        if let (Some(number), Some(sent)) = (event["seq"].as_u64(), last) {
            self.numbered.insert(number, (sent.attempt, sent.fence));
        }
    }

    /// An exchange ended: with an answer, or with none.
    fn ended(&mut self, kind: &str, event: &Value, at: Instant) -> Result<(), String> {
        let worker = worker(event);
        if let Some(fence) = event["token"].as_u64() {
            self.fences.entry(worker.clone()).or_insert(fence);
        }
        let known = event["seq"].as_u64().and_then(|number| self.numbered.get(&number).copied());
        let own = self
            .state
            .as_ref()
            .and_then(|s| s.sent.iter().rev().find(|sent| event["token"] == json!(sent.fence)).cloned());
        let told = event["late"] != json!(true);
        if known.is_none() && own.is_none() && told && !matches!(self.view()?.phase, Phase::Polling { .. }) {
            let stop = self.view()?.deadline_at;
            let sent_at = Instant::from_ms(at.min(stop).ms().saturating_sub(1)).unwrap_or(at);
            self.charge(&worker, sent_at, true)?;
            self.number(event);
        }
        let operation = self.view()?;
        let now = (operation.requests.used, operation.fence);
        let (attempt, fence) = known.or(own.map(|sent| (sent.attempt, sent.fence))).unwrap_or(now);
        let what = if kind == "transport_failure" {
            What::Unanswered { attempt, fence, fault: translate::fault(&event["class"])? }
        } else {
            let sent =
                self.state.as_ref().and_then(|s| s.sent.iter().find(|s| s.attempt == attempt)).map_or(at, |s| s.at);
            let answer = translate::answer(self.case, event, sent, at)?;
            let record = self.record_text();
            let observed =
                check::observe(&self.contract, record.as_deref(), &answer).map_err(|refusal| refusal.message)?;
            let observation = serde_json::from_str(&observed.observation).map_err(|why| why.to_string())?;
            What::Answered { attempt, fence, observation: Box::new(observation) }
        };
        self.step(at, what)?;
        self.holder.take_if(|holder| *holder == worker);
        Ok(())
    }

    fn finish(mut self, at: Instant, begun: Option<&str>) -> Result<Ran, String> {
        let state = self.state.take();
        let from_zero = timeline(self.case).iter().any(|event| {
            text(event, "event") == Some("record") && event["set"]["backoff_n"].as_u64().unwrap_or(0) == 0
        });
        let mut ran = Ran {
            operation: None,
            refused: self.refused,
            unchanged: true,
            sent: Vec::new(),
            entries: Vec::new(),
            notice: None,
            request: None,
            shown: String::new(),
            at,
            from_zero,
            unverified: None,
        };
        let Some(mut state) = state else {
            return Ok(ran);
        };
        state.done.push((state.open.clone(), state.record.clone()));
        for (stretch, end) in &state.done {
            let report = verify::verify(&stretch.log(&self.contract, Some(end)));
            if report.verdict != Verdict::Verified && ran.unverified.is_none() {
                ran.unverified = Some(format!("{:?}: {}", report.verdict, report.why.unwrap_or_default()));
            }
            for text in &stretch.entries {
                ran.entries.push(Entry::parse(text)?);
                ran.shown.push_str(text);
            }
        }
        ran.operation = record::read(&state.record).ok();
        ran.notice = notice::notice(&self.contract, &state.record, at).ok();
        ran.request = request::request(&self.contract, &state.record).ok();
        ran.unchanged = begun.is_some_and(|begun| standing(begun) == standing(&state.record));
        ran.shown.push_str(&state.record);
        ran.shown.push_str(ran.notice.as_ref().map_or("", |notice| &notice.text));
        ran.sent = state.sent;
        Ok(ran)
    }
}

impl State {
    fn take(&mut self, made: Transition) {
        self.record = made.record;
        self.open.entries.extend(made.entry);
        self.action = Some(made.action);
    }
}

impl Stretch {
    fn log(&self, contract: &str, current: Option<&str>) -> Log {
        Log {
            entries: self.entries.clone(),
            contracts: vec![contract.into()],
            start: self.start.clone(),
            current: current.map(Into::into),
            component: "0".repeat(64),
        }
    }
}

/// A record without what a mere note moves.
fn standing(text: &str) -> Option<Value> {
    let mut view = serde_json::to_value(record::read(text).ok()?).ok()?;
    for moved in ["revision", "head", "record_sha256", "last_at"] {
        view.as_object_mut()?.remove(moved);
    }
    Some(view)
}

fn worker(event: &Value) -> String {
    text(event, "worker").unwrap_or("worker").into()
}
