mod providers;
mod success;

use alloc::string::ToString;

use serde_json::{Value, json};

use super::*;
use crate::{
    api::{Answer, Body, TransportFault, Unreadable},
    observe::observe,
    url::Url,
};

/// A contract with a table of words at `/status`, changed by the members of `with`.
pub(crate) fn contract(with: &Value) -> Contract {
    let mut whole = json!({
        "format": "sondeo.contract/1",
        "id": "example.jobs",
        "provider": "Example",
        "sources": ["https://docs.provider.example/jobs"],
        "request": {"url": "https://api.provider.example/v1/jobs/{id}", "id_parts": ["id"]},
        "effects": {"kind": "none", "known": "a GET that the manual calls free"},
        "origins": [{"origin": "https://api.provider.example"}],
        "decide": [{"map": {"at": "/status", "values": {
            "running": "pending", "done": "succeeded", "failed": "failed", "stopped": "cancelled"
        }}}],
        "success": {"require": [{"at": "/result_url"}]},
        "result": {"file": {"at": "/result_url", "url": true}},
        "result_origins": ["https://files.provider.example"]
    });
    for (name, value) in with.as_object().unwrap() {
        whole[name] = value.clone();
    }
    crate::contract::parse::parse(&whole.to_string()).unwrap_or_else(|faults| panic!("{faults:?}"))
}

pub(crate) fn answer(status: u16, headers: &[(&str, &str)], body: Body) -> Answer {
    let at = Instant::parse_rfc3339("2026-03-02T12:00:00Z").unwrap();
    let headers = headers.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect();
    Answer { status, headers, body, incomplete: None, sent_at: at, received_at: at }
}

pub(crate) fn text(body: impl ToString) -> Body {
    Body::Text(body.to_string())
}

pub(crate) fn seen(contract: &Contract, answer: &Answer) -> Observation {
    let base = Url::parse("https://api.provider.example/v1/jobs/j1").unwrap();
    serde_json::from_str(&observe(contract, Some(&base), answer).observation).unwrap()
}

/// What is known in a test: job `j1` of account `acct`.
#[derive(Default)]
pub(crate) struct World {
    pub(crate) ctx: BTreeMap<String, Vec<String>>,
    pub(crate) incarnation: BTreeMap<String, String>,
    pub(crate) conditional_sent: bool,
}

impl World {
    pub(crate) fn judge(&self, contract: &Contract, answer: &Answer) -> Judgement {
        let job = BTreeMap::from([("id".to_string(), "j1".to_string())]);
        let known = Known {
            job: &job,
            account: "acct",
            ctx: &self.ctx,
            incarnation: &self.incarnation,
            conditional_sent: self.conditional_sent,
        };
        classify(contract, &known, &seen(contract, answer))
    }
}

pub(crate) fn judge(contract: &Contract, status: u16, body: impl ToString) -> Judgement {
    World::default().judge(contract, &answer(status, &[], text(body)))
}

const MISMATCH: Judged = Judged::Stop(Reason::IdentityMismatch);
const UNREADABLE: Judged = Judged::Stop(Reason::UnreadableResponse);

#[test]
fn d9_words_match_whole_and_exactly() {
    let exact = contract(&json!({}));
    for (status, outcome) in [
        (json!("running"), Outcome::Pending),
        (json!("failed"), Outcome::Failed),
        (json!("stopped"), Outcome::Cancelled),
        (json!("RUNNING"), Outcome::Unknown),
        (json!("running "), Outcome::Unknown),
        (json!("unsuccessful, not running"), Outcome::Unknown),
        (json!("\u{455}topped"), Outcome::Unknown),
        (json!(""), Outcome::Unknown),
        (json!(null), Outcome::Unknown),
        (json!(1), Outcome::Unknown),
        (json!(true), Outcome::Unknown),
        (json!(["running"]), Outcome::Unknown),
        (json!({"running": true}), Outcome::Unknown),
        (json!("running".repeat(100)), Outcome::Unknown),
    ] {
        let judgement = judge(&exact, 200, json!({"status": status}));
        assert_eq!(judgement.judged, Judged::Is(outcome), "{status}");
        assert_eq!(judgement.rule, Some(0));
    }
    assert_eq!(judge(&exact, 200, json!({"progress": 40})).judged, Judged::Is(Outcome::Unknown));
}

