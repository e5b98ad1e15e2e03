use serde_json::{Value, json};

use super::*;
use crate::classify::tests::contract;

fn faults(samples: Value) -> Vec<Fault> {
    run(&contract(
        &json!({ "samples": samples, "identity": [{"at": "/id", "equals": "part:id"}, {"at": "/account", "equals": "account"}],
        "ctx": {"kind": {"one_of": ["a", "b"]}} }),
    ))
}

fn sample(expect: &str, status: u16, body: Value) -> Value {
    let mut answer = json!({"status": status});
    if !body.is_null() {
        answer["body"] = body;
    }
    json!({"name": "s", "answer": answer, "job": {"id": "j1"}, "expect": expect})
}

#[test]
fn samples_that_come_out_as_stated_are_no_fault() {
    let done = json!({"id": "j1", "status": "done", "result_url": "https://files.provider.example/r"});
    let running = json!({"id": "j1", "account": "any", "status": "running"});
    let all = json!([
        sample("succeeded", 200, done),
        sample("pending", 200, running.clone()),
        sample("contradictory_response", 200, json!({"id": "j1", "status": "done"})),
        sample("identity_mismatch", 200, json!({"id": "j2", "status": "done"})),
        sample("unknown", 200, json!({"id": "j1"})),
        sample("unknown_state", 200, json!({"id": "j1"})),
        sample("failed", 200, json!({"id": "j1", "status": "failed"})),
        sample("job_failed", 200, json!({"id": "j1", "status": "failed"})),
        sample("not_found", 404, Value::Null),
        sample("throttled", 429, Value::Null),
        sample("unavailable", 503, Value::Null),
        sample("authorization_denied", 401, Value::Null),
        sample("unauthorized", 401, Value::Null),
        sample("integration_failure", 302, Value::Null),
        {"name": "page", "answer": {"status": 200, "text": "<html>"}, "expect": "unreadable_response"},
        // Without an id there is nothing to compare an echo with.
        {"name": "bare", "answer": {"status": 200, "body": running}, "expect": "pending"}
    ]);
    assert_eq!(faults(all), []);
}

#[test]
fn a_sample_that_does_not_is_named_with_what_came_out_and_by_which_rule() {
    let all = json!([
        sample("pending", 200, json!({"id": "j1", "status": "running"})),
        sample("succeeded", 200, json!({"id": "j1", "status": "running"})),
        sample("pending", 200, json!({"id": "j1", "status": "RUNNING"})),
        sample("pending", 503, Value::Null)
    ]);
    let faults = faults(all);
    let pointers: Vec<&str> = faults.iter().map(|fault| fault.pointer.as_str()).collect();
    assert_eq!(pointers, ["/samples/1/expect", "/samples/2/expect", "/samples/3/expect"]);
    assert_eq!(faults[0].message, "sample `s` came out as `pending`, not as `succeeded`, by rule 0");
    assert_eq!(
        faults[1].message,
        "sample `s` came out as `unknown`, not as `pending`, by rule 0: word `RUNNING` at `/status` is not in the table"
    );
    assert_eq!(faults[2].message, "sample `s` came out as `unavailable`, not as `pending`, by no rule of `decide`");
}
