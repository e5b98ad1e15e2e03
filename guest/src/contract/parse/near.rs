//! The nearest known name, for faults that say what was probably meant.

use alloc::{format, string::String, vec::Vec};

/// `; did you mean ...` where a known name is close, else the names that are known.
pub(super) fn hint(given: &str, known: &[&str]) -> String {
    let nearest = known
        .iter()
        .map(|name| (distance(given, name), *name))
        .min_by_key(|(far, name)| (*far, *name))
        .filter(|(far, name)| *far <= (name.len() / 3).max(2) && *far < name.len());
    match nearest {
        Some((_, name)) => format!("; did you mean `{name}`?"),
        None if known.is_empty() => String::new(),
        None => format!("; known here: `{}`", known.join("` `")),
    }
}

/// Edits (insert, delete, replace one character) between the two, ASCII case ignored.
fn distance(a: &str, b: &str) -> usize {
    // A name far longer than any known one has no near one; this also bounds the work.
    if a.len() > 64 {
        return usize::MAX;
    }
    let mut row: Vec<usize> = (0..=b.chars().count()).collect();
    for (i, left) in a.chars().enumerate() {
        let mut diagonal = i;
        let mut before = i.saturating_add(1);
        let mut next = Vec::with_capacity(row.len());
        next.push(before);
        for (right, above) in b.chars().zip(row.iter().skip(1)) {
            let replaced = diagonal.saturating_add(usize::from(!left.eq_ignore_ascii_case(&right)));
            before = replaced.min(before.saturating_add(1)).min(above.saturating_add(1));
            diagonal = *above;
            next.push(before);
        }
        row = next;
    }
    row.last().copied().unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distance_counts_edits() {
        assert_eq!(distance("sucess", "success"), 1);
        assert_eq!(distance("kitten", "sitting"), 3);
        assert_eq!(distance("", "abc"), 3);
        assert_eq!(distance("Format", "format"), 0);
    }

    #[test]
    fn a_close_name_is_named_and_a_far_one_gets_the_list() {
        let known = ["origins", "options", "success"];
        assert_eq!(hint("orgins", &known), "; did you mean `origins`?");
        assert_eq!(hint("zzzzzz", &known), "; known here: `origins` `options` `success`");
    }
}
