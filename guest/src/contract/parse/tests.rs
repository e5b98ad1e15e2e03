use alloc::{format, string::String, vec::Vec};

use super::*;
use crate::contract::{
    AddressSpec, BodyKind, Ceilings, CtxKind, EchoOf, FollowTarget, HintUnit, Op, Place, Ratio, Scalar, Then,
    TimeFormat,
};

/// A contract with these members beside the required ones; a member given here takes the place of a default one.
fn text(members: &str) -> String {
    let defaults = [
        r#""format": "sondeo.contract/1""#,
        r#""id": "acme.jobs""#,
        r#""provider": "Acme""#,
        r#""sources": ["docs"]"#,
        r#""request": {"url": "https://a.example/{job}", "id_parts": ["job"]}"#,
        r#""effects": {"kind": "none", "known": "docs"}"#,
        r#""origins": [{"origin": "https://a.example"}]"#,
        r#""decide": [{"map": {"at": "/s", "values": {"run": "pending"}}}]"#,
    ];
    let given: serde_json::Map<String, serde_json::Value> = serde_json::from_str(&format!("{{{members}}}")).unwrap();
    let name = |default: &str| default.split('"').nth(1).map(String::from).unwrap();
    let kept = |default: &&str| !given.contains_key(&name(default));
    let mut all: Vec<&str> = defaults.iter().copied().filter(kept).collect();
    if !members.is_empty() {
        all.push(members);
    }
    format!("{{{}}}", all.join(","))
}

fn read(members: &str) -> Contract {
    parse(&text(members)).unwrap()
}

fn faults(members: &str) -> Vec<String> {
    let list = parse(&text(members)).unwrap_err();
    list.into_iter().map(|f| format!("{}: {}", f.pointer, f.message)).collect()
}

#[test]
fn what_is_not_said_has_the_defaults_of_the_rules() {
    let contract = read("");
    assert_eq!(contract.request.method, "GET");
    assert_eq!(contract.request.timeout, 30_000);
    assert_eq!(contract.request.body_kind, BodyKind::Json);
    assert_eq!(contract.approval, Approval::PerOperation);
    assert_eq!(contract.url_policy, UrlPolicy::Fixed);
    assert_eq!(contract.reads, Reads::Json);
    let pace = contract.pace;
    assert_eq!((pace.base, pace.max, pace.min_delay), (5_000, 120_000, 1_000));
    assert_eq!((pace.factor, pace.floor), (Ratio { num: 2, den: 1 }, Ratio { num: 1, den: 2 }));
    assert_eq!((pace.spread, pace.throttle_steps), (Ratio { num: 1, den: 10 }, 3));
    assert_eq!(contract.limits.max_extensions, 1);
    assert_eq!(contract.limits.ceilings, Ceilings::default());
    assert!(!contract.not_found.after_seen_expired);
}

