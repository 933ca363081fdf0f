//! Files of Terraform as trees: blocks by their labels, values that are written out, `jsonencode` and heredocs with JSON inside.
//!
//! All other expressions are texts, `${var.retries}`: only Terraform knows their values. The crates for the language follow each
//! level of a text by recursion without a limit, which a hostile file could use.

use super::broken::{Broken, DEEPEST};
use super::json::json;
use crate::tree::{Data, Field, Node};
use std::collections::HashMap;
use std::ops::Range;
use std::rc::Rc;

/// A text of Terraform.
pub(crate) struct Hcl {
    pub(crate) root: Rc<Node>,
    /// True if a heredoc looks like JSON and is none: it is a template.
    pub(crate) has_templates: bool,
}

/// The blocks of a text: `resource.aws_sqs_queue.orders`.
pub(crate) fn hcl(text: &str) -> Result<Hcl, Broken> {
    let mut reader = Reader { text, at: 0, depth: 0, has_templates: false };
    let fields = reader.body(true)?;
    let root = Rc::new(Node { span: 0..text.len(), data: Data::Object(fields) });
    Ok(Hcl { root, has_templates: reader.has_templates })
}

/// A block with its labels.
struct Block {
    labels: Vec<Range<usize>>,
    end: usize,
    inner: Vec<Field>,
}

/// Blocks as fields, by the label at `depth`. Blocks with the same label become one object, but for their last label.
fn grouped(text: &str, blocks: Vec<Block>, depth: usize) -> Vec<Field> {
    let mut names = HashMap::<&str, usize>::new();
    let mut groups: Vec<(Range<usize>, Vec<Block>)> = Vec::new();
    for block in blocks {
        let Some(at) = block.labels.get(depth).cloned() else { continue };
        let name = text.get(at.clone()).unwrap_or_default();
        let is_last = block.labels.len() == depth + 1;
        match names.get(name).copied().filter(|_| !is_last) {
            Some(index) => groups[index].1.push(block),
            None => {
                if !is_last {
                    names.insert(name, groups.len());
                }
                groups.push((at, vec![block]));
            }
        }
    }
    let field = |(at, blocks): (Range<usize>, Vec<Block>)| {
        let end = blocks.last().map_or(at.end, |block| block.end);
        let is_last = blocks.first().is_some_and(|block| block.labels.len() == depth + 1);
        let fields = match is_last {
            true => blocks.into_iter().flat_map(|block| block.inner).collect(),
            false => grouped(text, blocks, depth + 1),
        };
        let value = Rc::new(Node { span: at.start..end, data: Data::Object(fields) });
        Field { name: text.get(at.clone()).unwrap_or_default().to_owned(), at, value }
    };
    groups.into_iter().map(field).collect()
}

struct Reader<'t> {
    text: &'t str,
    at: usize,
    depth: usize,
    has_templates: bool,
}

