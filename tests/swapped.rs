//! The host holds no decision: with another component in its place it obeys that one, and what breaks the bounds is refused
//! by host and store, whoever decided it (D33 `policy_fault`, D48, I2, I16).
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that goes wrong should stop at once"
)]

mod common;
#[path = "support/hostile.rs"]
mod hostile;

use common::Setup;

/// A component's file in the set-up's folder.
fn component(setup: &Setup, variant: &str) -> String {
    setup.file(&format!("{variant}.wasm"), hostile::build(variant))
}

/// One that always says "sleep 7 s" makes it sleep 7 s; one that always escalates ends the wait at its first look.
#[test]
fn the_host_obeys_whatever_component_decides() {
    let setup = Setup::new();
    let contract = setup.contract("c.json", |_| {});
    let sleepy = component(&setup, "sleep7");
    let running = setup.sondeo(&["watch", &contract, "running--sleepy", "--component", &sleepy]).start();
    setup.provider.wait_for_request("running--sleepy", 2);
    running.kill9();
    let show = setup.sondeo(&["show", &setup.id("running--sleepy"), "--json"]).run().code(0).json();
    let polled =
        show["entries"].as_array().unwrap().iter().find(|entry| entry["event"]["what"]["answered"].is_object());
    let polled = polled.unwrap();
    let at = chrono::DateTime::parse_from_rfc3339(polled["at"].as_str().unwrap()).unwrap();
    let until = chrono::DateTime::parse_from_rfc3339(polled["action"]["sleep"]["until"].as_str().unwrap()).unwrap();
    assert_eq!((until - at).num_milliseconds(), 7_000);

    let strict = component(&setup, "escalate");
    let done = setup.sondeo(&["watch", &contract, "running--strict", "--component", &strict]).run().code(3);
    assert!(done.line("External job needs a decision").contains("decision"));
    assert_eq!(setup.operation("running--strict").phase, "escalated");
}

/// One that spins, grows, recurses or traps ends its own operation and nothing else; nothing is sent for it, and a person can
/// decide on it.
#[test]
fn a_component_that_fails_ends_its_own_operation_only() {
    let setup = Setup::new();
    let contract = setup.contract("c.json", |_| {});
    for variant in ["spin", "grow", "recurse", "trap"] {
        let file = component(&setup, variant);
        let job = format!("running--{variant}");
        setup.sondeo(&["watch", &contract, &job, "--component", &file]).run().code(3);
        assert_eq!(setup.provider.count(&job), 0, "{variant}: something was sent");
        let list = setup.sondeo(&["list", "--json"]).run().code(0).json();
        let row = list["operations"].as_array().unwrap().iter().find(|row| row["jobs"][0] == *job).unwrap().clone();
        assert!(row["fault"].is_string(), "{variant}: {row}");
        // The pinned component can't even account for its fault: the program's own goes on with it.
        let id = setup.id(&job);
        setup.sondeo(&["decide", &id, "use-component", "--why", "tested"]).run().code(0);
        setup.sondeo(&["decide", &id, "close", "--why", "tested"]).run().code(0);
        assert_eq!(setup.operation(&job).phase, "settled");
    }
    setup.sondeo(&["watch", &contract, "done--beside"]).run().code(0);
    setup.sondeo(&["verify"]).run().code(0);
}

/// A send at or after the deadline, or beyond the budget, is refused whatever the component says: nothing leaves.
#[test]
fn what_breaks_the_bounds_is_refused() {
    let setup = Setup::new();
    let contract = setup.contract("c.json", |_| {});
    let late = component(&setup, "poll_after_deadline");
    let done = ["watch", &contract, "running--late", "--component", &late, "--deadline", "2s"];
    setup.sondeo(&done).run().code(3);
    let rows = setup.operations();
    let row = rows.iter().find(|row| row.job == "running--late").unwrap();
    assert!(setup.provider.count("running--late") <= row.used, "{}", row.stands);
    let over = component(&setup, "over_budget");
    let done = ["watch", &contract, "running--over", "--component", &over, "--max-requests", "2"];
    setup.sondeo(&done).run().code(3);
    assert!(setup.provider.count("running--over") <= 2);
}

/// One changed constant (the floor of the jitter, 1/2 to 1/3) diverges at the first entry that it made otherwise.
#[test]
fn a_changed_constant_diverges_at_its_first_entry() {
    let setup = Setup::new();
    let contract = setup.contract("c.json", |_| {});
    let floor = component(&setup, "floor_third");
    let job = "queued.running.done--floor";
    setup.sondeo(&["watch", &contract, job, "--component", &floor]).run().code(0);
    let found = setup.sondeo(&["replay", &setup.id(job), "--json"]).run().code(1).json();
    let finding = &found["operations"][0]["operation"];
    assert_eq!(finding["verdict"], "diverged", "{found}");
    assert_eq!(finding["entry"], 1, "the first delay is drawn already: {found}");
}
