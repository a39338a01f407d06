//! Trees in a terminal.

use serde_json::Value;

/// A line and what is under it.
#[derive(Debug, Default)]
pub struct Node {
    pub key: String,
    pub text: String,
    pub children: Vec<Node>,
}

impl Node {
    pub fn new(key: impl Into<String>, text: impl Into<String>) -> Node {
        Node { key: key.into(), text: text.into(), children: Vec::new() }
    }

    pub fn push(&mut self, key: impl Into<String>, text: impl Into<String>) {
        self.children.push(Node::new(key, text));
    }

    /// The whole of a value.
    pub fn from_json(key: &str, value: &Value) -> Node {
        let children = match value {
            Value::Object(map) => map.iter().map(|(key, value)| Node::from_json(key, value)).collect(),
            Value::Array(items) if items.iter().any(|item| item.is_object() || item.is_array()) => {
                let numbered = items.iter().enumerate();
                numbered.map(|(index, item)| Node::from_json(&format!("[{index}]"), item)).collect()
            }
            _ => Vec::new(),
        };
        let text = if children.is_empty() { leaf(value) } else { String::new() };
        Node { key: key.to_owned(), text, children }
    }
}

fn leaf(value: &Value) -> String {
    match value {
        Value::Null => "-".into(),
        Value::String(text) => text.clone(),
        Value::Array(items) if items.is_empty() => "none".into(),
        Value::Array(items) => items.iter().map(leaf).collect::<Vec<_>>().join(" "),
        Value::Object(_) => "none".into(),
        other => other.to_string(),
    }
}

const BOLD: &str = "\x1b[1m";
const DIM: &str = "\x1b[2m";
const CYAN: &str = "\x1b[36m";
const RED: &str = "\x1b[31m";
const PLAIN: &str = "\x1b[0m";

/// The tree as text, without a line break at its end.
pub fn render(root: &Node, colours: bool) -> String {
    let mut lines = Vec::new();
    write(root, 0, ["", ""], colours, &mut lines);
    lines.join("\n")
}

/// Writes a node whose key takes `width` characters with those beside it. `before` is what is in front of its line and of the lines
/// under it.
fn write(node: &Node, width: usize, before: [&str; 2], colours: bool, lines: &mut Vec<String>) {
    let paint = |text: &str, colour: &str| match colours && !text.is_empty() {
        true => format!("{colour}{text}{PLAIN}"),
        false => text.to_owned(),
    };
    let key = paint(&node.key, if node.children.is_empty() { CYAN } else { BOLD });
    let mut line = paint(before[0], DIM) + &key;
    if !node.text.is_empty() {
        let padding = width.saturating_sub(node.key.chars().count()) + 2;
        line += &" ".repeat(padding);
        line += &if node.key == "error" { paint(&node.text, RED) } else { node.text.clone() };
    }
    lines.push(line);
    let width = node.children.iter().map(|child| child.key.chars().count()).max().unwrap_or(0);
    for (index, child) in node.children.iter().enumerate() {
        let last = index + 1 == node.children.len();
        let (branch, trunk) = if last { ("└─ ", "   ") } else { ("├─ ", "│  ") };
        let before = [before[1].to_owned() + branch, before[1].to_owned() + trunk];
        write(child, width, [&before[0], &before[1]], colours, lines);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn values_are_aligned_and_lists_of_objects_are_numbered() {
        let value = json!({"name": "x", "flags": ["A", "B"], "none": [], "parts": [{"a": 1}, {"a": 2}]});
        let text = render(&Node::from_json("root", &value), false);
        let wanted = "root\n├─ name   x\n├─ flags  A B\n├─ none   none\n└─ parts\n   ├─ [0]\n   │  └─ a  1\n   \
                      └─ [1]\n      └─ a  2";
        assert_eq!(text, wanted);
    }

    #[test]
    fn only_a_terminal_gets_colours() {
        let node = Node::from_json("root", &json!({"a": 1}));
        assert!(!render(&node, false).contains('\x1b'));
        assert!(render(&node, true).contains(&format!("{CYAN}a{PLAIN}  1")));
    }
}
