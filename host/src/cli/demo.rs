//! `demo`: the whole, tried in under a minute; or its provider alone, for trying things by hand.

mod board;
mod report;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use serde_json::{Value, json};

use super::{App, CliError, code, input, output, watch};
use crate::clock::{Clock, SystemClock};
use crate::controller::{Controller, Tick};
use crate::demo::provider::Provider;
use crate::demo::stories::{Story, stories};
use crate::demo::{CONTRACT_ID, Waited, contract, run};
use crate::store::SqliteStore;
use board::Board;

/// File of the contract.
const CONTRACT_FILE: &str = "demo-contract.json";
/// File of the store.
const STORE_FILE: &str = "demo.db";

/// What the provider answers, for people who use it as a test double.
pub(crate) const BEHAVIOURS: &str = "The provider (`--provider-only` leaves it running):
  GET /v1/jobs/ID   the job's next step, the last one for ever; counted
  GET /witness      how often each id was asked for; not counted
  GET /jobs         the named jobs, with what each does
  GET /files/ID     what a result's address leads to

An id is a named job, or a script of its own: steps joined by dots, as in
`queued.429-2.running.done`. From `--` on it only makes the id another one:
`quick--2` begins anew. Any other id answers 404.

Named jobs:
  quick throttled dated flaky moving failing vanishing renamed blocked hanging
  garbled empty swapped endless
Steps:
  queued running       200 and that state; likewise: cancelled expired
  is-WORD              200 and any other state: is-paused
  hint-MS              200, running, and when to ask again, in milliseconds
  done hollow          200, done, with the result's address; without it
  partial              200, partial, with the result's address
  failed               200, failed, with the provider's error
  waiting              200: a person has to approve something first
  moved                200: it goes on under another id, runs and is done
  another garbage      200 with another job's answer; with no JSON
  404 401 500 ...      that status
  429-2 503-date2      that status with Retry-After: in seconds; as a date
                       that many seconds ahead
  drop half            the connection closes: with no answer; in mid-body
  hang                 no answer for a minute

A script goes on with each request and looks at no clock. The same seed gives
the same scripts, and every seed the same endings. Delays differ from run to
run, since each operation draws its own from the operating system.

Exit codes:
  0  every wait ended as scripted, no request came that was not charged, and
     every log verifies
  1  otherwise
  2  the command is wrong, or port or folder can't be used";

/// Options of `demo`.
#[derive(Debug, Args)]
pub(crate) struct DemoArgs {
    /// Which scripts the provider plays.
    #[arg(long, default_value_t = 1, value_name = "N")]
    seed: u64,
    /// Keep store and contract in this folder instead of a temporary one; `--store` is never touched.
    #[arg(long, value_name = "DIR")]
    keep: Option<PathBuf>,
    /// Only the provider, until Ctrl-C; writes a contract for it to the current folder, or that of `--keep`.
    #[arg(long)]
    provider_only: bool,
    /// Where the provider listens on 127.0.0.1; 0: wherever there is room.
    #[arg(long, default_value_t = 0, value_name = "N")]
    port: u16,
}

/// Runs the demo, or its provider.
pub(super) async fn demo(app: &App, args: &DemoArgs) -> Result<u8, CliError> {
    let stories = stories(args.seed).map_err(|error| CliError::Input(format!("--seed: {error}")))?;
    let provider = Provider::start(stories, args.port)
        .await
        .map_err(|error| CliError::Input(format!("--port {}: {error}", args.port)))?;
    if args.provider_only { provider_only(app, args, &provider).await } else { whole(app, args, &provider).await }
}

async fn whole(app: &App, args: &DemoArgs, provider: &Provider) -> Result<u8, CliError> {
    // Removed when it goes out of scope, interrupted or not.
    let folder = Folder::new(args.keep.as_deref())?;
    let store = folder.path().join(STORE_FILE);
    if store.exists() {
        return Err(CliError::Input(format!(
            "--keep `{}`: a demo was kept there already; name another folder",
            folder.path().display()
        )));
    }
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::new());
    let sqlite = SqliteStore::open(&store, Arc::clone(&clock))?;
    let controller = Controller::new(Arc::new(sqlite), clock, app.component()?, None);
    if args.keep.is_some() {
        write_contract(folder.path(), provider)?;
    }
    if !app.common.json {
        output::line(&format!(
            "{} jobs of a provider on http://{}, seed {}; about 15 s",
            provider.stories().len(),
            provider.address(),
            args.seed
        ))?;
    }
    let board = Board::new(provider.stories(), app.common.json);
    let mut interrupted = watch::interrupts();
    let shown = |index, tick: &Tick, now| board.show(index, tick, now);
    let ended = tokio::select! {
        waited = run(&controller, provider, &shown) => Some(waited),
        _ = interrupted.changed() => None,
    };
    board.end();
    let Some(waited) = ended.transpose()? else {
        output::note("interrupted; nothing of the demo goes on");
        return Ok(code::FAILED);
    };
    let exit = if waited.iter().all(Waited::is_fine) { code::DONE } else { code::FAILED };
    let kept = args.keep.as_ref().map(|_| store.as_path());
    if app.common.json {
        report::json(&controller, provider, &waited, args.seed, kept, exit)?;
    } else {
        report::text(&controller, &waited, args.seed, kept)?;
    }
    Ok(exit)
}

