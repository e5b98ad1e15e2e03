//! Credentials by reference: read when used, wrapped, and wiped afterwards (I18).
//!
//! A reference is one of
//! - `env:NAME`, the value of an environment variable; its account is the value of `NAME_ACCOUNT`;
//! - `file:PATH`, what a file holds; its account is what `PATH.account` beside it holds;
//! - `exec:COMMAND ARG...`, what a command prints, split at white space and run without a shell; its account is the second
//!   line of that.
//!
//! The account is what the reference says of itself: a label to compare (D13), never sent, and no secret.

#[cfg(test)]
mod tests;

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
        Ok(Self { text: text.to_owned(), kind })
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
    pub fn digest(&self, key: &[u8; 32]) -> String {
        let value = self.value.expose().as_bytes();
        hex::encode(hmac_sha256(key, &[b"sondeo.credential/1\0", value]))
    }
}

/// HMAC-SHA256 (RFC 2104) over the parts, one after the other.
pub(crate) fn hmac_sha256(key: &[u8; 32], parts: &[&[u8]]) -> [u8; 32] {
    // A key shorter than a block is filled up with zeros; made so here, there is no length that could be wrong.
    let mut block = Zeroizing::new([0; 64]);
    block.iter_mut().zip(key).for_each(|(to, from)| *to = *from);
    let mut mac = Hmac::<Sha256>::new((&*block).into());
    parts.iter().for_each(|part| mac.update(part));
    mac.finalize().into_bytes().into()
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
        Ok(Credential { value: Secret::new(value.to_owned()), account })
    }

    /// What stands after the reference's first word.
    fn rest(&self) -> &str {
        self.text.split_once(':').map_or("", |(_, rest)| rest)
    }

    fn error(&self, part: Part, flaw: Flaw) -> CredentialError {
        CredentialError { reference: self.clone(), part, flaw }
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
        let account = read_file(format!("{}.account", self.rest())).await.map_err(error(Part::Account))?;
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
