//! A small job provider on loopback: real HTTP/1.1, answers by script, and a witness of every request.
//!
//! It knows nothing of waits, contracts or components, so it serves as a test double for anything that polls:
//!
//! | request | answer |
//! |---|---|
//! | `GET /v1/jobs/ID` | the next step of the job's script, the last one for ever; counted |
//! | `GET /witness` | `{"requests": {ID: how often it was asked for}}`; not counted |
//! | `GET /jobs` | the named jobs: what each does, its script, how a wait for it ends |
//! | `GET /files/ID` | what a result's address leads to |
//!
//! An id is a named job (`quick`, `throttled`... see [`super::stories`]) or a script of its own, steps joined by dots:
//! `queued.429-2.done` ([`super::script::Step`] lists the steps). From `--` on an id only tells jobs of one script
//! apart: `quick--2` begins anew. Any other id answers 404. Every answer bears `x-request-id`; bodies are
//! `{"job_id", "state", "percent"}` and what the step adds: `result_url`, `error`, `waiting_for`, `moved_to`,
//! `poll_after_ms`.
//!
//! A script goes on with each request and looks at no clock, so that the same seed tells the same story at any pace.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::stream;
use http_body_util::{BodyExt as _, Full, StreamBody, combinators::UnsyncBoxBody};
use hyper::body::{Bytes, Frame, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode, header};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{JoinHandle, JoinSet};

use super::script::{Script, Step};
use super::stories::Story;

/// Connections served at once; further ones wait.
const CONNECTIONS_MAX: usize = 256;
/// Jobs counted; a further one is answered 503.
const JOBS_MAX: usize = 10_000;
/// How long a `hang` lasts.
const HANG: Duration = Duration::from_secs(60);
/// How long half a body stands before the connection is closed: it has to have left by then.
const HALF_STANDS: Duration = Duration::from_millis(50);
/// Rest after a connection that couldn't be accepted.
const ACCEPT_REST: Duration = Duration::from_millis(50);

/// The provider, serving until it is dropped.
#[derive(Debug)]
pub struct Provider {
    shared: Arc<Shared>,
    serving: JoinHandle<()>,
}

#[derive(Debug)]
struct Shared {
    address: SocketAddr,
    stories: Vec<Story>,
    requests: Mutex<BTreeMap<String, u32>>,
}

impl Provider {
    /// Serves these jobs on 127.0.0.1; port 0 takes a free one.
    ///
    /// # Errors
    /// Where the port can't be had.
    pub async fn start(stories: Vec<Story>, port: u16) -> std::io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await?;
        let address = listener.local_addr()?;
        let shared = Arc::new(Shared { address, stories, requests: Mutex::default() });
        let serving = tokio::spawn(serve(listener, Arc::clone(&shared)));
        Ok(Self { shared, serving })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.shared.address
    }

    /// The named jobs.
    pub fn stories(&self) -> &[Story] {
        &self.shared.stories
    }

    /// How many requests came for a job.
    pub fn counted(&self, job: &str) -> u32 {
        self.shared.counts().get(job).copied().unwrap_or(0)
    }
}

impl Drop for Provider {
    /// Connections go with it: they belong to the task.
    fn drop(&mut self) {
        self.serving.abort();
    }
}

async fn serve(listener: TcpListener, shared: Arc<Shared>) {
    let mut connections = JoinSet::new();
    loop {
        while connections.try_join_next().is_some() {}
        if connections.len() >= CONNECTIONS_MAX {
            connections.join_next().await;
        }
        match listener.accept().await {
            Ok((stream, _)) => {
                connections.spawn(connection(stream, Arc::clone(&shared)));
            }
            Err(_) => tokio::time::sleep(ACCEPT_REST).await,
        }
    }
}

async fn connection(stream: TcpStream, shared: Arc<Shared>) {
    let service = service_fn(move |request| {
        let shared = Arc::clone(&shared);
        async move { shared.answer(request).await }
    });
    // A connection ends in many ways here, and some are the point.
    let _ended = http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
}

/// The connection is to be closed at this point.
#[derive(Debug, thiserror::Error)]
#[error("cut by the script")]
struct Cut;

type Body = UnsyncBoxBody<Bytes, Cut>;
type Answer = Response<Body>;

impl Shared {
    fn counts(&self) -> std::sync::MutexGuard<'_, BTreeMap<String, u32>> {
        // Counts are whole numbers: a thread that panicked while holding them left nothing half done.
        self.requests.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts a request for a job, before anything of it is answered; `None` where no further job is counted.
    fn count(&self, job: &str) -> Option<u32> {
        let mut counts = self.counts();
        if counts.len() >= JOBS_MAX && !counts.contains_key(job) {
            return None;
        }
        let number = counts.entry(job.to_owned()).or_default();
        *number = number.saturating_add(1);
        Some(*number)
    }

    /// The script of an id: a named job's, or the one that it spells.
    fn script(&self, job: &str) -> Option<Script> {
        let name = job.split_once("--").map_or(job, |(name, _)| name);
        let named = self.stories.iter().find(|story| story.job == name).map(|story| story.script.clone());
        named.or_else(|| name.parse().ok())
    }

