//! Bodies that are made up: a value put at a JSON Pointer.

use serde_json::{Map, Value};

/// Puts `value` at an RFC 6901 pointer; objects are made on the way, an array is entered where it has the element.
pub(super) fn put(body: &mut Value, pointer: &str, value: Value) {
    let Some(path) = pointer.strip_prefix('/') else {
        *body = value;
        return;
    };
    let mut here = body;
    for name in path.split('/') {
        let name = name.replace("~1", "/").replace("~0", "~");
        let element = here.as_array().and_then(|items| name.parse::<usize>().ok().filter(|i| *i < items.len()));
        here = match (element, here) {
            (Some(index), Value::Array(items)) => match items.get_mut(index) {
                Some(item) => item,
                None => return,
            },
            (_, other) => {
                if !other.is_object() {
                    *other = Value::Object(Map::new());
                }
                match other {
                    Value::Object(members) => members.entry(name).or_insert(Value::Null),
                    _ => return,
                }
            }
        };
    }
    *here = value;
}

/// Takes away what is at a pointer, if anything is.
pub(super) fn take(body: &mut Value, pointer: &str) {
    let Some((parent, name)) = pointer.rsplit_once('/') else {
        *body = Value::Null;
        return;
    };
    if let Some(Value::Object(members)) = body.pointer_mut(parent) {
        members.remove(&name.replace("~1", "/").replace("~0", "~"));
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_value_is_put_where_the_pointer_finds_it_and_taken_again() {
        for pointer in ["/a", "/a/b", "/list/0/x", "/odd~1name/~0"] {
            let mut body = json!({"list": [{"y": 1}], "a": 1});
            put(&mut body, pointer, json!("here"));
            assert_eq!(body.pointer(pointer), Some(&json!("here")), "{body}");
            take(&mut body, pointer);
            assert_eq!(body.pointer(pointer), None, "{body}");
        }
        let mut body = json!({});
        put(&mut body, "", json!("whole"));
        assert_eq!(body, "whole");
    }
}
