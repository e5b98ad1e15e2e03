//! Hostile answers, by kinds: each is served over real HTTP to the real path, and what comes of it is compared with what
//! the rule says: where the operation stands, what was counted, and how many requests arrived.
//!
//! The table is data, a line a case: `heads` (statuses, guidance, redirects), `bodies` (what can't be read, isn't whole or
//! doesn't end) and `words` (states, echoes, ids). It runs through the library; a dozen of its lines through the program.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test that goes wrong should stop at once"
)]

#[path = "hostile_answers/bodies.rs"]
mod bodies;
#[path = "hostile_answers/case.rs"]
mod case;
#[path = "hostile_answers/heads.rs"]
mod heads;
#[path = "hostile_answers/program.rs"]
mod program;
#[path = "hostile_answers/server.rs"]
mod server;
#[path = "hostile_answers/wait.rs"]
mod wait;
#[path = "hostile_answers/words.rs"]
mod words;

use std::sync::Arc;

use case::Case;
use wait::{CANARY, Place};

/// Every line of the table.
fn table() -> Vec<Case> {
    let kinds: [fn() -> Vec<Case>; 12] = [
        // Those that last longest begin first.
        bodies::connections,
        bodies::floods,
        bodies::codings,
        bodies::texts,
        bodies::framing,
        heads::statuses,
        heads::retry_after,
        heads::hints,
        heads::redirects,
        words::states,
        words::echoes,
        words::ids,
    ];
    kinds.into_iter().flat_map(|kind| kind()).collect()
}

#[test]
fn every_answer_is_judged_by_its_rule_and_paid_for_once() {
    let place = Arc::new(Place::new());
    let cases = table();
    let count = cases.len();
    assert!(count > 900, "{count} cases");
    let wrong = place.wrong(cases);
    assert!(wrong.is_empty(), "{} faults in {count} cases:\n{}", wrong.len(), wrong.join("\n"));
    assert_eq!(place.server.strays(), [""; 0], "requests that nobody should have sent");
    assert_eq!(place.server.connections(), count as u64, "connections");
    place.elsewhere.saw_nobody();
    for entry in std::fs::read_dir(place.folder.path()).unwrap() {
        let path = entry.unwrap().path();
        let holds = std::fs::read(&path).unwrap().windows(CANARY.len()).any(|part| part == CANARY.as_bytes());
        assert_eq!(holds, path.ends_with("canary"), "{}", path.display());
    }
}

/// D28: nothing is opened for an id that could leave its segment or its header, and nothing is sent.
#[test]
fn d28_ids_that_are_no_segment_are_refused_at_opening() {
    let place = Place::new();
    for id in words::REFUSED_IDS {
        let refused = place.open(id, false, false).expect_err(id).to_string();
        assert!(refused.contains("id part"), "{id:?}: {refused}");
        assert!(!refused.contains(char::is_control), "{id:?}: {refused:?}");
    }
    assert_eq!(place.server.connections(), 0);
}