async fn provider_only(app: &App, args: &DemoArgs, provider: &Provider) -> Result<u8, CliError> {
    let folder = args.keep.clone().unwrap_or_else(|| PathBuf::from("."));
    let file = write_contract(&folder, provider)?;
    let store = folder.join(STORE_FILE);
    let store = store.strip_prefix(".").unwrap_or(&store);
    let watch = |job: &str| format!("sondeo --store {} watch {} {job}", quoted(store), quoted(&file));
    if app.common.json {
        let jobs: Vec<Value> = provider.stories().iter().map(Story::json).collect();
        output::json(&json!({"provider": format!("http://{}", provider.address()), "seed": args.seed, "jobs": jobs,
            "contract": file.display().to_string(), "watch": watch("quick")}))?;
    } else {
        output::line(&format!("provider  http://{} (seed {}; Ctrl-C ends it)", provider.address(), args.seed))?;
        output::line(&format!("contract  {}", file.display()))?;
        output::line(&format!("try       {}", watch("throttled")))?;
        output::line(
            "          (`throttled--2` is the same job anew; `sondeo demo --help` lists what an id can spell)\n",
        )?;
        for story in provider.stories() {
            output::line(&format!("{:10} {}, so it ends as {}: {}", story.job, story.does, story.ends, story.script))?;
        }
    }
    let mut interrupted = watch::interrupts();
    // An error would mean that no signal can come any more.
    let _came = interrupted.changed().await;
    Ok(code::DONE)
}

/// A path as a shell takes it.
fn quoted(path: &Path) -> String {
    let text = path.display().to_string();
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-".contains(c);
    if !text.is_empty() && text.chars().all(plain) { text } else { format!("'{}'", text.replace('\'', "'\\''")) }
}

/// Writes the contract for this provider; only an earlier one of a demo is replaced.
fn write_contract(folder: &Path, provider: &Provider) -> Result<PathBuf, CliError> {
    std::fs::create_dir_all(folder)
        .map_err(|error| CliError::Input(format!("can't make `{}`: {error}", folder.display())))?;
    let file = folder.join(CONTRACT_FILE);
    let file = file.strip_prefix(".").map(Path::to_path_buf).unwrap_or(file);
    if file.exists() {
        let there: Option<Value> = serde_json::from_slice(&input::read_bytes(&file)?).ok();
        if there.as_ref().and_then(|value| value.get("id")).and_then(Value::as_str) != Some(CONTRACT_ID) {
            return Err(CliError::Input(format!(
                "`{}` is there and isn't the demo's: move it, or name a folder with --keep",
                file.display()
            )));
        }
    }
    input::write_bytes(&file, contract(provider.address()).as_bytes())?;
    Ok(file)
}

/// Where the store lives.
enum Folder {
    Kept(PathBuf),
    Passing(tempfile::TempDir),
}

impl Folder {
    fn new(keep: Option<&Path>) -> Result<Self, CliError> {
        let failed = |error: std::io::Error| CliError::Input(format!("can't make the demo's folder: {error}"));
        match keep {
            Some(path) => {
                std::fs::create_dir_all(path).map_err(failed)?;
                Ok(Folder::Kept(path.to_path_buf()))
            }
            None => Ok(Folder::Passing(tempfile::Builder::new().prefix("sondeo-demo-").tempdir().map_err(failed)?)),
        }
    }

    fn path(&self) -> &Path {
        match self {
            Folder::Kept(path) => path,
            Folder::Passing(folder) => folder.path(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_help_names_every_job_and_step() {
        for story in stories(1).unwrap() {
            assert!(BEHAVIOURS.contains(story.job), "{}", story.job);
        }
        for step in [
            "queued",
            "running",
            "cancelled",
            "expired",
            "is-WORD",
            "hint-MS",
            "done",
            "hollow",
            "partial",
            "failed",
            "waiting",
            "moved",
            "another",
            "garbage",
            "404",
            "429-2",
            "503-date2",
            "drop",
            "half",
            "hang",
        ] {
            assert!(BEHAVIOURS.contains(step), "{step}");
        }
    }

    #[test]
    fn paths_are_quoted_for_a_shell() {
        assert_eq!(quoted(Path::new("a/b-1.json")), "a/b-1.json");
        assert_eq!(quoted(Path::new("it's here")), r"'it'\''s here'");
    }
}
