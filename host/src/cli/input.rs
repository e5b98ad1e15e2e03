//! What people write: files, times, pairs, HTTP responses. Every fault names its place.

use std::io::Read as _;
use std::path::Path;

use chrono::{DateTime, Utc};

use super::CliError;
use crate::component::types;

/// Longest file that is read.
const FILE_BYTES_MAX: u64 = 16 << 20;

/// Contracts that come along, by name.
pub(crate) const LIBRARY: &[(&str, &str)] = &[
    ("generic", include_str!("../../contracts/generic.json")),
    ("a2a.task", include_str!("../../contracts/a2a.task.json")),
    ("anthropic.message_batches", include_str!("../../contracts/anthropic.message_batches.json")),
    ("assemblyai.transcript", include_str!("../../contracts/assemblyai.transcript.json")),
    ("azure.arm_async_operation", include_str!("../../contracts/azure.arm_async_operation.json")),
    ("azure.durable_functions", include_str!("../../contracts/azure.durable_functions.json")),
    ("databricks.job_run", include_str!("../../contracts/databricks.job_run.json")),
    ("github.workflow_run", include_str!("../../contracts/github.workflow_run.json")),
    ("gitlab.pipeline", include_str!("../../contracts/gitlab.pipeline.json")),
    ("google.lro", include_str!("../../contracts/google.lro.json")),
    ("jenkins.queue_item", include_str!("../../contracts/jenkins.queue_item.json")),
    ("kubernetes.job", include_str!("../../contracts/kubernetes.job.json")),
    ("mcp.tasks_ext", include_str!("../../contracts/mcp.tasks_ext.json")),
    ("openai.batches", include_str!("../../contracts/openai.batches.json")),
    ("openai.fine_tuning", include_str!("../../contracts/openai.fine_tuning.json")),
    ("openai.responses_background", include_str!("../../contracts/openai.responses_background.json")),
    ("replicate.predictions", include_str!("../../contracts/replicate.predictions.json")),
    ("salesforce.bulk_ingest", include_str!("../../contracts/salesforce.bulk_ingest.json")),
    ("stripe.report_run", include_str!("../../contracts/stripe.report_run.json")),
    ("terraform.run", include_str!("../../contracts/terraform.run.json")),
    ("trino.statement", include_str!("../../contracts/trino.statement.json")),
];

/// The JSON Schema of the contract format.
pub(crate) const SCHEMA: &str = include_str!("../../contracts/sondeo.contract-1.schema.json");

/// A contract's text: of the library by name, else of a file.
pub(crate) fn contract_text(name: &str) -> Result<String, CliError> {
    if let Some((_, text)) = LIBRARY.iter().find(|(known, _)| *known == name) {
        return Ok((*text).to_owned());
    }
    let path = Path::new(name);
    if !path.exists() {
        return Err(CliError::Input(format!(
            "there is no contract file `{name}`, and none of that name comes along (`sondeo contract list` shows those that do)"
        )));
    }
    let bytes = read_bytes(path)?;
    String::from_utf8(bytes).map_err(|error| {
        CliError::Input(format!("{name}: not UTF-8 from byte {} on", error.utf8_error().valid_up_to()))
    })
}

/// A file's bytes; `-` is standard input.
pub(crate) fn read_bytes(path: &Path) -> Result<Vec<u8>, CliError> {
    let failed = |error: std::io::Error| CliError::Input(format!("can't read `{}`: {error}", path.display()));
    let mut bytes = Vec::new();
    if path == Path::new("-") {
        std::io::stdin().lock().take(FILE_BYTES_MAX).read_to_end(&mut bytes).map_err(failed)?;
    } else {
        std::fs::File::open(path).map_err(failed)?.take(FILE_BYTES_MAX).read_to_end(&mut bytes).map_err(failed)?;
    }
    Ok(bytes)
}

/// Writes a file.
pub(crate) fn write_bytes(path: &Path, bytes: &[u8]) -> Result<(), CliError> {
    std::fs::write(path, bytes).map_err(|error| CliError::Input(format!("can't write `{}`: {error}", path.display())))
}

/// `NAME=VALUE`.
pub(crate) fn pair(flag: &str, text: &str) -> Result<(String, String), CliError> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err(CliError::Input(format!("{flag} `{text}`: write it as NAME=VALUE"))),
    }
}

/// Id parts: the positional job, or `--part`s.
pub(crate) fn job(id_parts: &[String], job: Option<&str>, parts: &[String]) -> Result<Vec<(String, String)>, CliError> {
    let mut all: Vec<(String, String)> = parts.iter().map(|text| pair("--part", text)).collect::<Result<_, _>>()?;
    if let Some(job) = job {
        match id_parts {
            [name] => all.push((name.clone(), job.to_owned())),
            [] => {
                return Err(CliError::Input(format!(
                    "`{job}`: the contract has no id part, it takes the status address: give `--address`"
                )));
            }
            many => {
                return Err(CliError::Input(format!(
                    "`{job}`: the contract has the id parts {}: give each as `--part NAME=VALUE`",
                    many.join(", ")
                )));
            }
        }
    }
    Ok(all)
}

/// Facts; several of one name make a list.
pub(crate) fn ctx(texts: &[String]) -> Result<Vec<(String, Vec<String>)>, CliError> {
    let mut all: Vec<(String, Vec<String>)> = Vec::new();
    for text in texts {
        let (name, value) = pair("--ctx", text)?;
        match all.iter_mut().find(|(known, _)| *known == name) {
            Some((_, values)) => values.push(value),
            None => all.push((name, vec![value])),
        }
    }
    Ok(all)
}

