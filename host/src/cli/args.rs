//! What can be said on the command line.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

use super::CliError;

const EXIT_CODES: &str = "Exit codes:
  0  succeeded, or a person accepted the result
  1  something failed (a full disk, a damaged store, a log that does not verify)
  2  the command, a file or a limit is wrong; nothing was done
  3  the wait ended and asks for a decision
  4  the wait ended without success (the job failed, expired, was cancelled, or a person closed it)
  5  still waiting";

/// Waits for somebody else's asynchronous job, within what the wait may cost.
#[derive(Debug, Parser)]
#[command(name = "sondeo", version, after_help = EXIT_CODES, after_long_help = EXIT_CODES)]
pub struct Cli {
    #[command(flatten)]
    pub(crate) common: Common,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// Options of every verb.
#[derive(Debug, Args)]
pub(crate) struct Common {
    /// Where operations are kept: a file, or `sqlite:FILE`. Made if it is not there.
    /// [default: $XDG_DATA_HOME/sondeo/sondeo.db, else ~/.local/share/sondeo/sondeo.db]
    #[arg(long, env = "SONDEO_STORE", global = true, value_name = "STORE", help_heading = "Common options")]
    pub(crate) store: Option<String>,
    /// Let this component decide for new operations instead of the embedded one.
    #[arg(long, global = true, value_name = "FILE", help_heading = "Common options")]
    pub(crate) component: Option<PathBuf>,
    /// Where the key for secret addresses and results is found: `env:NAME`, `file:PATH` or `exec:COMMAND`; 32 bytes as hex
    /// or base64.
    #[arg(long, env = "SONDEO_SEALING_KEY", global = true, value_name = "REF", help_heading = "Common options")]
    pub(crate) sealing_key: Option<String>,
    /// Print JSON for programs.
    #[arg(long, global = true, help_heading = "Common options")]
    pub(crate) json: bool,
}

impl Common {
    /// The store's file.
    pub(crate) fn store_path(&self) -> Result<PathBuf, CliError> {
        if let Some(text) = &self.store {
            let path = text.strip_prefix("sqlite:").unwrap_or(text);
            if path.is_empty() {
                return Err(CliError::Input("--store: name a file, for example `--store jobs.db`".to_owned()));
            }
            if let Some((scheme, _)) = path.split_once("://") {
                return Err(CliError::Input(format!(
                    "--store: `{scheme}` is not a kind of store; give a file, or `sqlite:FILE`"
                )));
            }
            return Ok(PathBuf::from(path));
        }
        let data = std::env::var_os("XDG_DATA_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
        let home = || std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".local/share"));
        match data.or_else(home) {
            Some(folder) => Ok(folder.join("sondeo/sondeo.db")),
            None => Err(CliError::Input("--store: no home folder is known, so name a file".to_owned())),
        }
    }
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Open an operation, or go on with it, and wait in the foreground.
    #[command(after_help = WATCH_EXAMPLES)]
    Watch(OpenArgs),
    /// Open an operation without waiting for it; `run` or `watch` go on.
    Open(OpenArgs),
    /// List operations, the latest first.
    List(ListArgs),
    /// Tell an operation's story.
    Show(ShowArgs),
    /// What a person needs to decide about an operation.
    Notice(IdArgs),
    /// Decide about an operation.
    #[command(after_help = DECIDE_EXAMPLES)]
    Decide(DecideArgs),
    /// Work off what is due, for every operation, until nothing waits any more.
    Run(RunArgs),
    /// Check logs, records and columns, and replay every decision by the component that made it.
    Verify(AuditArgs),
    /// Replay decisions by the embedded component, or that of `--component`, and tell their story.
    Replay(AuditArgs),
    /// Begin, check, try, compare, list and show contracts.
    Contract(ContractArgs),
    /// What the decision component is; write it to a file.
    Component(ComponentArgs),
    /// Wait for a dozen jobs of a small provider on loopback, and check what came of it.
    #[command(after_long_help = super::demo::BEHAVIOURS)]
    Demo(super::demo::DemoArgs),
}

const WATCH_EXAMPLES: &str = "Examples:
  sondeo watch openai.batches batch_abc --credential env:OPENAI_API_KEY
  sondeo watch exports.json exp_71c --deadline 40m --max-requests 12 --max-failures 3
  sondeo watch exports.json exp_71c --deadline 2026-12-24T18:00:00Z --json

Ctrl-C finishes the request in flight and leaves; a second one leaves at once. The same command goes on where it was.";

const DECIDE_EXAMPLES: &str = "Examples:
  sondeo decide 3f2a extend --why 'the export is large'
  sondeo decide 3f2a extend --time 10m --requests 2 --why 'one more look'
  sondeo decide 3f2a amend exports.v2.json --why 'paused is a waiting state'
  sondeo decide 3f2a close --why 'no longer needed'";

