//! Comments that allow a warning: `# holdoff: allow no_jitter`, behind a value or in the line above it.

use super::config::is_name;

/// The beginning of such a comment.
pub(crate) const MARK: &str = "holdoff: allow ";
/// The signs that begin a comment in YAML, TOML and Terraform; in JSON with comments; and in configurations of Windows.
const COMMENTS: [&str; 3] = ["#", "//", ";"];

/// The names that a comment of a line allows, and whether the line has nothing else.
fn allowed(line: &str) -> Option<(impl Iterator<Item = &str>, bool)> {
    let (before, names) = line.split_once(MARK)?;
    let before = before.trim_end();
    let code = COMMENTS.iter().find_map(|sign| before.strip_suffix(sign))?;
    let names = names.split([',', ' ', ':', '\t']).map(str::trim).filter(|name| !name.is_empty());
    // Words behind the names are a reason.
    Some((names.take_while(|name| name.contains('_') || is_name(name)), code.trim().is_empty()))
}

/// True if a comment allows a finding in a line, from 1: one in the line, or those that fill the lines above it.
pub(crate) fn is_allowed(lines: &[&str], line: usize, name: &str) -> bool {
    let Some(index) = line.checked_sub(1) else { return false };
    let has = |line: &str| allowed(line).is_some_and(|(mut names, _)| names.any(|allowed| allowed == name));
    let above = lines.get(..index).unwrap_or_default().iter().rev();
    lines.get(index).is_some_and(|line| has(line))
        || above.take_while(|line| allowed(line).is_some_and(|(_, alone)| alone)).any(|line| has(line))
}

/// True if a comment of a text allows a name that does not exist.
pub(crate) fn is_unknown(text: &str) -> bool {
    text.lines().any(|line| allowed(line).is_some_and(|(mut names, _)| names.any(|name| !is_name(name))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_comment_allows_in_its_line_and_in_the_next() {
        let text = "a: 1 # holdoff: allow no_jitter, no_cap: it is a test\n\
            # holdoff: allow long_wait because\n// holdoff: allow forever\nb: 2\nc: 3\n\"holdoff: allow no_cap\"";
        let lines: Vec<_> = text.lines().collect();
        for (line, name, allowed) in [
            (1, "no_jitter", true),
            (1, "forever", false),
            (2, "no_jitter", false),
            (4, "long_wait", true),
            (4, "forever", true),
            (5, "forever", false),
            (6, "no_cap", false),
            (0, "no_cap", false),
            (9, "no_cap", false),
        ] {
            assert_eq!(is_allowed(&lines, line, name), allowed, "{line} {name}");
        }
        assert!(is_unknown("x # holdoff: allow no_jiter") && !is_unknown("# holdoff: allow no_jitter"));
    }
}