#[test]
fn d9_ascii_case_is_folded_only_where_the_contract_asks() {
    let folding =
        contract(&json!({"decide": [{"map": {"at": "/status", "fold": true, "values": {"Running": "pending"}}}]}));
    assert_eq!(judge(&folding, 200, json!({"status": "rUNNING"})).judged, Judged::Is(Outcome::Pending));
    assert_eq!(judge(&folding, 200, json!({"status": "Runn\u{131}ng"})).judged, Judged::Is(Outcome::Unknown));
}

#[test]
fn d9_the_note_says_which_word_was_taken_as_what() {
    let open = contract(&json!({"decide": [{"source": "docs", "map": {"at": "/status", "values": {"done": "failed"},
        "other": "pending", "missing": "pending"}}]}));
    let other = judge(&open, 200, json!({"status": "Warming\u{1b}[2JCaches"}));
    assert_eq!(other.judged, Judged::Is(Outcome::Pending));
    assert_eq!(other.notes, ["word `Warming[2JCaches` at `/status` is not in the table, taken as pending (other)"]);
    assert_eq!(other.word.as_deref(), Some("Warming[2JCaches"));
    for body in [json!({}), json!({"status": null}), json!(null), json!([])] {
        let missing = judge(&open, 200, &body);
        assert_eq!(missing.judged, Judged::Is(Outcome::Pending), "{body}");
        assert_eq!(missing.notes, ["no state at `/status`, taken as pending (missing)"]);
        assert_eq!(missing.word, None);
    }
    let wrong = judge(&open, 200, json!({"status": {}}));
    assert_eq!(wrong.notes, ["the value at `/status` is no word of the table, taken as pending (other)"]);
    let known = judge(&contract(&json!({})), 200, json!({"status": "running"}));
    assert_eq!((known.word.as_deref(), known.notes.len()), (Some("running"), 0));
}

#[test]
fn d8_the_first_rule_that_matches_wins_and_a_2xx_without_one_is_unknown() {
    let ordered = contract(&json!({"decide": [
        {"when": {"test": [{"at": "/blocked", "is": true}]}, "then": "needs_action"},
        {"when": {"test": [{"at": "/state", "is": "passed"}]}, "then": "failed"},
        {"when": {"code": 202, "test": [{"at": "/state", "is": "passed"}]}, "then": "pending"}
    ]}));
    let blocked = judge(&ordered, 200, json!({"state": "passed", "blocked": true}));
    assert_eq!((blocked.judged, blocked.rule), (Judged::Is(Outcome::NeedsAction), Some(0)));
    let failed = judge(&ordered, 202, json!({"state": "passed", "blocked": "true"}));
    assert_eq!((failed.judged, failed.rule), (Judged::Is(Outcome::Failed), Some(1)));
    assert_eq!(failed.word.as_deref(), Some("passed"));
    let none = judge(&ordered, 200, json!({"state": "odd"}));
    assert_eq!((none.judged, none.rule), (Judged::Is(Outcome::Unknown), None));
    // A rule without a status speaks of 2xx only.
    assert_eq!(judge(&ordered, 500, json!({"blocked": true})).judged, Judged::Is(Outcome::Unavailable));
}

#[test]
fn d26_to_d30_defaults_by_status() {
    use Outcome::{Expired, NotFound, Throttled, Unauthorized, Unavailable, Unknown};
    let table = contract(&json!({}));
    for (statuses, judged) in [
        (&[200, 202, 204, 299][..], Judged::Is(Unknown)),
        (&[401, 403, 407], Judged::Is(Unauthorized)),
        (&[404], Judged::Is(NotFound)),
        (&[410], Judged::Is(Expired)),
        (&[429], Judged::Is(Throttled)),
        (&[408, 421, 423, 425, 500, 502, 503, 522, 599], Judged::Is(Unavailable)),
        (
            &[300, 301, 302, 303, 304, 307, 400, 402, 405, 406, 409, 418, 422, 451, 499],
            Judged::Stop(Reason::IntegrationFailure),
        ),
    ] {
        for status in statuses {
            let judgement = World::default().judge(&table, &answer(*status, &[], Body::None));
            assert_eq!((judgement.judged, judgement.rule), (judged, None), "{status}");
        }
    }
    let proxy = World::default().judge(&table, &answer(407, &[], Body::None));
    assert_eq!(proxy.notes, ["a proxy refused, not the provider"]);
}

