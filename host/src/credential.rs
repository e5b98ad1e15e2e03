//! Credentials by reference: read when used, wrapped, and wiped afterwards (I18).
//!
//! A reference is one of
//! - `env:NAME`, the value of an environment variable; its account is the value of `NAME_ACCOUNT`;
//! - `file:PATH`, what a file holds; its account is what `PATH.account` beside it holds;
//! - `exec:COMMAND ARG...`, what a command prints, split at white space and run without a shell; its account is the second
//!   line of that.
//!
//! The account is what the reference says of itself: a label to compare (D13), never sent, and no secret.

use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::process::Stdio;
use std::str::FromStr;
use std::time::Duration;

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use tokio::io::AsyncReadExt;
use tokio::process::Command;
use tokio::time::timeout;
use zeroize::Zeroizing;

/// Longest time that reading a reference may take.
pub const RESOLVE_MAX: Duration = Duration::from_secs(10);

/// Most bytes that a reference may yield.
pub const VALUE_MAX_BYTES: usize = 64 * 1024;

/// A value that is wiped when dropped and shows in no `Debug`. There is no `Display` on purpose.
pub struct Secret(Zeroizing<String>);

impl Secret {
    /// Takes a value over; nothing of it is copied.
    pub fn new(value: String) -> Self {
        Self(Zeroizing::new(value))
    }

    /// The value itself. Whatever is made of it has to be wiped by who makes it.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(..)")
    }
}

/// Where a secret is to be read. The reference itself is no secret: it is stored, and shown in errors.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct CredentialRef {
    text: String,
    kind: Kind,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Kind {
    Env,
    File,
    Exec,
}

/// A text that is no reference. It isn't repeated here: it may be the secret itself, given by mistake.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ReferenceError {
    /// It begins with none of the known words.
    #[error("a secret is given by reference: `env:NAME`, `file:PATH` or `exec:COMMAND ARG...`")]
    Unknown,
    /// `env:` is followed by something else than a name.
    #[error("`env:` needs a variable's name after it: letters, digits and `_`, no digit first")]
    Name,
    /// `file:` is followed by nothing, or by control characters.
    #[error("`file:` needs a path after it, without control characters")]
    Path,
    /// `exec:` is followed by nothing, or by control characters.
    #[error("`exec:` needs a command after it, without control characters")]
    Command,
}

impl FromStr for CredentialRef {
    type Err = ReferenceError;

    fn from_str(text: &str) -> Result<Self, ReferenceError> {
        let (word, rest) = text.split_once(':').ok_or(ReferenceError::Unknown)?;
        let blank = rest.trim().is_empty() || rest.contains(char::is_control);
        let kind = match word {
            "env" if is_name(rest) => Kind::Env,
            "env" => return Err(ReferenceError::Name),
            "file" if blank => return Err(ReferenceError::Path),
            "file" => Kind::File,
            "exec" if blank => return Err(ReferenceError::Command),
            "exec" => Kind::Exec,
            _ => return Err(ReferenceError::Unknown),
        };
        Ok(Self {
            text: text.to_owned(),
            kind,
        })
    }
}

fn is_name(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

impl fmt::Display for CredentialRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl fmt::Debug for CredentialRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// What a reference led to.
#[derive(Debug)]
pub struct Credential {
    /// The secret.
    pub value: Secret,
    /// What the reference says of the account that it belongs to.
    pub account: Option<String>,
}

impl Credential {
    /// HMAC-SHA256 over `"sondeo.credential/1\0"` and the value, in lower-case hex: tells two credentials apart without
    /// telling either (D13, D33).
    pub fn digest(&self, key: &[u8]) -> String {
        // INVARIANT: HMAC takes a key of any length (RFC 2104), so that nothing is left to fail.
        let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(key) else {
            unreachable!("HMAC takes a key of any length")
        };
        mac.update(b"sondeo.credential/1\0");
        mac.update(self.value.expose().as_bytes());
        hex::encode(mac.finalize().into_bytes())
    }
}

/// A reference that can't be used. Names the reference, never a value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{part}`{reference}` {flaw}")]
pub struct CredentialError {
    /// The reference.
    pub reference: CredentialRef,
    /// What it should have yielded.
    pub part: Part,
    /// What is wrong with it.
    pub flaw: Flaw,
}

/// Which part of a credential is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// The secret.
    Value,
    /// What the reference says of its account.
    Account,
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Value => "",
            Self::Account => "the account of ",
        })
    }
}