impl<'t> Reader<'t> {
    fn rest(&self) -> &'t str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn broken(&self, words: &str) -> Broken {
        Broken { words: words.to_owned(), at: self.at.min(self.text.len()) }
    }

    fn eat(&mut self, start: &str) -> bool {
        let is_next = self.rest().starts_with(start);
        if is_next {
            self.at += start.len();
        }
        is_next
    }

    /// Goes on behind spaces and comments; behind the ends of lines only with `lines`.
    fn skip(&mut self, lines: bool) -> Result<(), Broken> {
        loop {
            let rest = self.rest();
            let is_space = |sign: char| sign.is_whitespace() && (lines || sign != '\n');
            let blank = rest.len() - rest.trim_start_matches(is_space).len();
            self.at += blank;
            let rest = self.rest();
            if rest.starts_with('#') || rest.starts_with("//") {
                self.at += rest.find('\n').unwrap_or(rest.len());
            } else if rest.starts_with("/*") {
                self.at += rest.find("*/").ok_or_else(|| self.broken("a comment has no end"))? + 2;
            } else {
                return Ok(());
            }
        }
    }

    /// A name without quotes.
    fn name(&mut self) -> Option<Range<usize>> {
        let rest = self.rest();
        let is_part = |sign: char| sign.is_alphanumeric() || sign == '_' || sign == '-';
        let length = rest.len() - rest.trim_start_matches(is_part).len();
        let start = self.at;
        self.at += length;
        (length > 0).then_some(start..self.at)
    }

    fn deeper<T>(&mut self, read: impl FnOnce(&mut Self) -> Result<T, Broken>) -> Result<T, Broken> {
        if self.depth == DEEPEST {
            return Err(self.broken(&format!("more than {DEEPEST} levels")));
        }
        self.depth += 1;
        let read = read(self);
        self.depth -= 1;
        read
    }

    /// Attributes and blocks, up to the end of the block or of the text.
    fn body(&mut self, is_root: bool) -> Result<Vec<Field>, Broken> {
        let (mut fields, mut blocks) = (Vec::new(), Vec::new());
        loop {
            self.skip(true)?;
            let is_end = self.peek() == if is_root { None } else { Some('}') };
            if is_end {
                self.at += usize::from(!is_root);
                fields.extend(grouped(self.text, blocks, 0));
                return Ok(fields);
            }
            let start = self.name().ok_or_else(|| self.broken("an attribute or a block begins with a name"))?;
            let mut labels = vec![start];
            loop {
                self.skip(false)?;
                match self.peek() {
                    _ if labels.len() > DEEPEST => return Err(self.broken("a block has too many labels")),
                    Some('=') => {
                        self.at += 1;
                        let value = self.deeper(Self::expression)?;
                        fields.push(self.field(labels.swap_remove(0), value));
                        break;
                    }
                    Some('{') => {
                        self.at += 1;
                        let inner = self.deeper(|reader| reader.body(false))?;
                        blocks.push(Block { labels, end: self.at, inner });
                        break;
                    }
                    Some('"') => {
                        let label = self.quoted()?;
                        labels.push(label.start + 1..label.end - 1);
                    }
                    _ => labels.push(self.name().ok_or_else(|| self.broken("must be \"=\" or a block"))?),
                }
            }
        }
    }

    fn field(&self, at: Range<usize>, value: Rc<Node>) -> Field {
        Field { name: self.text.get(at.clone()).unwrap_or_default().to_owned(), at, value }
    }

    /// A text in quotes, with its quotes.
    fn quoted(&mut self) -> Result<Range<usize>, Broken> {
        let start = self.at;
        self.at += 1;
        loop {
            match self.peek() {
                None | Some('\n') => return Err(self.broken("a text has no end")),
                Some('\\') => {
                    self.at += 1;
                    self.at += self.peek().map_or(0, char::len_utf8);
                }
                Some('"') => {
                    self.at += 1;
                    return Ok(start..self.at);
                }
                Some('$' | '%') if self.rest().get(1..).is_some_and(|rest| rest.starts_with('{')) => {
                    self.at += 2;
                    self.deeper(|reader| reader.balanced(&['}']))?;
                    self.at += 1;
                }
                Some(sign) => self.at += sign.len_utf8(),
            }
        }
    }

    /// Goes to the first of some signs outside of brackets and texts.
    fn balanced(&mut self, ends: &[char]) -> Result<(), Broken> {
        let mut open = 0_usize;
        loop {
            self.skip(!ends.contains(&'\n') || open > 0)?;
            match self.peek() {
                Some(sign) if open == 0 && ends.contains(&sign) => return Ok(()),
                None if ends.contains(&'\n') && open == 0 => return Ok(()),
                None => return Err(self.broken("a bracket has no end")),
                Some('"') => {
                    self.quoted()?;
                }
                Some('<') if self.rest().starts_with("<<") => {
                    self.heredoc()?;
                }
                Some(sign) => {
                    match sign {
                        '(' | '[' | '{' => open += 1,
                        ')' | ']' | '}' if open == 0 => return Err(self.broken("a bracket ends that did not begin")),
                        ')' | ']' | '}' => open -= 1,
                        _ => {}
                    }
                    self.at += sign.len_utf8();
                }
            }
        }
    }

    /// The text between the marks of a heredoc; `None` where two angle brackets are no heredoc.
    fn heredoc(&mut self) -> Result<Option<Range<usize>>, Broken> {
        self.at += 2;
        self.eat("-");
        let Some(mark) = self.name() else { return Ok(None) };
        let mark = self.text.get(mark).unwrap_or_default();
        self.at += self.rest().find('\n').map_or(self.rest().len(), |end| end + 1);
        let start = self.at;
        for line in self.rest().split_inclusive('\n') {
            if line.trim() == mark {
                let end = self.at;
                self.at += line.find(mark).unwrap_or(0) + mark.len();
                return Ok(Some(start..end));
            }
            self.at += line.len();
        }
        Err(self.broken("a heredoc has no end"))
    }

    /// A value, or a text with the expression.
    fn expression(&mut self) -> Result<Rc<Node>, Broken> {
        self.skip(true)?;
        let start = self.at;
        let value = self.value()?;
        let end = self.at;
        self.skip(false)?;
        // What follows a value makes it a part of a larger expression.
        match (value, self.peek()) {
            (Some(data), None | Some('\n' | ',' | ']' | '}' | ')')) => Ok(Rc::new(Node { span: start..end, data })),
            _ => {
                self.at = start;
                self.balanced(&['\n', ',', ']', '}', ')'])?;
                let raw = self.text.get(start..self.at).unwrap_or_default().trim_end();
                let data = Data::Text(format!("${{{raw}}}"));
                Ok(Rc::new(Node { span: start..start + raw.len(), data }))
            }
        }
    }

    /// A value that is written out; `None` for another expression.
    fn value(&mut self) -> Result<Option<Data>, Broken> {
        Ok(match self.peek() {
            Some('"') => {
                let span = self.quoted()?;
                let raw = self.text.get(span.clone()).unwrap_or_default();
                // Escapes are those of JSON.
                let text = serde_json::from_str(raw).unwrap_or_else(|_| raw.trim_matches('"').to_owned());
                Some(self.inner_json(&text, None).unwrap_or(Data::Text(text)))
            }
            Some('<') if self.rest().starts_with("<<") => self.heredoc()?.map(|span| {
                let text = self.text.get(span.clone()).unwrap_or_default().to_owned();
                self.inner_json(&text, Some(span.start)).unwrap_or(Data::Text(text))
            }),
            Some('[') => self.list()?,
            Some('{') => self.object()?,
            Some(sign) if sign.is_ascii_digit() || sign == '-' => {
                let start = self.at;
                self.at += 1;
                let rest = self.rest();
                let is_part = |sign: char| sign.is_ascii_digit() || matches!(sign, '.' | 'e' | 'E');
                self.at += rest.len() - rest.trim_start_matches(is_part).len();
                self.text.get(start..self.at).and_then(|digits| digits.parse().ok()).map(Data::Number)
            }
            _ => {
                let Some(name) = self.name() else { return Ok(None) };
                match self.text.get(name) {
                    Some("true") => Some(Data::Flag(true)),
                    Some("false") => Some(Data::Flag(false)),
                    Some("null") => Some(Data::Null),
                    Some("jsonencode") if self.eat("(") => {
                        let value = self.deeper(Self::expression)?;
                        self.skip(true)?;
                        self.eat(")").then(|| value.data.clone())
                    }
                    _ => None,
                }
            }
        })
    }

    /// The value of a text that is JSON. Places are known only of a heredoc: a text in quotes has escapes.
    fn inner_json(&mut self, text: &str, start: Option<usize>) -> Option<Data> {
        if !text.trim_start().starts_with('{') {
            return None;
        }
        match json(text, false) {
            Ok(node) => Some(moved(&node, start).data.clone()),
            Err(_) => {
                self.has_templates = true;
                None
            }
        }
    }

    fn list(&mut self) -> Result<Option<Data>, Broken> {
        let mut items = Vec::new();
        self.at += 1;
        loop {
            self.skip(true)?;
            if self.eat("]") {
                return Ok(Some(Data::List(items)));
            }
            if self.is_loop() {
                self.balanced(&[']'])?;
                self.at += 1;
                return Ok(None);
            }
            items.push(self.deeper(Self::expression)?);
            self.skip(true)?;
            if !self.eat(",") && self.peek() != Some(']') {
                return Err(self.broken("items of a list need a comma between them"));
            }
        }
    }

    fn object(&mut self) -> Result<Option<Data>, Broken> {
        let mut fields = Vec::new();
        self.at += 1;
        loop {
            self.skip(true)?;
            if self.eat("}") {
                return Ok(Some(Data::Object(fields)));
            }
            if self.is_loop() {
                self.balanced(&['}'])?;
                self.at += 1;
                return Ok(None);
            }
            let at = match self.peek() {
                Some('"') => self.quoted().map(|span| span.start + 1..span.end - 1)?,
                // A name that is computed.
                Some('(') => {
                    let start = self.at;
                    self.at += 1;
                    self.balanced(&[')'])?;
                    self.at += 1;
                    start..self.at
                }
                _ => {
                    let start = self.at;
                    while self.name().is_some() && self.eat(".") {}
                    start..self.at
                }
            };
            self.skip(false)?;
            if !self.eat("=") && !self.eat(":") {
                return Err(self.broken("a field of an object needs \"=\" or \":\""));
            }
            let value = self.deeper(Self::expression)?;
            fields.push(self.field(at, value));
            self.skip(false)?;
            self.eat(",");
        }
    }

    fn is_loop(&self) -> bool {
        self.rest().strip_prefix("for").is_some_and(|rest| rest.starts_with(char::is_whitespace))
    }
}