#[test]
fn d29_a_304_to_our_own_etag_is_no_failure() {
    let world = World { conditional_sent: true, ..World::default() };
    let judgement = world.judge(&contract(&json!({})), &answer(304, &[("ETag", "\"a\"")], Body::None));
    assert_eq!(judgement.judged, Judged::NotModified);
}

#[test]
fn d15_rules_come_before_the_defaults() {
    let failed = contract(&json!({"decide": [
        {"when": {"code": [200, 500]}, "map": {"at": "/status", "values": {"failed": "failed", "running": "pending"}}},
        {"when": {"code": "3xx", "test": [{"header": "location", "present": true}]}, "then": "failed"},
        {"when": {"code": 404, "test": [{"at": "/error", "is": "Job expired"}]}, "then": "expired"}
    ]}));
    assert_eq!(judge(&failed, 500, json!({"status": "failed"})).judged, Judged::Is(Outcome::Failed));
    assert_eq!(judge(&failed, 404, json!({"error": "Job expired"})).judged, Judged::Is(Outcome::Expired));
    assert_eq!(judge(&failed, 404, json!({"error": "Job not found"})).judged, Judged::Is(Outcome::NotFound));
    let redirect = World::default().judge(&failed, &answer(302, &[("Location", "/x")], Body::None));
    assert_eq!(redirect.judged, Judged::Is(Outcome::Failed));
}

#[test]
fn d15_no_rule_turns_a_refused_credential_into_a_wait() {
    for outcome in ["pending", "follow", "not_found", "throttled", "unavailable"] {
        let lenient = contract(&json!({"decide": [
            {"when": {"code": "4xx", "test": [{"at": "/error", "present": true}]}, "then": outcome}
        ]}));
        for status in [401, 403, 407] {
            let judgement = judge(&lenient, status, json!({"error": "x"}));
            assert_eq!(judgement.judged, Judged::Is(Outcome::Unauthorized), "{outcome} {status}");
            assert_eq!(judgement.notes, [format!("no rule turns {status} into `{outcome}`")]);
        }
    }
    let moderation = contract(&json!({"decide": [
        {"when": {"code": 403, "test": [{"at": "/name", "is": "content_moderation"}]}, "then": "failed"}
    ]}));
    assert_eq!(judge(&moderation, 403, json!({"name": "content_moderation"})).judged, Judged::Is(Outcome::Failed));
}

#[test]
fn d15_only_a_cited_rule_that_looks_past_the_code_makes_a_403_throttled() {
    let rule = |source: &str, test: Value| {
        let mut rule = json!({"when": {"code": [401, 403]}, "then": "throttled"});
        if !source.is_empty() {
            rule["source"] = json!(source);
        }
        if !test.is_null() {
            rule["when"]["test"] = json!([test]);
        }
        contract(&json!({ "decide": [rule] }))
    };
    let limit = json!({"header": "x-ratelimit-remaining", "is": "0"});
    let judged = |contract: &Contract, status| {
        World::default().judge(contract, &answer(status, &[("X-RateLimit-Remaining", "0")], Body::None)).judged
    };
    assert_eq!(judged(&rule("docs", limit.clone()), 403), Judged::Is(Outcome::Throttled));
    assert_eq!(judged(&rule("docs", limit.clone()), 401), Judged::Is(Outcome::Unauthorized));
    assert_eq!(judged(&rule("", limit), 403), Judged::Is(Outcome::Unauthorized));
    assert_eq!(judged(&rule("docs", Value::Null), 403), Judged::Is(Outcome::Unauthorized));
}