/// What is wrong with what a reference leads to.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Flaw {
    /// The variable doesn't exist.
    #[error("is not set")]
    NotSet,
    /// The file can't be read, or the command not started.
    #[error("can't be read: {0}")]
    Unreadable(String),
    /// The command failed; what it printed is not used.
    #[error("failed ({0})")]
    Failed(String),
    /// It took longer than [`RESOLVE_MAX`].
    #[error("gave nothing within {} s", RESOLVE_MAX.as_secs())]
    Late,
    /// It is longer than [`VALUE_MAX_BYTES`].
    #[error("gives more than {} KiB", VALUE_MAX_BYTES / 1024)]
    TooLong,
    /// Nothing, or a line break alone.
    #[error("is empty")]
    Empty,
    /// Not text.
    #[error("is not UTF-8")]
    NotUtf8,
    /// A control character, or a second line; one line break at the end is taken off.
    #[error("has a control character or more than one line in it")]
    Control,
    /// A command printed more than two lines.
    #[error("printed more than two lines")]
    Lines,
}

impl CredentialRef {
    /// The reference as it was given.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Reads what the reference leads to, afresh each time, within [`RESOLVE_MAX`].
    pub async fn resolve(&self) -> Result<Credential, CredentialError> {
        let (value, account) = match self.kind {
            Kind::Env => self.read_env(),
            Kind::File => self.read_files().await,
            Kind::Exec => self.read_command(RESOLVE_MAX).await,
        }?;
        let value = line(&value).map_err(|flaw| self.error(Part::Value, flaw))?;
        let account = match account {
            Some(bytes) => {
                let text = line(&bytes).map_err(|flaw| self.error(Part::Account, flaw))?;
                Some(text.to_owned())
            }
            None => None,
        };
        Ok(Credential {
            value: Secret::new(value.to_owned()),
            account,
        })
    }

    /// What stands after the reference's first word.
    fn rest(&self) -> &str {
        self.text.split_once(':').map_or("", |(_, rest)| rest)
    }

    fn error(&self, part: Part, flaw: Flaw) -> CredentialError {
        CredentialError {
            reference: self.clone(),
            part,
            flaw,
        }
    }

    fn read_env(&self) -> Result<Raw, CredentialError> {
        let get = |name: &str| {
            let value = std::env::var_os(name)?;
            Some(Zeroizing::new(value.into_encoded_bytes()))
        };
        let value = get(self.rest()).ok_or_else(|| self.error(Part::Value, Flaw::NotSet))?;
        Ok((value, get(&format!("{}_ACCOUNT", self.rest()))))
    }

    async fn read_files(&self) -> Result<Raw, CredentialError> {
        let error = |part| move |flaw| self.error(part, flaw);
        let value = read_file(self.rest().to_owned())
            .await
            .map_err(error(Part::Value))?
            .ok_or_else(|| self.error(Part::Value, Flaw::Unreadable("no such file".to_owned())))?;
        let account = read_file(format!("{}.account", self.rest()))
            .await
            .map_err(error(Part::Account))?;
        Ok((value, account))
    }

    async fn read_command(&self, limit: Duration) -> Result<Raw, CredentialError> {
        let printed = timeout(limit, run(self.rest()))
            .await
            .unwrap_or(Err(Flaw::Late))
            .map_err(|flaw| self.error(Part::Value, flaw))?;
        let mut lines = printed.split(|byte| *byte == b'\n');
        let (first, second) = (lines.next().unwrap_or_default(), lines.next());
        if lines.any(|line| !line.is_empty()) {
            return Err(self.error(Part::Value, Flaw::Lines));
        }
        let account = second.filter(|line| !line.is_empty());
        Ok((owned(first), account.map(owned)))
    }
}

