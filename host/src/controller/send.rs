//! One request: from the plan that the component made to an answer that it can read.

use std::time::Duration;

use super::{ControlError, Controller};
use crate::component::types;
use crate::credential::Secret;
use crate::transport::{self, AllowedOrigin, AttachCredential, Body, Plan, Sent};

/// What came of a request that was paid for.
pub(super) enum Exchange {
    /// An answer, or the part of one that arrived.
    Answer(Box<types::Answer>),
    /// None; in words, for the operator.
    Fault(types::TransportFault, String),
}

impl Controller {
    /// Sends what was paid for, once, within what is left of `timeout` since `paid` on the monotonic clock.
    pub(super) async fn send(
        &self,
        id: &str,
        plan: types::RequestPlan,
        secret: Option<&Secret>,
        timeout: Duration,
        paid: Duration,
    ) -> Exchange {
        let not_sent = |why: String| Exchange::Fault(types::TransportFault::NotSent, why);
        let url = match (&plan.url, &plan.secret_url_sha256) {
            (Some(url), _) => url.clone(),
            (None, Some(sha256)) => match self.secret_address(id, sha256) {
                Ok(url) => url.expose().to_owned(),
                Err(error) => return not_sent(error.to_string()),
            },
            (None, None) => return not_sent("the plan has no address".to_owned()),
        };
        let plan = transport_plan(plan, url);
        // INVARIANT (in-time): looked at again by monotonic time, after the charge and before connecting (I2).
        let Some(left) = timeout.checked_sub(self.since(paid)).filter(|left| !left.is_zero()) else {
            return not_sent("no time was left after the charge".to_owned());
        };
        match self.network.send(&plan, secret, left).await {
            Err(refusal) => not_sent(refusal.to_string()),
            Ok(Sent::Unanswered(unanswered)) => Exchange::Fault(fault(unanswered.fault), unanswered.detail),
            Ok(Sent::Answered(answer)) => Exchange::Answer(Box::new(answer_of(answer))),
        }
    }
}

fn transport_plan(plan: types::RequestPlan, url: String) -> Plan {
    Plan {
        method: plan.method,
        url,
        headers: plan.headers,
        body: plan.body,
        origins: plan
            .origins
            .into_iter()
            .map(|origin| AllowedOrigin { origin: origin.origin, allow_private: origin.allow_private })
            .collect(),
        credential: plan
            .credential
            .map(|credential| AttachCredential { header: credential.header, prefix: credential.prefix }),
        max_body_bytes: plan.max_body_bytes,
        request_id_headers: plan.request_id_headers,
    }
}

fn answer_of(answer: transport::Answer) -> types::Answer {
    let body = match answer.body {
        Body::None => types::Body::None,
        Body::Text(text) => types::Body::Text(text),
        Body::Unreadable(why) => types::Body::Unreadable(types::Unreadable {
            why: why.name().to_owned(),
            sha256: answer.body_sha256,
            bytes: answer.body_bytes,
        }),
    };
    types::Answer {
        status: answer.status,
        headers: answer.headers,
        body,
        incomplete: answer.incomplete.map(fault),
        sent_at: answer.sent_at,
        received_at: answer.received_at,
    }
}

fn fault(fault: transport::Fault) -> types::TransportFault {
    use transport::Fault as F;
    use types::TransportFault as T;
    match fault {
        F::Dns => T::Dns,
        F::Refused => T::Refused,
        F::Tls => T::Tls,
        F::ConnectTimeout => T::ConnectTimeout,
        F::NotSent => T::NotSent,
        F::Reset => T::Reset,
        F::ReadTimeout => T::ReadTimeout,
        F::Truncated => T::Truncated,
        F::Undecodable => T::Undecodable,
    }
}

/// How long to wait before a save is tried again that failed for want of room or a lock.
pub(super) const RETRY_MS: u64 = 250;

/// Whether the same save may go through later.
pub(super) fn may_pass(error: &ControlError) -> bool {
    matches!(error, ControlError::Store(error) if error.may_pass())
}
