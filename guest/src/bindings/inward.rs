//! From the interface's types to the core's. A value that the core has no place for is refused, never truncated.

use alloc::{boxed::Box, collections::BTreeMap, format, string::String, vec::Vec};

use super::types;
use crate::{
    api::{self, Refusal, RefusalKind},
    check, limits,
    observation::Observation,
    provider_text,
    time::Instant,
};

/// Read, or refused.
pub(super) trait Take<T> {
    /// # Errors
    /// `invalid_event`, as in the JSON twin.
    fn take(self) -> Result<T, Refusal>;
}

fn refuse<T>(message: String) -> Result<T, Refusal> {
    Err(Refusal::new(RefusalKind::InvalidEvent, message))
}

macro_rules! same {
    ($($plain:ty),+) => { $(
        impl Take<$plain> for $plain {
            fn take(self) -> Result<$plain, Refusal> {
                Ok(self)
            }
        }
    )+ };
}

same!(String, bool, u16, u32, u64, (String, String));

impl Take<Instant> for u64 {
    fn take(self) -> Result<Instant, Refusal> {
        match Instant::from_ms(self) {
            Some(at) => Ok(at),
            None => refuse(format!("{self} ms is later than 9999-12-31T23:59:59.999Z, the last instant there is")),
        }
    }
}

impl<A: Take<B>, B> Take<Option<B>> for Option<A> {
    fn take(self) -> Result<Option<B>, Refusal> {
        self.map(Take::take).transpose()
    }
}

impl<A: Take<B>, B> Take<Vec<B>> for Vec<A> {
    fn take(self) -> Result<Vec<B>, Refusal> {
        self.into_iter().map(Take::take).collect()
    }
}

/// Pairs by name; a name that stands twice has no meaning.
impl<V> Take<BTreeMap<String, V>> for Vec<(String, V)> {
    fn take(self) -> Result<BTreeMap<String, V>, Refusal> {
        let mut map = BTreeMap::new();
        for (name, value) in self {
            if map.contains_key(&name) {
                return refuse(format!("`{}` is given twice", provider_text::clean(&name, limits::NAME_BYTES_MAX)));
            }
            map.insert(name, value);
        }
        Ok(map)
    }
}

impl<A: Take<B>, B> Take<Box<B>> for A {
    fn take(self) -> Result<Box<B>, Refusal> {
        self.take().map(Box::new)
    }
}

/// An observation's text, as `observe` made it.
impl Take<Observation> for String {
    fn take(self) -> Result<Observation, Refusal> {
        match serde_json::from_str(&self) {
            Ok(observation) => Ok(observation),
            Err(error) => refuse(format!(
                "the observation can't be read: line {}, column {}: let `observe` make it",
                error.line(),
                error.column()
            )),
        }
    }
}

macro_rules! records {
    ($($wit:path => $core:path { $($field:ident),+ $(,)? })+) => { $(
        impl Take<$core> for $wit {
            fn take(self) -> Result<$core, Refusal> {
                use $core as Core;
                use $wit as Wit;
                let Wit { $($field),+ } = self;
                Ok(Core { $($field: $field.take()?),+ })
            }
        }
    )+ };
}

records! {
    types::Opening => api::Opening {
        operation_id, namespace, component, account, credential, job, address, ctx, fingerprint, opened_by,
        submitted_at, job_expires_at, limits, approval_per_request, lease_ms, seed, submission, submission_unknown,
        sealing, predecessor,
    }
    types::LimitsGiven => api::LimitsGiven {
        deadline, useful_until, max_status_requests, max_transport_failures, max_throttles,
    }
    types::Predecessor => api::Predecessor {
        operation_id, status_requests_used, transport_failures_used, throttles_used, decided_by, why,
    }
    types::Answer => api::Answer { status, headers, body, incomplete, sent_at, received_at }
    types::Unreadable => api::Unreadable { why, sha256, bytes }
    types::Trial => check::Trial { contract, answer, job, account, ctx }
    types::Event => api::Event { at, what }
    types::CredentialFact => api::CredentialFact { account, digest }
    types::Push => api::Push { authentic, job }
    types::Extension => api::Extension { time_ms, requests, failures, throttles, useful_until }
    types::Proposal => api::Proposal { id, by, why, extension, expected_effect }
    types::Decision => api::Decision { id, by, role, why, revision, what, proposal }
}

