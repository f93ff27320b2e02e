//! Walks the members in which two objects differ. A key without a rule of its
//! own falls to the rule for all others, so none is overlooked.

use super::findings::Findings;
use super::location::Location;
use serde_json::{Map, Value};

/// A member that differs between the two objects.
#[derive(Clone, Debug)]
pub(super) struct Member<'a> {
    pub key: &'a str,
    pub old: Option<&'a Value>,
    pub new: Option<&'a Value>,
    pub at: Location,
}

impl Member<'_> {
    /// The value on both sides, if both have one.
    pub fn both(&self) -> Option<(&Value, &Value)> {
        self.old.zip(self.new)
    }

    /// A flag, which is false where it is absent.
    pub fn flags(&self) -> (bool, bool) {
        let flag = |value: Option<&Value>| value.and_then(Value::as_bool).unwrap_or(false);
        (flag(self.old), flag(self.new))
    }

    /// Its location under its key as name.
    pub fn named(&self) -> Location {
        self.at.named(self.key)
    }

    /// Its location as a part of what it is in.
    pub fn part(&self) -> Location {
        self.at.named(&self.at.name_of(self.key))
    }

    /// "`key` changed from 1 to 2", where an absent side reads "absent".
    pub fn transition(&self) -> String {
        format!("`{}` changed from {} to {}", self.key, shorten(self.old), shorten(self.new))
    }
}

/// The members in which two objects differ, in the order of the old one.
pub(super) fn differing<'a>(
    at: &Location,
    old: &'a Map<String, Value>,
    new: &'a Map<String, Value>,
) -> Vec<Member<'a>> {
    let added = new.keys().filter(|key| !old.contains_key(*key));
    old.keys()
        .chain(added)
        .map(|key| Member { key, old: old.get(key), new: new.get(key), at: at.member(key) })
        .filter(|member| member.old != member.new)
        .collect()
}

impl Findings {
    /// Applies `rule` to each differing member of two objects.
    pub fn members(
        &mut self,
        at: &Location,
        old: &Value,
        new: &Value,
        mut rule: impl FnMut(&mut Findings, &Member<'_>),
    ) {
        match (old, new) {
            (Value::Object(old), Value::Object(new)) => {
                for member in differing(at, old, new) {
                    rule(self, &member);
                }
            }
            _ if old != new => self.breaking(at, "is not an object before and after"),
            _ => {}
        }
    }

    /// The same for what is inside a member; an absent one counts as empty.
    pub fn inside(&mut self, member: &Member<'_>, rule: impl FnMut(&mut Findings, &Member<'_>)) {
        let empty = Value::Object(Map::new());
        let (old, new) = (member.old.unwrap_or(&empty), member.new.unwrap_or(&empty));
        self.members(&member.at, old, new, rule);
    }

    /// Text for people: neutral.
    pub fn text(&mut self, member: &Member<'_>) {
        self.neutral(&member.at, "is reworded");
    }

    /// Callers have to hear of both.
    pub fn deprecation(&mut self, member: &Member<'_>) {
        match member.flags() {
            (false, true) => self.addition(&member.at, "is deprecated"),
            (true, false) => self.addition(&member.at, "is no longer deprecated"),
            _ => {}
        }
    }

    /// A key that no rule names. No caller can rely on a new extension; on
    /// anything else one might.
    pub fn other(&mut self, member: &Member<'_>) {
        if member.key.starts_with("x-") && member.old.is_none() {
            self.neutral(&member.at, "is a new extension");
        } else {
            self.breaking(
                &member.at,
                format!("{}, for which there is no rule", member.transition()),
            );
        }
    }
}

/// A value in one line of text.
pub(super) fn shorten(value: Option<&Value>) -> String {
    const MAX_CHARS: usize = 40;
    let text = value.map_or("absent".to_string(), Value::to_string);
    if text.chars().count() <= MAX_CHARS {
        return text;
    }
    text.chars().take(MAX_CHARS).chain(['…']).collect()
}