/// The value's bytes and the account's.
type Raw = (Zeroizing<Vec<u8>>, Option<Zeroizing<Vec<u8>>>);

fn owned(bytes: &[u8]) -> Zeroizing<Vec<u8>> {
    Zeroizing::new(bytes.to_owned())
}

/// Room for a value and the byte too many, all at once: a buffer that grew would leave pieces of the secret behind.
fn buffer() -> (Zeroizing<Vec<u8>>, u64) {
    let room = VALUE_MAX_BYTES.saturating_add(1);
    let limit = u64::try_from(room).unwrap_or(u64::MAX);
    (Zeroizing::new(Vec::with_capacity(room)), limit)
}

/// What a file holds, `None` where there is none. A file may be a pipe that nobody writes to, hence the time limit.
async fn read_file(path: String) -> Result<Option<Zeroizing<Vec<u8>>>, Flaw> {
    let read = tokio::task::spawn_blocking(move || -> io::Result<_> {
        let (mut bytes, limit) = buffer();
        File::open(path)?.take(limit).read_to_end(&mut bytes)?;
        Ok(bytes)
    });
    let read = timeout(RESOLVE_MAX, read).await.map_err(|_| Flaw::Late)?;
    match read.map_err(|stopped| Flaw::Unreadable(stopped.to_string()))? {
        Ok(bytes) if bytes.len() > VALUE_MAX_BYTES => Err(Flaw::TooLong),
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Flaw::Unreadable(error.to_string())),
    }
}

/// What a command prints. Its standard error may hold anything and is thrown away. When this future is dropped, the command
/// is killed.
async fn run(command_line: &str) -> Result<Zeroizing<Vec<u8>>, Flaw> {
    let unreadable = |error: io::Error| Flaw::Unreadable(error.to_string());
    let mut words = command_line.split_whitespace();
    let mut child = Command::new(words.next().unwrap_or_default())
        .args(words)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn()
        .map_err(unreadable)?;
    let (mut printed, limit) = buffer();
    if let Some(stdout) = child.stdout.take() {
        let mut stdout = stdout.take(limit);
        stdout.read_to_end(&mut printed).await.map_err(unreadable)?;
    }
    if printed.len() > VALUE_MAX_BYTES {
        return Err(Flaw::TooLong);
    }
    let status = child.wait().await.map_err(unreadable)?;
    if !status.success() {
        return Err(Flaw::Failed(status.to_string()));
    }
    Ok(printed)
}

/// The one line that `bytes` are, without the line break at its end.
fn line(bytes: &[u8]) -> Result<&str, Flaw> {
    let text = std::str::from_utf8(bytes).map_err(|_| Flaw::NotUtf8)?;
    let text = text.strip_suffix('\n').unwrap_or(text);
    let text = text.strip_suffix('\r').unwrap_or(text);
    if text.is_empty() {
        return Err(Flaw::Empty);
    }
    if text.contains(char::is_control) {
        return Err(Flaw::Control);
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
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
        Credential {
            value: Secret::new(value.to_owned()),
            account: None,
        }
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
        assert_eq!(
            format!("{credential:?}"),
            "Credential { value: Secret(..), account: None }"
        );
        assert_eq!(credential.value.expose(), CANARY);
    }

    /// Checked against another implementation of HMAC-SHA256 (Python's `hmac`).
    #[test]
    fn d13_the_digest_is_keyed_and_says_nothing_else() {
        assert_eq!(
            credential("s3cret").digest(b"key"),
            "444785fa40ee551e6d94b6662ab062bb4c20d089ee25b07e7ecf0c4bab06e850"
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
        for (held, value) in [
            ("v", "v"),
            ("v\n", "v"),
            ("v\r\n", "v"),
            ("two words\n", "two words"),
            ("schlüssel", "schlüssel"),
        ] {
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
}
