//! A provider that writes exactly what it is told, byte by byte if need be, and keeps what it received.

use std::collections::HashMap;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Runtime;

/// How far ahead the times lie that stand for `$IMF` and its like.
pub(crate) const LATER_S: i64 = 3_600;

/// One piece of what is done on a connection once its request has been read.
#[derive(Clone)]
pub(crate) enum Part {
    /// An honest head, with the body's length, and the body; the connection is closed afterwards.
    Http { status: u16, headers: Vec<String>, body: Vec<u8> },
    /// These bytes.
    Raw(Vec<u8>),
    /// So many bytes of blanks, as chunks or as they are.
    Flood { bytes: u64, chunked: bool },
    /// These bytes one at a time, with a pause after each, again and again.
    Drip(Vec<u8>),
    /// A pause.
    Pause(Duration),
    /// The connection is broken off.
    Reset,
    /// Nothing more, until the other side gives up.
    Hang,
}

/// What is done on one connection.
pub(crate) type Answer = Vec<Part>;

/// What the server knows and has seen.
#[derive(Default)]
struct Seen {
    /// By the id's path segment, as it stands in the request.
    answers: HashMap<String, Answer>,
    /// Request heads, by the same.
    asked: HashMap<String, Vec<String>>,
    /// Bytes that were taken from us, by the same.
    taken: HashMap<String, u64>,
    /// Heads of requests that nobody should have sent.
    strays: Vec<String>,
    connections: u64,
}

/// The server, on threads of its own: whatever blocks the program under test doesn't delay an answer.
pub(crate) struct Server {
    address: SocketAddr,
    seen: Arc<Mutex<Seen>>,
    _runtime: Runtime,
}

impl Server {
    /// `elsewhere` is what `$ELSEWHERE` stands for: another origin.
    pub(crate) fn start(elsewhere: &str) -> Server {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
        let address = listener.local_addr().unwrap();
        let seen = Arc::<Mutex<Seen>>::default();
        let (all, elsewhere) = (Arc::clone(&seen), elsewhere.to_owned());
        runtime.spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                all.lock().unwrap().connections += 1;
                let (all, elsewhere) = (Arc::clone(&all), elsewhere.clone());
                tokio::spawn(async move {
                    let here = format!("http://{address}");
                    // A client that hangs up is no fault of a test.
                    let _hung_up = serve(stream, &all, &here, &elsewhere).await;
                });
            }
        });
        Server { address, seen, _runtime: runtime }
    }

    pub(crate) fn origin(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Whoever asks for this path segment gets this answer.
    pub(crate) fn answers(&self, segment: &str, answer: &Answer) {
        let before = self.seen.lock().unwrap().answers.insert(segment.to_owned(), answer.clone());
        assert!(before.is_none(), "two answers for `{segment}`");
    }

    /// The heads of the requests for this segment.
    pub(crate) fn asked(&self, segment: &str) -> Vec<String> {
        self.seen.lock().unwrap().asked.get(segment).cloned().unwrap_or_default()
    }

    /// How many bytes of the answer the other side, or the system on its way, has taken.
    pub(crate) fn taken(&self, segment: &str) -> u64 {
        self.seen.lock().unwrap().taken.get(segment).copied().unwrap_or_default()
    }

    /// Requests for what was never told.
    pub(crate) fn strays(&self) -> Vec<String> {
        self.seen.lock().unwrap().strays.clone()
    }

    pub(crate) fn connections(&self) -> u64 {
        self.seen.lock().unwrap().connections
    }
}

async fn serve(mut stream: TcpStream, seen: &Mutex<Seen>, here: &str, elsewhere: &str) -> io::Result<()> {
    let head = read_head(&mut stream).await?;
    let path = head.split(' ').nth(1).unwrap_or_default();
    let segment = path.strip_prefix("/v1/jobs/").unwrap_or(path).to_owned();
    let answer = {
        let mut seen = seen.lock().unwrap();
        let answer = seen.answers.get(&segment).cloned();
        match &answer {
            Some(_) => seen.asked.entry(segment.clone()).or_default().push(head.clone()),
            None => seen.strays.push(head.clone()),
        }
        answer
    };
    let answer = answer.unwrap_or_else(|| vec![Part::Http { status: 418, headers: Vec::new(), body: Vec::new() }]);
    for part in answer {
        match part {
            Part::Http { status, headers, body } => {
                stream.write_all(&http(status, &headers, &body, &segment, here, elsewhere)).await?;
            }
            Part::Raw(bytes) => stream.write_all(&filled(&bytes, &segment, here, elsewhere)).await?,
            Part::Flood { bytes, chunked } => flood(&mut stream, seen, &segment, bytes, chunked).await?,
            Part::Drip(bytes) => loop {
                for byte in &bytes {
                    stream.write_all(&[*byte]).await?;
                    tokio::time::sleep(Duration::from_millis(100)).await;
                }
            },
            Part::Pause(time) => tokio::time::sleep(time).await,
            Part::Reset => {
                stream.set_zero_linger()?;
                return Ok(());
            }
            Part::Hang => {
                // Until the client goes; whatever it still says is of no interest.
                let mut rest = [0];
                let _read = stream.read(&mut rest).await?;
                return Ok(());
            }
        }
    }
    stream.shutdown().await
}

