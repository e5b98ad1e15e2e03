//! Enums: the same cases on both sides, so that a case too few doesn't compile.

use super::{audit, inward::Take, outward::Out, types};
use crate::{
    api::{self, Refusal},
    verify,
};

macro_rules! out {
    ($($core:path => $wit:path { $($case:ident),+ $(,)? })+) => { $(
        impl Out<$wit> for $core {
            fn out(self) -> $wit {
                use $core as Core;
                use $wit as Wit;
                match self { $(Core::$case => Wit::$case),+ }
            }
        }
    )+ };
}

macro_rules! take {
    ($($wit:path => $core:path { $($case:ident),+ $(,)? })+) => { $(
        impl Take<$core> for $wit {
            fn take(self) -> Result<$core, Refusal> {
                use $core as Core;
                use $wit as Wit;
                Ok(match self { $(Wit::$case => Core::$case),+ })
            }
        }
    )+ };
}

out! {
    api::Reason => types::Reason {
        DeadlineExceeded, UsefulnessExpired, ProviderWaitExceedsDeadline, RequestBudgetExhausted, RateLimited,
        ProviderFailure, AmbiguousDelivery, AuthorizationDenied, UnknownState, UnreadableResponse, IntegrationFailure,
        ContradictoryResponse, PartialResult, NeedsAction, IdentityMismatch, SubmissionUnknown, PolicyFault, JobFailed,
        JobCancelled, JobExpired,
    }
    api::OptionKind => types::OptionKind {
        Extend, Amend, RenewCredential, AcceptResult, Cancel, Adopt, Resubmit, NewOperation, Hold, Inspect, Close,
    }
    api::DelaySource => types::DelaySource {
        ProviderRetryAfter, ProviderPollHint, LocalBackoff, ManualExtension, FirstDelay, AccountPacing, Push,
    }
    api::TransportFault => types::TransportFault {
        Dns, Refused, Tls, ConnectTimeout, NotSent, Reset, ReadTimeout, Truncated, Undecodable,
    }
    api::Outcome => types::Outcome {
        Pending, Succeeded, Partial, Failed, Cancelled, Expired, NeedsAction, Unknown, NotFound, Throttled, Unavailable,
        Unauthorized, Follow,
    }
    api::Ending => types::Ending { Succeeded, Accepted, Closed }
    api::RefusalKind => types::RefusalKind {
        InvalidContract, InvalidOpening, InvalidRecord, InvalidEvent, UnknownVersion, ContractMismatch, Stale, Ended,
        StaleRevision, NotOffered, NotAllowed, OverCeiling,
    }
    verify::Verdict => audit::Verdict { Verified, VerifiedOtherBuild, Broken, Diverged, NotCheckable }
}

take! {
    types::TransportFault => api::TransportFault {
        Dns, Refused, Tls, ConnectTimeout, NotSent, Reset, ReadTimeout, Truncated, Undecodable,
    }
    types::FaultKind => api::FaultKind { Trap, OutOfFuel, OutOfMemory, OutOfBounds }
}
