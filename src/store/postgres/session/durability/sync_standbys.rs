//! `synchronous_standby_names`: how many standbys confirm a commit, and which ones may.

/// What the setting says, if it is not empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SyncStandbys {
    /// How many have to confirm a commit.
    pub needed: usize,
    /// Their names; `*` stands for any.
    pub names: Vec<String>,
}

/// A part of the setting. `(`, `)` and `,` are parts of one character.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    Plain(String),
    Quoted(String),
}

impl SyncStandbys {
    /// Reads the setting, whose form PostgreSQL has checked: `s1, s2`, `2 (s1, s2)`,
    /// `FIRST 2 (s1, s2)` or `ANY 2 (s1, s2)`. Without a number, one has to confirm.
    pub fn parse(setting: &str) -> Option<SyncStandbys> {
        let parts = parts(setting);
        let plain = |text: &str| Part::Plain(text.to_string());
        let (before, list) = match parts.iter().position(|part| *part == plain("(")) {
            Some(opened) => parts.split_at(opened),
            None => (&[][..], &parts[..]),
        };
        let needed = match before.last() {
            Some(Part::Plain(number)) => number.parse().ok()?,
            _ => 1,
        };
        let names: Vec<String> = list
            .iter()
            .filter_map(|part| match part {
                Part::Plain(text) if ["(", ",", ")"].contains(&&**text) => None,
                Part::Plain(name) | Part::Quoted(name) => Some(name.clone()),
            })
            .collect();
        (!names.is_empty()).then_some(SyncStandbys { needed, names })
    }

    /// Whether a primary needs every standby that it names. If not, one that was replaced can
    /// still confirm commits with another standby than the promoted one.
    pub fn needs_all(&self) -> bool {
        self.needed >= self.names.len() && !self.names.iter().any(|name| name == "*")
    }

    /// The names of which none of these standbys has.
    pub fn without<'a>(&'a self, streaming: &[String]) -> Vec<&'a str> {
        let streams = |name: &str| streaming.iter().any(|one| one.eq_ignore_ascii_case(name));
        self.names.iter().map(|name| &**name).filter(|name| !streams(name)).collect()
    }
}

fn parts(setting: &str) -> Vec<Part> {
    let (mut parts, mut rest) = (Vec::new(), setting.trim_start());
    while let Some(first) = rest.chars().next() {
        let after = if first == '"' {
            let (name, after) = quoted(&rest[1..]);
            parts.push(Part::Quoted(name));
            after
        } else {
            let is_end = |c: char| c.is_ascii_whitespace() || "(),\"".contains(c);
            let end = rest.find(is_end).unwrap_or(rest.len()).max(1);
            let (text, after) = rest.split_at(end);
            parts.push(Part::Plain(text.to_string()));
            after
        };
        rest = after.trim_start();
    }
    parts
}

/// What stands before the closing quotation mark, of which two stand for one, and what follows.
fn quoted(text: &str) -> (String, &str) {
    let (mut name, mut rest) = (String::new(), text);
    while let Some((part, after)) = rest.split_once('"') {
        name.push_str(part);
        let Some(more) = after.strip_prefix('"') else { return (name, after) };
        name.push('"');
        rest = more;
    }
    (name + rest, "")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn every_form_is_read() {
        let read = |setting: &str| {
            SyncStandbys::parse(setting).map(|found| (found.needed, found.names.join("|")))
        };
        let found = |needed, names: &str| Some((needed, names.to_string()));
        assert_eq!([read(""), read("  ")], [None, None]);
        assert_eq!(read("s1"), found(1, "s1"));
        assert_eq!(read("*"), found(1, "*"));
        assert_eq!(read("s1, \"a \"\"b\"\", (c)\""), found(1, "s1|a \"b\", (c)"));
        assert_eq!(read("2(s1,s2 , 3)"), found(2, "s1|s2|3"));
        assert_eq!(read("FIRST 1 (s1, s2)"), found(1, "s1|s2"));
        assert_eq!(read("any 2 (\"first\", s2)"), found(2, "first|s2"));
    }

    #[test]
    fn only_what_needs_all_named_standbys_is_safe() {
        let is_safe = |setting| SyncStandbys::parse(setting).unwrap().needs_all();
        assert!(["s1", "1 (s1)", "FIRST 2 (s1, s2)", "ANY 2 (s1, s2)"].into_iter().all(is_safe));
        let unsafe_ones =
            ["*", "\"*\"", "s1, s2", "ANY 1 (s1, s2)", "FIRST 2 (s1, s2, s3)", "1 (*)"];
        assert!(!unsafe_ones.into_iter().any(is_safe));
    }

    proptest! {
        #![proptest_config(testbed::property_config())]

        #[test]
        fn what_is_written_is_read(
            method in prop::sample::select(vec!["", "FIRST ", "any "]),
            needed in prop::option::of(1_usize..10),
            names in prop::collection::vec("\\PC{1,8}", 1..5),
            blank in prop::sample::select(vec!["", " ", "\t"]),
        ) {
            let quoted: Vec<String> =
                names.iter().map(|name| format!("\"{}\"", name.replace('"', "\"\""))).collect();
            let list = quoted.join(&format!("{blank},{blank}"));
            let setting = match needed {
                Some(needed) => format!("{method}{needed}{blank}({list}{blank})"),
                None => list,
            };
            let expected = SyncStandbys { needed: needed.unwrap_or(1), names };
            prop_assert_eq!(SyncStandbys::parse(&setting), Some(expected));
        }

        #[test]
        fn any_text_is_read(setting in "[a\"*(), 1]{0,20}") {
            SyncStandbys::parse(&setting);
        }
    }
}
