//! The README's five minutes, played: its commands in a shell, with the real binary and the demo's provider, and what they
//! print compared with what it shows.
//!
//! What differs from run to run is made alike first: operation ids by order, digests, instants, delays, the port, the user.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test that goes wrong should stop at once"
)]

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use serde_json::Value;

const README: &str = include_str!("../README.md");
const SONDEO: &str = env!("CARGO_BIN_EXE_sondeo");

/// Where the README's provider listens.
const AUTHORITY: &str = "127.0.0.1:8080";

/// Who decides there.
const USER: &str = "ana";

/// Commands that take no part in the comparison: they belong to one shell.
const SHELL_ONLY: &str = "export ";

/// A command of the README, and what it shows under it.
struct Step {
    command: String,
    shown: String,
}

fn steps() -> Vec<Step> {
    let tour = README.split("## Five minutes\n").nth(1).unwrap().split("\n## ").next().unwrap();
    let blocks = tour.split("```console\n").skip(1).map(|block| block.split("```").next().unwrap());
    let mut steps: Vec<Step> = Vec::new();
    for line in blocks.flat_map(str::lines) {
        match line.strip_prefix("$ ") {
            Some(command) => steps.push(Step { command: command.to_owned(), shown: String::new() }),
            None => {
                let shown = &mut steps.last_mut().unwrap().shown;
                shown.push_str(line);
                shown.push('\n');
            }
        }
    }
    steps.retain(|step| !step.command.starts_with(SHELL_ONLY));
    steps
}

/// Operation ids of a text, in the order in which they turn up.
fn ids(text: &str) -> Vec<String> {
    let mut ids: Vec<String> = Vec::new();
    for word in text.split(|c: char| !c.is_ascii_hexdigit()).filter(|word| word.len() == 32) {
        if !ids.iter().any(|id| id == word) {
            ids.push(word.to_owned());
        }
    }
    ids
}

/// The text with all that may differ made alike.
fn alike(text: &str, ids: &[String], authority: &str) -> String {
    let mut text = text.replace(authority, "AUTHORITY");
    for (number, id) in ids.iter().enumerate() {
        text = text.replace(id.as_str(), &format!("OPERATION-{number}"));
    }
    let lines = text.lines().map(|line| match line.strip_prefix("Elapsed time: ") {
        Some(_) => "Elapsed time: A-WHILE".to_owned(),
        None => line.split(' ').map(word).collect::<Vec<_>>().join(" "),
    });
    lines.map(|line| line + "\n").collect()
}

/// Instants and digests; what stands around them stays.
fn word(word: &str) -> String {
    let core = word.trim_end_matches([',', '.', ')']);
    let rest = &word[core.len()..];
    let digits = core.chars().filter(char::is_ascii_digit).count();
    let instant = digits >= 6 && core.chars().all(|c| c.is_ascii_digit() || "-:.TZ".contains(c));
    let digest = core.len() == 12 && core.chars().all(|c| c.is_ascii_hexdigit());
    match (instant, digest) {
        (_, true) => format!("DIGEST{rest}"),
        (true, false) => format!("INSTANT{rest}"),
        (false, false) => word.to_owned(),
    }
}

/// Ended with the test, whatever becomes of it.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn provider(folder: &Path) -> (Running, String) {
    let mut command = Command::new(SONDEO);
    command.args(["demo", "--provider-only", "--json"]).current_dir(folder).stdin(Stdio::null()).stdout(Stdio::piped());
    let mut child = Running(command.spawn().unwrap());
    let mut line = String::new();
    BufReader::new(child.0.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let told: Value = serde_json::from_str(&line).unwrap();
    (child, told["provider"].as_str().unwrap().strip_prefix("http://").unwrap().to_owned())
}

/// What it prints, and its exit code.
fn run(command: &str, folder: &Path) -> (String, Option<i32>) {
    let bin = Path::new(SONDEO).parent().unwrap();
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    let mut shell = Command::new("sh");
    shell.arg("-c").arg(format!("({command}) 2>&1")).current_dir(folder).env("PATH", path);
    shell.env("SONDEO_STORE", "demo.db").env_remove("SONDEO_SEALING_KEY").stdin(Stdio::null());
    let output = shell.output().unwrap();
    (String::from_utf8(output.stdout).unwrap(), output.status.code())
}

#[test]
fn the_tour_comes_out_as_the_readme_shows_it() {
    let folder = tempfile::tempdir().unwrap();
    let (_provider, authority) = provider(folder.path());
    let steps = steps();
    assert!(steps.len() > 5, "{}", steps.len());
    let mut shown_so_far = String::new();
    let mut printed_so_far = String::new();
    for step in &steps {
        // A prefix of an id that the README has shown stands for the same operation here.
        let (theirs, ours) = (ids(&shown_so_far), ids(&printed_so_far));
        let words = step.command.split(' ').map(|word| {
            let same = theirs.iter().position(|id| word.len() > 3 && id.starts_with(word));
            same.map_or(word, |number| &ours[number][..word.len()])
        });
        let command = words.collect::<Vec<_>>().join(" ");
        let user = whoami::username().unwrap_or_else(|_| "unknown".to_owned());
        let (printed, code) = run(&command, folder.path());
        let printed = printed.replace(&format!(" {user} decided"), &format!(" {USER} decided"));
        // The exit codes that the text around it tells: 3 where it asks, 0 for the others.
        let asks = printed.contains("needs a decision");
        assert_eq!(code, Some(if asks { 3 } else { 0 }), "{command}\n{printed}");
        shown_so_far.push_str(&step.shown);
        printed_so_far.push_str(&printed);
        let shown = alike(&step.shown, &ids(&shown_so_far), AUTHORITY);
        let printed_alike = alike(&printed, &ids(&printed_so_far), &authority);
        // Two operations opened within one millisecond could be listed either way.
        let sorted = |text: &str| {
            let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
            if step.command == "sondeo verify" {
                lines.sort();
            }
            lines
        };
        assert_eq!(sorted(&printed_alike), sorted(&shown), "{}\n{printed}", step.command);
    }
}
