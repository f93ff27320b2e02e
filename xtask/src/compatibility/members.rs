//! Walks the members in which two objects differ, so that every key is either
//! judged by a rule that names it or falls to the rule for all others.

use super::at::At;
use super::judge::Judge;
use serde_json::{Map, Value};

/// A member that the two objects do not have in common.
#[derive(Clone, Debug)]
pub(super) struct Member<'a> {
    pub key: &'a str,
    pub old: Option<&'a Value>,
    pub new: Option<&'a Value>,
    pub at: At,
}

impl Member<'_> {
    /// The value on both sides, where both have one.
    pub fn both(&self) -> Option<(&Value, &Value)> {
        self.old.zip(self.new)
    }

    /// A flag that is false where it is not there.
    pub fn flags(&self) -> (bool, bool) {
        let flag = |value: Option<&Value>| value.and_then(Value::as_bool).unwrap_or(false);
        (flag(self.old), flag(self.new))
    }

    /// "went from 1 to 2", with what is not there said.
    pub fn turned(&self) -> String {
        format!("`{}` went from {} to {}", self.key, shown(self.old), shown(self.new))
    }
}

/// The members in which two objects differ, the old one's first.
pub(super) fn differing<'a>(
    at: &At,
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

impl Judge {
    /// Judges each differing member of two objects; what should be an object
    /// and is none cannot be judged.
    pub fn members(
        &mut self,
        at: &At,
        old: &Value,
        new: &Value,
        mut rule: impl FnMut(&mut Judge, &Member<'_>),
    ) {
        match (old, new) {
            (Value::Object(old), Value::Object(new)) => {
                for member in differing(at, old, new) {
                    rule(self, &member);
                }
            }
            _ if old != new => self.breaking(at, "is no object any more, or was none"),
            _ => {}
        }
    }

    /// What is written for people: neutral.
    pub fn text(&mut self, member: &Member<'_>) {
        self.neutral(&member.at, "is put in other words");
    }

    /// A mark that says that something will go, or stays after all. Callers are
    /// to hear of it.
    pub fn deprecation(&mut self, member: &Member<'_>) {
        match member.flags() {
            (false, true) => self.addition(&member.at, "is deprecated from now on"),
            (true, false) => self.addition(&member.at, "is no longer deprecated"),
            _ => {}
        }
    }

    /// What no rule names. A new extension disturbs nobody, since nobody knows
    /// it; anything else might be what somebody relies on.
    pub fn other(&mut self, member: &Member<'_>) {
        if member.key.starts_with("x-") && member.old.is_none() {
            self.neutral(&member.at, "is a new extension");
        } else {
            self.breaking(&member.at, format!("{}, which no rule judges", member.turned()));
        }
    }
}

/// A value in a line of text.
pub(super) fn shown(value: Option<&Value>) -> String {
    const LONGEST: usize = 40;
    let text = value.map_or("absent".to_string(), Value::to_string);
    if text.chars().count() <= LONGEST {
        return text;
    }
    text.chars().take(LONGEST).chain(['…']).collect()
}
