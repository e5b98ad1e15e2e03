//! A provider, a folder and a store: what one test has to itself.

use std::path::{Path, PathBuf};

use rusqlite::{Connection, OpenFlags};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::{Program, Provider};

pub(crate) struct Setup {
    pub(crate) provider: Provider,
    folder: TempDir,
}

impl Setup {
    pub(crate) fn new() -> Setup {
        Setup::with(&[])
    }

    /// With further arguments for the provider.
    pub(crate) fn with(provider: &[&str]) -> Setup {
        let folder = TempDir::new().unwrap();
        Setup { provider: Provider::start(folder.path(), provider), folder }
    }

    /// A path in the test's own folder.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn store(&self) -> PathBuf {
        self.path("jobs.db")
    }

    /// Writes a file into the folder; its path.
    pub(crate) fn file(&self, name: &str, bytes: impl AsRef<[u8]>) -> String {
        let path = self.path(name);
        std::fs::write(&path, bytes).unwrap();
        text(&path)
    }

    /// `tests/provider/contract.json` for this provider, quicker than a person would ask; its path.
    pub(crate) fn contract(&self, name: &str, change: impl FnOnce(&mut Value)) -> String {
        let original = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/provider/contract.json");
        let original = std::fs::read_to_string(original).unwrap().replace("PORT", &self.provider.port.to_string());
        let mut contract: Value = serde_json::from_str(&original).unwrap();
        contract["pace"] = json!({"base": "150ms", "max": "300ms", "min_delay": "50ms"});
        // A loaded machine may take its time; where time is what is tested, it is given.
        contract["limits"]["deadline"] = json!("30m");
        change(&mut contract);
        self.file(name, contract.to_string())
    }

    /// `sondeo` on this test's store.
    pub(crate) fn sondeo(&self, args: &[&str]) -> Program {
        self.through(&[], args)
    }

    /// The same, started by another program.
    pub(crate) fn through(&self, wrapper: &[&str], args: &[&str]) -> Program {
        let mut all: Vec<String> = args.iter().map(|arg| (*arg).to_owned()).collect();
        all.extend(["--store".to_owned(), text(&self.store())]);
        Program::through(wrapper, &all)
    }

    /// The store's rows, read beside the program, the latest first.
    pub(crate) fn operations(&self) -> Vec<Row> {
        let store = Connection::open_with_flags(self.store(), OpenFlags::SQLITE_OPEN_READ_ONLY).unwrap();
        let sql = "SELECT operation_id, jobs ->> 0, phase, coalesce(reason, outcome, phase), requests_used, requests_max \
                   FROM operations ORDER BY id DESC";
        let mut statement = store.prepare(sql).unwrap();
        let rows = statement.query_map([], |row| {
            Ok(Row {
                id: row.get(0)?,
                job: row.get::<_, Option<String>>(1)?.unwrap_or_default(),
                phase: row.get(2)?,
                stands: row.get(3)?,
                used: row.get(4)?,
                max: row.get(5)?,
            })
        });
        rows.unwrap().map(Result::unwrap).collect()
    }

    /// The operation that waits for a job.
    pub(crate) fn operation(&self, job: &str) -> Row {
        let all = self.operations();
        all.iter().find(|row| row.job == job).unwrap_or_else(|| panic!("no operation for `{job}`: {all:?}")).clone()
    }

    pub(crate) fn id(&self, job: &str) -> String {
        self.operation(job).id
    }

    /// Every operation verifies, replays, and the provider has counted no request more than was charged (I1); each one, with
    /// what the provider received.
    pub(crate) fn audited(&self) -> Vec<(Row, u32)> {
        let operations = self.operations();
        for verb in ["verify", "replay"] {
            let found = self.sondeo(&[verb, "--json"]).run().code(0).json();
            assert_eq!(found["fine"], true, "{found}");
            let found = found["operations"].as_array().unwrap();
            assert_eq!(found.len(), operations.len());
            for one in found {
                let finding = if verb == "replay" { &one["operation"] } else { one };
                assert_eq!(finding["verdict"], "verified", "{one}");
                assert!(finding["entries"].as_u64() >= Some(1), "{one}");
            }
        }
        let counted = operations.iter().map(|row| {
            let received = self.provider.count(&row.job);
            // A further operation on a job starts from the counters so far (D4).
            let charged = operations.iter().filter(|other| other.job == row.job).map(|other| other.used).max();
            assert!(Some(received) <= charged && row.used <= row.max, "received {received}: {row:?}");
            (row.clone(), received)
        });
        counted.collect()
    }
}

/// What the store's columns say of an operation.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Row {
    pub(crate) id: String,
    pub(crate) job: String,
    pub(crate) phase: String,
    /// Reason or outcome, else the phase.
    pub(crate) stands: String,
    pub(crate) used: u32,
    pub(crate) max: u32,
}

/// A path as the command line takes it.
pub(crate) fn text(path: &Path) -> String {
    path.to_str().unwrap().to_owned()
}
