//! Content codings, undone here rather than by the client, whose decoder passes over whatever follows the first member of a
//! gzip body: a body that isn't whole must not look as if it were (D14).
//!
//! `gzip` is the only one asked for, and the only one undone. It needs 32 KiB of memory, whatever a body grows to.

use std::io::{self, Write};

use flate2::write::MultiGzDecoder;
use reqwest::header::{CONTENT_ENCODING, HeaderMap};

use super::fault::Fault;

/// What a request says that it accepts.
pub(super) const ACCEPTED: &str = "gzip";

/// Whether more may come.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Room {
    Left,
    /// The limit is passed: what was kept ends at it.
    None,
}

/// Decoded bytes, up to a limit and no further.
#[derive(Debug, Default)]
pub(super) struct Kept {
    pub(super) bytes: Vec<u8>,
    pub(super) too_large: bool,
    max: usize,
}

impl Write for Kept {
    fn write(&mut self, chunk: &[u8]) -> io::Result<usize> {
        let room = self.max.saturating_sub(self.bytes.len());
        let fits = chunk.get(..room).unwrap_or(chunk);
        self.bytes.extend_from_slice(fits);
        self.too_large |= fits.len() < chunk.len();
        if self.too_large {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        Ok(chunk.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Takes a body apart, piece by piece.
pub(super) enum Decoder {
    Plain(Kept),
    Gzip {
        inner: Box<MultiGzDecoder<Kept>>,
        begun: bool,
    },
    /// A coding that wasn't asked for, or several.
    Unknown(Kept),
}

impl Decoder {
    /// A decoder for what the headers say, which keeps at most `max_bytes`.
    pub(super) fn new(headers: &HeaderMap, max_bytes: u64) -> Self {
        let kept = Kept { max: usize::try_from(max_bytes).unwrap_or(usize::MAX), ..Kept::default() };
        let values = headers.get_all(CONTENT_ENCODING).iter();
        let codings: Vec<&[u8]> = values
            .flat_map(|value| value.as_bytes().split(|byte| *byte == b','))
            .map(<[u8]>::trim_ascii)
            .filter(|coding| !coding.is_empty() && !coding.eq_ignore_ascii_case(b"identity"))
            .collect();
        match codings.as_slice() {
            [] => Self::Plain(kept),
            // Names don't depend on case, and `x-gzip` is the same (RFC 9110 8.4.1).
            [one] if is_gzip(one) => Self::Gzip { inner: Box::new(MultiGzDecoder::new(kept)), begun: false },
            _ => Self::Unknown(kept),
        }
    }

    /// Takes the next piece of the body.
    pub(super) fn push(&mut self, chunk: &[u8]) -> Result<Room, Fault> {
        if chunk.is_empty() {
            return Ok(Room::Left);
        }
        let written = match self {
            Self::Plain(kept) => kept.write_all(chunk),
            Self::Gzip { inner, begun } => {
                *begun = true;
                inner.write_all(chunk)
            }
            Self::Unknown(_) => return Err(Fault::Undecodable),
        };
        self.outcome(written)
    }

    /// The body has ended, by its framing. One without a single byte has nothing to undo.
    pub(super) fn finish(&mut self) -> Result<Room, Fault> {
        let finished = match self {
            Self::Gzip { inner, begun: true } => inner.try_finish(),
            _ => Ok(()),
        };
        self.outcome(finished)
    }

    /// What was kept so far.
    pub(super) fn kept(&mut self) -> &mut Kept {
        match self {
            Self::Plain(kept) | Self::Unknown(kept) => kept,
            Self::Gzip { inner, .. } => inner.get_mut(),
        }
    }

    fn outcome(&mut self, result: io::Result<()>) -> Result<Room, Fault> {
        match result {
            _ if self.kept().too_large => Ok(Room::None),
            Ok(()) => Ok(Room::Left),
            Err(_) => Err(Fault::Undecodable),
        }
    }
}

fn is_gzip(coding: &[u8]) -> bool {
    coding.eq_ignore_ascii_case(b"gzip") || coding.eq_ignore_ascii_case(b"x-gzip")
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::Compression;
    use flate2::write::GzEncoder;
    use reqwest::header::HeaderValue;

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    /// What a body gives that arrives in pieces of `size` bytes.
    fn decode(codings: &[&str], body: &[u8], size: usize) -> Result<Vec<u8>, Fault> {
        let mut headers = HeaderMap::new();
        for coding in codings {
            headers.append(CONTENT_ENCODING, HeaderValue::from_str(coding).unwrap());
        }
        let mut decoder = Decoder::new(&headers, 1 << 20);
        for chunk in body.chunks(size) {
            assert_eq!(decoder.push(chunk)?, Room::Left);
        }
        decoder.finish()?;
        Ok(std::mem::take(&mut decoder.kept().bytes))
    }

    #[test]
    fn d14_every_cut_of_a_gzip_body_is_found_and_every_way_to_split_it_is_the_same() {
        let body = gzip(b"{\"state\":\"done\"}");
        for size in 1..=body.len() {
            let whole = decode(&["gzip"], &body, size);
            assert_eq!(whole.unwrap(), b"{\"state\":\"done\"}");
        }
        for cut in 1..body.len() {
            for size in [1, 7, 100] {
                let short = decode(&["gzip"], &body[..cut], size);
                assert_eq!(short, Err(Fault::Undecodable), "{cut} {size}");
            }
        }
    }

    #[test]
    fn d14_every_changed_byte_of_a_gzip_body_is_found_or_changes_nothing() {
        let body = gzip(b"{\"state\":\"done\"}");
        for at in 0..body.len() {
            let mut changed = body.clone();
            changed[at] ^= 0x01;
            // The header has a time, a system and hints in it that nothing depends on.
            match decode(&["gzip"], &changed, 100) {
                Ok(bytes) => assert_eq!(bytes, b"{\"state\":\"done\"}", "{at}"),
                Err(fault) => assert_eq!(fault, Fault::Undecodable),
            }
        }
    }

    #[test]
    fn d14_what_follows_a_gzip_member_is_another_one_or_a_fault() {
        let one = gzip(b"hello ");
        let two = [&one[..], &gzip(b"world")].concat();
        for size in [1, 5, 100] {
            assert_eq!(decode(&["gzip"], &two, size).unwrap(), b"hello world");
            for garbage in [&b"g"[..], b"garbage garbage garbage", &[0; 12], &one[..9]] {
                let trailing = [&one[..], garbage].concat();
                let decoded = decode(&["gzip"], &trailing, size);
                assert_eq!(decoded, Err(Fault::Undecodable), "{garbage:?} {size}");
            }
        }
    }

    #[test]
    fn names_of_codings_are_read_as_rfc_9110_says() {
        let body = gzip(b"hello");
        for codings in [&["gzip"][..], &["GZip"], &["x-gzip"], &["identity", " gzip ,"]] {
            assert_eq!(decode(codings, &body, 100).unwrap(), b"hello", "{codings:?}");
        }
        for codings in [&[][..], &["identity"], &[""]] {
            assert_eq!(decode(codings, b"hello", 2).unwrap(), b"hello");
        }
        for codings in [&["br"][..], &["gzip, gzip"], &["gzip", "gzip"], &["deflate"]] {
            assert_eq!(decode(codings, &body, 100), Err(Fault::Undecodable));
            assert_eq!(decode(codings, b"", 100).unwrap(), b"");
        }
    }
}
