//! JSON as people write it: what belongs together on one line, and names in the order of the manual.

use serde_json::Value;

/// Longest line.
const WIDTH: usize = 116;
/// Names in the order that they are read in; any other comes where it stands in the alphabet, after these.
const ORDER: [&str; 22] = [
    "name",
    "kind",
    "method",
    "url",
    "id_parts",
    "headers",
    "credential",
    "map",
    "at",
    "values",
    "require",
    "status",
    "answer",
    "body",
    "job",
    "expect",
    "deadline",
    "max_status_requests",
    "max_transport_failures",
    "max_throttles",
    "why",
    "first_delay",
];

/// A value that begins at column `column` of a line whose indentation is `indent`.
pub(super) fn render(value: &Value, indent: usize, column: usize) -> String {
    let line = line(value);
    if column.saturating_add(line.chars().count()) <= WIDTH {
        return line;
    }
    let (inner, outer) = (" ".repeat(indent.saturating_add(2)), " ".repeat(indent));
    let below = indent.saturating_add(2);
    match value {
        Value::Object(_) => {
            let members = members(value).into_iter().map(|(name, value)| {
                let head = format!("{}: ", Value::from(name));
                let column = below.saturating_add(head.chars().count());
                format!("{inner}{head}{}", render(value, below, column))
            });
            format!("{{\n{}\n{outer}}}", members.collect::<Vec<_>>().join(",\n"))
        }
        Value::Array(items) => {
            let items = items.iter().map(|item| format!("{inner}{}", render(item, below, below)));
            format!("[\n{}\n{outer}]", items.collect::<Vec<_>>().join(",\n"))
        }
        _ => line,
    }
}

fn line(value: &Value) -> String {
    match value {
        Value::Object(_) => {
            let members =
                members(value).into_iter().map(|(name, value)| format!("{}: {}", Value::from(name), line(value)));
            format!("{{{}}}", members.collect::<Vec<_>>().join(", "))
        }
        Value::Array(items) => format!("[{}]", items.iter().map(line).collect::<Vec<_>>().join(", ")),
        other => other.to_string(),
    }
}

fn members(value: &Value) -> Vec<(&str, &Value)> {
    let mut all: Vec<(&str, &Value)> =
        value.as_object().into_iter().flatten().map(|(name, value)| (name.as_str(), value)).collect();
    let place = |name: &str| ORDER.iter().position(|known| *known == name).unwrap_or(ORDER.len());
    all.sort_by(|(a, _), (b, _)| place(a).cmp(&place(b)).then_with(|| a.cmp(b)));
    all
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_fits_stands_on_one_line_and_the_rest_below() {
        let sample = json!({"expect": "pending", "name": "a", "answer": {"status": 200, "body": {"s": "run"}}});
        let text = r#"{"name": "a", "answer": {"status": 200, "body": {"s": "run"}}, "expect": "pending"}"#;
        assert_eq!(render(&sample, 0, 0), text);
        let long = json!({"why": "w".repeat(WIDTH), "deadline": "1m"});
        let text = render(&long, 2, 2);
        assert!(text.starts_with("{\n    \"deadline\": \"1m\",\n    \"why\": \"www"), "{text}");
        assert!(text.ends_with("\"\n  }"), "{text}");
        assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), long);
    }
}
