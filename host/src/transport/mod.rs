//! One HTTP request: the only place from which the host contacts a provider.
//!
//! What a caller may rely on:
//! - At most one request is sent per call: nothing is repeated, redirected, or sent through a proxy (I1, I7, D29).
//! - It goes to an origin of the plan, and to a public address unless the plan allows private ones there (I17). Clients that
//!   may reach private addresses share no connection with those that may not.
//! - It is over within its time, look-up, connection and body included, and within its limits of size.
//! - A credential is attached here and nowhere else, and shows in no error and no `Debug` (I18).
//! - Dropping the future stops it: no task goes on sending. Whether the request had left is then unknown.
//!
//! HTTP/1.1 only: one request per connection at a time, so that a broken connection fails one operation and a fault says
//! whether its request may have left.

mod body;
mod connect;
mod decode;
mod fault;
mod plan;

#[cfg(test)]
mod tests;

use std::fmt;
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use reqwest::{Client, Response, redirect, retry};
use tokio::time::{Instant, timeout_at};

pub use body::{Body, MAX_HEAD_BYTES, UnreadableBody};
pub use fault::{Fault, Left};
pub use plan::{AllowedOrigin, AttachCredential, OWN_HEADERS, Plan, Refusal};

use crate::clock::Clock;
use crate::credential::Secret;
use body::Read;
use connect::{InTime, LIMITS, Limits, Resolver};
use fault::Failure;
use plan::{Checked, Reach};

/// How long an idle connection is kept. Common servers close theirs after 5 s, and a request that crosses such a close is
/// lost for an answer.
const IDLE: Duration = Duration::from_secs(4);

/// Most idle connections kept per origin.
const IDLE_MAX: usize = 256;

/// Longest time that one request may be given; more counts as this.
const TOTAL_MAX: Duration = Duration::from_secs(24 * 60 * 60);

const USER_AGENT: &str = concat!("sondeo/", env!("CARGO_PKG_VERSION"));

/// What became of a request that was handed to the network.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Sent {
    /// At least the answer's head arrived.
    Answered(Answer),
    /// It didn't.
    Unanswered(Unanswered),
}

/// An answer, or the part of it that arrived.
///
/// `Debug` shows header names and the body's length, no values: they may be secret (I18).
#[derive(Clone, PartialEq, Eq)]
pub struct Answer {
    /// The status code.
    pub status: u16,
    /// In order, names in lower case, repeated ones repeated (those of one name together); those of a head beyond
    /// [`MAX_HEAD_BYTES`] as far as they fitted, and then the exchange is `undecodable`.
    pub headers: Vec<(String, String)>,
    /// The body, after content decoding.
    pub body: Body,
    /// SHA-256, in lower-case hex, of the decoded body as far as it was read; at most `max_body_bytes` of it.
    pub body_sha256: String,
    /// How many bytes that are.
    pub body_bytes: u64,
    /// Why the exchange didn't complete, if so (D14): the state in it isn't to be trusted, the head may be.
    pub incomplete: Option<Fault>,
    /// The provider's request id (D30): printable ASCII, bounded.
    pub request_id: Option<String>,
    /// When the request was handed to the network, in ms since the epoch.
    pub sent_at: u64,
    /// When the answer had been read, in ms since the epoch.
    pub received_at: u64,
}

/// An exchange without an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unanswered {
    /// What happened; it says whether the request may have left.
    pub fault: Fault,
    /// The cause in words, for the operator: short, printable ASCII, and without address or credential. May be empty.
    pub detail: String,
    /// When the request was handed to the network, in ms since the epoch.
    pub sent_at: u64,
    /// When it had failed, in ms since the epoch.
    pub at: u64,
}

impl fmt::Debug for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let headers: Vec<&str> = self.headers.iter().map(|(name, _)| name.as_str()).collect();
        f.debug_struct("Answer")
            .field("status", &self.status)
            .field("headers", &headers)
            .field("body", &self.body)
            .field("body_sha256", &self.body_sha256)
            .field("body_bytes", &self.body_bytes)
            .field("incomplete", &self.incomplete)
            .field("request_id", &self.request_id)
            .field("sent_at", &self.sent_at)
            .field("received_at", &self.received_at)
            .finish()
    }
}

/// What came of one request, when it has.
pub type Sending<'a> = Pin<Box<dyn Future<Output = Result<Sent, Refusal>> + Send + 'a>>;

/// By which a request leaves: [`Transport`] is the real one, a simulation brings its own.
pub trait Network: Send + Sync {
    /// Sends one request and reads its answer, all within `total`; at most once, whatever happens.
    ///
    /// # Errors
    /// A plan that isn't sent.
    fn send<'a>(&'a self, plan: &'a Plan, secret: Option<&'a Secret>, total: Duration) -> Sending<'a>;
}

