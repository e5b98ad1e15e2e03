//! The picture of `watch` in the README is what `watch` prints: a real run against the demo's provider, drawn.
//!
//! `SONDEO_BLESS=1 cargo test --test picture` draws it anew. Instants are made even first, so that each run gives the same
//! picture: a line's own is [`BEGIN`] and the seconds of [`AFTER`], the next poll's that of the next line.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test that goes wrong should stop at once"
)]

use std::fmt::Write as _;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use serde_json::Value;

const SONDEO: &str = env!("CARGO_BIN_EXE_sondeo");
const PICTURE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/host/src/manual/watch.svg");

/// It queues, throttles with `Retry-After: 2`, runs, and is done.
const JOB: &str = "queued.429-2.running.done";

/// The hour and minute of every instant.
const BEGIN: &str = "10:20";

/// Seconds of each line of the story.
const AFTER: [u32; 5] = [0, 0, 1, 3, 4];

/// The deadline's second, as the demo's contract has it.
const DEADLINE: u32 = 30;

const LINE: usize = 20;
const TOP: usize = 62;
const WIDTH: usize = 920;

/// Ended with the test, whatever becomes of it.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn watched(folder: &Path) -> String {
    let mut command = Command::new(SONDEO);
    command.args(["demo", "--provider-only", "--json"]).current_dir(folder).stdin(Stdio::null()).stdout(Stdio::piped());
    let mut provider = Running(command.spawn().unwrap());
    let mut line = String::new();
    BufReader::new(provider.0.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let told: Value = serde_json::from_str(&line).unwrap();
    let authority = told["provider"].as_str().unwrap().strip_prefix("http://").unwrap().to_owned();
    let mut watch = Command::new(SONDEO);
    watch.args(["watch", "demo-contract.json", JOB, "--store", "demo.db"]).current_dir(folder).stdin(Stdio::null());
    let output = watch.env_remove("SONDEO_STORE").env_remove("SONDEO_SEALING_KEY").output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().replace(&authority, "127.0.0.1:8080")
}

fn at(second: u32) -> String {
    format!("{BEGIN}:{second:02}")
}

/// The story and what follows it, with even instants.
fn even(printed: &str) -> Vec<String> {
    let is_time = |word: &str| word.len() == 8 && word.chars().all(|c| c.is_ascii_digit() || c == ':');
    let mut lines: Vec<String> = Vec::new();
    for line in printed.lines() {
        let number = lines.len();
        let words: Vec<&str> = line.split(' ').collect();
        if !words.first().is_some_and(|word| is_time(word)) {
            // What comes before the story differs from run to run.
            if number > 0 {
                lines.push(line.to_owned());
            }
            continue;
        }
        let mut before = "";
        let words = words.into_iter().enumerate().map(|(index, word)| {
            let time = word.trim_end_matches(',');
            let even = match (is_time(time), index, before) {
                (false, ..) => None,
                (true, 0, _) => Some(at(AFTER[number])),
                (true, _, "poll") => Some(at(AFTER[number + 1])),
                (true, _, "deadline") => Some(at(DEADLINE)),
                (true, ..) => panic!("an instant that nothing says what it is: {line}"),
            };
            before = word;
            even.map_or(word.to_owned(), |even| format!("{even}{}", &word[time.len()..]))
        });
        lines.push(words.collect::<Vec<_>>().join(" "));
    }
    lines
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// A window with a prompt and these lines.
fn drawn(lines: &[String]) -> String {
    let height = TOP + LINE * (lines.len() + 1);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" role=\"img\" aria-labelledby=\"title what\" viewBox=\"0 0 {WIDTH} {height}\" \
         width=\"{WIDTH}\" height=\"{height}\" font-family=\"ui-monospace, Menlo, Consolas, monospace\" font-size=\"14\">\n\
         <title id=\"title\">sondeo watch in a terminal</title>\n\
         <desc id=\"what\">A job queues, is throttled with Retry-After 2, runs, and is done; each line is one decision.</desc>\n\
         <rect width=\"{WIDTH}\" height=\"{height}\" rx=\"8\" fill=\"#1c2128\" stroke=\"#768390\"/>\n\
         <g fill=\"#768390\"><circle cx=\"20\" cy=\"18\" r=\"6\"/><circle cx=\"40\" cy=\"18\" r=\"6\"/><circle cx=\"60\" cy=\"18\" r=\"6\"/></g>\n\
         <g fill=\"#d1d7e0\" xml:space=\"preserve\">\n"
    );
    let mut row = |number: usize, fill: &str, text: &str| {
        let y = TOP + LINE * number - LINE / 4;
        writeln!(svg, "<text x=\"16\" y=\"{y}\"{fill}>{}</text>", escaped(text)).unwrap();
    };
    row(0, " fill=\"#6cb6ff\"", &format!("$ sondeo watch demo-contract.json {JOB}"));
    for (number, line) in lines.iter().enumerate() {
        let fill = match line {
            line if line.contains("settled") => " fill=\"#8ddb8c\"",
            line if line.contains("received 429") => " fill=\"#f0b72f\"",
            _ => "",
        };
        row(number + 1, fill, line);
    }
    svg + "</g>\n</svg>\n"
}

#[test]
fn the_picture_is_what_watch_prints() {
    let folder = tempfile::tempdir().unwrap();
    let lines = even(&watched(folder.path()));
    assert!(lines.len() > AFTER.len(), "{lines:?}");
    let svg = drawn(&lines);
    if std::env::var_os("SONDEO_BLESS").is_some() {
        std::fs::write(PICTURE, &svg).unwrap();
    }
    let committed = std::fs::read_to_string(PICTURE).unwrap();
    assert_eq!(committed, svg, "if this is meant: SONDEO_BLESS=1 cargo test --test picture");
}
