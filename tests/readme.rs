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

/// What is shown of a contract stands in the file word for word.
#[test]
fn the_contract_by_example_is_the_one_that_comes_along() {
    let file = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/host/contracts/generic.json")).unwrap();
    let text = readme();
    let shown: Vec<&str> =
        text.split("```json\n").skip(1).map(|block| block.split("```").next().unwrap_or_default()).collect();
    assert!(shown.len() >= 5, "{}", shown.len());
    for block in shown {
        assert!(
            file.contains(block.trim_end_matches(['\n', ','])),
            "host/contracts/generic.json does not hold\n{block}"
        );
    }
}

/// The reasons are those of the interface, in its order, with what the core's table lets decide (D33).
#[test]
fn the_reasons_are_those_that_decide() {
    use sondeo_guest::api::Reason;
    use sondeo_guest::options::{asks, row};

    let wit = include_str!("../wit/types.wit");
    let body = wit.split("enum reason {").nth(1).unwrap().split('}').next().unwrap();
    let cases: Vec<String> = body
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty() && !line.starts_with("///"))
        .map(|line| line.trim_end_matches(',').replace('-', "_"))
        .collect();
    assert_eq!(cases.len(), 20);
    let text = readme();
    let rows: Vec<Vec<&str>> = text
        .lines()
        .skip_while(|line| !line.starts_with("| reason |"))
        .skip(2)
        .take_while(|line| line.starts_with('|'))
        .map(|line| line.trim_matches('|').split('|').map(str::trim).collect())
        .collect();
    let named: Vec<&str> = rows.iter().map(|row| row[0].trim_matches('`')).collect();
    assert_eq!(named, cases);
    for (cells, case) in rows.iter().zip(&cases) {
        let reason: Reason = serde_json::from_value(serde_json::Value::String(case.clone())).unwrap();
        assert_eq!(cells[1], if asks(reason) { "asks" } else { "informs" }, "{case}");
        let mut shown: Vec<&str> = cells[3].split(", ").filter(|word| !word.is_empty()).collect();
        let word = |option| serde_json::to_value(option).unwrap().as_str().unwrap().to_owned();
        let mut table: Vec<String> = row(reason).iter().map(|option| format!("`{}`", word(*option))).collect();
        shown.sort_unstable();
        table.sort_unstable();
        assert_eq!(shown, table, "{case}");
    }
}