/// Sends requests, one per call; made once and shared.
pub struct Transport {
    public: OnceLock<Client>,
    private: OnceLock<Client>,
    plain: OnceLock<Client>,
    clock: Arc<dyn Clock>,
}

impl Network for Transport {
    fn send<'a>(&'a self, plan: &'a Plan, secret: Option<&'a Secret>, total: Duration) -> Sending<'a> {
        Box::pin(self.send(plan, secret, total))
    }
}

impl fmt::Debug for Transport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Transport")
    }
}

impl Transport {
    /// A transport whose answers are dated by `clock`. Certificates are checked against the system's authorities, which are
    /// read at the first request that needs them.
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        // Fails only where the process has one already, which will do as well.
        let _installed = rustls::crypto::ring::default_provider().install_default();
        Self { public: OnceLock::new(), private: OnceLock::new(), plain: OnceLock::new(), clock }
    }

    /// Sends one request and reads its answer, all within `total`.
    ///
    /// An error means that nothing was sent. `secret` is used only if the plan says how to attach one.
    pub async fn send(&self, plan: &Plan, secret: Option<&Secret>, total: Duration) -> Result<Sent, Refusal> {
        let start = Instant::now();
        if total.is_zero() {
            return Err(Refusal::NoTime);
        }
        let Checked { request, reach } = plan::check(plan, secret)?;
        let total = total.min(TOTAL_MAX);
        let end = start + total;

        let sent_at = self.clock.now_ms();
        let unanswered =
            |fault, detail| Ok(Sent::Unanswered(Unanswered { fault, detail, sent_at, at: self.clock.now_ms() }));
        let client = match self.client(reach) {
            Ok(client) => client,
            Err(error) => return unanswered(Fault::NotSent, fault::detail(&error)),
        };
        let answered = LIMITS.scope(Limits::new(start, total), client.execute(request));
        match timeout_at(end, answered).await {
            Ok(Ok(response)) => {
                let answer = self.answer(response, plan, sent_at, end).await;
                Ok(Sent::Answered(answer))
            }
            Ok(Err(error)) => match fault::of_send(&error, reach != Reach::Plain) {
                Failure::Refused(refusal) => Err(refusal),
                Failure::Fault(fault) => unanswered(fault, fault::detail(&error)),
            },
            Err(_) => unanswered(Fault::ReadTimeout, "no answer in time".to_owned()),
        }
    }

    /// The client for `reach`, made when first needed: reading the system's authorities takes a while, and a system without
    /// any can still be used for plain requests. No two share a connection.
    fn client(&self, reach: Reach) -> reqwest::Result<&Client> {
        let slot = match reach {
            Reach::Public => &self.public,
            Reach::Private => &self.private,
            Reach::Plain => &self.plain,
        };
        if let Some(client) = slot.get() {
            return Ok(client);
        }
        let client = client(reach)?;
        Ok(slot.get_or_init(|| client))
    }

    async fn answer(&self, response: Response, plan: &Plan, sent_at: u64, end: Instant) -> Answer {
        let status = response.status().as_u16();
        let (headers, whole) = body::headers(&response);
        let read = if whole {
            body::read(response, plan.max_body_bytes, end).await
        } else {
            Read::nothing(Fault::Undecodable)
        };
        Answer {
            status,
            request_id: body::request_id(&headers, &plan.request_id_headers),
            headers,
            body: read.body,
            body_sha256: read.sha256,
            body_bytes: read.bytes,
            incomplete: read.incomplete,
            sent_at,
            received_at: self.clock.now_ms(),
        }
    }
}

/// A client that does what it is told, once.
fn client(reach: Reach) -> reqwest::Result<Client> {
    let builder = Client::builder()
        .user_agent(USER_AGENT)
        .redirect(redirect::Policy::none())
        .retry(retry::never())
        .referer(false)
        .no_proxy()
        .http1_only()
        // Codings are undone in `decode`, whatever features another crate may switch on.
        .no_gzip()
        .no_brotli()
        .no_deflate()
        .no_zstd()
        .dns_resolver(Arc::new(Resolver::new(reach)))
        .connector_layer(InTime)
        .pool_idle_timeout(IDLE)
        .pool_max_idle_per_host(IDLE_MAX);
    let builder = match reach {
        Reach::Public | Reach::Private => builder.https_only(true),
        Reach::Plain => builder.tls_certs_only([]),
    };
    builder.build()
}
