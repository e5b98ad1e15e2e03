//! The command line.

use clap::Parser;

/// Waits for somebody else's asynchronous job, within what the wait may cost.
#[derive(Debug, Parser)]
#[command(name = "sondeo", version)]
struct Cli {}

fn main() {
    let Cli {} = Cli::parse();
}