const NEW_EXAMPLES: &str = "Example (without a terminal):
  sondeo contract new --provider Acme --url 'https://api.acme.example/v1/exports/{export_id}' --state /status \\
    --pending queued,running --succeeded done --failed error --result /download_url --source 'docs.acme.example/exports' \\
    --effects none --effects-known 'docs: reading an export is free' --takes 5m";

const TRY_EXAMPLES: &str = "Examples:
  curl -i https://api.example.com/v1/jobs/1 | sondeo contract try jobs.json --answer - --job 1
  sondeo contract try jobs.json --job 1 --credential env:KEY --against";

#[derive(Debug, Args)]
pub(crate) struct OpenArgs {
    /// A contract: a file, or the name of one that comes along (`sondeo contract list`).
    pub(crate) contract: String,
    /// The job's id at the provider, where the contract has one id part.
    pub(crate) job: Option<String>,
    /// An id part, where the contract has several.
    #[arg(long = "part", value_name = "NAME=VALUE")]
    pub(crate) parts: Vec<String>,
    /// The status address, where the contract takes it from the opening.
    #[arg(long, value_name = "URL")]
    pub(crate) address: Option<String>,
    /// A fact that the contract declares; several of one name make a list.
    #[arg(long = "ctx", value_name = "NAME=VALUE")]
    pub(crate) ctx: Vec<String>,
    /// When the wait stops: `40m`, or a time such as 2026-12-24T18:00:00Z.
    #[arg(long, value_name = "WHEN", help_heading = "Limits")]
    pub(crate) deadline: Option<String>,
    /// When the result is of no more use.
    #[arg(long, value_name = "WHEN", help_heading = "Limits")]
    pub(crate) useful_until: Option<String>,
    /// Most status requests.
    #[arg(long, value_name = "N", help_heading = "Limits")]
    pub(crate) max_requests: Option<u32>,
    /// Most exchanges from which nothing was learnt.
    #[arg(long, value_name = "N", help_heading = "Limits")]
    pub(crate) max_failures: Option<u32>,
    /// Most throttled answers.
    #[arg(long, value_name = "N", help_heading = "Limits")]
    pub(crate) max_throttles: Option<u32>,
    /// Where the credential is found: `env:NAME`, `file:PATH` or `exec:COMMAND`.
    #[arg(long, value_name = "REF")]
    pub(crate) credential: Option<String>,
    /// Label of the provider account.
    #[arg(long, default_value = "default")]
    pub(crate) account: String,
    /// Tenant.
    #[arg(long, default_value = "default")]
    pub(crate) namespace: String,
    /// When the job was submitted.
    #[arg(long, value_name = "TIME")]
    pub(crate) submitted_at: Option<String>,
    /// When the provider drops the job.
    #[arg(long, value_name = "TIME")]
    pub(crate) job_expires_at: Option<String>,
    /// Digest of the original request.
    #[arg(long)]
    pub(crate) fingerprint: Option<String>,
    /// The submission's answer, as an HTTP response in a file: it is read, and costs no request.
    #[arg(long, value_name = "FILE")]
    pub(crate) submission: Option<PathBuf>,
    /// Nobody knows whether the job was submitted: opens an operation that asks, and sends nothing.
    #[arg(long)]
    pub(crate) submission_unknown: bool,
    /// Ask a person before each request.
    #[arg(long)]
    pub(crate) approve_each: bool,
    /// How long one request may hold the operation; longer than the contract's request timeout.
    #[arg(long, default_value = "60s", value_name = "DURATION")]
    pub(crate) lease: String,
    /// Go on from this ended operation on the same job: its counters count. Needs `--why`.
    #[arg(long, value_name = "ID", requires = "why")]
    pub(crate) successor_of: Option<String>,
    /// Why a further operation is opened.
    #[arg(long)]
    pub(crate) why: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct ListArgs {
    /// Only this tenant's.
    #[arg(long)]
    pub(crate) namespace: Option<String>,
    /// Only in this phase.
    #[arg(long, value_parser = ["waiting", "asking", "polling", "escalated", "settled"])]
    pub(crate) phase: Vec<String>,
    /// Only of this contract id.
    #[arg(long)]
    pub(crate) contract: Option<String>,
    /// At most so many.
    #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) limit: u32,
}

#[derive(Debug, Args)]
pub(crate) struct IdArgs {
    /// An operation's id, or its beginning.
    pub(crate) id: String,
}

#[derive(Debug, Args)]
pub(crate) struct ShowArgs {
    /// An operation's id, or its beginning.
    pub(crate) id: String,
    /// Every entry's line, the charges' too.
    #[arg(long)]
    pub(crate) all: bool,
}

#[derive(Debug, Args)]
pub(crate) struct DecideArgs {
    /// An operation's id, or its beginning.
    pub(crate) id: String,
    #[command(subcommand)]
    pub(crate) choice: ChoiceArgs,
    /// Why; goes into the log.
    #[arg(long, global = true, default_value = "")]
    pub(crate) why: String,
    /// The revision that the decision was made on, from `notice`; a stale one is refused.
    #[arg(long, global = true, value_name = "N")]
    pub(crate) revision: Option<u64>,
    /// The decision's id: the same again changes nothing.
    #[arg(long, global = true, value_name = "ID")]
    pub(crate) decision_id: Option<String>,
}

/// Amounts of an extension; none given: all that is offered.
#[derive(Debug, Clone, Args)]
pub(crate) struct Amounts {
    /// More time, counted from now: `15m`.
    #[arg(long, value_name = "DURATION")]
    pub(crate) time: Option<String>,
    /// More status requests, counted from those used.
    #[arg(long, value_name = "N")]
    pub(crate) requests: Option<u32>,
    /// More failures.
    #[arg(long, value_name = "N")]
    pub(crate) failures: Option<u32>,
    /// More throttled answers.
    #[arg(long, value_name = "N")]
    pub(crate) throttles: Option<u32>,
    /// A new time until which the result is of use.
    #[arg(long, value_name = "WHEN")]
    pub(crate) useful_until: Option<String>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ChoiceArgs {
    /// Wait longer, within what is offered.
    Extend {
        #[command(flatten)]
        amounts: Amounts,
        /// What was done (after `needs_action`).
        #[arg(long)]
        done: Option<String>,
    },
    /// Go on under a revised contract.
    Amend {
        /// The new contract: a file, or a name.
        contract: String,
        #[command(flatten)]
        amounts: Amounts,
        /// Extend with it by all that is offered.
        #[arg(long)]
        extend: bool,
    },
    /// Go on with a mended credential.
    #[command(group = clap::ArgGroup::new("how").required(true))]
    RenewCredential {
        /// It was rotated: its digest must differ from the refused one's.
        #[arg(long, group = "how")]
        rotated: bool,
        /// Its access was restored: you attest that by name.
        #[arg(long, group = "how")]
        access_restored: bool,
        /// Another reference.
        #[arg(long, value_name = "REF")]
        credential: Option<String>,
        /// Extend with it by all that is offered.
        #[arg(long)]
        extend: bool,
    },
    /// Take the result that was seen.
    AcceptResult,
    /// Ask nobody again before this time.
    Hold {
        /// `2h`, or a time.
        until: String,
    },
    /// End without a result.
    Close,
    /// Let the request that rests be sent (contracts that ask for each).
    Approve {
        /// Its number.
        attempt: u32,
    },
    /// Name the job that was found (after `submission_unknown`).
    Adopt {
        /// The job's id, where the contract has one id part.
        job: Option<String>,
        /// An id part, where it has several.
        #[arg(long = "part", value_name = "NAME=VALUE")]
        parts: Vec<String>,
        /// The status address, where the contract takes it from the opening.
        #[arg(long, value_name = "URL")]
        address: Option<String>,
    },
    /// Go on with the embedded component, or that of `--component`.
    UseComponent,
}

#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    /// Only what is due now.
    #[arg(long)]
    pub(crate) once: bool,
    /// Most requests in flight at once.
    #[arg(long, default_value_t = 8, value_parser = clap::value_parser!(u16).range(1..=256))]
    pub(crate) concurrency: u16,
}

#[derive(Debug, Args)]
pub(crate) struct AuditArgs {
    /// Operations, by their ids or the beginnings of those; none: all.
    pub(crate) ids: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct ContractArgs {
    #[command(subcommand)]
    pub(crate) verb: ContractVerb,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ContractVerb {
    /// Begin a contract: asks the few questions, or takes the answers by flags, and writes a file that passes `check`.
    #[command(after_help = NEW_EXAMPLES)]
    New(Box<super::contract::new::NewArgs>),
    /// Check contract files as wholes and run their samples.
    Check {
        /// Files, or names.
        #[arg(required = true)]
        contracts: Vec<String>,
    },
    /// What one answer would mean, and why.
    #[command(after_help = TRY_EXAMPLES)]
    Try(super::contract::attempt::TryArgs),
    /// Which answers change meaning between two contracts, and which fields differ.
    Diff(super::contract::diff::DiffArgs),
    /// List the contracts that come along, and what each needs.
    List,
    /// Print a contract; without a name, the names of those that come along.
    Show {
        /// A file, or a name.
        contract: Option<String>,
        /// Print the JSON Schema of the format.
        #[arg(long)]
        schema: bool,
    },
}

#[derive(Debug, Args)]
pub(crate) struct ComponentArgs {
    /// Write it to this file.
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// Write the core module within instead.
    #[arg(long, requires = "out")]
    pub(crate) core: bool,
}
