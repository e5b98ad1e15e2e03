//! Text that comes from a provider, made harmless to show (D35): bounded, on one line, without characters that steer a
//! terminal, reorder what stands around them, or can't be seen.

use alloc::string::String;

/// Stands where text was cut off.
const CUT: char = '…';

/// `text` on one line, of at most `max` bytes of UTF-8, cut at a character's end with `…` (where that fits).
/// Line breaks and tabs become one space, a run of them too; control, bidirectional, zero-width and other format
/// characters are dropped.
pub fn clean(text: &str, max: usize) -> String {
    let mut out = String::new();
    for c in text.chars() {
        if is_break(c) {
            if !out.ends_with(' ') {
                out.push(' ');
            }
        } else if !is_steering(c) {
            out.push(c);
        }
        // One character more than fits is enough to know that there is more.
        if out.len() > max {
            return cut(&out, max);
        }
    }
    out
}

fn cut(text: &str, max: usize) -> String {
    let room = max.checked_sub(CUT.len_utf8());
    let mut out = String::new();
    for c in text.chars() {
        if out.len().saturating_add(c.len_utf8()) > room.unwrap_or(max) {
            break;
        }
        out.push(c);
    }
    if room.is_some() {
        out.push(CUT);
    }
    out
}

fn is_break(c: char) -> bool {
    matches!(c, '\t' | '\n' | '\u{b}' | '\u{c}' | '\r' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

/// C0 and C1 controls (ESC among them), and Unicode's format characters (category Cf) that hide or reorder text.
fn is_steering(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn d35_line_breaks_and_terminal_codes_leave_one_plain_line() {
        assert_eq!(
            clean("odd\r\n2026-03-02T12:00:02Z decision=succeeded\u{1b}[2J\u{9b}1m", 256),
            "odd 2026-03-02T12:00:02Z decision=succeeded[2J1m"
        );
        assert_eq!(clean("\n\ta\u{2028}\u{2029}b \n", 256), " a b ");
    }

    #[test]
    fn d35_characters_that_reorder_or_hide_text_are_dropped() {
        assert_eq!(
            clean("a\u{202e}b\u{2066}c\u{2069}\u{200f}\u{61c}d\u{200b}\u{2060}\u{feff}e\u{e0041}", 256),
            "abcde"
        );
        assert_eq!(clean("größe 漢字", 256), "größe 漢字");
    }

    #[test]
    fn d35_the_bound_is_in_bytes_and_cuts_at_a_character() {
        assert_eq!(clean("abcdef", 6), "abcdef");
        assert_eq!(clean("abcdefg", 6), "abc…");
        assert_eq!(clean("ääää", 6), "ä…");
        assert_eq!(clean("abcdef", 2), "ab");
        assert_eq!(clean("abcdef\u{200b}", 6), "abcdef");
        for max in 0..20 {
            assert!(clean("漢字漢字漢字 text\u{1b}", max).len() <= max, "{max}");
        }
    }
}
