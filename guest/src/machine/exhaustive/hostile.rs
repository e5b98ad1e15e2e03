//! Records and events that nobody would write: refused, or judged, but never a panic (in a debug build, not an overflow).

use serde_json::{Value, json};

use super::*;
use crate::json::call;

/// What a leaf is replaced with.
fn odd() -> Vec<Value> {
    Vec::from([
        Value::Null,
        json!(0),
        json!(1),
        json!(u32::MAX),
        json!(limits::FENCE_MAX),
        json!(u64::MAX),
        json!(-1),
        json!(1e300),
        json!(true),
        json!(""),
        json!("\u{0}\u{202e}\n"),
        json!("x".repeat(70_000)),
        json!("9999-12-31T23:59:59.999Z"),
        json!("1970-01-01T00:00:00.000Z"),
        json!([]),
        json!({}),
    ])
}

/// Pointers to every leaf.
fn leaves(value: &Value, at: &str, found: &mut Vec<String>) {
    match value {
        Value::Object(map) if !map.is_empty() => {
            map.iter().for_each(|(key, inner)| leaves(inner, &format!("{at}/{key}"), found));
        }
        Value::Array(all) if !all.is_empty() => {
            all.iter().enumerate().for_each(|(index, inner)| leaves(inner, &format!("{at}/{index}"), found));
        }
        _ => found.push(at.into()),
    }
}

fn odd_ones(value: &Value) -> Vec<Value> {
    let mut found = Vec::new();
    leaves(value, "", &mut found);
    let replaced = |at: &String, odd: Value| {
        let mut value = value.clone();
        *value.pointer_mut(at).unwrap() = odd;
        value
    };
    found.iter().flat_map(|at| odd().into_iter().map(move |odd| replaced(at, odd))).collect()
}

fn some_events(r: &Record, seen: &[Observation]) -> Vec<What> {
    let (attempt, fence) = (r.status_requests_used, r.fence);
    let extend = DecisionWhat::Extend { extension: extension(), done: Some("done".into()) };
    Vec::from([
        What::Leased { fence: fence + 1, expires_at: at("10:59:00"), credential: None },
        What::Answered { attempt, fence, observation: Box::new(seen[18].clone()) },
        What::Paced { until: at("11:10:00") },
        What::Pushed { push: Push { authentic: true, job: Some("exp_71c".into()) } },
        decided(r.authority_revision, "d9", extend),
    ])
}

#[test]
fn an_odd_record_is_refused_or_judged() {
    let all = records(CONTRACT);
    let (mut refused, mut judged) = (0, 0);
    for record in [&all[1], &all[2], &all[9]] {
        let r = Record::parse(record).unwrap();
        let seen = seen(CONTRACT, record, r.last_at);
        let events = some_events(&r, &seen);
        for odd in odd_ones(&serde_json::from_str(record).unwrap()) {
            let text = odd.to_string();
            if Record::parse(&text).is_err() {
                refused += 1;
                continue;
            }
            for what in &events {
                match step(CONTRACT, &text, &Event { at: at("10:58:30"), what: what.clone() }) {
                    Ok(made) => {
                        judged += 1;
                        assert!(made.entry.is_none_or(|entry| Entry::parse(&entry).is_ok()));
                    }
                    Err(_) => refused += 1,
                }
            }
            drop(crate::notice::notice(CONTRACT, &text, at("10:58:30")));
            drop(crate::request::request(CONTRACT, &text));
        }
    }
    println!("{refused} refused, {judged} judged");
    assert!(refused > 1_000 && judged > 1_000);
}

