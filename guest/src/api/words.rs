//! Closed sets of words, with their text in records, entries, WIT and twin.

use serde::{Deserialize, Deserializer, Serialize, de::Error};

use crate::fill::{self, Blank};

/// An enum whose cases have one text each, the same in JSON and in `as_str`.
macro_rules! words {
    ($(#[$meta:meta])* $name:ident { $($(#[$cm:meta])* $case:ident = $text:literal),+ $(,)? }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
        pub enum $name { $($(#[$cm])* #[serde(rename = $text)] $case),+ }

        impl $name {
            /// Every case, in order.
            pub const ALL: &'static [$name] = &[$($name::$case),+];

            /// Their words, in the same order.
            pub const WORDS: &'static [&'static str] = &[$($text),+];

            /// The word as records and entries write it.
            pub const fn as_str(self) -> &'static str {
                match self { $($name::$case => $text),+ }
            }

            /// The case of this word.
            pub fn from_word(word: &str) -> Option<$name> {
                match word { $($text => Some($name::$case),)+ _ => None }
            }
        }

        impl Blank for $name {
            fn blank() -> $name {
                let [first, ..] = [$($name::$case),+];
                first
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<$name, D::Error> {
                let index = fill::word(deserializer, concat!("enum ", stringify!($name)), $name::WORDS)?;
                $name::ALL.get(index).copied().ok_or_else(|| Error::custom("no such word"))
            }
        }

        impl core::fmt::Display for $name {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                f.write_str(self.as_str())
            }
        }
    };
}

words! {
    /// Why waiting ended without an accepted result (D33).
    Reason {
        DeadlineExceeded = "deadline_exceeded",
        UsefulnessExpired = "usefulness_expired",
        ProviderWaitExceedsDeadline = "provider_wait_exceeds_deadline",
        RequestBudgetExhausted = "request_budget_exhausted",
        RateLimited = "rate_limited",
        ProviderFailure = "provider_failure",
        AmbiguousDelivery = "ambiguous_delivery",
        AuthorizationDenied = "authorization_denied",
        UnknownState = "unknown_state",
        UnreadableResponse = "unreadable_response",
        IntegrationFailure = "integration_failure",
        ContradictoryResponse = "contradictory_response",
        PartialResult = "partial_result",
        NeedsAction = "needs_action",
        IdentityMismatch = "identity_mismatch",
        SubmissionUnknown = "submission_unknown",
        PolicyFault = "policy_fault",
        JobFailed = "job_failed",
        JobCancelled = "job_cancelled",
        JobExpired = "job_expired",
    }
}

words! {
    /// What one answer means (D8): of the job, or, from `not_found` on, of the exchange.
    Outcome {
        Pending = "pending",
        Succeeded = "succeeded",
        Partial = "partial",
        Failed = "failed",
        Cancelled = "cancelled",
        Expired = "expired",
        NeedsAction = "needs_action",
        Unknown = "unknown",
        NotFound = "not_found",
        Throttled = "throttled",
        Unavailable = "unavailable",
        Unauthorized = "unauthorized",
        Follow = "follow",
    }
}

words! {
    /// What a person may do (D33).
    OptionKind {
        Extend = "extend",
        Amend = "amend",
        RenewCredential = "renew_credential",
        AcceptResult = "accept_result",
        Cancel = "cancel",
        Adopt = "adopt",
        Resubmit = "resubmit",
        NewOperation = "new_operation",
        Hold = "hold",
        Inspect = "inspect",
        Close = "close",
    }
}

words! {
    /// What set the next time (D46).
    DelaySource {
        ProviderRetryAfter = "provider_retry_after",
        ProviderPollHint = "provider_poll_hint",
        LocalBackoff = "local_backoff",
        ManualExtension = "manual_extension",
        FirstDelay = "first_delay",
        AccountPacing = "account_pacing",
        Push = "push",
    }
}

words! {
    /// Why an exchange did not give a whole answer (D20).
    TransportFault {
        Dns = "dns",
        Refused = "refused",
        Tls = "tls",
        ConnectTimeout = "connect_timeout",
        NotSent = "not_sent",
        Reset = "reset",
        ReadTimeout = "read_timeout",
        Truncated = "truncated",
        Undecodable = "undecodable",
    }
}

impl TransportFault {
    /// Whether the request may have left (D20).
    pub const fn may_have_left(self) -> bool {
        match self {
            TransportFault::Dns
            | TransportFault::Refused
            | TransportFault::Tls
            | TransportFault::ConnectTimeout
            | TransportFault::NotSent => false,
            TransportFault::Reset
            | TransportFault::ReadTimeout
            | TransportFault::Truncated
            | TransportFault::Undecodable => true,
        }
    }
}

words! {
    /// How a settled operation ended (D32).
    Ending {
        Succeeded = "succeeded",
        Accepted = "accepted",
        Closed = "closed",
    }
}

words! {
    /// How the component failed (D33, `policy_fault`).
    FaultKind {
        Trap = "trap",
        OutOfFuel = "out_of_fuel",
        OutOfMemory = "out_of_memory",
        OutOfBounds = "out_of_bounds",
    }
}

words! {
    /// The kind of a refusal.
    RefusalKind {
        InvalidContract = "invalid_contract",
        InvalidOpening = "invalid_opening",
        InvalidRecord = "invalid_record",
        InvalidEvent = "invalid_event",
        UnknownVersion = "unknown_version",
        ContractMismatch = "contract_mismatch",
        Stale = "stale",
        Ended = "ended",
        StaleRevision = "stale_revision",
        NotOffered = "not_offered",
        NotAllowed = "not_allowed",
        OverCeiling = "over_ceiling",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_reads_back_as_itself() {
        for reason in Reason::ALL {
            assert_eq!(Reason::from_word(reason.as_str()), Some(*reason));
            let json = serde_json::to_string(reason).unwrap();
            assert_eq!(json, alloc::format!("\"{}\"", reason.as_str()));
        }
    }
}