#[test]
fn d14_an_unreadable_2xx_stops_and_an_unreadable_error_is_judged_by_status() {
    let table = contract(&json!({"decide": [
        {"when": {"code": [200, 404]}, "source": "docs",
            "map": {"at": "/status", "values": {"running": "pending"}, "missing": "pending"}},
        {"when": {"code": 404, "test": [{"at": "/error", "present": false}]}, "then": "expired"}
    ]}));
    let page = "<html>upstream busy</html>";
    for body in [
        page,
        "{\"status\":\"running\"",
        "{\"status\":NaN}",
        &"[".repeat(100),
        "{\"status\":\"running\",\"status\":\"running\"}",
    ] {
        let judgement = judge(&table, 200, body);
        assert_eq!((judgement.judged, judgement.word), (UNREADABLE, None), "{body}");
        assert_eq!(judge(&table, 404, body).judged, Judged::Is(Outcome::NotFound), "{body}");
    }
    let cut = Body::Unreadable(Unreadable { why: "too_large".into(), sha256: "ab".into(), bytes: 9 });
    let judgement = World::default().judge(&table, &answer(200, &[], cut.clone()));
    assert_eq!(judgement.judged, UNREADABLE);
    assert_eq!(judgement.notes, ["the body is unreadable: too_large"]);
    assert_eq!(World::default().judge(&table, &answer(503, &[], cut)).judged, Judged::Is(Outcome::Unavailable));
}

#[test]
fn d14_a_2xx_without_a_body_is_judged_by_status_and_headers_alone() {
    let accepted = contract(&json!({"decide": [
        {"source": "docs", "map": {"at": "/status", "values": {"done": "failed"}, "missing": "pending"}},
        {"when": {"test": [{"at": "/error", "present": false}]}, "then": "failed"},
        {"when": {"not": [{"test": [{"at": "/error", "present": true}]}]}, "then": "failed"},
        {"when": {"all": {"at": "/a", "test": [{"at": "", "is": 1}]}}, "then": "failed"},
        {"when": {"code": 202, "test": [{"header": "x-state", "is": "queued"}]}, "then": "pending"},
        {"when": {"code": 205}, "source": "docs", "then": "pending"}
    ]}));
    for body in [Body::None, text(""), text(" \r\n\t"), text("\u{feff}")] {
        let judge = |status, headers: &[(&str, &str)]| {
            World::default().judge(&accepted, &answer(status, headers, body.clone())).judged
        };
        assert_eq!(judge(202, &[("X-State", "queued")]), Judged::Is(Outcome::Pending));
        assert_eq!(judge(205, &[]), Judged::Is(Outcome::Pending));
        assert_eq!(judge(204, &[]), Judged::Is(Outcome::Unknown));
    }
    assert_eq!(judge(&accepted, 200, "\u{feff}{\"status\":\"done\"}").judged, Judged::Is(Outcome::Failed));
}

#[test]
fn d14_an_exchange_that_did_not_complete_says_nothing_of_the_job() {
    let table = contract(&json!({"identity": [{"at": "/id", "equals": "part:id"}]}));
    let whole = "{\"id\":\"other\",\"status\":\"done\",\"result_url\":\"https://files.provider.example/r\"}";
    for (status, outcome) in [(200, Outcome::Unavailable), (429, Outcome::Throttled), (503, Outcome::Unavailable)] {
        let cut = Answer { incomplete: Some(TransportFault::Truncated), ..answer(status, &[], text(whole)) };
        let judgement = World::default().judge(&table, &cut);
        assert_eq!(judgement.judged, Judged::Is(outcome));
        assert!(judgement.results.is_empty() && judgement.word.is_none() && judgement.expires.is_none());
    }
}

#[test]
fn d13_another_value_or_type_of_an_echo_is_a_mismatch_before_all_else() {
    let echoing =
        contract(&json!({"identity": [{"at": "/id", "equals": "part:id"}, {"at": "/account", "equals": "account"}]}));
    let judge = |body: Value| judge(&echoing, 200, body);
    let right = json!({"id": "j1", "account": "acct", "status": "running"});
    assert_eq!(judge(right).judged, Judged::Is(Outcome::Pending));
    for body in [
        json!({"id": "j2", "account": "acct", "status": "done", "result_url": "https://files.provider.example/r"}),
        json!({"id": "j1", "account": "acct-9", "status": "running"}),
        json!({"id": 1, "account": "acct", "status": "running"}),
        json!({"id": ["j1"], "account": "acct", "status": "running"}),
        json!({"id": "J1", "account": "acct", "status": "running"}),
        // No rule is needed: what names another job is not used.
        json!({"id": "j2"}),
    ] {
        let judgement = judge(body.clone());
        assert_eq!(judgement.judged, MISMATCH, "{body}");
        assert!(judgement.results.is_empty() && judgement.word.is_none() && judgement.pins.is_empty(), "{body}");
    }
    let other = judge(json!({"id": "j2\u{202e}".repeat(40), "account": "acct"}));
    assert_eq!(other.notes.len(), 1);
    assert!(
        other.notes[0].starts_with("the echo `/id` of id part `id` is another: `j2j2") && other.notes[0].len() < 130
    );
}

