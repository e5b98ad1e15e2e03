//! The real program, as a person or a script runs it.

use std::io::{BufRead as _, BufReader, Read, Write as _};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use serde_json::Value;

use super::wait_for;

/// The program with its arguments, not yet running.
#[must_use]
pub(crate) struct Program {
    command: Command,
    input: Vec<u8>,
    told: String,
}

/// What it came to.
pub(crate) struct Done {
    /// The exit code; `None` where a signal ended it.
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    told: String,
}

impl Program {
    /// `sondeo` with these arguments and nothing of this process's settings for it.
    pub(crate) fn new<S: AsRef<str>>(args: &[S]) -> Program {
        Program::through(&[], args)
    }

    /// The same, started by another program: `wrapper` and its arguments stand in front.
    pub(crate) fn through<S: AsRef<str>>(wrapper: &[&str], args: &[S]) -> Program {
        let mut words = wrapper.to_vec();
        words.push(env!("CARGO_BIN_EXE_sondeo"));
        words.extend(args.iter().map(AsRef::as_ref));
        Program::other(&words)
    }

    /// Whatever `words` start.
    pub(crate) fn other(words: &[&str]) -> Program {
        let mut command = Command::new(words[0]);
        command.args(&words[1..]);
        command.env_remove("SONDEO_STORE").env_remove("SONDEO_SEALING_KEY").env("RUST_BACKTRACE", "0");
        Program { command, input: Vec::new(), told: words.join(" ") }
    }

    pub(crate) fn env(mut self, name: &str, value: &str) -> Program {
        self.command.env(name, value);
        self
    }

    /// What stands on its standard input.
    pub(crate) fn input(mut self, bytes: &[u8]) -> Program {
        self.input = bytes.to_vec();
        self
    }

    pub(crate) fn start(mut self) -> Running {
        let stdin = if self.input.is_empty() { Stdio::null() } else { Stdio::piped() };
        self.command.stdin(stdin).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = self.command.spawn().unwrap();
        if let Some(mut stdin) = child.stdin.take() {
            stdin.write_all(&self.input).unwrap();
        }
        let stdout = Captured::of(child.stdout.take().unwrap());
        let stderr = Captured::of(child.stderr.take().unwrap());
        Running { child, stdout, stderr, told: self.told }
    }

    /// Runs it to its end.
    pub(crate) fn run(self) -> Done {
        self.start().done()
    }
}

/// The program while it runs. Dropped, it is killed.
pub(crate) struct Running {
    child: Child,
    stdout: Captured,
    stderr: Captured,
    told: String,
}

struct Captured {
    text: Arc<Mutex<String>>,
    reader: Option<JoinHandle<()>>,
}

impl Captured {
    fn of(stream: impl Read + Send + 'static) -> Captured {
        let text: Arc<Mutex<String>> = Arc::default();
        let into = Arc::clone(&text);
        let reader = std::thread::spawn(move || {
            let mut lines = BufReader::new(stream);
            let mut line = Vec::new();
            while lines.read_until(b'\n', &mut line).is_ok_and(|read| read > 0) {
                into.lock().unwrap().push_str(&String::from_utf8_lossy(&line));
                line.clear();
            }
        });
        Captured { text, reader: Some(reader) }
    }

    fn so_far(&self) -> String {
        self.text.lock().unwrap().clone()
    }

    fn whole(&mut self) -> String {
        if let Some(reader) = self.reader.take() {
            reader.join().unwrap();
        }
        self.so_far()
    }
}

impl Running {
    pub(crate) fn process_id(&self) -> u32 {
        self.child.id()
    }

    /// Waits for a line on standard output, or standard error, that holds `text`.
    pub(crate) fn wait_for_line(&mut self, text: &str) {
        let what = format!("`{text}` from `{}`", self.told);
        wait_for(&what, || {
            let (stdout, stderr) = (self.stdout.so_far(), self.stderr.so_far());
            if stdout.contains(text) || stderr.contains(text) {
                return Some(());
            }
            let ended = self.child.try_wait().unwrap();
            assert!(ended.is_none(), "{what} never came, {ended:?}:\n{stdout}\n{stderr}");
            None
        });
    }

    /// `kill -9`.
    pub(crate) fn kill9(mut self) -> Done {
        self.child.kill().unwrap();
        self.done()
    }

    /// Ctrl-C.
    pub(crate) fn interrupt(&self) {
        self.signal("INT");
    }

    fn signal(&self, name: &str) {
        let kill = Command::new("sh").args(["-c", &format!("kill -{name} {}", self.child.id())]).status().unwrap();
        assert!(kill.success(), "kill -{name}");
    }

    pub(crate) fn is_running(&mut self) -> bool {
        self.child.try_wait().unwrap().is_none()
    }

    /// Waits for its end.
    pub(crate) fn done(mut self) -> Done {
        let what = format!("the end of `{}`", self.told);
        let ended = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            wait_for(&what, || self.child.try_wait().unwrap())
        }));
        let Ok(status) = ended else {
            drop(self.child.kill());
            panic!("no end of `{}`:\n{}\n{}", self.told, self.stdout.whole(), self.stderr.whole());
        };
        Done {
            code: status.code(),
            stdout: self.stdout.whole(),
            stderr: self.stderr.whole(),
            told: std::mem::take(&mut self.told),
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

impl std::fmt::Display for Done {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Done { code, stdout, stderr, told } = self;
        write!(f, "`{told}` ended with {code:?}\n--- stdout\n{stdout}--- stderr\n{stderr}")
    }
}

impl Done {
    /// Fails with everything it said unless it ended with `code`, and without a panic.
    pub(crate) fn code(self, code: i32) -> Done {
        assert_eq!(self.code, Some(code), "{self}");
        assert!(!self.stderr.contains("panicked"), "{self}");
        self
    }

    /// Standard output as one JSON value.
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("no JSON ({error}): {self}"))
    }

    /// The story's line that holds `text`.
    pub(crate) fn line(&self, text: &str) -> &str {
        let found = self.stdout.lines().find(|line| line.contains(text));
        found.unwrap_or_else(|| panic!("no line has `{text}`: {self}"))
    }

    /// The one error on standard error, without the program's name: one line, unless `lines` says otherwise.
    pub(crate) fn error(&self) -> &str {
        let text = self.stderr.trim_end();
        let error = text.strip_prefix("sondeo: ").unwrap_or_else(|| panic!("no error of ours: {self}"));
        assert_eq!(text.matches("sondeo: ").count(), 1, "one error: {self}");
        error
    }
}
