//! A dozen lines of the table through the real program, and its memory while it is flooded.

use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use sondeo::component::types::Reason;
use sondeo::controller::{asks, reason_word};

use super::bodies;
use super::case::{Case, RUNNING, http, waits};
use super::table;
use super::wait::{CANARY, Place};
use super::words;

/// Lines of the table that end the wait, by their names.
const REPRESENTATIVE: [&str; 12] = [
    "status 404",
    "status 407",
    "302 to `$ELSEWHERE/steal`",
    "503, the last one",
    "429, the last one",
    "announces more, the last one",
    "reset before the answer, the last one",
    "hangs, the last one",
    "gzip bomb",
    "two BOMs",
    "state \"unsuccessful\"",
    "failed of job \"another\"",
];

/// Most memory that the program may ever have had, in KiB; a body is 1 GiB.
const MEMORY_KIB_MAX: u64 = 200 * 1024;

/// How long anything may take on a loaded machine.
const PATIENCE: Duration = Duration::from_secs(100);

fn sondeo(place: &Place, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sondeo"));
    command.args(args).arg("--store").arg(place.folder.path().join("program.db"));
    command.env_remove("SONDEO_STORE").env_remove("SONDEO_SEALING_KEY").env("RUST_BACKTRACE", "0");
    command.stdin(Stdio::null());
    command
}

fn contract(place: &Place, short: bool) -> String {
    let path = place.folder.path().join(if short { "short.json" } else { "contract.json" });
    std::fs::write(&path, place.contract(short)).unwrap();
    path.display().to_string()
}

fn told(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

#[test]
fn the_program_judges_a_dozen_of_them_alike() {
    let place = Place::new();
    let (long, short) = (contract(&place, false), contract(&place, true));
    let table = table();
    for (number, name) in REPRESENTATIVE.iter().enumerate() {
        let case = table.iter().find(|case| case.what == *name).unwrap_or_else(|| panic!("no case `{name}`"));
        let job = format!("job-{number}");
        place.server.answers(&job, &case.answer);
        let contract = if case.short { &short } else { &long };
        let mut args = vec!["watch", contract, &job, "--json"];
        let credential = place.credential();
        args.extend(["--credential", &credential]);
        if case.last {
            args.extend(["--max-requests", "1", "--max-failures", "1", "--max-throttles", "1"]);
        }
        let output = sondeo(&place, &args).output().unwrap();
        ended(name, case, &output);
        assert_eq!(place.server.asked(&job).len(), 1, "{name}");
    }
    let verified = sondeo(&place, &["verify"]).output().unwrap();
    assert_eq!(verified.status.code(), Some(0), "{}", told(&verified));
    place.elsewhere.saw_nobody();
}

/// Exit code, reason, counters; and no word of the credential.
fn ended(name: &str, case: &Case, output: &Output) {
    let said = told(output);
    let super::case::Stands::Asks(reason) = case.expect.stands else {
        panic!("`{name}` does not end the wait");
    };
    assert_eq!(output.status.code(), Some(if asks(reason) { 3 } else { 4 }), "{name}: {said}");
    let end: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{name}: {error}: {said}"));
    assert_eq!(end["notice"]["reason"], reason_word(reason), "{name}: {said}");
    let notice = &end["notice"];
    let used = ["requests", "failures", "throttles"].map(|budget| notice[budget]["used"].as_u64().unwrap());
    assert_eq!(used, [1, case.expect.failures.into(), case.expect.throttles.into()], "{name}: {said}");
    assert!(!said.contains(CANARY) && !said.contains("panicked"), "{name}: {said}");
}

#[test]
fn d28_the_program_refuses_ids_that_are_no_segment() {
    let place = Place::new();
    let contract = contract(&place, false);
    // What can't be an argument at all is left to the library's test.
    for id in words::REFUSED_IDS.iter().filter(|id| !id.contains('\0')).step_by(4) {
        let args = ["watch", &contract, "--credential", &place.credential(), "--", id];
        let mut command = Command::new(env!("CARGO_BIN_EXE_sondeo"));
        command.env("SONDEO_STORE", place.folder.path().join("program.db")).stdin(Stdio::null());
        let output = command.args(args).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{id:?}: {}", told(&output));
    }
    assert_eq!(place.server.connections(), 0);
}

/// Ended with the test, whatever becomes of it.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ended = self.0.kill();
        let _reaped = self.0.wait();
    }
}

/// D14: what is read of a body stops at the limit, and with it the memory, for several at once.
#[cfg(target_os = "linux")]
#[test]
fn d14_memory_stays_bounded_while_the_program_is_flooded() {
    let place = Place::new();
    let contract = contract(&place, false);
    let mut cases = bodies::floods();
    cases.extend(bodies::codings().into_iter().filter(|case| case.what.contains("bomb")));
    // One that goes on waiting, so that the program is there to be looked at.
    cases.push(Case::new("D8", "running", http(200, &[], RUNNING), waits()));
    for (number, case) in cases.iter().enumerate() {
        let job = format!("job-{number}");
        place.server.answers(&job, &case.answer);
        let opened = sondeo(&place, &["open", &contract, &job, "--credential", &place.credential()]).output().unwrap();
        assert_eq!(opened.status.code(), Some(0), "{}", told(&opened));
    }
    let output = std::fs::File::create(place.folder.path().join("told")).unwrap();
    let errors = output.try_clone().unwrap();
    let running = Running(sondeo(&place, &["run"]).stdout(output).stderr(errors).spawn().unwrap());
    let start = Instant::now();
    let said = loop {
        let said = std::fs::read_to_string(place.folder.path().join("told")).unwrap();
        if said.lines().filter(|line| !line.contains("note:")).count() >= cases.len() {
            break said;
        }
        assert!(start.elapsed() < PATIENCE, "{said}");
        std::thread::sleep(Duration::from_millis(20));
    };
    let status = std::fs::read_to_string(format!("/proc/{}/status", running.0.id())).unwrap();
    let most = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    let most: u64 = most.trim().trim_end_matches(" kB").parse().unwrap();
    assert!(most < MEMORY_KIB_MAX, "{most} KiB at most\n{said}");
    let unreadable = said.matches(&reason_word(Reason::UnreadableResponse).replace('_', " ")).count();
    assert_eq!(unreadable, 4, "{said}");
    for (number, case) in cases.iter().enumerate() {
        let job = format!("job-{number}");
        assert_eq!(place.server.asked(&job).len(), 1, "{}", case.what);
        let taken = place.server.taken(&job);
        assert!(taken < bodies::GIB / 8, "{}: {taken} bytes were taken", case.what);
    }
    println!("at most {most} KiB");
}
