//! An answer's head and body, read within limits.

use std::fmt;

use reqwest::Response;
use sha2::{Digest, Sha256};
use tokio::time::{Instant, timeout_at};

use super::decode::{Decoder, Kept, Room};
use super::fault::{self, Fault};

/// Most bytes of header names and values together that are kept; a longer head is `undecodable`. Its number of fields is
/// limited to 100 by the client.
pub const MAX_HEAD_BYTES: usize = 64 * 1024;

/// Longest provider's request id that is kept, in characters.
const MAX_REQUEST_ID: usize = 200;

/// An answer's body, after content decoding.
///
/// `Debug` shows its kind and length only: what is in it may be secret (D11, I18).
#[derive(Clone, PartialEq, Eq)]
pub enum Body {
    /// There is none, or the exchange didn't complete, so that what arrived isn't to be used (D14).
    None,
    /// Complete, and UTF-8.
    Text(String),
    /// Complete, or cut off at a limit of ours, and of no use (D14).
    Unreadable(UnreadableBody),
}

/// Why a body can't be handed on as text (D14).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum UnreadableBody {
    /// It isn't UTF-8.
    NotUtf8,
    /// It is longer than the plan's `max_body_bytes`.
    TooLarge,
}

impl UnreadableBody {
    /// The name in observations.
    pub fn name(self) -> &'static str {
        match self {
            Self::NotUtf8 => "not_utf8",
            Self::TooLarge => "too_large",
        }
    }
}

impl fmt::Debug for Body {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => f.write_str("None"),
            Self::Text(text) => write!(f, "Text({} bytes)", text.len()),
            Self::Unreadable(why) => write!(f, "Unreadable({})", why.name()),
        }
    }
}

/// A body as far as it was read.
pub(super) struct Read {
    pub(super) body: Body,
    /// Of the decoded bytes that were read, at most the limit's number of them.
    pub(super) sha256: String,
    /// How many bytes that are.
    pub(super) bytes: u64,
    pub(super) incomplete: Option<Fault>,
}

/// Reads a body to its end, to `max_bytes` of decoded bytes, or to `end`, whichever comes first.
pub(super) async fn read(mut response: Response, max_bytes: u64, end: Instant) -> Read {
    let mut decoder = Decoder::new(response.headers(), max_bytes);
    let incomplete = loop {
        match timeout_at(end, response.chunk()).await {
            Err(_) => break Some(Fault::ReadTimeout),
            Ok(Err(error)) => break Some(fault::of_body(&error)),
            Ok(Ok(None)) => break decoder.finish().err(),
            Ok(Ok(Some(chunk))) => match decoder.push(&chunk) {
                Ok(Room::Left) => {}
                Ok(Room::None) => break None,
                Err(fault) => break Some(fault),
            },
        }
    };
    Read::new(decoder.kept(), incomplete)
}

impl Read {
    /// Nothing of the body was read.
    pub(super) fn nothing(incomplete: Fault) -> Self {
        Self::new(&mut Kept::default(), Some(incomplete))
    }

    fn new(kept: &mut Kept, incomplete: Option<Fault>) -> Self {
        let bytes = std::mem::take(&mut kept.bytes);
        Self {
            sha256: hex::encode(Sha256::digest(&bytes)),
            bytes: u64::try_from(bytes.len()).unwrap_or(u64::MAX),
            incomplete,
            body: match incomplete {
                Some(_) => Body::None,
                None if kept.too_large => Body::Unreadable(UnreadableBody::TooLarge),
                None if bytes.is_empty() => Body::None,
                None => String::from_utf8(bytes).map_or(Body::Unreadable(UnreadableBody::NotUtf8), Body::Text),
            },
        }
    }
}

/// The headers in order, names in lower case, and whether all of them fitted. Values that aren't UTF-8 are passed with
/// replacement characters.
pub(super) fn headers(response: &Response) -> (Vec<(String, String)>, bool) {
    let mut kept = Vec::with_capacity(response.headers().len());
    let mut room = MAX_HEAD_BYTES;
    for (name, value) in response.headers() {
        let length = name.as_str().len().saturating_add(value.len());
        let Some(left) = room.checked_sub(length) else {
            return (kept, false);
        };
        room = left;
        let value = String::from_utf8_lossy(value.as_bytes()).into_owned();
        kept.push((name.as_str().to_owned(), value));
    }
    (kept, true)
}

/// The provider's own id of this exchange (D30), from the first of `names` that is there: bounded, and printable ASCII only,
/// since it is shown wherever the exchange is.
pub(super) fn request_id(headers: &[(String, String)], names: &[String]) -> Option<String> {
    let values = names.iter().filter_map(|wanted| {
        let mut named = headers.iter().filter(|(name, _)| name.eq_ignore_ascii_case(wanted));
        named.next().map(|(_, value)| value)
    });
    values
        .map(|value| {
            let printable = value.chars().filter(char::is_ascii_graphic);
            printable.take(MAX_REQUEST_ID).collect::<String>()
        })
        .find(|id| !id.is_empty())
}
