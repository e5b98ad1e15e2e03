use alloc::{format, string::ToString, vec};

use serde_json::{Value, json};

use super::{decide::Guest as _, exports::json::Guest as _, *};
use crate::{
    limits,
    testing::{self, CONTRACT},
    time::Instant,
};

const MINUTE: u64 = 60_000;

fn start() -> u64 {
    testing::at("10:00:00").ms()
}

fn opening() -> types::Opening {
    types::Opening {
        operation_id: "report-export-2025-04-18-01".into(),
        namespace: "default".into(),
        component: "0".repeat(64),
        account: "default".into(),
        credential: None,
        job: vec![("id".into(), "exp_71c".into())],
        address: None,
        ctx: vec![],
        fingerprint: Some("sha256:1".into()),
        opened_by: "cli".into(),
        submitted_at: Some(start() - MINUTE),
        job_expires_at: None,
        limits: types::LimitsGiven {
            deadline: Some(types::TimeLimit::AfterMs(30 * MINUTE)),
            useful_until: Some(types::TimeLimit::At(start() + 35 * MINUTE)),
            max_status_requests: None,
            max_transport_failures: Some(5),
            max_throttles: None,
        },
        approval_per_request: false,
        lease_ms: MINUTE,
        seed: "07".repeat(32),
        submission: None,
        submission_unknown: false,
        sealing: false,
        predecessor: None,
    }
}

/// One operation, moved through both doors at once.
struct Both {
    record: String,
}

fn twin(function: &str, input: &Value) -> Value {
    let text = Component::call(function.into(), input.to_string()).unwrap();
    serde_json::from_str(&text).unwrap()
}

impl Both {
    fn open() -> Both {
        let typed = Component::open(CONTRACT.into(), opening(), start()).unwrap();
        let mut core = testing::opening();
        core.fingerprint = Some("sha256:1".into());
        core.submitted_at = Instant::from_ms(start() - MINUTE);
        core.limits = crate::api::LimitsGiven {
            deadline: Some(crate::api::TimeLimit::AfterMs(30 * MINUTE)),
            useful_until: Instant::from_ms(start() + 35 * MINUTE).map(crate::api::TimeLimit::At),
            max_transport_failures: Some(5),
            ..Default::default()
        };
        let at = Instant::from_ms(start()).unwrap();
        let mut both = Both { record: String::new() };
        both.same(typed, &twin("open", &json!({"contract": CONTRACT, "opening": core, "at": at})));
        both
    }

    fn same(&mut self, typed: types::Transition, twin: &Value) {
        assert_eq!(twin["record"], typed.record.as_str());
        assert_eq!(twin["entry"], json!(typed.entry));
        assert_eq!(twin["sentence"], json!(typed.sentence));
        assert_eq!(twin["operation"]["head"], typed.operation.head.as_str());
        self.record = typed.record;
    }

    fn step(&mut self, at: u64, typed: types::What, twin_what: &Value) -> types::Action {
        let event = types::Event { at, what: typed };
        let made = Component::step(CONTRACT.into(), self.record.clone(), event).unwrap();
        let event = json!({"at": Instant::from_ms(at).unwrap(), "what": twin_what});
        let again = twin("step", &json!({"contract": CONTRACT, "record": self.record, "event": event}));
        let action = made.action.clone();
        self.same(made, &again);
        action
    }

    fn next(&self) -> u64 {
        Component::read(self.record.clone()).unwrap().next_at.unwrap()
    }

    fn lease(&mut self, fence: u64) -> u64 {
        let at = self.next();
        let expires = Instant::from_ms(at + MINUTE).unwrap();
        let credential = types::CredentialFact { account: None, digest: "ab".into() };
        let typed =
            types::What::Leased(types::LeasedEvent { fence, expires_at: at + MINUTE, credential: Some(credential) });
        let twin = json!({"leased": {"fence": fence, "expires_at": expires, "credential": {"digest": "ab"}}});
        let action = self.step(at, typed, &twin);
        assert!(matches!(action, types::Action::Send(_)), "{action:?}");
        at
    }

