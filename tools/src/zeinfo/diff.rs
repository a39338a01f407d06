//! How two reports differ.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::report::lasting;

/// One line a difference: the path, and what is on each side. What changes from moment to moment is no difference.
pub fn differences(left: &Value, right: &Value) -> Vec<String> {
    let mut lines = Vec::new();
    compare("", &lasting(left), &lasting(right), &mut lines);
    lines
}

fn compare(path: &str, left: &Value, right: &Value, lines: &mut Vec<String>) {
    match (left, right) {
        (Value::Object(a), Value::Object(b)) => {
            let new = b.keys().filter(|key| !a.contains_key(*key));
            for key in a.keys().chain(new) {
                let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
                match (a.get(key), b.get(key)) {
                    (Some(left), Some(right)) => compare(&path, left, right, lines),
                    (Some(left), None) => lines.push(format!("- {path}: {left}")),
                    (None, right) => lines.push(format!("+ {path}: {}", right.unwrap_or(&Value::Null))),
                }
            }
        }
        (Value::Array(a), Value::Array(b)) if is_names(a) && is_names(b) => compare_names(path, a, b, lines),
        (Value::Array(a), Value::Array(b)) if !is_plain(a) || !is_plain(b) => {
            for index in 0..a.len().max(b.len()) {
                let path = format!("{path}[{index}]");
                match (a.get(index), b.get(index)) {
                    (Some(left), Some(right)) => compare(&path, left, right, lines),
                    (Some(left), None) => lines.push(format!("- {path}: {left}")),
                    (None, right) => lines.push(format!("+ {path}: {}", right.unwrap_or(&Value::Null))),
                }
            }
        }
        (left, right) if left != right => lines.push(format!("  {path}: {left} -> {right}")),
        _ => {}
    }
}

fn is_names(items: &[Value]) -> bool {
    items.iter().all(Value::is_string)
}

fn is_plain(items: &[Value]) -> bool {
    !items.iter().any(|item| item.is_object() || item.is_array())
}

/// Sets of names, such as flags.
fn compare_names(path: &str, left: &[Value], right: &[Value], lines: &mut Vec<String>) {
    let names = |items: &[Value]| -> BTreeSet<String> {
        items.iter().filter_map(|item| item.as_str().map(str::to_owned)).collect()
    };
    let (left, right) = (names(left), names(right));
    lines.extend(left.difference(&right).map(|name| format!("- {path}: {name}")));
    lines.extend(right.difference(&left).map(|name| format!("+ {path}: {name}")));
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn every_kind_of_difference_is_a_line_with_its_path() {
        let left = json!({
            "device": {"name": "a", "flags": ["FP16", "FP64"], "sizes": [8, 16], "gone": 1},
            "parts": [{"x": 1}, {"x": 2}], "now": 1,
        });
        let right = json!({
            "device": {"name": "b", "flags": ["FP64", "DP4A"], "sizes": [8, 32], "new": 2},
            "parts": [{"x": 1}], "now": 2,
        });
        assert_eq!(
            differences(&left, &right),
            [
                "  device.name: \"a\" -> \"b\"",
                "- device.flags: FP16",
                "+ device.flags: DP4A",
                "  device.sizes: [8,16] -> [8,32]",
                "- device.gone: 1",
                "+ device.new: 2",
                "- parts[1]: {\"x\":2}",
            ]
        );
        assert!(differences(&left, &left).is_empty());
    }
}
