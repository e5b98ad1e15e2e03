//! D11 and the conditions of DESIGN's contract file.

use super::*;

const CONTRADICTION: Judged = Judged::Stop(Reason::ContradictoryResponse);
const FILE: &str = "https://files.provider.example/r/1";

#[test]
fn d11_success_counts_only_with_its_reference() {
    let table = contract(&json!({}));
    let done = judge(&table, 200, json!({"status": "done", "result_url": FILE}));
    assert_eq!(done.judged, Judged::Is(Outcome::Succeeded));
    assert_eq!(done.results.len(), 1);
    assert_eq!(done.results[0].name, "file");
    assert_eq!(done.results[0].sha256, crate::digest::sha256_hex(FILE.as_bytes()));
    for (given, why) in [
        (json!({}), "`/result_url` is absent"),
        (json!({"result_url": null}), "`/result_url` is absent"),
        (json!({"result_url": ""}), "`/result_url` is empty"),
        (json!({"result_url": 7}), "`/result_url` is not a URL"),
        (json!({"result_url": true}), "`/result_url` is no reference"),
        (json!({"result_url": []}), "`/result_url` is empty"),
        (
            json!({"result_url": "http://169.254.169.254/x"}),
            "`/result_url` is on an origin that the contract does not allow",
        ),
        (
            json!({"result_url": "http://files.provider.example/x"}),
            "`/result_url` is on an origin that the contract does not allow",
        ),
        (json!({"result_url": "https://a@files.provider.example/x"}), "`/result_url` is not a URL"),
        (json!({"result_url": "https://files.provider.example\\@evil.example/x"}), "`/result_url` is not a URL"),
        (json!({"result_url": "javascript:alert(1)"}), "`/result_url` is not a URL"),
    ] {
        let mut body = given.clone();
        body["status"] = json!("done");
        let judgement = judge(&table, 200, body);
        assert_eq!(judgement.judged, CONTRADICTION, "{given}");
        assert_eq!(
            judgement.notes,
            ["the state was given as `done`".to_string(), format!("success without its reference: {why}")]
        );
        assert!(judgement.results.is_empty() && judgement.word.is_none(), "{given}");
    }
}

#[test]
fn d11_one_of_each_group_is_enough_and_forbidden_places_are_empty() {
    let groups = contract(&json!({
        "success": {"require": [{"any": [{"at": "/output_file"}, {"header": "location"}]}], "forbid": [{"at": "/error"}]},
        "result": {"output": {"at": "/output_file"}, "moved": {"header": "location", "url": true}},
        "actions": [{"name": "read", "needs": ["output"]}, {"name": "fetch", "needs": ["moved"]}, {"name": "publish", "needs": ["output", "moved"]}, {"name": "tell", "needs": []}]
    }));
    let judge =
        |headers: &[(&str, &str)], body: Value| World::default().judge(&groups, &answer(200, headers, text(body)));
    let by_body = judge(&[], json!({"status": "done", "output_file": "f-1", "error": null}));
    assert_eq!((by_body.judged, by_body.actions.join(" ")), (Judged::Is(Outcome::Succeeded), "read tell".into()));
    let by_header = judge(&[("Location", FILE)], json!({"status": "done", "error": {}}));
    assert_eq!((by_header.judged, by_header.actions.join(" ")), (Judged::Is(Outcome::Succeeded), "fetch tell".into()));
    let twice = judge(&[("Location", FILE), ("location", FILE)], json!({"status": "done"}));
    assert_eq!(twice.judged, CONTRADICTION);
    let foreign = judge(&[("Location", "https://evil.example/")], json!({"status": "done", "output_file": "f-1"}));
    assert_eq!((foreign.judged, foreign.actions.join(" ")), (Judged::Is(Outcome::Succeeded), "read tell".into()));
    for error in [json!({"code": "E42"}), json!("x"), json!(false), json!(0)] {
        let judgement = judge(&[], json!({"status": "done", "output_file": "f-1", "error": error}));
        assert_eq!(judgement.judged, CONTRADICTION, "{error}");
        assert_eq!(judgement.notes[1], "success with `/error`");
        assert_eq!(judgement.results.len(), 1, "a person may accept it");
    }
}

#[test]
fn d11_partial_takes_the_place_of_success() {
    let counting = contract(&json!({
        "decide": [{"when": {"code": [200, 303]}, "map": {"at": "/status", "values": {"done": "succeeded"}}}],
        "success": {"no_result": true, "source": "docs", "partial_if": [{"test": [{"at": "/counts/failed", "above": 0}]}]}
    }));
    for (failed, outcome) in [
        (json!(0), Outcome::Succeeded),
        (json!(1), Outcome::Partial),
        (json!(0.5), Outcome::Partial),
        (json!(-1), Outcome::Succeeded),
        (json!("1"), Outcome::Succeeded),
        (Value::Null, Outcome::Succeeded),
    ] {
        for status in [200, 303] {
            let judgement = judge(&counting, status, json!({"status": "done", "counts": {"failed": failed}}));
            assert_eq!(judgement.judged, Judged::Is(outcome), "{failed} {status}");
            assert_eq!(judgement.word.as_deref(), Some("done"));
        }
    }
    let huge = judge(&counting, 200, "{\"status\":\"done\",\"counts\":{\"failed\":1e400}}");
    assert_eq!(huge.judged, Judged::Is(Outcome::Partial));
}

