//! Why an exchange failed, told apart by what the client's errors say.

use std::error::Error;
use std::io;

use super::connect::{ConnectLate, LookupError};
use super::plan::Refusal;

/// What went wrong with an exchange (D20).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Fault {
    /// The host's name gave no address.
    Dns,
    /// Nobody listens there.
    Refused,
    /// No encrypted connection came about: certificate, protocol, or no TLS at all.
    Tls,
    /// No connection within its time, TLS included.
    ConnectTimeout,
    /// No byte of the request left, for another reason.
    NotSent,
    /// The connection broke after the request may have left.
    Reset,
    /// The time was over before the answer was whole.
    ReadTimeout,
    /// The answer is shorter than its framing says.
    Truncated,
    /// The answer is no HTTP, passes a limit of the head, or its content coding can't be undone.
    Undecodable,
}

/// Whether the request may have reached the provider (D20).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Left {
    /// Certainly not.
    No,
    /// It may have.
    Maybe,
}

impl Left {
    /// The name in records and entries.
    pub fn name(self) -> &'static str {
        match self {
            Self::No => "no",
            Self::Maybe => "maybe",
        }
    }
}

impl Fault {
    /// Every fault, in the order of D20.
    pub const ALL: [Self; 9] = [
        Self::Dns,
        Self::Refused,
        Self::Tls,
        Self::ConnectTimeout,
        Self::NotSent,
        Self::Reset,
        Self::ReadTimeout,
        Self::Truncated,
        Self::Undecodable,
    ];

    /// Whether the request may have left (D20). `No` is said only where the client itself gave the request back.
    pub fn left(self) -> Left {
        match self {
            Self::Dns | Self::Refused | Self::Tls | Self::ConnectTimeout | Self::NotSent => Left::No,
            Self::Reset | Self::ReadTimeout | Self::Truncated | Self::Undecodable => Left::Maybe,
        }
    }

    /// The name in records and entries.
    pub fn name(self) -> &'static str {
        match self {
            Self::Dns => "dns",
            Self::Refused => "refused",
            Self::Tls => "tls",
            Self::ConnectTimeout => "connect_timeout",
            Self::NotSent => "not_sent",
            Self::Reset => "reset",
            Self::ReadTimeout => "read_timeout",
            Self::Truncated => "truncated",
            Self::Undecodable => "undecodable",
        }
    }
}

/// What an error before the answer's head means.
#[derive(Debug)]
pub(super) enum Failure {
    /// Refused by the check of the addresses that the host's name gave.
    Refused(Refusal),
    Fault(Fault),
}

/// Reads an error that came in place of an answer. `tls`: whether the address is `https`.
pub(super) fn of_send(error: &reqwest::Error, tls: bool) -> Failure {
    if let Some(lookup) = find::<LookupError>(error) {
        return match lookup {
            LookupError::Refused(refusal) => Failure::Refused(refusal.clone()),
            LookupError::Late | LookupError::Failed(_) | LookupError::Empty => Failure::Fault(Fault::Dns),
        };
    }
    Failure::Fault(if find::<ConnectLate>(error).is_some() {
        Fault::ConnectTimeout
    } else if error.is_connect() {
        of_connect(find_io(error), tls)
    } else if find::<hyper::Error>(error).is_some_and(hyper::Error::is_parse) {
        Fault::Undecodable
    } else if find_io(error).is_some_and(|io| io.kind() == io::ErrorKind::TimedOut) {
        Fault::ReadTimeout
    } else {
        // Among these is a connection that closed before the request was written. That can't be told from one that closed
        // after, so it counts as one that may have left.
        Fault::Reset
    })
}

/// Reads an error of the connector: no request was written.
fn of_connect(error: Option<&io::Error>, tls: bool) -> Fault {
    use io::ErrorKind as Kind;
    match error.map(|error| (error.kind(), error.raw_os_error())) {
        Some((Kind::ConnectionRefused, _)) => Fault::Refused,
        Some((Kind::TimedOut, _)) => Fault::ConnectTimeout,
        // Once connected, a peer that breaks off has broken the handshake.
        Some((Kind::ConnectionReset | Kind::ConnectionAborted | Kind::BrokenPipe, _)) if tls => Fault::Tls,
        // What the operating system says otherwise (unreachable, no descriptor left) is not about TLS.
        Some((_, Some(_))) => Fault::NotSent,
        _ if tls => Fault::Tls,
        _ => Fault::NotSent,
    }
}

