//! How connections come about: names are resolved and checked here, within the request's own time.

use std::future::Future;
use std::io;
use std::net::{SocketAddr, ToSocketAddrs};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use tokio::sync::Semaphore;
use tokio::time::{Instant, timeout_at};
use tower_layer::Layer;
use tower_service::Service;

use super::plan::{Reach, Refusal};
use crate::address;

/// Longest time for a connection, name look-up and TLS included, however much the request has.
const CONNECT_MAX: Duration = Duration::from_secs(10);

/// The look-up ends this long before the connection's limit, and that one this long before the request's: each stage then
/// reports its own lateness, and "it never left" is said only by a connector that gave up.
const SLACK_MAX: Duration = Duration::from_millis(10);

/// Most look-ups at once. The system's resolver blocks a thread for as long as it likes, also when nobody waits any more.
const LOOKUPS_MAX: usize = 64;

/// Until when a connection may be sought.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    resolve_by: Instant,
    connect_by: Instant,
}

tokio::task_local! {
    /// The limits of the request that this task is sending: the client has no place for them.
    pub(super) static LIMITS: Limits;
}

impl Limits {
    /// The limits of a request that began at `start` and has `total` time.
    pub(super) fn new(start: Instant, total: Duration) -> Self {
        let slack = (total / 20).min(SLACK_MAX);
        let connect_by = start + total.saturating_sub(slack).min(CONNECT_MAX);
        Self { resolve_by: connect_by.checked_sub(slack).unwrap_or(start), connect_by }
    }

    /// The limits of the request being sent.
    fn current() -> Self {
        LIMITS.try_with(|limits| *limits).unwrap_or_else(|_| Self::new(Instant::now(), CONNECT_MAX))
    }
}

/// Why a name gave no address to connect to.
#[derive(Debug, thiserror::Error)]
pub(super) enum LookupError {
    #[error(transparent)]
    Refused(Refusal),
    #[error("the look-up took too long")]
    Late,
    #[error("{0}")]
    Failed(io::Error),
    #[error("the host has no address")]
    Empty,
}

/// The system's resolver, whose answers are checked before anything connects. The connector gets the checked addresses and
/// asks nobody again: a name can't be checked as one address and connected to as another.
#[derive(Debug, Clone)]
pub(super) struct Resolver {
    reach: Reach,
    slots: Arc<Semaphore>,
}

impl Resolver {
    pub(super) fn new(reach: Reach) -> Self {
        Self { reach, slots: Arc::new(Semaphore::new(LOOKUPS_MAX)) }
    }

    async fn look_up(self, host: String) -> Result<Vec<SocketAddr>, LookupError> {
        let slot = self.slots.acquire_owned().await;
        let name = host.clone();
        let found = tokio::task::spawn_blocking(move || {
            // Held until the system's resolver returns, which may be after this request has given up.
            let _slot = slot;
            (name.as_str(), 0).to_socket_addrs().map(Vec::from_iter)
        });
        let found = found
            .await
            .map_err(|stopped| LookupError::Failed(io::Error::other(stopped)))?
            .map_err(LookupError::Failed)?;
        checked(&host, found, self.reach)
    }
}

/// The whole answer, or nothing: where one address isn't public, the others are no better (I17).
fn checked(host: &str, found: Vec<SocketAddr>, reach: Reach) -> Result<Vec<SocketAddr>, LookupError> {
    if found.is_empty() {
        return Err(LookupError::Empty);
    }
    let private = found.iter().find_map(|found| address::why_not_public(found.ip()).map(|what| (found.ip(), what)));
    match private {
        Some((ip, what)) if reach == Reach::Public => {
            Err(LookupError::Refused(Refusal::PrivateAddress { host: host.to_owned(), ip, what }))
        }
        _ => Ok(found),
    }
}

impl Resolve for Resolver {
    fn resolve(&self, name: Name) -> Resolving {
        let look_up = self.clone().look_up(name.as_str().to_owned());
        let by = Limits::current().resolve_by;
        Box::pin(async move {
            let found = timeout_at(by, look_up).await.unwrap_or(Err(LookupError::Late))?;
            Ok(Box::new(found.into_iter()) as Addrs)
        })
    }
}

/// The connection took longer than this request may wait for one.
#[derive(Debug, thiserror::Error)]
#[error("no connection in time")]
pub(super) struct ConnectLate;

/// Gives each connection the limits of the request that asks for it; the client itself has one limit for all.
#[derive(Debug, Clone, Copy)]
pub(super) struct InTime;

impl<S> Layer<S> for InTime {
    type Service = TimedConnector<S>;

    fn layer(&self, connector: S) -> Self::Service {
        TimedConnector(connector)
    }
}

/// A connector with [`InTime`] around it.
#[derive(Debug, Clone)]
pub(super) struct TimedConnector<S>(S);

impl<S, Target> Service<Target> for TimedConnector<S>
where
    S: Service<Target, Error = Box<dyn std::error::Error + Send + Sync>>,
    S::Future: Send + 'static,
    S::Response: 'static,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = Pin<Box<dyn Future<Output = Result<S::Response, S::Error>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.0.poll_ready(context)
    }

    fn call(&mut self, target: Target) -> Self::Future {
        let connecting = self.0.call(target);
        let by = Limits::current().connect_by;
        Box::pin(async move { timeout_at(by, connecting).await.unwrap_or_else(|_| Err(ConnectLate.into())) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(addresses: &[&str]) -> Vec<SocketAddr> {
        let parsed = addresses.iter().map(|ip| ip.parse().unwrap());
        parsed.map(|ip| SocketAddr::new(ip, 0)).collect()
    }

    #[test]
    fn i17_one_private_address_refuses_the_whole_answer() {
        let public = found(&["1.1.1.1", "2606:4700::1111"]);
        assert_eq!(checked("h", public.clone(), Reach::Public).unwrap(), public);
        for private in ["127.0.0.1", "::1", "::ffff:10.0.0.1", "169.254.169.254"] {
            let mixed = found(&["1.1.1.1", private]);
            let refused = checked("h", mixed.clone(), Reach::Public);
            let Err(LookupError::Refused(Refusal::PrivateAddress { ip, .. })) = refused else {
                panic!("{refused:?}");
            };
            assert_eq!(ip.to_string(), private);
            assert_eq!(checked("h", mixed.clone(), Reach::Private).unwrap(), mixed);
        }
        assert!(matches!(checked("h", Vec::new(), Reach::Plain), Err(LookupError::Empty)));
    }

    #[test]
    fn each_stage_ends_before_the_one_around_it() {
        let start = Instant::now();
        for (total, connect) in [(200, 190), (1_000, 990), (60_000, 10_000), (0, 0)] {
            let limits = Limits::new(start, Duration::from_millis(total));
            assert_eq!(limits.connect_by - start, Duration::from_millis(connect));
            assert!(limits.resolve_by <= limits.connect_by);
            assert!(total == 0 || limits.resolve_by < limits.connect_by);
        }
    }
}