    fn answer(&mut self, attempt: u32, at: u64, body: &str) -> types::Action {
        let answer = types::Answer {
            status: 200,
            headers: vec![("retry-after".into(), "17".into())],
            body: types::Body::Text(body.into()),
            incomplete: None,
            sent_at: at,
            received_at: at + 5,
        };
        let observed = Component::observe(CONTRACT.into(), Some(self.record.clone()), answer.clone()).unwrap();
        let (sent_at, received_at) = (Instant::from_ms(at).unwrap(), Instant::from_ms(at + 5).unwrap());
        let again = twin(
            "observe",
            &json!({"contract": CONTRACT, "record": self.record, "answer": {
                "status": 200, "headers": [["retry-after", "17"]], "body": {"text": body},
                "sent_at": sent_at, "received_at": received_at,
            }}),
        );
        assert_eq!(again["observation"], observed.observation.as_str());
        let observation: Value = serde_json::from_str(&observed.observation).unwrap();
        let typed = types::AnsweredEvent { attempt, fence: attempt.into(), observation: observed.observation };
        let twin = json!({"answered": {"attempt": attempt, "fence": attempt, "observation": observation}});
        self.step(at + 5, types::What::Answered(typed), &twin)
    }
}

/// DESIGN "a JSON twin of the whole interface": both doors make the same record and the same entry, byte for byte.
#[test]
fn typed_and_twin_make_the_same_bytes() {
    let mut both = Both::open();
    let at = both.lease(1);
    let typed = types::UnansweredEvent { attempt: 1, fence: 1, fault: types::TransportFault::ReadTimeout };
    let twin = json!({"unanswered": {"attempt": 1, "fence": 1, "fault": "read_timeout"}});
    let action = both.step(at + 9, types::What::Unanswered(typed), &twin);
    assert!(matches!(action, types::Action::Sleep(_)), "{action:?}");

    let paced = start() + 2 * MINUTE;
    both.step(at + 10, types::What::Paced(paced), &json!({"paced": {"until": Instant::from_ms(paced).unwrap()}}));
    let push = types::Push { authentic: true, job: Some("exp_71c".into()) };
    both.step(at + 11, types::What::Pushed(push), &json!({"pushed": {"push": {"authentic": true, "job": "exp_71c"}}}));

    let at = both.lease(2);
    let action = both.answer(2, at, r#"{"job_id": "exp_71c", "state": "running"}"#);
    assert!(matches!(&action, types::Action::Sleep(sleep) if sleep.until == at + 5 + 17_000), "{action:?}");

    let amounts = json!({"time_ms": MINUTE, "requests": 1, "failures": 0, "throttles": 0, "useful_until": null});
    let extension = types::Extension { time_ms: MINUTE, requests: 1, failures: 0, throttles: 0, useful_until: None };
    let proposal = types::Proposal {
        id: "p1".into(),
        by: "agent".into(),
        why: "it moves".into(),
        extension,
        expected_effect: "it ends".into(),
    };
    let twin = json!({"proposed": {"proposal":
        {"id": "p1", "by": "agent", "why": "it moves", "extension": amounts, "expected_effect": "it ends"}}});
    both.step(at + 6, types::What::Proposed(proposal), &twin);

    let at = both.lease(3);
    let body = r#"{"job_id": "exp_71c", "state": "succeeded", "result_url": "https://files.provider.example/1"}"#;
    let action = both.answer(3, at, body);
    assert!(matches!(&action, types::Action::Settle(settlement) if settlement.results.len() == 1), "{action:?}");
}

/// Every kind of decision reads the same through both doors, down to the refusal.
#[test]
fn typed_and_twin_answer_a_decision_alike() {
    let both = Both::open();
    let revision = Component::read(both.record.clone()).unwrap().authority_revision;
    let adopt = types::AdoptDecision { job: vec![("id".into(), "x".into())], address: None, extension: None };
    let renew = types::RenewDecision { renewal: types::Renewal::AccessRestored, credential: None, extension: None };
    let cases = [
        (types::DecisionWhat::Close, json!("close")),
        (types::DecisionWhat::AcceptResult, json!("accept_result")),
        (types::DecisionWhat::Resubmit, json!("resubmit")),
        (types::DecisionWhat::Hold(start() + MINUTE), json!({"hold": {"until": "2025-04-18T10:01:00.000Z"}})),
        (types::DecisionWhat::Cancel(None), json!({"cancel": {}})),
        (types::DecisionWhat::Approve(1), json!({"approve": {"attempt": 1}})),
        (types::DecisionWhat::Decline("p".into()), json!({"decline": {"proposal": "p"}})),
        (types::DecisionWhat::NewOperation("n".into()), json!({"new_operation": {"operation_id": "n"}})),
        (types::DecisionWhat::Adopt(adopt), json!({"adopt": {"job": {"id": "x"}}})),
        (types::DecisionWhat::RenewCredential(renew), json!({"renew_credential": {"renewal": "access_restored"}})),
    ];
    for (what, twin) in cases {
        let decision = types::Decision {
            id: "d1".into(),
            by: "ana".into(),
            role: "operator".into(),
            why: "tested".into(),
            revision,
            what,
            proposal: None,
        };
        let event = types::Event { at: start() + 1, what: types::What::Decided(decision) };
        let typed = Component::step(CONTRACT.into(), both.record.clone(), event);
        let decision =
            json!({"id": "d1", "by": "ana", "role": "operator", "why": "tested", "revision": revision, "what": twin});
        let event = json!({"at": "2025-04-18T10:00:00.001Z", "what": {"decided": {"decision": decision}}});
        let input = json!({"contract": CONTRACT, "record": both.record, "event": event});
        let twin = Component::call("step".into(), input.to_string());
        match (typed, twin) {
            (Ok(typed), Ok(twin)) => {
                let twin: Value = serde_json::from_str(&twin).unwrap();
                assert_eq!(twin["record"], typed.record.as_str());
                assert_eq!(twin["entry"], json!(typed.entry));
            }
            (Err(typed), Err(twin)) => {
                let twin: Value = serde_json::from_str(&twin).unwrap();
                assert_eq!(twin["message"], typed.message.as_str());
            }
            (typed, twin) => panic!("typed {typed:?}, twin {twin:?}"),
        }
    }
}

#[test]
fn a_value_out_of_range_is_refused_not_truncated() {
    let both = Both::open();
    let late = limits::INSTANT_MAX + 1;
    let refused = |what: types::What, at: u64| {
        let refusal = Component::step(CONTRACT.into(), both.record.clone(), types::Event { at, what }).unwrap_err();
        assert_eq!(refusal.kind, types::RefusalKind::InvalidEvent);
        refusal.message
    };
    let woke = || types::What::Woke(types::WokeEvent { credential: None });
    assert!(refused(woke(), late).contains("later than 9999-12-31"));
    assert!(refused(types::What::Paced(u64::MAX), start()).contains("later than 9999-12-31"));
    let answered = types::AnsweredEvent { attempt: 1, fence: 1, observation: "{}".into() };
    assert!(refused(types::What::Answered(answered), start()).contains("let `observe` make it"));

    let refusal = Component::notice(CONTRACT.into(), both.record.clone(), late).unwrap_err();
    assert_eq!(refusal.kind, types::RefusalKind::InvalidEvent);
    let mut twice = opening();
    twice.job.push(("id".into(), "other".into()));
    let refusal = Component::open(CONTRACT.into(), twice, start()).unwrap_err();
    assert!(refusal.message.contains("`id` is given twice"), "{}", refusal.message);
}

#[test]
fn looking_goes_through_both_doors() {
    let both = Both::open();
    let about = twin("about", &json!({}));
    assert_eq!(about["record_format"], Component::about().record_format.as_str());

    let summary = Component::check_contract(CONTRACT.into()).unwrap();
    assert_eq!(twin("check_contract", &json!({"contract": CONTRACT}))["digest"], summary.digest.as_str());
    assert!(!Component::check_contract("{}".into()).unwrap_err().is_empty());

    assert_eq!(Component::job(CONTRACT.into(), opening()).unwrap(), "exp_71c");
    assert_eq!(twin("job", &json!({"contract": CONTRACT, "opening": testing::opening()})), "exp_71c");
    let again = Component::rejoin(CONTRACT.into(), both.record.clone(), opening()).unwrap();
    assert_eq!(again.head, Component::read(both.record.clone()).unwrap().head);
    let mut wider = opening();
    wider.limits.max_throttles = Some(9);
    assert!(Component::rejoin(CONTRACT.into(), both.record.clone(), wider).is_err());

    let plan = Component::request(CONTRACT.into(), both.record.clone()).unwrap();
    let again = twin("request", &json!({"contract": CONTRACT, "record": both.record}));
    assert_eq!(again["url"], json!(plan.url));

    let notice = Component::notice(CONTRACT.into(), both.record.clone(), start()).unwrap();
    let at = Instant::from_ms(start()).unwrap();
    let again = twin("notice", &json!({"contract": CONTRACT, "record": both.record, "at": at}));
    assert_eq!(again["text"], notice.text.as_str());

    let answer = types::Answer {
        status: 503,
        headers: vec![("Retry-After".into(), "60".into()), ("Retry-After".into(), "60".into())],
        body: types::Body::Unreadable(types::Unreadable { why: "not_utf8".into(), sha256: "0".repeat(64), bytes: 3 }),
        incomplete: Some(types::TransportFault::Truncated),
        sent_at: start(),
        received_at: start(),
    };
    let trial = types::Trial { contract: CONTRACT.into(), answer, job: vec![], account: String::new(), ctx: vec![] };
    let tried = Component::try_answer(trial).unwrap();
    let input = json!({"contract": CONTRACT, "answer": {"status": 503,
        "headers": [["Retry-After", "60"], ["Retry-After", "60"]], "incomplete": "truncated",
        "body": {"unreadable": {"why": "not_utf8", "sha256": "0".repeat(64), "bytes": 3}},
        "sent_at": at, "received_at": at}});
    let again = twin("try_answer", &input);
    assert_eq!(again["observation"], tried.observation.as_str());
    let rejected: Vec<String> = tried.rejected.iter().map(|r| format!("{} {}", r.place, r.why)).collect();
    let again: Vec<String> = again["guidance"]["rejected"]
        .as_array()
        .unwrap()
        .iter()
        .map(|r| format!("{} {}", r["place"].as_str().unwrap(), r["why"].as_str().unwrap()))
        .collect();
    assert_eq!(rejected, again);
    assert_eq!(rejected.len(), 1, "{rejected:?}");
}

#[test]
fn a_log_is_verified_through_both_doors() {
    let opened = Component::open(CONTRACT.into(), opening(), start()).unwrap();
    let entries = vec![opened.entry.unwrap()];
    let log = audit::Log {
        entries: entries.clone(),
        contracts: vec![CONTRACT.into()],
        start: None,
        current: Some(opened.record.clone()),
        component: "0".repeat(64),
    };
    let report = <Component as audit::Guest>::verify(log);
    assert_eq!(report.verdict, audit::Verdict::Verified, "{report:?}");
    let input = json!({"entries": entries, "contracts": [CONTRACT], "current": opened.record,
        "component": "0".repeat(64)});
    let again = twin("verify", &input);
    assert_eq!(again["verdict"].to_string(), "\"verified\"");
    assert_eq!(again["record"], json!(report.record));
}