/// A tree whose places begin at a byte of another text; without one all have none.
fn moved(node: &Node, start: Option<usize>) -> Rc<Node> {
    let place = |span: &Range<usize>| start.map_or(0..0, |start| span.start + start..span.end + start);
    let data = match &node.data {
        Data::List(items) => Data::List(items.iter().map(|item| moved(item, start)).collect()),
        Data::Object(fields) => {
            let field = |field: &Field| Field {
                name: field.name.clone(),
                at: place(&field.at),
                value: moved(&field.value, start),
            };
            Data::Object(fields.iter().map(field).collect())
        }
        other => other.clone(),
    };
    Rc::new(Node { span: place(&node.span), data })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn root(text: &str) -> Rc<Node> {
        hcl(text).map(|hcl| hcl.root).unwrap_or_else(|broken| panic!("{}: {text}", broken.words))
    }

    #[test]
    fn blocks_are_found_by_their_labels() {
        let text = r#"
# a comment
variable "retries" {
  default = 3 // the usual
}
resource "aws_sqs_queue" "orders" {
  name                       = "orders-${var.stage}"
  visibility_timeout_seconds = 60
  redrive_policy = jsonencode({
    deadLetterTargetArn = aws_sqs_queue.dead.arn
    "maxReceiveCount" : 4,
  })
  tags = { for name, value in var.tags : name => upper(value) }
  dynamic "x" { for_each = [for x in y : x] }
}
resource "aws_sqs_queue" "dead" { delay_seconds = var.delay * 2 }
"#;
        let root = root(text);
        let queue = root.value("resource.aws_sqs_queue.orders").unwrap();
        assert!(matches!(queue.value("redrive_policy.maxReceiveCount").unwrap().data, Data::Number(4.0)));
        let place = queue.place("redrive_policy.maxReceiveCount").unwrap();
        assert_eq!((&text[place.value], &text[place.name.unwrap()]), ("4", "maxReceiveCount"));
        assert_eq!(queue.get("name").unwrap().text(), Some("orders-${var.stage}"));
        let dead = root.value("resource.aws_sqs_queue.dead.delay_seconds").unwrap();
        assert_eq!(dead.text(), Some("${var.delay * 2}"));
        assert!(matches!(root.value("variable.retries.default").unwrap().data, Data::Number(3.0)));
    }

    #[test]
    fn json_in_a_heredoc_has_places() {
        let text = "resource \"x\" \"y\" {\n  definition = <<-EOF\n  {\"a\": {\"b\": \"${arn}\"}}\n  EOF\n  other = <<E\n\
            { \"n\": ${n} }\nE\n}\n";
        let hcl = hcl(text).unwrap_or_else(|broken| panic!("{}", broken.words));
        let node = hcl.root.value("resource.x.y.definition.a.b").unwrap();
        assert_eq!((node.text(), &text[node.span.clone()]), (Some("${arn}"), "\"${arn}\""));
        assert!(hcl.has_templates, "the other one is JSON only when it is rendered");
    }

    #[test]
    fn hostile_texts_are_refused() {
        for text in [
            "a = [".repeat(10_000),
            format!("a = {}", "[".repeat(200_000)),
            format!("a = {}1", "-".repeat(200_000)),
            format!("a = {}b{}", "(".repeat(200_000), ")".repeat(200_000)),
            format!("a = \"{}", "${\"".repeat(100_000)),
            "a = <<EOF\n{".to_owned(),
            "a { b = 1".to_owned(),
            "a = \"b".to_owned(),
            "/* a".to_owned(),
            "a b".to_owned(),
            format!("{}{{}}", "a ".repeat(500_000)),
            "}".to_owned(),
            "a = { b }".to_owned(),
        ] {
            // Whatever it is, the answer comes.
            let _ = hcl(&text);
        }
        assert!(hcl(&format!("a = {}", "[".repeat(200))).is_err() && hcl("a { b = 1").is_err() && hcl("}").is_err());
    }
}
