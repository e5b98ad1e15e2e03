//! A line of the table: an answer, and what has to come of it.

use sondeo::component::types::{DelaySource, Reason, TransportFault};

use super::server::{Answer, LATER_S, Part};

/// What the first failed or pending attempt waits, by the contract's pace: `100s * 2`, without jitter.
const BACKOFF_MS: u64 = 200_000;
/// The same after a 429 without guidance: three steps (D18).
const THROTTLED_MS: u64 = 800_000;
/// A time that is named by the second is early by up to one, and the answer may have been long on its way.
const LATE_MS: u64 = 30_000;

/// One answer to the one request of one operation.
#[derive(Clone)]
pub(crate) struct Case {
    /// The rule that says what has to come of it.
    pub(crate) rule: &'static str,
    pub(crate) what: String,
    /// The job's id, and the path segment that it has to become; else one is made up.
    pub(crate) job: Option<(String, String)>,
    pub(crate) answer: Answer,
    pub(crate) expect: Expect,
    /// The request has 2 s, not a minute.
    pub(crate) short: bool,
    /// Every budget is 1.
    pub(crate) last: bool,
}

#[derive(Debug, Clone)]
pub(crate) struct Expect {
    pub(crate) stands: Stands,
    /// The last exchange's status, where it matters.
    pub(crate) status: Option<u16>,
    pub(crate) fault: Option<TransportFault>,
    pub(crate) failures: u32,
    pub(crate) throttles: u32,
    /// Pieces of guidance that were rejected.
    pub(crate) rejected: usize,
}

#[derive(Debug, Clone)]
pub(crate) enum Stands {
    /// Waits for so long after the answer, at least and at most, and why.
    Sleeps(DelaySource, u64, u64),
    Asks(Reason),
    Settles,
}

const NOTHING: Expect =
    Expect { stands: Stands::Settles, status: None, fault: None, failures: 0, throttles: 0, rejected: 0 };

/// The job runs; the backoff says when to ask again.
pub(crate) fn waits() -> Expect {
    Expect { stands: Stands::Sleeps(DelaySource::LocalBackoff, BACKOFF_MS, BACKOFF_MS), ..NOTHING }
}

/// The same, for the provider is not to be reached: a failure is counted.
pub(crate) fn fails() -> Expect {
    Expect { failures: 1, ..waits() }
}

/// The exchange came to this fault.
pub(crate) fn faults(fault: TransportFault) -> Expect {
    Expect { fault: Some(fault), ..fails() }
}

/// The provider throttles, and gives no guidance of use.
pub(crate) fn throttled() -> Expect {
    Expect { stands: Stands::Sleeps(DelaySource::LocalBackoff, THROTTLED_MS, THROTTLED_MS), throttles: 1, ..NOTHING }
}

pub(crate) fn asks(reason: Reason) -> Expect {
    Expect { stands: Stands::Asks(reason), ..NOTHING }
}

pub(crate) fn settles() -> Expect {
    NOTHING
}

impl Expect {
    /// `Retry-After` names exactly this delay.
    pub(crate) fn retry_after(self, ms: u64) -> Expect {
        Expect { stands: Stands::Sleeps(DelaySource::ProviderRetryAfter, ms, ms), ..self }
    }

    /// `Retry-After` names the time that `$IMF` and its like stand for.
    pub(crate) fn retry_at(self) -> Expect {
        self.later(DelaySource::ProviderRetryAfter)
    }

    /// A hint of the contract names exactly this delay.
    pub(crate) fn hint(self, ms: u64) -> Expect {
        Expect { stands: Stands::Sleeps(DelaySource::ProviderPollHint, ms, ms), ..self }
    }

    /// A hint of the contract names the time that `$RFC3339` and its like stand for.
    pub(crate) fn hint_at(self) -> Expect {
        self.later(DelaySource::ProviderPollHint)
    }

    fn later(self, source: DelaySource) -> Expect {
        let most = u64::try_from(LATER_S).unwrap() * 1_000;
        Expect { stands: Stands::Sleeps(source, most - LATE_MS, most), ..self }
    }

    pub(crate) fn rejects(self, rejected: usize) -> Expect {
        Expect { rejected, ..self }
    }

    pub(crate) fn status(self, status: u16) -> Expect {
        Expect { status: Some(status), ..self }
    }

    /// With every budget at 1 the wait is over.
    pub(crate) fn and_asks(self, reason: Reason) -> Expect {
        Expect { stands: Stands::Asks(reason), ..self }
    }
}

impl Case {
    pub(crate) fn new(rule: &'static str, what: impl Into<String>, answer: Answer, expect: Expect) -> Case {
        Case { rule, what: what.into(), job: None, answer, expect, short: false, last: false }
    }

    pub(crate) fn short(self) -> Case {
        Case { short: true, ..self }
    }

    pub(crate) fn last(self) -> Case {
        Case { last: true, ..self }
    }

    pub(crate) fn job(self, id: &str, segment: &str) -> Case {
        Case { job: Some((id.to_owned(), segment.to_owned())), ..self }
    }
}

/// The body of a job that runs.
pub(crate) const RUNNING: &str = r#"{"job_id":"$JOB","state":"running"}"#;

/// A whole answer.
pub(crate) fn http(status: u16, headers: &[&str], body: impl AsRef<[u8]>) -> Answer {
    let headers = headers.iter().map(|header| (*header).to_owned()).collect();
    vec![Part::Http { status, headers, body: body.as_ref().to_vec() }]
}

/// Exactly these bytes, and then the connection is closed.
pub(crate) fn raw(bytes: impl AsRef<[u8]>) -> Answer {
    vec![Part::Raw(bytes.as_ref().to_vec())]
}

/// Exactly these bytes, and then this.
pub(crate) fn raw_then(bytes: impl AsRef<[u8]>, then: Part) -> Answer {
    vec![Part::Raw(bytes.as_ref().to_vec()), then]
}
