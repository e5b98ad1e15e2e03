//! I18: a secret reaches the provider, and nothing else: not store, log, output or error, whatever goes wrong.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test that goes wrong should stop at once"
)]

mod common;

use std::fs;
use std::path::PathBuf;

use common::{Done, Setup, at_once};
use serde_json::json;
use sha2::{Digest as _, Sha256};

/// Fails where `secret` stands in anything that a command said.
fn not_said(secret: &str, done: &Done) {
    assert!(!done.stdout.contains(secret) && !done.stderr.contains(secret), "`{secret}` was said: {done}");
}

/// Fails where `secret` stands in any byte of the test's folder, but for the files that hold it on purpose.
fn not_kept(setup: &Setup, secret: &str, but: &[&str]) {
    let mut looked = 0;
    for entry in fs::read_dir(setup.path("")).unwrap() {
        let path: PathBuf = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        if but.contains(&&*name) || path.is_dir() {
            continue;
        }
        looked += usize::from(name.starts_with("jobs.db"));
        let bytes = fs::read(&path).unwrap();
        let found = bytes.windows(secret.len()).any(|window| window == secret.as_bytes());
        assert!(!found, "`{secret}` stands in `{name}`");
    }
    assert!(looked > 0, "there is a store to look at");
}

fn sha256(text: &str) -> String {
    hex::encode(Sha256::digest(text))
}

#[test]
fn i18_a_credential_reaches_the_provider_and_nothing_else() {
    let setup = Setup::new();
    let contract = setup.contract("exports.json", |contract| {
        contract["request"]["credential"] = json!({"header": "authorization", "prefix": "Bearer "});
        contract["error"] = json!([{"at": "/error"}]);
    });
    let secrets = ["canary-of-the-environment-71c", "canary-of-a-file-71c", "canary-of-a-command-71c"];
    let in_file = format!("file:{}", setup.file("key.txt", secrets[1]));
    let script = setup.file("print-key", format!("printf '%s\\n' {}", secrets[2]));
    let by_command = format!("exec:sh {script}");
    let waits = [
        ("running.drop.e503.failed", "env:SONDEO_TEST_CANARY", 4),
        ("running.e401", &in_file, 3),
        ("running.garbage", &by_command, 3),
    ];
    let said = at_once(&waits, |(job, reference, code)| {
        let watch = setup.sondeo(&["watch", &contract, job, "--credential", reference, "--json"]);
        let done = watch.env("SONDEO_TEST_CANARY", secrets[0]).run().code(*code);
        let sent = setup.provider.requests(job);
        (done, sent)
    });
    for ((done, sent), secret) in said.iter().zip(secrets) {
        not_said(secret, done);
        let digest = sha256(&format!("Bearer {secret}"));
        assert!(sent.iter().all(|request| request.authorization == digest), "it arrives: {sent:?}");
        assert!(sent.len() >= 2);
    }
    // One that is killed leaves its write-ahead log behind.
    let last = ["watch", &contract, "running--killed", "--credential", "env:SONDEO_TEST_CANARY"];
    let mut killed = setup.sondeo(&last).env("SONDEO_TEST_CANARY", secrets[0]).start();
    killed.wait_for_line("polled, state running");
    let killed = killed.kill9();
    let ids: Vec<String> = setup.operations().into_iter().map(|row| row.id).collect();
    let mut told = vec![killed];
    let id = &*ids[1];
    let reading = [
        vec!["list", "--json"],
        vec!["verify", "--json"],
        vec!["replay", "--json"],
        vec!["show", id, "--all", "--json"],
    ];
    told.extend(at_once(&reading, |args| setup.sondeo(args).run().code(0)));
    for secret in secrets {
        told.iter().for_each(|done| not_said(secret, done));
        not_kept(&setup, secret, &["key.txt", "print-key"]);
    }
}