#[test]
fn d13_a_missing_echo_is_a_mismatch_where_the_body_gave_an_outcome() {
    let echoing = contract(&json!({
        "identity": [{"at": "/id", "equals": "part:id"}],
        "decide": [
            {"map": {"at": "/status", "values": {"running": "pending"}}},
        ],
        "not_found": {}
    }));
    assert_eq!(judge(&echoing, 200, json!({"status": "running"})).judged, MISMATCH);
    assert_eq!(judge(&echoing, 200, json!({"status": "running", "id": null})).judged, MISMATCH);
    assert_eq!(judge(&echoing, 200, json!({"status": "odd"})).judged, Judged::Is(Outcome::Unknown));
    let by_header = contract(&json!({
        "identity": [{"at": "/id", "equals": "part:id"}],
        "decide": [{"when": {"test": [{"header": "x-state", "is": "queued"}]}, "then": "pending"}]
    }));
    let queued = |body| World::default().judge(&by_header, &answer(202, &[("x-state", "queued")], body)).judged;
    assert_eq!(queued(Body::None), Judged::Is(Outcome::Pending));
    assert_eq!(queued(text("{}")), Judged::Is(Outcome::Pending));
    assert_eq!(queued(text("{\"id\":\"j2\"}")), MISMATCH);
}

/// An error body's own `id` isn't the job's, but a rule that takes a verdict from it takes its echoes too.
#[test]
fn d13_the_echoes_of_an_error_count_where_a_rule_uses_it() {
    let echoing = contract(&json!({
        "identity": [{"at": "/id", "equals": "part:id"}],
        "decide": [{"when": {"code": [200, 500], "test": [{"at": "/status", "present": true}]},
            "map": {"at": "/status", "values": {"failed": "failed"}}}]
    }));
    assert_eq!(judge(&echoing, 500, json!({"id": "req-77", "error": "x"})).judged, Judged::Is(Outcome::Unavailable));
    assert_eq!(judge(&echoing, 404, json!({"id": "req-77"})).judged, Judged::Is(Outcome::NotFound));
    assert_eq!(judge(&echoing, 500, json!({"id": "j2", "status": "failed"})).judged, MISMATCH);
    assert_eq!(judge(&echoing, 500, json!({"status": "failed"})).judged, MISMATCH);
    assert_eq!(judge(&echoing, 500, json!({"id": "j1", "status": "failed"})).judged, Judged::Is(Outcome::Failed));
    assert_eq!(judge(&echoing, 303, json!({"id": "j2"})).judged, MISMATCH);
}

#[test]
fn d13_an_incarnation_is_pinned_when_first_seen() {
    let pinning = contract(&json!({"identity": [
        {"at": "/uid", "equals": "first"}, {"at": "/attempt", "equals": "first", "type": "number"}
    ]}));
    let body = |attempt: Value| answer(200, &[], text(json!({"uid": "u-1", "attempt": attempt, "status": "running"})));
    let mut world = World::default();
    let first = world.judge(&pinning, &body(Value::Null));
    assert_eq!(first.judged, Judged::Is(Outcome::Pending));
    assert_eq!(first.pins, [("/uid".to_string(), "u-1".to_string())]);
    world.incarnation.extend(first.pins);
    let second = world.judge(&pinning, &body(json!(1)));
    assert_eq!(second.pins, [("/attempt".to_string(), "1".to_string())]);
    world.incarnation.extend(second.pins);
    assert_eq!(world.judge(&pinning, &body(json!(1))).judged, Judged::Is(Outcome::Pending));
    for other in [json!(2), json!("1"), json!(1.0), Value::Null] {
        assert_eq!(world.judge(&pinning, &body(other.clone())).judged, MISMATCH, "{other}");
    }
}