#[test]
fn an_odd_event_or_opening_is_refused_or_judged() {
    let record = records(CONTRACT).swap_remove(2);
    let r = Record::parse(&record).unwrap();
    let seen = seen(CONTRACT, &record, r.last_at);
    let stepped =
        |event: &Value| call("step", &json!({"contract": CONTRACT, "record": record, "event": event}).to_string());
    for what in some_events(&r, &seen) {
        let event = serde_json::to_value(Event { at: at("10:58:30"), what }).unwrap();
        for odd in odd_ones(&event) {
            let (Ok(text) | Err(text)) = stepped(&odd);
            assert!(text.len() < 1_000_000 && serde_json::from_str::<Value>(&text).is_ok());
        }
    }
    for odd in odd_ones(&serde_json::to_value(tight()).unwrap()) {
        let input = json!({"contract": CONTRACT, "opening": odd, "at": "2025-04-18T10:20:00.000Z"});
        let (Ok(text) | Err(text)) = call("open", &input.to_string());
        assert!(text.len() < 1_000_000 && serde_json::from_str::<Value>(&text).is_ok());
    }
}

#[test]
fn deep_and_broken_texts_are_refused_by_every_function() {
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    let objects = format!("{}1{}", "{\"a\":".repeat(50_000), "}".repeat(50_000));
    for function in crate::json::FUNCTIONS {
        for input in [deep.as_str(), objects.as_str(), "", "{", "null", "\u{feff}{}", "{\"contract\": 1e999}"] {
            let (Ok(text) | Err(text)) = call(function, input);
            assert!(text.len() < 10_000, "{function}");
        }
        for place in ["contract", "record", "event", "opening", "answer", "entries", "at", "unknown"] {
            for inner in [&deep, &objects] {
                assert!(call(function, &format!("{{\"{place}\": {inner}}}")).is_err(), "{function} {place}");
                let text = json!({place: inner}).to_string();
                assert!(call(function, &text).is_err(), "{function} {place} as a text");
            }
        }
    }
    let record = records(CONTRACT).swap_remove(0);
    for text in [&deep, &objects] {
        assert!(Record::parse(text).is_err());
        assert!(Entry::parse(text).is_err());
        let nested = record.replacen("\"ctx\":{}", &format!("\"ctx\":{text}"), 1);
        assert!(Record::parse(&nested).is_err());
        let log = Log {
            entries: Vec::from([text.clone()]),
            contracts: Vec::from([text.clone()]),
            start: None,
            current: Some(text.clone()),
            component: String::new(),
        };
        assert_eq!(verify::verify(&log).verdict, Verdict::Broken);
    }
}

/// An agent may propose what it likes: the record keeps room for the answers and ends to come (D32, D39).
#[test]
fn d39_proposals_never_fill_a_record() {
    let mut record = open::open(CONTRACT, &tight(), at("10:20:00")).unwrap().record;
    for n in 0..20 {
        let words = "\"\\\n".repeat(limits::WHY_BYTES_MAX / 3);
        let greedy =
            Proposal { why: words.clone(), expected_effect: words, ..proposal(&format!("{n}{}", "\"".repeat(200))) };
        let event = Event { at: at("10:20:01"), what: What::Proposed { proposal: greedy } };
        if let Ok(made) = step(CONTRACT, &record, &event) {
            record = made.record;
        }
    }
    assert!(record.len() <= limits::RECORD_PROPOSED_BYTES_MAX, "{}", record.len());
    let ended = step(CONTRACT, &record, &Event { at: at("11:00:00"), what: What::Woke { credential: None } }).unwrap();
    assert!(matches!(ended.action, Action::Escalate { .. }));
}

/// D3: however slow a growth and however large a budget, an opening is worked out at once.
#[test]
fn d3_a_budget_is_worked_out_in_bounded_time() {
    for (base, max, factor) in [
        ("11d", "36500d", "1000001/1000000"),
        ("1ms", "36500d", "4294967295/4294967294"),
        ("1d", "36500d", "1001/1000"),
    ] {
        let pace = format!(
            "{{\"spread\": \"0\", \"base\": \"{base}\", \"max\": \"{max}\", \"factor\": \"{factor}\", \"first_delay\": \"1s\"}}"
        );
        let contract = CONTRACT.replace("{\"spread\": \"0\"}", &pace);
        let mut opening = opening();
        opening.limits.max_status_requests = Some(limits::BUDGET_MAX);
        let opened = open::open(&contract, &opening, at("10:20:00")).unwrap();
        assert!(opened.operation.spent_earliest <= opened.operation.spent_latest);
    }
}
