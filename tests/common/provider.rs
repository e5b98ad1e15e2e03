//! `tests/provider/provider.py` as a child: the witness that counts what it really received.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use super::wait_for;

/// A provider on loopback. It stops when this is dropped, or when this process ends in whatever way.
pub(crate) struct Provider {
    child: Child,
    log: PathBuf,
    pub(crate) port: u16,
}

/// One request that the provider received.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Request {
    /// When, in ms since the epoch by the provider's clock.
    pub(crate) at_ms: u64,
    /// The word of the script that answered it.
    pub(crate) answer: String,
    /// SHA-256 of the `Authorization` that came with it, or `-`.
    pub(crate) authorization: String,
}

impl Provider {
    /// Starts one whose files are in `folder`.
    pub(crate) fn start(folder: &Path, more: &[&str]) -> Provider {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/provider/provider.py");
        let (port_file, log) = (folder.join("provider.port"), folder.join("provider.log"));
        let child = Command::new("python3")
            .arg(script)
            .args(["--while-stdin", "--port-file"])
            .arg(&port_file)
            .arg("--log")
            .arg(&log)
            .args(more)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .spawn();
        let mut child = child.unwrap_or_else(|error| {
            panic!("these tests need `python3`, for the provider that is not part of this code: {error}")
        });
        let port = wait_for("the provider's port", || {
            if let Some(status) = child.try_wait().unwrap() {
                panic!("the provider did not start ({status}); is `python3` there, 3.8 or newer?");
            }
            std::fs::read_to_string(&port_file).ok()?.parse().ok()
        });
        Provider { child, log, port }
    }

    /// What it received for a job, by its log.
    pub(crate) fn requests(&self, job: &str) -> Vec<Request> {
        let log = std::fs::read_to_string(&self.log).unwrap_or_default();
        let lines = log.lines().filter_map(|line| {
            let mut words = line.split(' ');
            let (at, id) = (words.next()?, words.next()?);
            let (_number, answer, authorization) = (words.next()?, words.next()?, words.next()?);
            let at_ms = at.replace('.', "").parse().unwrap();
            let request = Request { at_ms, answer: answer.into(), authorization: authorization.into() };
            (id == job).then_some(request)
        });
        lines.collect()
    }

    /// How often it was asked for a job, by its own count.
    pub(crate) fn count(&self, job: &str) -> u32 {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        write!(stream, "GET /count/{job} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let body = answer.split_once("\r\n\r\n").unwrap().1;
        serde_json::from_str::<serde_json::Value>(body).unwrap()["count"].as_u64().unwrap().try_into().unwrap()
    }

    /// Waits until it was asked so often.
    pub(crate) fn wait_for_request(&self, job: &str, number: usize) {
        wait_for(&format!("request {number} for `{job}`"), || (self.requests(job).len() >= number).then_some(()));
    }
}

impl Drop for Provider {
    fn drop(&mut self) {
        // Gone already is as good.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}
