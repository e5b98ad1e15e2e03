//! The command line's entry.

use std::process::ExitCode;

use anyhow::Context as _;
use sondeo::cli;

fn main() -> anyhow::Result<ExitCode> {
    let cli = match cli::parse() {
        Ok(cli) => cli,
        Err(code) => return Ok(code),
    };
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .context("can't start the runtime")?;
    Ok(runtime.block_on(cli::run(cli)))
}