async fn read_head(stream: &mut TcpStream) -> io::Result<String> {
    let mut head = Vec::new();
    let mut buffer = [0; 4096];
    while !head.ends_with(b"\r\n\r\n") {
        match stream.read(&mut buffer).await? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            read => head.extend_from_slice(&buffer[..read]),
        }
    }
    Ok(String::from_utf8_lossy(&head).into_owned())
}

async fn flood(stream: &mut TcpStream, seen: &Mutex<Seen>, job: &str, bytes: u64, chunked: bool) -> io::Result<()> {
    const PIECE: usize = 64 * 1024;
    let blanks = vec![b' '; PIECE];
    let piece = match chunked {
        true => [format!("{PIECE:x}\r\n").as_bytes(), &blanks, b"\r\n"].concat(),
        false => blanks,
    };
    for _ in 0..bytes / PIECE as u64 {
        stream.write_all(&piece).await?;
        *seen.lock().unwrap().taken.entry(job.to_owned()).or_default() += PIECE as u64;
    }
    if chunked { stream.write_all(b"0\r\n\r\n").await } else { Ok(()) }
}

fn http(status: u16, headers: &[String], body: &[u8], job: &str, here: &str, elsewhere: &str) -> Vec<u8> {
    let body = filled(body, job, here, elsewhere);
    let mut head = format!("HTTP/1.1 {status} Told\r\nconnection: close\r\ncontent-length: {}\r\n", body.len());
    for header in headers {
        head.push_str(header);
        head.push_str("\r\n");
    }
    head.push_str("\r\n");
    [filled(head.as_bytes(), job, here, elsewhere), body].concat()
}

/// Names that begin with `$` replaced by what they stand for now.
fn filled(bytes: &[u8], job: &str, here: &str, elsewhere: &str) -> Vec<u8> {
    if !bytes.contains(&b'$') {
        return bytes.to_vec();
    }
    let later: DateTime<Utc> = Utc::now() + TimeDelta::seconds(LATER_S);
    let values = [
        ("$JOB", job.to_owned()),
        ("$HERE", here.to_owned()),
        ("$ELSEWHERE", elsewhere.to_owned()),
        ("$IMF", later.format("%a, %d %b %Y %H:%M:%S GMT").to_string()),
        ("$RFC850", later.format("%A, %d-%b-%y %H:%M:%S GMT").to_string()),
        ("$ASCTIME", later.format("%a %b %e %H:%M:%S %Y").to_string()),
        ("$RFC3339", later.format("%Y-%m-%dT%H:%M:%SZ").to_string()),
        ("$EPOCH_MS", later.timestamp_millis().to_string()),
        ("$EPOCH_S", later.timestamp().to_string()),
    ];
    let mut rest = bytes;
    let mut out = Vec::with_capacity(bytes.len());
    while let Some((first, tail)) = rest.split_first() {
        let named = values.iter().find(|(name, _)| *first == b'$' && rest.starts_with(name.as_bytes()));
        match named {
            Some((name, value)) => {
                out.extend_from_slice(value.as_bytes());
                rest = &rest[name.len()..];
            }
            None => {
                out.push(*first);
                rest = tail;
            }
        }
    }
    out
}

/// Another origin, at which nobody may ever turn up.
pub(crate) struct Elsewhere {
    listener: std::net::TcpListener,
}

impl Elsewhere {
    pub(crate) fn start() -> Elsewhere {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        Elsewhere { listener }
    }

    pub(crate) fn origin(&self) -> String {
        format!("http://{}", self.listener.local_addr().unwrap())
    }

    /// Fails if anybody has connected.
    pub(crate) fn saw_nobody(&self) {
        let came = self.listener.accept().map(|(_, address)| address);
        assert!(came.is_err_and(|error| error.kind() == io::ErrorKind::WouldBlock), "a connection to another origin");
    }
}