#[test]
fn d13_a_numeric_echo_is_a_number_with_the_same_text() {
    let numeric = contract(&json!({"identity": [{"at": "/n", "equals": "ctx:number", "type": "number"}],
        "ctx": {"number": {"text": true}}}));
    let world = World { ctx: BTreeMap::from([("number".into(), Vec::from(["12".into()]))]), ..World::default() };
    let judge = |n: Value| world.judge(&numeric, &answer(200, &[], text(json!({"n": n, "status": "running"})))).judged;
    assert_eq!(judge(json!(12)), Judged::Is(Outcome::Pending));
    assert_eq!(judge(json!("12")), MISMATCH);
    assert_eq!(judge(json!(13)), MISMATCH);
}

#[test]
fn d12_checks_of_the_contract_contradict_what_a_rule_decided() {
    let checked = contract(&json!({
        "decide": [
            {"when": {"code": 500, "test": [{"at": "/status", "present": true}]}, "then": "failed"},
            {"map": {"at": "/status", "values": {"running": "pending", "done": "failed"}}}
        ],
        "consistency": [{
            "if": {"test": [{"at": "/status", "is": "running"}]},
            "must": [{"at": "/active", "is": true}],
            "must_not": [{"at": "/ended_at", "present": true}]
        }]
    }));
    assert_eq!(judge(&checked, 200, json!({"status": "running", "active": true})).judged, Judged::Is(Outcome::Pending));
    assert_eq!(judge(&checked, 200, json!({"status": "done"})).judged, Judged::Is(Outcome::Failed));
    let both = judge(&checked, 200, json!({"status": "running", "active": false, "ended_at": "x"}));
    assert_eq!(both.judged, Judged::Stop(Reason::ContradictoryResponse));
    assert_eq!(both.notes, ["the state was given as `running`", "consistency check 0 fails at `/active`, `/ended_at`"]);
    assert_eq!(both.word, None);
    // A rule chose this 500, so its checks hold it too.
    let error = judge(&checked, 500, json!({"status": "running"}));
    assert_eq!(error.judged, Judged::Stop(Reason::ContradictoryResponse));
}

#[test]
fn d10_unknown_stays_unknown_whatever_the_checks_say() {
    let checked = contract(&json!({"consistency": [{"if": {}, "must": [{"at": "/active", "is": true}]}]}));
    assert_eq!(judge(&checked, 200, json!({"status": "odd"})).judged, Judged::Is(Outcome::Unknown));
}

#[test]
fn d12_expiry_is_read_or_said_to_be_unreadable() {
    let expiring = contract(&json!({"expiry": {"at": "/expires_at", "format": "epoch_s"}}));
    let expires = |value: Value| judge(&expiring, 200, json!({"status": "running", "expires_at": value})).expires;
    assert_eq!(expires(json!(1_772_452_800)), Some(Ok(Instant::parse_rfc3339("2026-03-02T12:00:00Z").unwrap())));
    assert_eq!(expires(json!("1772452800")), expires(json!(1_772_452_800)));
    assert_eq!(expires(Value::Null), None);
    assert_eq!(judge(&expiring, 200, json!({"status": "running"})).expires, None);
    assert!(expires(json!("soon")).unwrap().is_err());
    assert!(expires(json!([])).unwrap().is_err());
    // An error that no rule uses is not the job's.
    assert_eq!(judge(&expiring, 500, json!({"expires_at": 1})).expires, None);
}

#[test]
fn d28_follow_and_exchange_outcomes_leave_no_word_but_the_jobs() {
    let words = contract(&json!({"decide": [{"map": {"at": "/status", "values":
        {"moved": "follow", "gone": "not_found", "slow": "throttled", "busy": "unavailable"}}}]}));
    assert_eq!(judge(&words, 200, json!({"status": "moved"})).word.as_deref(), Some("moved"));
    for word in ["gone", "slow", "busy"] {
        assert_eq!(judge(&words, 200, json!({"status": word})).word, None, "{word}");
    }
}
