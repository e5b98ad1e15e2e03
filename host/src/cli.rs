//! The command line: arguments in, sentences or JSON out, and an exit code that a script can rely on.

mod args;
mod audit;
mod contract;
mod decide;
mod demo;
mod input;
mod live;
mod open;
mod output;
mod run;
mod show;
mod watch;

use std::process::ExitCode;
use std::sync::Arc;

pub use args::Cli;
use clap::Parser as _;
use serde_json::json;

use crate::clock::{Clock, SystemClock};
use crate::component::{Component, LoadError, describe, types};
use crate::controller::{ControlError, Controller};
use crate::credential::CredentialRef;
use crate::seal::{Key, KeyError};
use crate::store::{SqliteStore, Store, StoreError};
use args::{Command, Common};

/// Exit codes, documented in `--help`.
pub mod code {
    /// Succeeded, or a person accepted the result.
    pub const DONE: u8 = 0;
    /// Anything that has no code of its own.
    pub const FAILED: u8 = 1;
    /// The command or its input is wrong.
    pub const USAGE: u8 = 2;
    /// The wait ended and asks for a decision.
    pub const ASKS: u8 = 3;
    /// The wait ended without success; nothing is asked.
    pub const ENDED: u8 = 4;
    /// Still waiting.
    pub const WAITING: u8 = 5;
}