impl Take<api::TimeLimit> for types::TimeLimit {
    fn take(self) -> Result<api::TimeLimit, Refusal> {
        Ok(match self {
            types::TimeLimit::AfterMs(ms) => api::TimeLimit::AfterMs(ms),
            types::TimeLimit::At(at) => api::TimeLimit::At(at.take()?),
        })
    }
}

impl Take<api::Body> for types::Body {
    fn take(self) -> Result<api::Body, Refusal> {
        Ok(match self {
            types::Body::None => api::Body::None,
            types::Body::Text(text) => api::Body::Text(text),
            types::Body::Unreadable(unreadable) => api::Body::Unreadable(unreadable.take()?),
        })
    }
}

impl Take<api::What> for types::What {
    fn take(self) -> Result<api::What, Refusal> {
        use api::What as C;
        use types::What as W;
        Ok(match self {
            W::Woke(types::WokeEvent { credential }) => C::Woke { credential: credential.take()? },
            W::Leased(types::LeasedEvent { fence, expires_at, credential }) => {
                C::Leased { fence, expires_at: expires_at.take()?, credential: credential.take()? }
            }
            W::Answered(types::AnsweredEvent { attempt, fence, observation }) => {
                C::Answered { attempt, fence, observation: observation.take()? }
            }
            W::Unanswered(types::UnansweredEvent { attempt, fence, fault }) => {
                C::Unanswered { attempt, fence, fault: fault.take()? }
            }
            W::Paced(until) => C::Paced { until: until.take()? },
            W::Pushed(push) => C::Pushed { push: push.take()? },
            W::Proposed(proposal) => C::Proposed { proposal: proposal.take()? },
            W::Decided(decision) => C::Decided { decision: decision.take()? },
            W::ComponentChanged(types::ComponentChange { component, by }) => C::ComponentChanged { component, by },
            W::Faulted(kind) => C::Faulted { kind: kind.take()? },
        })
    }
}

impl Take<api::DecisionWhat> for types::DecisionWhat {
    fn take(self) -> Result<api::DecisionWhat, Refusal> {
        use api::DecisionWhat as C;
        use types::DecisionWhat as W;
        Ok(match self {
            W::Extend(types::ExtendDecision { extension, done }) => C::Extend { extension: extension.take()?, done },
            W::Amend(types::AmendDecision { contract, extension }) => {
                C::Amend { contract, extension: extension.take()? }
            }
            W::RenewCredential(types::RenewDecision { renewal, credential, extension }) => {
                C::RenewCredential { renewal: renewal.take()?, credential, extension: extension.take()? }
            }
            W::AcceptResult => C::AcceptResult,
            W::Hold(until) => C::Hold { until: until.take()? },
            W::Close => C::Close,
            W::Cancel(extension) => C::Cancel { extension: extension.take()? },
            W::Adopt(types::AdoptDecision { job, address, extension }) => {
                C::Adopt { job: job.take()?, address, extension: extension.take()? }
            }
            W::Resubmit => C::Resubmit,
            W::NewOperation(operation_id) => C::NewOperation { operation_id },
            W::Approve(attempt) => C::Approve { attempt },
            W::Decline(proposal) => C::Decline { proposal },
        })
    }
}

impl Take<api::Renewal> for types::Renewal {
    fn take(self) -> Result<api::Renewal, Refusal> {
        Ok(match self {
            types::Renewal::Rotated(digest) => api::Renewal::Rotated { digest },
            types::Renewal::AccessRestored => api::Renewal::AccessRestored,
        })
    }
}