    async fn answer(&self, request: Request<Incoming>) -> Result<Answer, Cut> {
        if request.method() != Method::GET {
            return Ok(plain(StatusCode::METHOD_NOT_ALLOWED));
        }
        let path = request.uri().path();
        if let Some(job) = path.strip_prefix("/v1/jobs/") {
            return self.job(job).await;
        }
        Ok(match path.strip_prefix("/files/") {
            Some(job) => text(StatusCode::OK, "text/plain", format!("the result of {job}\n")),
            None if path == "/witness" => body(&json!({"requests": *self.counts()})),
            None if path == "/jobs" => body(&json!({"jobs": self.stories.iter().map(Story::json).collect::<Vec<_>>()})),
            None => plain(StatusCode::NOT_FOUND),
        })
    }

    async fn job(&self, job: &str) -> Result<Answer, Cut> {
        let Some(number) = self.count(job) else {
            return Ok(plain(StatusCode::SERVICE_UNAVAILABLE));
        };
        let script = self.script(job);
        let mut answer = match script.as_ref().and_then(|script| script.step(number)) {
            Some((step, percent)) => self.play(job, step, percent).await?,
            None => plain(StatusCode::NOT_FOUND),
        };
        if let Ok(id) = header::HeaderValue::from_str(&format!("{job}-{number}")) {
            answer.headers_mut().insert("x-request-id", id);
        }
        Ok(answer)
    }

    async fn play(&self, job: &str, step: &Step, percent: usize) -> Result<Answer, Cut> {
        let state = |word: &str, more: Value| body(&about(job, word, percent, more));
        let result_url = format!("http://{}/files/{job}", self.address);
        Ok(match step {
            Step::State(word) => state(word, json!({})),
            Step::Hint(ms) => state("running", json!({"poll_after_ms": ms})),
            Step::Done => state("done", json!({"result_url": result_url})),
            Step::Partial => state("partial", json!({"result_url": result_url})),
            Step::Failed => state("failed", json!({"error": "the disk is full"})),
            Step::Waiting => state("waiting", json!({"waiting_for": "approval"})),
            Step::Moved => state("moved", json!({"moved_to": format!("running.done--{job}")})),
            Step::Hollow => state("done", json!({"result_url": null})),
            Step::Another => body(&about("somebody-elses", "done", 100, json!({"result_url": result_url}))),
            Step::Garbage => text(StatusCode::OK, "text/html", "<html>it works</html>".to_owned()),
            Step::Status(status) => plain(code(*status)),
            Step::Delta(status, seconds) => retry_after(*status, &seconds.to_string()),
            Step::Date(status, seconds) => retry_after(*status, &date_in(*seconds)),
            Step::Drop => return Err(Cut),
            Step::Half => half(&about(job, "running", percent, json!({})).to_string()),
            Step::Hang => {
                tokio::time::sleep(HANG).await;
                return Err(Cut);
            }
        })
    }
}

fn about(job: &str, word: &str, percent: usize, more: Value) -> Value {
    let mut value = json!({"job_id": job, "state": word, "percent": percent});
    if let (Some(map), Value::Object(more)) = (value.as_object_mut(), more) {
        map.extend(more);
    }
    value
}

fn code(status: u16) -> StatusCode {
    StatusCode::from_u16(status).unwrap_or(StatusCode::NOT_FOUND)
}

fn full(text: String) -> Body {
    Full::from(text).map_err(|never: Infallible| match never {}).boxed_unsync()
}

fn plain(status: StatusCode) -> Answer {
    let mut answer = Response::new(full(String::new()));
    *answer.status_mut() = status;
    answer
}

fn text(status: StatusCode, media: &'static str, text: String) -> Answer {
    let mut answer = Response::new(full(text));
    *answer.status_mut() = status;
    answer.headers_mut().insert(header::CONTENT_TYPE, header::HeaderValue::from_static(media));
    answer
}

fn body(value: &Value) -> Answer {
    text(StatusCode::OK, "application/json", value.to_string())
}

fn retry_after(status: u16, value: &str) -> Answer {
    let mut answer = plain(code(status));
    if let Ok(value) = header::HeaderValue::from_str(value) {
        answer.headers_mut().insert(header::RETRY_AFTER, value);
    }
    answer
}

/// RFC 9110 section 5.6.7, the form that is to be sent.
fn date_in(seconds: u32) -> String {
    let at = chrono::Utc::now() + chrono::TimeDelta::seconds(i64::from(seconds));
    at.format("%a, %d %b %Y %H:%M:%S GMT").to_string()
}

/// The head promises the whole text, the body breaks off in its middle.
fn half(text: &str) -> Answer {
    let first = text.get(..text.len() / 2).unwrap_or_default().to_owned();
    let parts = stream::unfold(Some(first), |left| async move {
        match left {
            Some(first) if !first.is_empty() => Some((Ok(Frame::data(Bytes::from(first))), Some(String::new()))),
            Some(_) => {
                tokio::time::sleep(HALF_STANDS).await;
                Some((Err(Cut), None))
            }
            None => None,
        }
    });
    let mut answer = Response::new(StreamBody::new(parts).boxed_unsync());
    answer.headers_mut().insert(header::CONTENT_LENGTH, header::HeaderValue::from(text.len()));
    answer
}

#[cfg(test)]
mod tests;
