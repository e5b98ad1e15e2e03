//! What a user waits for: whole processes, from their start to what they are asked for.
//!
//! Each figure is the median of [`ROUNDS`] runs, with the fastest and the slowest beside it. Nothing leaves the machine.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a bench that goes wrong should stop at once, and prints"
)]

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use sondeo::component::Component;
use sondeo::component::types::{LimitsGiven, Opening};

/// How often each is run.
const ROUNDS: usize = 21;

/// Operations in the store that is listed.
const LISTED: usize = 1_000;

/// The shortest first delay that a contract can ask for; taken off.
const FIRST_DELAY: Duration = Duration::from_millis(1);

const DEMO: &str = include_str!("../host/contracts/demo/jobs.json");

fn sondeo(store: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sondeo"));
    command.arg("--store").arg(store).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.env_remove("SONDEO_SEALING_KEY");
    command
}

/// Runs to the end.
fn whole(mut command: Command) -> Duration {
    let start = Instant::now();
    let status = command.status().unwrap();
    let took = start.elapsed();
    assert!(status.success(), "{command:?}: {status}");
    took
}

fn told(what: &str, mut times: Vec<Duration>) {
    times.sort();
    let ms = |at: usize| times[at].as_secs_f64() * 1_000.0;
    println!("{what:<58} {:>8.1} ms   ({:.1} to {:.1})", ms(times.len() / 2), ms(0), ms(times.len() - 1));
}

/// A contract for the listener there, which may be asked at once.
fn contract(authority: &str) -> String {
    let text = DEMO.replace("127.0.0.1:8080", authority);
    let text = text.replace(r#""first_delay": "300ms""#, r#""first_delay": "1ms""#);
    text.replace(r#""min_delay": "200ms""#, r#""min_delay": "1ms""#)
}

/// From the start of `watch` to the first byte of its first request: the component is compiled, the store made, the
/// operation opened and the request charged by then.
fn first_request(folder: &Path, round: usize) -> Duration {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let file = folder.join("contract.json");
    std::fs::write(&file, contract(&listener.local_addr().unwrap().to_string())).unwrap();
    let start = Instant::now();
    let mut command = sondeo(&folder.join(format!("first-{round}.db")));
    let mut child = command.arg("watch").arg(&file).arg("a").spawn().unwrap();
    let (mut stream, _) = listener.accept().unwrap();
    stream.read_exact(&mut [0]).unwrap();
    let took = start.elapsed();
    stream.write_all(b"HTTP/1.1 401 Unauthorized\r\ncontent-length: 0\r\nconnection: close\r\n\r\n").unwrap();
    child.wait().unwrap();
    took.saturating_sub(FIRST_DELAY)
}

/// A store with many operations that wait.
fn filled(path: &Path) {
    use sondeo::clock::{Clock, SystemClock};
    use sondeo::controller::{Controller, NewOperation};
    let clock: std::sync::Arc<dyn Clock> = std::sync::Arc::new(SystemClock::new());
    let store = sondeo::store::SqliteStore::open(path, std::sync::Arc::clone(&clock)).unwrap();
    let controller = Controller::new(std::sync::Arc::new(store), clock, Component::embedded().unwrap(), None);
    for number in 0..LISTED {
        let opening = Opening {
            operation_id: String::new(),
            namespace: "default".into(),
            component: String::new(),
            account: "default".into(),
            credential: None,
            job: vec![("job".into(), format!("job-{number}"))],
            address: None,
            ctx: vec![],
            fingerprint: None,
            opened_by: "cli".into(),
            submitted_at: None,
            job_expires_at: None,
            limits: LimitsGiven {
                deadline: None,
                useful_until: None,
                max_status_requests: None,
                max_transport_failures: None,
                max_throttles: None,
            },
            approval_per_request: false,
            lease_ms: 60_000,
            seed: String::new(),
            submission: None,
            submission_unknown: false,
            sealing: false,
            predecessor: None,
        };
        let new = NewOperation { contract: DEMO.into(), contract_id: "demo.jobs".into(), opening, kept: Vec::new() };
        controller.open(&new).unwrap();
    }
}

fn main() {
    let folder = tempfile::tempdir().unwrap();
    let unused = folder.path().join("unused.db");
    let version = || {
        let mut command = sondeo(&unused);
        command.arg("--version");
        whole(command)
    };
    told("sondeo --version", (0..ROUNDS).map(|_| version()).collect());
    let store = folder.path().join("listed.db");
    filled(&store);
    let list = || {
        let mut command = sondeo(&store);
        command.arg("list");
        whole(command)
    };
    told(&format!("sondeo list, {LISTED} operations"), (0..ROUNDS).map(|_| list()).collect());
    let first = (0..ROUNDS).map(|round| first_request(folder.path(), round)).collect();
    told("sondeo watch, from the start to the first charged request", first);
}
