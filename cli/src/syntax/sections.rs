//! Files of sections with `name = value` lines, such as `~/.aws/config`, as trees. The crates for such files keep no places.

use super::broken::Broken;
use crate::tree::{Data, Field, Node};
use std::rc::Rc;

/// True for a text with a section and a setting of retries.
pub(crate) fn is_aws_config(text: &str) -> bool {
    let mut lines = text.lines().map(str::trim);
    let is_section = |line: &str| line == "[default]" || line.starts_with("[profile ");
    lines.clone().any(is_section)
        && lines.any(|line| line.starts_with("retry_mode") || line.starts_with("max_attempts"))
}

/// The sections of a text, each an object of texts. Indented lines belong to the setting above them, and are passed over.
pub(crate) fn sections(text: &str) -> Result<Rc<Node>, Broken> {
    let mut sections: Vec<(String, std::ops::Range<usize>, Vec<Field>)> = Vec::new();
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let start = at;
        at += line.len();
        let is_nested = line.starts_with([' ', '\t']);
        let line = line.trim_end();
        if line.trim().is_empty() || line.trim_start().starts_with(['#', ';']) {
            continue;
        }
        if let Some(name) = line.strip_prefix('[') {
            let Some((name, _)) = name.split_once(']') else {
                return Err(Broken { words: "a section needs a \"]\"".to_owned(), at: start });
            };
            sections.push((name.trim().to_owned(), start..start + line.len(), Vec::new()));
            continue;
        }
        let (Some((name, value)), Some((_, _, fields))) = (line.split_once('='), sections.last_mut()) else {
            if is_nested {
                continue;
            }
            return Err(Broken { words: "a line needs a section before it, and a \"=\"".to_owned(), at: start });
        };
        if is_nested {
            continue;
        }
        // A comment needs a space before it.
        let value =
            [" #", " ;", "\t#", "\t;"].iter().fold(value, |value, mark| value.split(mark).next().unwrap_or(value));
        let from = start + name.len() + 1 + (value.len() - value.trim_start().len());
        let value = value.trim();
        let node = Node { span: from..from + value.len(), data: Data::Text(value.to_owned()) };
        let name_at = start..start + name.trim_end().len();
        fields.push(Field { name: name.trim().to_owned(), at: name_at, value: Rc::new(node) });
    }
    let fields = sections.into_iter().map(|(name, at, fields)| {
        let end = fields.last().map_or(at.end, |last| last.value.span.end);
        Field { name, value: Rc::new(Node { span: at.start..end, data: Data::Object(fields) }), at }
    });
    Ok(Rc::new(Node { span: 0..text.len(), data: Data::Object(fields.collect()) }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_have_their_places() {
        let text = "# mine\r\n[default]\r\nregion = eu-west-1\r\nretry_mode=standard ; as AWS says\r\ns3 =\r\n  max_attempts = 3\r\n";
        let Ok(root) = sections(text) else { panic!() };
        let place = root.place("default.retry_mode").unwrap();
        assert_eq!((&text[place.value], &text[place.name.unwrap()]), ("standard", "retry_mode"));
        assert_eq!(root.value("default.s3").unwrap().text(), Some(""));
        assert!(root.value("default.max_attempts").is_none());
        assert!(is_aws_config(text) && !is_aws_config("[other]\nmax_attempts = 3\n"));
    }

    #[test]
    fn lines_that_are_none_are_refused() {
        for (text, at) in [("max_attempts = 3\n", 0), ("[default\n", 0), ("[a]\n\nwords\n", 5)] {
            assert_eq!(sections(text).err().map(|broken| broken.at), Some(at), "{text}");
        }
    }
}