/// A duration as people write it: `40m`, `1h30m`.
pub(crate) fn duration(flag: &str, text: &str) -> Result<u64, CliError> {
    let wrong = |why: String| CliError::Input(format!("{flag} `{text}`: {why}; write it like 90s, 40m or 1h30m"));
    let duration = humantime::parse_duration(text).map_err(|error| wrong(error.to_string()))?;
    u64::try_from(duration.as_millis()).map_err(|_| wrong("too long".to_owned()))
}

/// A time such as 2026-12-24T18:00:00Z, in milliseconds.
pub(crate) fn time(flag: &str, text: &str) -> Result<u64, CliError> {
    let wrong = || CliError::Input(format!("{flag} `{text}`: write a time like 2026-12-24T18:00:00Z"));
    let time = DateTime::parse_from_rfc3339(text).map_err(|_| wrong())?;
    u64::try_from(time.timestamp_millis()).map_err(|_| wrong())
}

/// A duration or a time.
pub(crate) fn limit(flag: &str, text: &str) -> Result<types::TimeLimit, CliError> {
    if text.contains('T') || text.contains('-') {
        return Ok(types::TimeLimit::At(time(flag, text)?));
    }
    Ok(types::TimeLimit::AfterMs(duration(flag, text)?))
}

/// The same, as an instant.
pub(crate) fn instant(flag: &str, text: &str, now: u64) -> Result<u64, CliError> {
    Ok(match limit(flag, text)? {
        types::TimeLimit::At(at) => at,
        types::TimeLimit::AfterMs(ms) => now.saturating_add(ms),
    })
}

/// An instant as people read it.
pub(crate) fn at(ms: u64) -> String {
    i64::try_from(ms)
        .ok()
        .and_then(DateTime::<Utc>::from_timestamp_millis)
        .map_or_else(|| format!("{ms} ms"), |time| time.format("%Y-%m-%d %H:%M:%SZ").to_string())
}

/// An instant as programs read it (RFC 3339).
pub(crate) fn rfc3339(ms: u64) -> String {
    i64::try_from(ms)
        .ok()
        .and_then(DateTime::<Utc>::from_timestamp_millis)
        .map_or_else(|| format!("{ms} ms"), |time| time.format("%Y-%m-%dT%H:%M:%S%.3fZ").to_string())
}

/// A span as people read it, in whole seconds.
pub(crate) fn span(ms: u64) -> String {
    humantime::format_duration(std::time::Duration::from_secs(ms / 1000)).to_string().replace(' ', "")
}

/// An HTTP response in a file, as `curl -i` writes it: status line, headers, an empty line, the body.
pub(crate) fn response(path: &Path, now: u64) -> Result<types::Answer, CliError> {
    let bytes = read_bytes(path)?;
    let place = |line: usize, why: &str| CliError::Input(format!("{}, line {line}: {why}", path.display()));
    let (head, body) = split_head(&bytes);
    let head = String::from_utf8_lossy(head);
    let mut lines = head.lines().enumerate();
    let first = lines.next().map(|(_, line)| line).unwrap_or_default();
    let status =
        first.split_whitespace().nth(1).filter(|_| first.starts_with("HTTP/")).and_then(|code| code.parse().ok());
    let status: u16 = status.ok_or_else(|| place(1, "a response starts like `HTTP/1.1 200 OK`"))?;
    let mut headers = Vec::new();
    for (index, line) in lines {
        let (name, value) =
            line.split_once(':').ok_or_else(|| place(index.saturating_add(1), "a header is `Name: value`"))?;
        headers.push((name.trim().to_ascii_lowercase(), value.trim().to_owned()));
    }
    let body = match String::from_utf8(body.to_vec()) {
        Ok(text) if text.is_empty() => types::Body::None,
        Ok(text) => types::Body::Text(text),
        Err(_) => types::Body::Unreadable(types::Unreadable {
            why: "not_utf8".to_owned(),
            sha256: crate::controller::sha256(body),
            bytes: u64::try_from(body.len()).unwrap_or(u64::MAX),
        }),
    };
    Ok(types::Answer { status, headers, body, incomplete: None, sent_at: now, received_at: now })
}

fn split_head(bytes: &[u8]) -> (&[u8], &[u8]) {
    for separator in [b"\r\n\r\n".as_slice(), b"\n\n".as_slice()] {
        if let Some(at) = bytes.windows(separator.len()).position(|window| window == separator) {
            let (head, rest) = bytes.split_at(at);
            return (head, rest.get(separator.len()..).unwrap_or_default());
        }
    }
    (bytes, &[])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_read_as_people_write_them() {
        assert!(matches!(limit("--deadline", "40m"), Ok(types::TimeLimit::AfterMs(2_400_000))));
        assert!(matches!(limit("--deadline", "2026-12-24T18:00:00Z"), Ok(types::TimeLimit::At(1_798_135_200_000))));
        for bad in ["", "40", "fast", "2026-12-24", "-5m", "2026-12-24T25:00:00Z"] {
            let error = limit("--deadline", bad).unwrap_err().to_string();
            assert!(error.starts_with("--deadline"), "{error}");
        }
    }

    #[test]
    fn every_contract_of_the_library_goes_by_its_own_id() {
        for (name, text) in LIBRARY {
            let value: serde_json::Value = serde_json::from_str(text).unwrap();
            assert_eq!(value["id"], *name);
        }
    }

    #[test]
    fn every_contract_of_the_folder_comes_along() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("host/contracts");
        let files = std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().file_name().into_string().unwrap());
        let files = files.filter(|file| !file.ends_with(".schema.json"));
        let mut files: Vec<String> = files.filter_map(|file| file.strip_suffix(".json").map(str::to_owned)).collect();
        let mut known: Vec<&str> = LIBRARY.iter().map(|(name, _)| *name).collect();
        files.sort();
        known.sort();
        assert_eq!(known, files);
    }
}