/// Reads an error that came while the answer's body was read.
pub(super) fn of_body(error: &reqwest::Error) -> Fault {
    use io::ErrorKind as Kind;
    let http = find::<hyper::Error>(error);
    match find_io(error).map(io::Error::kind) {
        Some(Kind::UnexpectedEof) => Fault::Truncated,
        Some(Kind::TimedOut) => Fault::ReadTimeout,
        // The chunks' own framing is broken.
        Some(Kind::InvalidData | Kind::InvalidInput) => Fault::Undecodable,
        Some(_) => Fault::Reset,
        None if http.is_some_and(hyper::Error::is_incomplete_message) => Fault::Truncated,
        None if http.is_some_and(hyper::Error::is_parse) => Fault::Undecodable,
        None => Fault::Reset,
    }
}

/// The innermost cause in words, for the operator: bounded, printable ASCII only, since a certificate's names may be in it.
/// The client's own errors name the address; the innermost one doesn't.
pub(super) fn detail(error: &reqwest::Error) -> String {
    let innermost = chain(error).last().filter(|cause| !cause.is::<reqwest::Error>());
    innermost.map(ToString::to_string).unwrap_or_default().chars().take(200).map(printable).collect()
}

fn printable(c: char) -> char {
    if c == ' ' || c.is_ascii_graphic() { c } else { '?' }
}

fn chain<'a>(error: &'a reqwest::Error) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    let first: &'a (dyn Error + 'static) = error;
    std::iter::successors(Some(first), |error| cause(*error))
}

/// The next cause. An `io::Error` made of another error shows that one's cause as its own, and would hide the error itself.
fn cause<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a (dyn Error + 'static)> {
    if let Some(inner) = error.downcast_ref::<io::Error>().and_then(io::Error::get_ref) {
        return Some(inner);
    }
    error.source()
}

fn find<T: Error + 'static>(error: &reqwest::Error) -> Option<&T> {
    chain(error).find_map(|error| error.downcast_ref())
}

/// The innermost I/O error: outer ones only wrap it.
fn find_io(error: &reqwest::Error) -> Option<&io::Error> {
    chain(error).filter_map(|error| error.downcast_ref()).last()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn d20_whether_a_request_may_have_left_follows_from_the_fault() {
        let no: Vec<&str> = names(Left::No);
        assert_eq!(no, ["dns", "refused", "tls", "connect_timeout", "not_sent"]);
        let maybe: Vec<&str> = names(Left::Maybe);
        assert_eq!(maybe, ["reset", "read_timeout", "truncated", "undecodable"]);
        assert_eq!((Left::No.name(), Left::Maybe.name()), ("no", "maybe"));
    }

    fn names(left: Left) -> Vec<&'static str> {
        let all = Fault::ALL.into_iter();
        all.filter(|fault| fault.left() == left).map(Fault::name).collect()
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn d20_an_error_of_the_connector_is_read_by_its_kind() {
        let os = |code| io::Error::from_raw_os_error(code);
        for (error, plain, tls) in [
            (os(111), Fault::Refused, Fault::Refused),
            (os(110), Fault::ConnectTimeout, Fault::ConnectTimeout),
            (os(104), Fault::NotSent, Fault::Tls),
            (os(101), Fault::NotSent, Fault::NotSent),
            (os(113), Fault::NotSent, Fault::NotSent),
            (os(24), Fault::NotSent, Fault::NotSent),
            (io::ErrorKind::UnexpectedEof.into(), Fault::NotSent, Fault::Tls),
            (io::Error::new(io::ErrorKind::InvalidData, "bad certificate"), Fault::NotSent, Fault::Tls),
        ] {
            assert_eq!(of_connect(Some(&error), false), plain, "{error}");
            assert_eq!(of_connect(Some(&error), true), tls, "{error}");
        }
    }
}