#[test]
fn d5_effects_need_an_approval_for_each_request_unless_said_otherwise() {
    let contract = read(r#""effects": {"kind": "bills", "known": "docs"}"#);
    assert_eq!(contract.approval, Approval::PerRequest);
}

#[test]
fn every_fault_is_named_not_only_the_first() {
    let list = faults(
        r#""provider": 1, "retention": "1 h", "x": 1, "request": {"id_parts": ["a-b"], "timeout": 5},
           "decide": [{"then": "done"}, {"when": {"code": 99}, "then": "failed"}]"#,
    );
    let pointers: Vec<&str> = list.iter().map(|line| line.split(": ").next().unwrap()).collect();
    assert_eq!(
        pointers,
        [
            "/provider",
            "/retention",
            "/request",
            "/request/id_parts/0",
            "/request/timeout",
            "/decide/0/then",
            "/decide/1/when/code",
            "/x"
        ]
    );
}

#[test]
fn a_fault_in_a_contract_inside_follow_stands_at_its_own_pointer() {
    let list = faults(r#""follow": {"header": "location", "contract": {"id": "next", "decide": []}}"#);
    assert!(list.iter().all(|line| line.starts_with("/follow/contract: lacks")), "{list:?}");
    assert_eq!(list.len(), 5);
}

#[test]
fn a_text_that_is_too_large_is_one_fault() {
    let large = format!("\"{}\"", "x".repeat(CONTRACT_BYTES_MAX));
    let list = parse(&large).unwrap_err();
    assert_eq!(list.len(), 1);
    assert!(list[0].message.contains("at most 262144 are read"), "{list:?}");
}

#[test]
fn nesting_is_bounded() {
    let mut when = String::from("{}");
    for _ in 0..50 {
        when = format!(r#"{{"not": [{when}]}}"#);
    }
    let list = faults(&format!(r#""decide": [{{"when": {when}, "then": "failed"}}]"#));
    assert_eq!(list.len(), 1);
    assert!(list[0].ends_with("is nested deeper than 64"), "{list:?}");
}

#[test]
fn conditions_are_read_with_ranges_types_and_negation() {
    let contract = read(
        r#""decide": [{"when": {"code": [200, "4xx", "500-503"],
             "test": [{"at": "/a", "is": ["x", 1.50, true, null], "fold": true}, {"header": "X-B", "above": -1}],
             "all": {"at": "/l", "test": [{"at": "", "kind": "text"}]},
             "after": {"at": "/t", "format": "epoch_ms", "ctx": "asked"},
             "not": [{"code": 404}]}, "then": "failed", "source": "docs"}]"#,
    );
    let rule = &contract.decide[0];
    assert_eq!(rule.when.code.as_deref(), Some([(200, 200), (400, 499), (500, 503)].as_slice()));
    let values = ["x".into(), "1.50".into()];
    let [x, number] = values;
    let scalars = [Scalar::Text(x), Scalar::Number(number), Scalar::Bool(true), Scalar::Null];
    assert_eq!(rule.when.tests[0].op, Op::Is { values: scalars.into(), fold: true });
    assert_eq!(rule.when.tests[1].place, Place::Header("x-b".into()));
    assert_eq!(rule.when.tests[1].op, Op::Above(-1));
    assert!(rule.when.array.as_ref().unwrap().all);
    assert_eq!(rule.when.after.as_ref().unwrap().format, TimeFormat::EpochMs);
    assert_eq!(rule.when.not[0].code.as_deref(), Some([(404, 404)].as_slice()));
    assert_eq!(rule.then, Then::Outcome(crate::contract::Outcome::Failed));
}

#[test]
fn addresses_facts_echoes_and_hints_are_read() {
    let contract = read(
        r#""request": {"url_from": {"header": "Operation-Location"}}, "reads": "text",
           "ctx": {"kind": {"one_of": ["a"], "required": true}, "t": {"time": true}},
           "identity": [{"at": "/n", "equals": "ctx:kind", "type": "number"}, {"header": "x", "equals": "first"}],
           "hints": [{"header": "x-reset", "unit": "epoch_s", "kind": "at"}],
           "follow": {"id_parts": {"job": {"at": "/next"}}},
           "price": {"per_request": "0.002", "currency": "USD"}"#,
    );
    let place = Place::Header("operation-location".into());
    assert_eq!(contract.request.address, AddressSpec::From(Some(place)));
    assert_eq!(contract.reads, Reads::Text);
    assert!(contract.ctx["kind"].required && !contract.ctx["t"].required);
    assert_eq!(contract.ctx["t"].kind, CtxKind::Time);
    assert_eq!(contract.identity[0].of, EchoOf::Ctx("kind".into()));
    assert!(contract.identity[0].number && !contract.identity[1].number);
    assert_eq!(contract.hints[0].unit, HintUnit::Time(TimeFormat::EpochS));
    assert!(matches!(contract.follow.unwrap().target, FollowTarget::Parts(parts) if parts.len() == 1));
    assert_eq!(contract.price.unwrap().per_request_micros, 2_000);
}

#[test]
fn a_samples_body_keeps_its_own_bytes_doubled_names_included() {
    let contract = read(
        r#""samples": [{"name": "n", "answer": {"status": 200, "headers": [["A", "1"], ["a", "2"]],
             "body": {"a" : 1.0, "a":2}}, "expect": "unreadable_response"}]"#,
    );
    let sample = &contract.samples[0];
    assert_eq!(sample.body.as_deref(), Some(r#"{"a" : 1.0, "a":2}"#));
    assert_eq!(sample.headers.len(), 2);
}