#[test]
fn d11_success_that_the_contract_does_not_describe_is_none() {
    for success in [json!({}), json!({"require": [], "no_result": false})] {
        let silent = contract(&json!({"success": success}));
        assert_eq!(judge(&silent, 200, json!({"status": "done", "result_url": FILE})).judged, CONTRADICTION);
    }
    let mut without = contract(&json!({}));
    without.success = None;
    assert_eq!(judge(&without, 200, json!({"status": "done", "result_url": FILE})).judged, CONTRADICTION);
}

#[test]
fn d28_a_relative_result_is_resolved_against_the_address_asked() {
    let table = contract(&json!({"result_origins": ["https://api.provider.example"]}));
    let done = judge(&table, 200, json!({"status": "done", "result_url": "../results/1"}));
    assert_eq!(done.judged, Judged::Is(Outcome::Succeeded));
    let resolved = "https://api.provider.example/v1/results/1";
    assert_eq!(done.results[0].sha256, crate::digest::sha256_hex(resolved.as_bytes()));
}

#[test]
fn any_and_all_are_false_over_an_empty_array_and_over_none() {
    let lists = contract(&json!({"decide": [
        {"when": {"any": {"at": "/runs", "test": [{"at": "/state", "is": "bad"}]}}, "then": "failed"},
        {"when": {"all": {"at": "/runs", "test": [{"at": "/state", "is": ["good", "skipped"]}, {"at": "/error", "present": false}]}}, "then": "cancelled"}
    ]}));
    for (runs, outcome) in [
        (json!([]), Outcome::Unknown),
        (json!({"state": "bad"}), Outcome::Unknown),
        (Value::Null, Outcome::Unknown),
        (json!([{"state": "good"}, {"state": "skipped"}]), Outcome::Cancelled),
        (json!([{"state": "good"}, {"state": "running"}]), Outcome::Unknown),
        (json!([{"state": "good", "error": 1}]), Outcome::Unknown),
        (json!([{"state": "good"}, {"state": "bad"}]), Outcome::Failed),
        (json!([1, "x", null]), Outcome::Unknown),
    ] {
        assert_eq!(judge(&lists, 200, json!({"runs": runs})).judged, Judged::Is(outcome), "{runs}");
    }
}

#[test]
fn tests_compare_type_and_value() {
    let holds = |test: Value, body: &str| {
        let mut test = test;
        test["at"] = json!("/x");
        let one = contract(&json!({"decide": [{"when": {"test": [test]}, "then": "failed"}]}));
        judge(&one, 200, body).judged == Judged::Is(Outcome::Failed)
    };
    for (test, yes, no) in [
        (json!({"is": true}), &["true"][..], &["\"true\"", "1", "false", "null"][..]),
        (json!({"is": 20}), &["20", "20.0", "2e1"], &["\"20\"", "21", "200", "true"]),
        (json!({"is": null}), &["null"], &["\"\"", "0", "false", "[]"]),
        (json!({"is": "a"}), &["\"a\"", "\"\\u0061\""], &["\"A\"", "\"aa\"", "[\"a\"]"]),
        (json!({"is": ["a", 1, null]}), &["\"a\"", "1", "null"], &["\"1\"", "2"]),
        (json!({"is": "a", "fold": true}), &["\"A\""], &["\"\u{e1}\""]),
        (json!({"present": true}), &["0", "\"\"", "[]", "false"], &["null"]),
        (json!({"present": false}), &["null"], &["0", "\"\""]),
        (json!({"empty": true}), &["\"\"", "[]", "{}"], &["null", "0", "false", "[0]"]),
        (json!({"empty": false}), &["\"a\"", "[0]", "0", "false"], &["null", "\"\"", "{}"]),
        (json!({"kind": "text"}), &["\"\""], &["1", "null"]),
        (json!({"kind": "object"}), &["{}"], &["[]"]),
        (
            json!({"above": 9_007_199_254_740_992_i64}),
            &["9007199254740993", "1e400"],
            &["9007199254740992", "\"9007199254740993\"", "-1e400"],
        ),
    ] {
        for value in yes {
            assert!(holds(test.clone(), &format!("{{\"x\":{value}}}")), "{test} {value}");
        }
        for value in no {
            assert!(!holds(test.clone(), &format!("{{\"x\":{value}}}")), "{test} {value}");
        }
        let absent = test == json!({"present": false});
        assert_eq!(holds(test.clone(), "{}"), absent, "{test}");
    }
}

/// What a rule tests may be the result itself, which an observation knows by digest only.
#[test]
fn d11_a_result_is_tested_without_its_value() {
    let probing = contract(&json!({
        "result": {"r": {"at": "/r"}},
        "decide": [
            {"when": {"test": [{"at": "/r", "is": ["pending", 0, false]}]}, "then": "pending"},
            {"when": {"test": [{"at": "/r", "empty": true}]}, "then": "failed"},
            {"when": {"test": [{"at": "/r", "kind": "object"}]}, "then": "cancelled"},
            {"when": {"test": [{"at": "/r", "present": true}]}, "then": "expired"}
        ]
    }));
    for (value, outcome) in [
        (json!("pending"), Outcome::Pending),
        (json!(0), Outcome::Pending),
        (json!(false), Outcome::Pending),
        (json!([]), Outcome::Failed),
        (json!(""), Outcome::Failed),
        (json!({"a": 1}), Outcome::Cancelled),
        (json!("0"), Outcome::Expired),
        (Value::Null, Outcome::Unknown),
    ] {
        assert_eq!(judge(&probing, 200, json!({"r": value})).judged, Judged::Is(outcome), "{value}");
    }
}