/// Why a command failed, and with which exit code.
#[derive(Debug, thiserror::Error)]
pub enum CliError {
    /// The command line or a file that it names is wrong.
    #[error("{0}")]
    Input(String),
    /// A contract with faults, each at its place.
    #[error("{file}: {} fault(s)\n{}", .faults.len(), lines(.faults))]
    Contract {
        /// The file.
        file: String,
        /// What is wrong.
        faults: Vec<types::Fault>,
    },
    /// Store, component or network.
    #[error(transparent)]
    Control(#[from] ControlError),
    /// A component that can't be loaded.
    #[error("{file}: {error}")]
    Load {
        /// The file.
        file: String,
        /// Why.
        error: LoadError,
    },
    /// The sealing key.
    #[error("--sealing-key: {0}")]
    Key(#[from] KeyError),
    /// Output can't be written.
    #[error("can't write: {0}")]
    Io(#[from] std::io::Error),
    /// JSON can't be written.
    #[error("can't write JSON: {0}")]
    Json(#[from] serde_json::Error),
}

fn lines(faults: &[types::Fault]) -> String {
    let lines: Vec<String> = faults
        .iter()
        .map(|fault| format!("  {}: {}", crate::controller::pointer(&fault.pointer), fault.message))
        .collect();
    lines.join("\n")
}

impl From<StoreError> for CliError {
    fn from(error: StoreError) -> Self {
        CliError::Control(error.into())
    }
}

impl From<crate::component::CallError> for CliError {
    fn from(error: crate::component::CallError) -> Self {
        CliError::Control(error.into())
    }
}

impl CliError {
    /// 2 for what the user can put right in the command or its input, 1 for the rest.
    fn code(&self) -> u8 {
        match self {
            CliError::Input(_) | CliError::Contract { .. } | CliError::Load { .. } | CliError::Key(_) => code::USAGE,
            CliError::Control(
                ControlError::Refused(_)
                | ControlError::Credential(_)
                | ControlError::NoKey(_)
                | ControlError::Store(
                    StoreError::NotFound(_)
                    | StoreError::Absent { .. }
                    | StoreError::Foreign { .. }
                    | StoreError::NotADatabase { .. }
                    | StoreError::Newer { .. }
                    | StoreError::Open { .. },
                ),
            ) => code::USAGE,
            CliError::Control(_) => code::FAILED,
            CliError::Io(_) | CliError::Json(_) => code::FAILED,
        }
    }
}

/// What every verb has at hand.
pub(crate) struct App {
    pub(crate) common: Common,
}

impl App {
    /// The store, opened for writing.
    pub(crate) fn store(&self, clock: &Arc<dyn Clock>) -> Result<Arc<dyn Store>, CliError> {
        let path = self.common.store_path()?;
        Ok(Arc::new(SqliteStore::open(&path, Arc::clone(clock))?))
    }

    /// The store, opened for reading: it is neither made nor migrated.
    pub(crate) fn store_to_read(&self, clock: &Arc<dyn Clock>) -> Result<Arc<dyn Store>, CliError> {
        let path = self.common.store_path()?;
        Ok(Arc::new(SqliteStore::open_read_only(&path, Arc::clone(clock))?))
    }

    /// The component for new operations: the embedded one, or that of `--component`.
    pub(crate) fn component(&self) -> Result<Component, CliError> {
        match &self.common.component {
            None => {
                Component::embedded().map_err(|error| CliError::Load { file: "embedded component".to_owned(), error })
            }
            Some(path) => {
                let bytes = input::read_bytes(path)?;
                Component::load(&bytes).map_err(|error| CliError::Load { file: path.display().to_string(), error })
            }
        }
    }

    async fn key(&self) -> Result<Option<Key>, CliError> {
        let Some(reference) = &self.common.sealing_key else {
            return Ok(None);
        };
        let reference: CredentialRef =
            reference.parse().map_err(|error| CliError::Input(format!("--sealing-key: {error}")))?;
        Ok(Some(Key::resolve(&reference).await?))
    }

    /// A controller that may write.
    pub(crate) async fn controller(&self) -> Result<Controller, CliError> {
        let clock: Arc<dyn Clock> = Arc::new(SystemClock::new());
        let store = self.store(&clock)?;
        Ok(Controller::new(store, clock, self.component()?, self.key().await?))
    }

    /// A controller that only reads.
    pub(crate) async fn reader(&self) -> Result<Controller, CliError> {
        let clock: Arc<dyn Clock> = Arc::new(SystemClock::new());
        let store = self.store_to_read(&clock)?;
        Ok(Controller::new(store, clock, self.component()?, self.key().await?))
    }
}

/// Reads the command line. Where that ends the program (help, or something is wrong with it), what was to say has been said.
///
/// # Errors
/// The exit code.
pub fn parse() -> Result<Cli, ExitCode> {
    let error = match Cli::try_parse() {
        Ok(cli) => return Ok(cli),
        Err(error) => error,
    };
    let wrong = error.use_stderr();
    if wrong && std::env::args_os().any(|arg| arg == "--json") {
        let text = error.render().to_string();
        let text = text.trim().trim_start_matches("error: ");
        output::note(&json!({"error": text, "faults": [], "exit_code": code::USAGE}).to_string());
    } else {
        // A closed pipe has nobody to tell.
        let _ = error.print();
    }
    Err(ExitCode::from(if wrong { code::USAGE } else { code::DONE }))
}

/// Past a limit on file sizes the system ends a program without a word, unless it listens; then the write fails, and is told.
#[cfg(unix)]
fn outlive_file_size_limit() {
    use tokio::signal::unix::{SignalKind, signal};
    /// SIGXFSZ on Linux (but for MIPS), macOS and the BSDs.
    const FILE_SIZE: i32 = 25;
    // Where it can't be had, such a limit still ends the program, and nothing is lost.
    drop(signal(SignalKind::from_raw(FILE_SIZE)));
}

#[cfg(not(unix))]
fn outlive_file_size_limit() {}

/// Runs a command line.
pub async fn run(cli: Cli) -> ExitCode {
    outlive_file_size_limit();
    let app = App { common: cli.common };
    let json = app.common.json;
    let result = match cli.command {
        Command::Watch(args) => watch::watch(&app, args).await,
        Command::Open(args) => open::open(&app, &args).await,
        Command::List(args) => show::list(&app, &args).await,
        Command::Show(args) => show::show(&app, &args).await,
        Command::Notice(args) => show::notice(&app, &args).await,
        Command::Decide(args) => decide::decide(&app, args).await,
        Command::Run(args) => run::run(&app, &args).await,
        Command::Verify(args) => audit::verify(&app, &args).await,
        Command::Replay(args) => audit::replay(&app, &args).await,
        Command::Contract(args) => contract::contract(&app, args).await,
        Command::Component(args) => component(&app, &args),
        Command::Demo(args) => demo::demo(&app, &args).await,
    };
    match result {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            output::error(&error, json);
            ExitCode::from(error.code())
        }
    }
}

/// `component`: the bytes that decide, and what they are.
fn component(app: &App, args: &args::ComponentArgs) -> Result<u8, CliError> {
    let component = app.component()?;
    let description = describe(&component)?;
    if let Some(path) = &args.out {
        let bytes = match args.core {
            true => component
                .core_bytes()
                .ok_or_else(|| CliError::Input("this component holds more than one core module".to_owned()))?,
            false => component.bytes(),
        };
        input::write_bytes(path, bytes)?;
    }
    if app.common.json {
        output::json(&description)?;
        return Ok(code::DONE);
    }
    let none = "none".to_owned();
    output::line(&format!("component  sha256 {}", description.component_sha256))?;
    output::line(&format!("core       sha256 {}", description.core_sha256.as_ref().unwrap_or(&none)))?;
    output::line(&format!("version    {}", description.version))?;
    let formats = &description.formats;
    output::line(&format!(
        "formats    {}, {}, {}, {}",
        formats.contract, formats.record, formats.entry, formats.observation
    ))?;
    let imports = if description.imports.is_empty() { none } else { description.imports.join(", ") };
    output::line(&format!("imports    {imports}"))?;
    output::line(&format!("exports    {}", description.exports.join(", ")))?;
    if let Some(path) = &args.out {
        output::line(&format!(
            "written    {} to {}",
            if args.core { "core module" } else { "component" },
            path.display()
        ))?;
    }
    Ok(code::DONE)
}
