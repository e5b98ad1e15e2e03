//! `sondeo demo`, as people run it: the real binary, its provider over real HTTP, its exit code.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test that goes wrong should stop at once"
)]

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

/// How each job has to end, whatever the seed: written down here, so that no story can change its own end.
const ENDINGS: [(&str, &str); 14] = [
    ("quick", "succeeded"),
    ("throttled", "succeeded"),
    ("dated", "succeeded"),
    ("flaky", "succeeded"),
    ("moving", "succeeded"),
    ("failing", "job_failed"),
    ("vanishing", "job_expired"),
    ("renamed", "unknown_state"),
    ("blocked", "needs_action"),
    ("hanging", "ambiguous_delivery"),
    ("garbled", "unreadable_response"),
    ("empty", "contradictory_response"),
    ("swapped", "identity_mismatch"),
    ("endless", "deadline_exceeded"),
];

fn sondeo() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sondeo"));
    command.env_remove("SONDEO_STORE").env_remove("SONDEO_SEALING_KEY").stdin(Stdio::null());
    command
}

fn text(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

#[test]
fn every_job_ends_as_scripted_within_its_charges_and_its_log_verifies() {
    let folder = tempfile::tempdir().unwrap();
    let start = Instant::now();
    let output = sondeo().args(["demo", "--json", "--seed", "7", "--keep"]).arg(folder.path()).output().unwrap();
    let took = start.elapsed();
    assert_eq!(output.status.code(), Some(0), "{}", text(&output));
    assert!(took < Duration::from_secs(60), "{took:?}");

    let told: Value = serde_json::from_slice(&output.stdout).unwrap();
    let jobs = told["jobs"].as_array().unwrap();
    let ended: BTreeMap<&str, &str> =
        jobs.iter().map(|job| (job["job"].as_str().unwrap(), job["ended"].as_str().unwrap())).collect();
    assert_eq!(ended, ENDINGS.into_iter().collect());
    for job in jobs {
        let (charged, counted) = (job["charged"].as_u64().unwrap(), job["counted"].as_u64().unwrap());
        assert!(counted >= 1 && counted <= charged, "{}: {counted} counted, {charged} charged", job["job"]);
        assert_eq!(job["verify"]["verdict"], "verified", "{job}");
        let asks = !["succeeded", "job_failed", "job_expired"].contains(&job["ended"].as_str().unwrap());
        assert_eq!(job["notice"]["asks"], asks, "{job}");
    }
    // What each story is there to show is in its log.
    for (job, shows) in [
        ("quick", "from provider guidance"),
        ("throttled", "from provider guidance"),
        ("dated", "from provider guidance"),
        ("dated", "GMT, next poll"),
        ("moving", "running.done--moving"),
        ("failing", "the disk is full"),
    ] {
        let story = jobs.iter().find(|value| value["job"] == job).unwrap()["story"].to_string();
        assert!(story.contains(shows), "{job}: {story}");
    }

    // What was kept is a store like any other.
    let store = folder.path().join("demo.db");
    let verified = sondeo().arg("verify").arg("--store").arg(&store).output().unwrap();
    assert_eq!(verified.status.code(), Some(0), "{}", text(&verified));
    let again = sondeo().args(["demo", "--keep"]).arg(folder.path()).output().unwrap();
    assert_eq!(again.status.code(), Some(2), "a kept demo is not written over: {}", text(&again));
}

/// Ended with the test, whatever becomes of it.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn get(authority: &str, path: &str) -> String {
    let mut stream = TcpStream::connect(authority).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    write!(stream, "GET {path} HTTP/1.1\r\nHost: {authority}\r\nConnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

#[test]
fn the_provider_alone_answers_and_its_contract_waits_for_its_jobs() {
    let folder = tempfile::tempdir().unwrap();
    let child = sondeo()
        .args(["demo", "--provider-only", "--json"])
        .current_dir(folder.path())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut child = Running(child);
    let mut line = String::new();
    BufReader::new(child.0.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let told: Value = serde_json::from_str(&line).unwrap();
    let authority = told["provider"].as_str().unwrap().strip_prefix("http://").unwrap();
    assert_eq!(told["jobs"].as_array().unwrap().len(), ENDINGS.len());

    assert!(get(authority, "/v1/jobs/is-paused").contains(r#""state":"paused""#));
    let witness = get(authority, "/witness");
    assert!(witness.contains(r#"{"is-paused":1}"#), "{witness}");

    // The command that it prints, word for word.
    let watch = told["watch"].as_str().unwrap();
    let mut words = watch.split(' ');
    assert_eq!(words.next(), Some("sondeo"));
    let watched = sondeo().args(words).current_dir(folder.path()).output().unwrap();
    assert_eq!(watched.status.code(), Some(0), "{watch}: {}", text(&watched));
    assert!(text(&watched).contains("settled: succeeded"), "{}", text(&watched));
    assert!(text(&watched).contains(&format!("http://{authority}/files/quick")), "{}", text(&watched));
}