/// What goes wrong with a credential names its reference, never its value.
#[test]
fn i18_no_error_says_a_credential() {
    let setup = Setup::new();
    let contract = setup.contract("exports.json", |contract| {
        contract["request"]["credential"] = json!({"header": "authorization", "prefix": "Bearer "});
    });
    let secret = "canary-in-an-error-71c";
    let two_lines = format!("file:{}", setup.file("two-lines", format!("{secret}\n{secret}\n")));
    let control = format!("file:{}", setup.file("control", format!("{secret}\u{1}\n")));
    let fails = format!("exec:sh {}", setup.file("fails", format!("echo {secret}; echo {secret} >&2; exit 3")));
    let key = format!("file:{}", setup.file("bad-key", secret));
    let cases: [&[&str]; 6] = [
        &["--credential", secret],
        &["--credential", &two_lines],
        &["--credential", &control],
        &["--credential", &fails],
        &["--credential", "env:HOME", "--sealing-key", &key],
        &["--credential", "env:HOME", "--sealing-key", secret],
    ];
    at_once(&cases, |more| {
        let done = setup.sondeo(&[&["watch", &contract, "running"], *more].concat()).run().code(2);
        assert_eq!(done.stdout, "", "{done}");
        not_said(secret, &done);
        done.error();
    });
    assert_eq!(setup.provider.count("running"), 0);
}

/// D31: an address with a query that the contract doesn't list is a secret, as a signed result is: kept sealed, and shown
/// only at the end, to whoever has the key.
#[test]
fn d31_a_secret_address_is_sealed_and_its_result_shown_at_the_end() {
    let (token, signature) = ("canary-in-an-address-71c", "canary-in-a-result-71c");
    let setup = Setup::with(&["--signature", signature]);
    let contract = setup.contract("exports.json", |contract| {
        contract["request"]["url_from"] = json!("opening");
        let contract = contract.as_object_mut().unwrap();
        let request = contract["request"].as_object_mut().unwrap();
        request.retain(|name, _| name != "url" && name != "id_parts");
        contract.remove("identity");
        contract.remove("samples");
        contract["result"]["file"]["secret"] = json!(true);
    });
    let address = |job: &str| format!("http://127.0.0.1:{}/v1/jobs/{job}?token={token}", setup.provider.port);
    let (job, waiting) = ("running.signed", "running--waits");
    let (first, second) = (address(job), address(waiting));
    let key = "SONDEO_TEST_SEALING_KEY";
    let watch = |address: &str, more: &[&str]| {
        setup.sondeo(&[&["watch", &contract, "--address", address], more].concat()).env(key, &"7a".repeat(32))
    };
    let sealing = ["--sealing-key", "env:SONDEO_TEST_SEALING_KEY"];

    let without = watch(&first, &[]).run().code(2);
    assert!(without.error().contains("give a sealing key"), "says why: {without}");
    not_said(token, &without);
    assert_eq!(setup.provider.count(job), 0);

    let mut killed = watch(&second, &sealing).start();
    killed.wait_for_line("polled, state running");
    let killed = killed.kill9();
    let keyless = watch(&second, &[]).run();
    assert!([Some(1), Some(2)].contains(&keyless.code), "{keyless}");
    let done = watch(&first, &sealing).run().code(0);
    let result = done.line("result file: http://127.0.0.1:");
    assert!(result.ends_with(&format!("/files/{job}?signature={signature}")), "whole, to whoever waited: {done}");
    let ids: Vec<String> = setup.operations().into_iter().map(|row| row.id).collect();
    let show =
        |more: &[&str]| setup.sondeo(&[&["show", &*ids[0]], more].concat()).env(key, &"7a".repeat(32)).run().code(0);
    show(&sealing).line(signature);
    let shown = show(&[]);
    shown.line("it is sealed: give the sealing key");
    let verified = setup.sondeo(&["verify", "--json"]).run().code(0);
    for text in [&killed, &keyless, &done, &shown, &verified] {
        not_said(token, text);
    }
    not_said(signature, &shown);
    not_said(signature, &verified);
    not_kept(&setup, token, &[]);
    not_kept(&setup, signature, &[]);
}
