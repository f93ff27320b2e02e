//! PostgreSQL's setting `synchronous_standby_names`: which standbys must confirm commits.

/// The parsed setting: which standbys may confirm a commit, and how many of them must.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SyncStandbys {
    pub needed: usize,
    /// The names of standbys that may confirm; `*` matches any.
    pub names: Vec<String>,
}

/// A token of the setting `synchronous_standby_names`. Each of the characters `(`, `)` and `,` is a
/// `Plain` token.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Token {
    Plain(String),
    Quoted(String),
}

impl SyncStandbys {
    /// Parses a setting such as `s1, s2` or `ANY 2 (s1, s2)`, whose form PostgreSQL has checked.
    /// Without a number, one standby must confirm. Returns `None` if the setting is empty.
    pub fn parse(setting: &str) -> Option<SyncStandbys> {
        let tokens = tokenize(setting);
        let plain = |text: &str| Token::Plain(text.to_string());
        let (before, list) = match tokens.iter().position(|token| *token == plain("(")) {
            Some(opened) => tokens.split_at(opened),
            None => (&[][..], &tokens[..]),
        };
        let needed = match before.last() {
            Some(Token::Plain(number)) => number.parse().ok()?,
            _ => 1,
        };
        let names: Vec<String> = list
            .iter()
            .filter_map(|token| match token {
                Token::Plain(text) if ["(", ",", ")"].contains(&&**text) => None,
                Token::Plain(name) | Token::Quoted(name) => Some(name.clone()),
            })
            .collect();
        (!names.is_empty()).then_some(SyncStandbys { needed, names })
    }

    /// True if every named standby must confirm each commit. Otherwise, a replaced primary may
    /// still commit, because a standby that was not promoted can confirm.
    pub fn needs_all(&self) -> bool {
        self.needed >= self.names.len() && !self.names.iter().any(|name| name == "*")
    }

    /// Returns the names that no streaming standby has.
    pub fn without<'a>(&'a self, streaming: &[String]) -> Vec<&'a str> {
        let streams =
            |name: &str| streaming.iter().any(|standby| standby.eq_ignore_ascii_case(name));
        self.names.iter().map(|name| &**name).filter(|name| !streams(name)).collect()
    }
}

fn tokenize(setting: &str) -> Vec<Token> {
    let (mut tokens, mut rest) = (Vec::new(), setting.trim_start());
    while let Some(first) = rest.chars().next() {
        let after = if first == '"' {
            let (name, after) = split_quoted(&rest[1..]);
            tokens.push(Token::Quoted(name));
            after
        } else {
            let is_end = |c: char| c.is_ascii_whitespace() || "(),\"".contains(c);
            let end = rest.find(is_end).unwrap_or(rest.len()).max(1);
            let (text, after) = rest.split_at(end);
            tokens.push(Token::Plain(text.to_string()));
            after
        };
        rest = after.trim_start();
    }
    tokens
}

/// Returns the name before the closing quotation mark, and the text after that mark. In a quoted
/// name, `""` stands for a quotation mark.
fn split_quoted(text: &str) -> (String, &str) {
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
    fn every_form_of_the_setting_is_parsed() {
        let parse = |setting: &str| {
            SyncStandbys::parse(setting).map(|parsed| (parsed.needed, parsed.names.join("|")))
        };
        let expected = |needed, names: &str| Some((needed, names.to_string()));
        assert_eq!([parse(""), parse("  ")], [None, None]);
        assert_eq!(parse("s1"), expected(1, "s1"));
        assert_eq!(parse("*"), expected(1, "*"));
        assert_eq!(parse("s1, \"a \"\"b\"\", (c)\""), expected(1, "s1|a \"b\", (c)"));
        assert_eq!(parse("2(s1,s2 , 3)"), expected(2, "s1|s2|3"));
        assert_eq!(parse("FIRST 1 (s1, s2)"), expected(1, "s1|s2"));
        assert_eq!(parse("any 2 (\"first\", s2)"), expected(2, "first|s2"));
    }

    #[test]
    fn a_setting_is_safe_only_if_all_named_standbys_must_confirm() {
        let is_safe = |setting| SyncStandbys::parse(setting).unwrap().needs_all();
        assert!(["s1", "1 (s1)", "FIRST 2 (s1, s2)", "ANY 2 (s1, s2)"].into_iter().all(is_safe));
        let unsafe_settings =
            ["*", "\"*\"", "s1, s2", "ANY 1 (s1, s2)", "FIRST 2 (s1, s2, s3)", "1 (*)"];
        assert!(!unsafe_settings.into_iter().any(is_safe));
    }

    proptest! {
        #![proptest_config(testbed::property_config())]

        #[test]
        fn a_formatted_setting_is_parsed_back(
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
        fn parsing_never_panics(setting in "[a\"*(), 1]{0,20}") {
            SyncStandbys::parse(&setting);
        }
    }
}
