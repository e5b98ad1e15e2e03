//! Real servers on loopback that write raw bytes, and the one client that may talk to them.

mod answers;
mod boundaries;
mod faults;

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use super::{AllowedOrigin, Answer, Fault, Plan, Sent, Transport};
use crate::clock::ManualClock;

/// When every test takes place.
const NOW: u64 = 1_764_600_000_000;

/// More time than any exchange here needs that is meant to end by itself.
const AMPLE: Duration = Duration::from_secs(8);

/// What a server does with a request once it has read it.
#[derive(Clone)]
enum Reply {
    /// Writes this and waits for the next request.
    Keep(Vec<u8>),
    /// Writes this and closes.
    Close(Vec<u8>),
    /// Writes this and breaks the connection off.
    Reset(Vec<u8>),
    /// Writes this and then nothing more.
    Hang(Vec<u8>),
    /// Writes this, then the second again and again: at once, or each after a pause.
    Endless(Vec<u8>, Vec<u8>, Duration),
}

/// A provider that counts what it really received.
struct Server {
    address: SocketAddr,
    requests: Arc<Mutex<Vec<String>>>,
}

impl Server {
    /// Answers the n-th request, whatever connection it comes on, with the n-th reply; the last one is repeated.
    async fn start(replies: Vec<Reply>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let requests = Arc::new(Mutex::new(Vec::new()));
        let seen = requests.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream, replies.clone(), seen.clone()));
            }
        });
        Self { address, requests }
    }

    /// One reply for every request.
    async fn always(reply: Reply) -> Self {
        Self::start(vec![reply]).await
    }

    fn origin(&self) -> String {
        format!("http://{}", self.address)
    }

    /// A `GET` that is allowed to go there.
    fn plan(&self) -> Plan {
        plan(&self.origin())
    }

    fn requests(&self) -> Vec<String> {
        self.requests.lock().unwrap().clone()
    }
}

async fn serve(mut stream: TcpStream, replies: Vec<Reply>, seen: Arc<Mutex<Vec<String>>>) {
    while let Some(request) = read_request(&mut stream).await {
        let reply = {
            let mut seen = seen.lock().unwrap();
            seen.push(request);
            replies.get(seen.len() - 1).or(replies.last()).cloned()
        };
        match reply.unwrap() {
            Reply::Keep(bytes) => stream.write_all(&bytes).await.unwrap(),
            Reply::Close(bytes) => {
                let _ = stream.write_all(&bytes).await;
                return;
            }
            Reply::Reset(bytes) => {
                let _ = stream.write_all(&bytes).await;
                // What was written is read before the reset arrives.
                tokio::time::sleep(Duration::from_millis(50)).await;
                stream.set_zero_linger().unwrap();
                return;
            }
            Reply::Hang(bytes) => {
                let _ = stream.write_all(&bytes).await;
                let _ = stream.read(&mut [0]).await;
                return;
            }
            Reply::Endless(bytes, again, pause) => {
                let mut gone = stream.write_all(&bytes).await.is_err();
                while !gone {
                    tokio::time::sleep(pause).await;
                    gone = stream.write_all(&again).await.is_err();
                }
                return;
            }
        }
    }
}

/// Reads one request, body included; `None` once the client has closed.
async fn read_request(stream: &mut TcpStream) -> Option<String> {
    let mut text = Vec::new();
    loop {
        let so_far = String::from_utf8_lossy(&text);
        if let Some((head, body)) = so_far.split_once("\r\n\r\n") {
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
            if body.len() >= length.map_or(0, |length| length.parse().unwrap()) {
                return Some(so_far.into_owned());
            }
        }
        match stream.read_buf(&mut text).await {
            Ok(0) | Err(_) => return None,
            Ok(_) => {}
        }
    }
}

/// A `GET` of a job's status, which may go to `origin` only, private or not.
fn plan(origin: &str) -> Plan {
    Plan {
        method: "GET".to_owned(),
        url: format!("{origin}/jobs/1"),
        headers: vec![("cache-control".to_owned(), "no-cache".to_owned())],
        body: None,
        origins: vec![AllowedOrigin { origin: origin.to_owned(), allow_private: true }],
        credential: None,
        max_body_bytes: 1 << 20,
        request_id_headers: vec!["x-request-id".to_owned(), "request-id".to_owned()],
    }
}

fn transport() -> Transport {
    Transport::new(Arc::new(ManualClock::new(NOW)))
}

/// Sends once with a fresh transport.
async fn send(plan: &Plan) -> Sent {
    transport().send(plan, None, AMPLE).await.unwrap()
}

/// The answer that one request gets.
async fn answer(reply: Reply) -> Answer {
    answered(send(&Server::always(reply).await.plan()).await)
}

fn answered(sent: Sent) -> Answer {
    match sent {
        Sent::Answered(answer) => answer,
        Sent::Unanswered(unanswered) => panic!("{unanswered:?}"),
    }
}

fn fault(sent: Sent) -> Fault {
    match sent {
        Sent::Unanswered(unanswered) => unanswered.fault,
        Sent::Answered(answer) => panic!("{answer:?}"),
    }
}

/// An answer with its length, so that the connection can go on.
fn whole(head: &str, body: &[u8]) -> Vec<u8> {
    let head = format!("HTTP/1.1 {head}\r\ncontent-length: {}\r\n\r\n", body.len());
    [head.as_bytes(), body].concat()
}
