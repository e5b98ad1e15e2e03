//! From the core's types to the interface's. Records are taken apart whole, so that a field too few doesn't compile.

use alloc::{string::String, vec::Vec};

use super::{audit, types};
use crate::{api, check, guidance, time::Instant, verify};

/// Written as the interface has it.
pub(super) trait Out<T> {
    fn out(self) -> T;
}

macro_rules! same {
    ($($plain:ty),+) => { $(
        impl Out<$plain> for $plain {
            fn out(self) -> $plain {
                self
            }
        }
    )+ };
}

same!(String, bool, u16, u32, u64, (String, String));

impl Out<u64> for Instant {
    fn out(self) -> u64 {
        self.ms()
    }
}

impl<A: Out<B>, B> Out<Option<B>> for Option<A> {
    fn out(self) -> Option<B> {
        self.map(Out::out)
    }
}

impl<A: Out<B>, B> Out<Vec<B>> for Vec<A> {
    fn out(self) -> Vec<B> {
        self.into_iter().map(Out::out).collect()
    }
}

macro_rules! records {
    ($($core:path => $wit:path { $($field:ident),+ $(,)? })+) => { $(
        impl Out<$wit> for $core {
            fn out(self) -> $wit {
                use $core as Core;
                use $wit as Wit;
                let Core { $($field),+ } = self;
                Wit { $($field: $field.out()),+ }
            }
        }
    )+ };
}

records! {
    api::Build => types::Build { version, contract_format, record_format, entry_format, observation_format }
    api::Fault => types::Fault { pointer, message }
    api::Refusal => types::Refusal { kind, message, faults }
    api::ContractSummary => types::ContractSummary {
        id, provider, digest, id_parts, ctx, origins, effects, approval_per_request, credential_header, needs_address,
        timeout_ms, deadline_ms, max_status_requests, max_transport_failures, max_throttles, warnings, samples,
    }
    api::Observed => types::Observed { observation, kept }
    api::Kept => types::Kept { sha256, value, secret, role }
    api::RequestPlan => types::RequestPlan {
        method, url, secret_url_sha256, origin, headers, body, origins, credential, timeout_ms, max_body_bytes,
        request_id_headers,
    }
    api::PlanOrigin => types::PlanOrigin { origin, allow_private }
    api::PlanCredential => types::PlanCredential { header, prefix, reference }
    api::Transition => types::Transition { record, operation, action, entry, sentence }
    api::Settlement => types::Settlement { ending, results, actions }
    api::ResultRef => types::ResultRef { name, sha256, secret }
    api::Spent => types::Spent { used, max }
    api::Exchange => types::Exchange { attempt, status, fault, sent_at, at, request_id }
    api::Extension => types::Extension { time_ms, requests, failures, throttles, useful_until }
    api::Proposal => types::Proposal { id, by, why, extension, expected_effect }
    api::LimitsGiven => types::LimitsGiven {
        deadline, useful_until, max_status_requests, max_transport_failures, max_throttles,
    }
    api::Operation => types::Operation {
        operation_id, namespace, contract_id, contract_digest, component_digest, account, credential, provider_job_id,
        followed, phase, revision, authority_revision, fence, started_at, last_at, deadline_at, useful_until, job_expires_at,
        submitted_at, first_seen_at, last_seen_at, next_at, requests, failures, throttles, last_known_state,
        last_outcome, last_exchange, progress, error, address, address_secret, lease_ms, opened_by,
        approval_per_request, extensions_used, warnings, results, actions, head, record_sha256, limits_given,
        spent_earliest, spent_latest, held_until, proposals,
    }
    api::Notice => types::Notice {
        operation_id, reason, asks, revision, provider, contract_id, job, account, last_state, error, submitted_at,
        first_seen_at, last_seen_at, elapsed_ms, requests, failures, throttles, last_exchange, held_until, options,
        text,
    }
    api::NoticeOption => types::NoticeOption { option, effect, extension, until }
    guidance::Rejected => types::RejectedGuidance { place, why }
    verify::Report => audit::Report { verdict, checked, entry, field, why, record, sentences }
}

impl Out<types::Action> for api::Action {
    fn out(self) -> types::Action {
        use api::Action as A;
        use types::Action as W;
        match self {
            A::Due { attempt } => W::Due(types::DueAction { attempt }),
            A::Send { attempt, timeout_ms } => W::Send(types::SendAction { attempt, timeout_ms }),
            A::Sleep { until, source } => W::Sleep(types::SleepAction { until: until.out(), source: source.out() }),
            A::AskApproval { attempt } => W::AskApproval(types::DueAction { attempt }),
            A::Escalate { reason, options } => {
                W::Escalate(types::EscalateAction { reason: reason.out(), options: options.out() })
            }
            A::Settle { settlement } => W::Settle(settlement.out()),
            A::Rest { until, why } => W::Rest(types::RestAction { until: until.out(), why }),
        }
    }
}

impl Out<types::Phase> for api::Phase {
    fn out(self) -> types::Phase {
        use api::Phase as P;
        use types::Phase as W;
        match self {
            P::Waiting { next_poll_at, source } => {
                W::Waiting(types::WaitingPhase { next_poll_at: next_poll_at.out(), source: source.out() })
            }
            P::Asking { attempt } => W::Asking(types::DueAction { attempt }),
            P::Polling { attempt, since, fence, lease_expires_at } => W::Polling(types::PollingPhase {
                attempt,
                since: since.out(),
                fence,
                lease_expires_at: lease_expires_at.out(),
            }),
            P::Escalated { reason } => W::Escalated(reason.out()),
            P::Settled { settlement } => W::Settled(settlement.out()),
        }
    }
}

impl Out<types::TimeLimit> for api::TimeLimit {
    fn out(self) -> types::TimeLimit {
        match self {
            api::TimeLimit::AfterMs(ms) => types::TimeLimit::AfterMs(ms),
            api::TimeLimit::At(at) => types::TimeLimit::At(at.out()),
        }
    }
}

impl Out<types::Tried> for check::Tried {
    fn out(self) -> types::Tried {
        let check::Tried { outcome, state, rule, notes, guidance, observation } = self;
        let guidance::Guidance { at, eta, rejected } = guidance;
        types::Tried {
            outcome,
            state,
            rule,
            notes,
            not_before: at.map(|(at, _)| at.out()),
            not_before_source: at.map(|(_, source)| source.out()),
            eta: eta.out(),
            rejected: rejected.out(),
            observation,
        }
    }
}
