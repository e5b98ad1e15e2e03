//! Situations that were mined from public bug reports of people who poll jobs, in a neutral form, run through the real core.
//!
//! `cargo test --test mined` runs the project's own selection, `tests/cases/mined.jsonl`, in which every case must agree.
//! `SONDEO_CASES=some.jsonl cargo test --test mined -- --nocapture` runs any file of the form.
//!
//! A line of the form is one case: `given` (a policy, a contract, a timeline of events) and `expect` (a decision after the
//! last event: `wait`, `send`, `stop`, `ignore` or `refuse`, with reason, job, time, counters; `also_acceptable` where practice
//! is split). [`translate`] says how that becomes a contract, an opening and a record of ours, [`run`] how events become
//! steps, [`compare`] which words of the form stand for which of ours.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::cast_precision_loss,
    reason = "a test that goes wrong should stop at once"
)]

#[path = "mined/compare.rs"]
mod compare;
#[path = "mined/run.rs"]
mod run;
#[path = "mined/translate.rs"]
mod translate;

use std::{
    env, fs,
    path::{Path, PathBuf},
};

use serde_json::{Value, json};

/// Where a case and a rule disagree, the rule wins: the case, and the rule that decides.
const RULE_WINS: &[(&str, &str)] = &[(
    "CRP-02",
    "the order of `woke`: an attempt in flight rests until its lease is over, here 2 s after the case's window; only then it is \
     `lost` (D42)",
)];

/// Other seeds than the case's own: a window holds for every one (D23).
const SEEDS: [u64; 2] = [7, u64::MAX];

enum Verdict {
    Agrees,
    Differs(String),
    NotExpressible(String),
}

fn judge(case: &Value) -> Verdict {
    let events = case["given"]["timeline"].as_array().into_iter().flatten();
    let own = events.filter_map(|event| event["set"]["seed"].as_u64());
    for seed in own.chain(SEEDS) {
        match run::run(case, seed) {
            Err(why) => return Verdict::NotExpressible(why),
            Ok(ran) => {
                if let Err(why) = compare::compare(case, &ran) {
                    return Verdict::Differs(why);
                }
            }
        }
    }
    Verdict::Agrees
}

fn cases(path: &Path) -> Vec<Value> {
    let text = fs::read_to_string(path).unwrap_or_else(|why| panic!("{}: {why}", path.display()));
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    lines.map(|(n, line)| serde_json::from_str(line).unwrap_or_else(|why| panic!("line {}: {why}", n + 1))).collect()
}

fn own() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases/mined.jsonl")
}

fn id(case: &Value) -> &str {
    case["id"].as_str().unwrap_or("without an id")
}

#[test]
fn mined_cases_come_out_as_expected() {
    let path = env::var_os("SONDEO_CASES").map_or_else(own, Into::into);
    let (mut agree, mut differ, mut not, mut unexplained) = (0, 0, 0, 0);
    for case in &cases(&path) {
        let id = id(case);
        let rule = RULE_WINS.iter().find(|(known, _)| *known == id).map(|(_, rule)| rule);
        match (judge(case), rule) {
            (Verdict::Agrees, _) => agree += 1,
            (Verdict::Differs(why), Some(rule)) => {
                differ += 1;
                println!("{id}: {why}; the rule wins: {rule}");
            }
            (Verdict::Differs(why), None) => {
                differ += 1;
                unexplained += 1;
                println!("{id}: {why}");
            }
            (Verdict::NotExpressible(why), _) => {
                not += 1;
                println!("{id}: can't be expressed: {why}");
            }
        }
    }
    println!("{agree} agree, {differ} differ, {not} not expressible");
    assert_eq!(unexplained, 0, "cases of {} differ, and no rule is named that wins", path.display());
}

/// The comparison is not blind: of every case of ours a wrong expectation is seen.
#[test]
fn a_wrong_expectation_differs() {
    for case in cases(&own()).iter().filter(|case| !RULE_WINS.iter().any(|(known, _)| *known == id(case))) {
        let ran = run::run(case, SEEDS[0]).unwrap_or_else(|why| panic!("{}: {why}", id(case)));
        let differs = |expect: Value| {
            let mut wrong = case.clone();
            wrong["expect"] = expect;
            assert!(compare::compare(&wrong, &ran).is_err(), "{} agrees with {}", id(case), wrong["expect"]);
        };
        let came = match (&ran.refused, &ran.operation) {
            (Some(_), _) | (_, None) => "refuse",
            (None, Some(operation)) if operation.next_at.is_some() => "wait",
            _ => "stop",
        };
        for other in ["wait", "refuse"].into_iter().filter(|other| *other != came) {
            differs(json!({"decision": other}));
        }
        differs(json!({"decision": "stop", "stop_reason": "usefulness_expired"}));
        if let Some(operation) = &ran.operation {
            differs(json!({"decision": came, "stop_reason": case["expect"]["stop_reason"],
                "counters": {"requests_used": operation.requests.used + 1}}));
        }
        if came == "wait" {
            differs(json!({"decision": "wait", "next": {"not_after": "2026-01-01T00:00:00Z"}}));
            differs(json!({"decision": "wait", "next": {"not_before": "2028-01-01T00:00:00Z"}}));
        }
    }
}
