use super::*;
use std::fs;
use std::time::Instant;

const CANARY: &str = "canary-5f2d";

fn reference(text: &str) -> CredentialRef {
    text.parse().unwrap()
}

async fn flaw(text: &str) -> (Part, Flaw) {
    let error = reference(text).resolve().await.unwrap_err();
    for shown in [error.to_string(), format!("{error:?}")] {
        assert!(shown.contains(text), "{shown}");
        assert!(!shown.contains(CANARY), "{shown}");
    }
    (error.part, error.flaw)
}

fn credential(value: &str) -> Credential {
    Credential { value: Secret::new(value.to_owned()), account: None }
}

#[test]
fn a_reference_shows_its_text() {
    for text in ["env:API_KEY", "file:/run/secrets/k", "exec:pass show  api"] {
        let reference = reference(text);
        assert_eq!(reference.to_string(), text);
        assert_eq!(format!("{reference:?}"), text);
        assert_eq!(reference.as_str(), text);
    }
}

#[test]
fn i18_a_text_that_is_no_reference_is_not_repeated() {
    for (text, error) in [
        ("canary-5f2d", ReferenceError::Unknown),
        ("sk:canary-5f2d", ReferenceError::Unknown),
        ("ENV:X", ReferenceError::Unknown),
        ("", ReferenceError::Unknown),
        ("env:canary-5f2d", ReferenceError::Name),
        ("env:", ReferenceError::Name),
        ("env:1X", ReferenceError::Name),
        ("env:A=B", ReferenceError::Name),
        ("file:", ReferenceError::Path),
        ("file:/a\nb", ReferenceError::Path),
        ("exec: ", ReferenceError::Command),
        ("exec:a\u{1b}b", ReferenceError::Command),
    ] {
        assert_eq!(text.parse::<CredentialRef>(), Err(error), "{text}");
        assert!(!error.to_string().contains(CANARY));
    }
}

#[test]
fn i18_a_secret_shows_in_no_debug() {
    let credential = credential(CANARY);
    assert_eq!(format!("{credential:?}"), "Credential { value: Secret(..), account: None }");
    assert_eq!(credential.value.expose(), CANARY);
}

/// Checked against another implementation of HMAC-SHA256 (Python's `hmac`).
#[test]
fn d13_the_digest_is_keyed_and_says_nothing_else() {
    assert_eq!(
        credential("s3cret").digest(b"0123456789abcdef0123456789abcdef"),
        "6596bb9d01fa3400b191a45b7fd3d9ae16b08d55069338abc16fd2b5a000a874"
    );
    let digest = credential(CANARY).digest(&[7; 32]);
    assert_ne!(digest, credential(CANARY).digest(&[8; 32]));
    assert_ne!(digest, credential("canary-5f2e").digest(&[7; 32]));
    assert_eq!(digest, credential(CANARY).digest(&[7; 32]));
    assert_eq!(digest.len(), 64);
}

#[tokio::test]
async fn a_variable_is_read() {
    // Variables that cargo sets for every test, since setting one would need unsafe code.
    let name = reference("env:CARGO_PKG_NAME").resolve().await.unwrap();
    assert_eq!(name.value.expose(), env!("CARGO_PKG_NAME"));
    assert_eq!(name.account, None);
    let unset = flaw("env:SONDEO_TEST_NEVER_SET").await;
    assert_eq!(unset, (Part::Value, Flaw::NotSet));
}

#[tokio::test]
async fn a_file_is_read_with_the_account_beside_it() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("key");
    let text = format!("file:{}", path.display());
    let account = dir.path().join("key.account");
    for (held, value) in
        [("v", "v"), ("v\n", "v"), ("v\r\n", "v"), ("two words\n", "two words"), ("schlüssel", "schlüssel")]
    {
        fs::write(&path, held).unwrap();
        let credential = reference(&text).resolve().await.unwrap();
        assert_eq!(credential.value.expose(), value);
        assert_eq!(credential.account, None);
    }
    fs::write(&account, "acme\n").unwrap();
    let credential = reference(&text).resolve().await.unwrap();
    assert_eq!(credential.account.as_deref(), Some("acme"));
    fs::write(&account, "").unwrap();
    assert_eq!(flaw(&text).await, (Part::Account, Flaw::Empty));
    fs::write(&account, "a\u{7}b").unwrap();
    assert_eq!(flaw(&text).await, (Part::Account, Flaw::Control));
}

