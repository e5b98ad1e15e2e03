//! What the README says is what the program does.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that goes wrong should stop at once")]

use std::process::Command;

fn readme() -> String {
    std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/README.md")).unwrap()
}

fn help(arguments: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_sondeo")).args(arguments).arg("--help").output().unwrap();
    assert!(output.status.success(), "{arguments:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// The story is the one that the golden test plays.
#[test]
fn the_story_is_the_golden_one() {
    let story = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/story.txt")).unwrap();
    assert!(readme().contains(&story), "README.md does not hold tests/golden/story.txt");
}

/// Every verb and option that a `sondeo ...` line uses is known, and every verb is in the table.
#[test]
fn every_command_in_it_is_one() {
    let text = readme();
    let all = help(&[]);
    let verbs: Vec<&str> = all
        .lines()
        .skip_while(|line| !line.starts_with("Commands:"))
        .skip(1)
        .take_while(|line| line.starts_with("  "))
        .filter(|line| !line.starts_with("   "))
        .filter_map(|line| line.split_whitespace().next())
        .filter(|verb| *verb != "help")
        .collect();
    assert!(verbs.len() > 10, "{verbs:?}");
    for verb in &verbs {
        assert!(text.contains(&format!("`{verb}")), "README.md does not mention `{verb}`");
    }
    let commands = text.lines().filter_map(|line| line.strip_prefix("sondeo "));
    for command in commands {
        let words: Vec<&str> = command.split_whitespace().collect();
        let verb = words.first().unwrap();
        assert!(verbs.contains(verb), "`sondeo {command}`");
        let page = match words.get(1) {
            Some(sub) if *verb == "contract" => help(&[verb, sub]),
            _ => help(&[verb]),
        };
        for option in words.iter().filter(|word| word.starts_with("--")) {
            assert!(page.contains(option), "`sondeo {command}`: no `{option}`");
        }
    }
}

/// The exit codes of the table are those of `--help`.
#[test]
fn the_exit_codes_are_those_of_the_help() {
    let text = readme();
    for line in help(&[]).lines().skip_while(|line| !line.starts_with("Exit codes:")).skip(1).take(6) {
        let (code, meaning) = line.trim().split_once("  ").unwrap();
        let start = meaning.split([',', '(']).next().unwrap().trim();
        assert!(text.contains(&format!("| {code} | {start}")), "{code}: {start}");
    }
}