#[tokio::test]
async fn i18_a_file_that_holds_no_value_is_refused_without_showing_it() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("key");
    let text = format!("file:{}", path.display());
    let missing = flaw(&text).await;
    assert!(matches!(missing, (Part::Value, Flaw::Unreadable(_))));
    let too_long = vec![b'a'; VALUE_MAX_BYTES + 1];
    for (held, expected) in [
        (&b""[..], Flaw::Empty),
        (b"\n", Flaw::Empty),
        (b"canary-5f2d\n\n", Flaw::Control),
        (b"canary-5f2d\ncanary-5f2d", Flaw::Control),
        (b"canary-5f2d\t", Flaw::Control),
        (b"canary-5f2d\0", Flaw::Control),
        (b"canary-5f2d\xff", Flaw::NotUtf8),
        (&too_long, Flaw::TooLong),
    ] {
        fs::write(&path, held).unwrap();
        assert_eq!(flaw(&text).await, (Part::Value, expected));
    }
    let directory = flaw(&format!("file:{}", dir.path().display())).await;
    assert!(matches!(directory, (Part::Value, Flaw::Unreadable(_))));
    let endless = flaw("file:/dev/zero").await;
    assert_eq!(endless, (Part::Value, Flaw::TooLong));
}

fn script(dir: &tempfile::TempDir, body: &str) -> String {
    let path = dir.path().join("helper");
    fs::write(&path, body).unwrap();
    format!("exec:/bin/sh  {}", path.display())
}

#[tokio::test]
async fn a_command_gives_the_value_and_the_account() {
    let dir = tempfile::tempdir().unwrap();
    for (body, value, account) in [
        ("echo v", "v", None),
        ("printf v", "v", None),
        ("echo v; echo acme", "v", Some("acme")),
        ("printf 'v\\r\\nacme\\r\\n'", "v", Some("acme")),
        ("echo v; echo; echo", "v", None),
        ("echo v; echo canary-5f2d >&2", "v", None),
    ] {
        let credential = reference(&script(&dir, body)).resolve().await.unwrap();
        assert_eq!(credential.value.expose(), value, "{body}");
        assert_eq!(credential.account.as_deref(), account, "{body}");
    }
    // No shell: what would be a substitution or a pipe is an argument like any other.
    let literal = reference("exec:/bin/echo $HOME | cat").resolve().await;
    assert_eq!(literal.unwrap().value.expose(), "$HOME | cat");
}

#[tokio::test]
async fn i18_a_command_that_gives_no_value_is_refused_without_showing_it() {
    let dir = tempfile::tempdir().unwrap();
    for (body, expected) in [
        (":", Flaw::Empty),
        ("echo canary-5f2d; echo b; echo c", Flaw::Lines),
        ("printf 'canary-5f2d\\tx'", Flaw::Control),
        ("printf 'canary-5f2d\\377'", Flaw::NotUtf8),
        ("while :; do echo canary-5f2d; done", Flaw::TooLong),
    ] {
        let got = flaw(&script(&dir, body)).await;
        assert_eq!(got, (Part::Value, expected), "{body}");
    }
    let failed = flaw(&script(&dir, "echo canary-5f2d; echo canary-5f2d >&2; exit 3")).await;
    assert!(matches!(failed, (Part::Value, Flaw::Failed(status)) if status.contains('3')));
    let missing = flaw("exec:/nonexistent/helper").await;
    assert!(matches!(missing, (Part::Value, Flaw::Unreadable(_))));
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_command_that_hangs_is_killed() {
    let dir = tempfile::tempdir().unwrap();
    let pid = dir.path().join("pid");
    let text = script(&dir, &format!("echo $$ >{}; exec sleep 60", pid.display()));
    let start = Instant::now();
    let hung = reference(&text).read_command(Duration::from_millis(300)).await;
    assert_eq!(hung.unwrap_err().flaw, Flaw::Late);
    assert!(start.elapsed() < Duration::from_secs(5));
    let process = format!("/proc/{}", fs::read_to_string(pid).unwrap().trim());
    for _ in 0..100 {
        if !fs::exists(&process).unwrap() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("{process} still runs");
}
