//! What a request to the test server sends, held against the parameters of its operation.

use chrono::{DateTime, NaiveDate};
use reqwest::Url;
use std::collections::BTreeMap;
use std::str::FromStr;

/// A parameter of an operation.
pub(crate) struct Parameter {
    pub(crate) name: &'static str,
    /// `path` or `query`.
    pub(crate) place: &'static str,
    pub(crate) is_required: bool,
    pub(crate) kind: Kind,
}

/// The values that a parameter may have.
pub(crate) enum Kind {
    Text,
    Boolean,
    /// In plain decimal, between these.
    Integer(i64, i64),
    Number,
    Time,
    Date,
    OneOf(&'static [&'static str]),
}

/// What a request sends.
pub(crate) struct Sent {
    parameters: BTreeMap<&'static str, String>,
    body: Vec<u8>,
}

impl Sent {
    /// The request for an operation with these parameters, or the message of a 400.
    pub(super) fn read(
        known: &'static [Parameter],
        path: Vec<(&'static str, String)>,
        query: &str,
        body: Vec<u8>,
    ) -> Result<Self, String> {
        let url = Url::parse(&format!("http://localhost/?{query}")).map_err(|e| e.to_string())?;
        let of =
            |place: &str, name: &str| known.iter().find(|of| of.place == place && of.name == name);
        let mut parameters: BTreeMap<_, _> = path.into_iter().collect();
        // An operation without query parameters ignores what is sent.
        let has_query = known.iter().any(|of| of.place == "query");
        for (name, value) in url.query_pairs().filter(|_| has_query) {
            let parameter = of("query", &name);
            let parameter =
                parameter.ok_or_else(|| format!("There is no query parameter {name}."))?;
            let other = parameters.insert(parameter.name, value.to_string());
            if value.is_empty() || other.is_some() {
                return Err(format!("The query parameter {name} is empty or repeated."));
            }
        }
        for Parameter { name, place, is_required, kind } in known {
            match parameters.get(name) {
                Some(value) if !kind.has(value) => {
                    return Err(format!("The {place} parameter {name} must be {}.", kind.about()));
                }
                None if *is_required => {
                    return Err(format!("The {place} parameter {name} is missing."));
                }
                _ => {}
            }
        }
        Ok(Self { parameters, body })
    }

    /// A parameter.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.parameters.get(name).map(String::as_str)
    }

    /// A parameter of this type, which its kind allows.
    pub(crate) fn parsed<T: FromStr>(&self, name: &str) -> Option<T> {
        self.get(name)?.parse().ok()
    }

    /// The parameters but for these, by name.
    pub(crate) fn others(&self, except: &[&str]) -> Vec<(&'static str, &str)> {
        let others = self.parameters.iter().filter(|(name, _)| !except.contains(name));
        others.map(|(name, value)| (*name, value.as_str())).collect()
    }

    /// The body.
    pub(crate) fn body(&self) -> &[u8] {
        &self.body
    }
}

impl Kind {
    fn has(&self, value: &str) -> bool {
        match self {
            Self::Text => true,
            Self::Boolean => value.parse::<bool>().is_ok(),
            Self::Integer(least, most) => value.parse().is_ok_and(|number: i64| {
                number.to_string() == value && (*least..=*most).contains(&number)
            }),
            Self::Number => value.parse::<f64>().is_ok(),
            Self::Time => DateTime::parse_from_rfc3339(value).is_ok(),
            Self::Date => value.parse::<NaiveDate>().is_ok(),
            Self::OneOf(values) => values.contains(&value),
        }
    }

    fn about(&self) -> String {
        match self {
            Self::Text => "a text".to_string(),
            Self::Boolean => "true or false".to_string(),
            Self::Integer(i64::MIN, i64::MAX) => "a 64-bit integer in plain decimal".to_string(),
            Self::Integer(least, most) => format!("an integer from {least} to {most}"),
            Self::Number => "a number".to_string(),
            Self::Time => "a time (RFC 3339)".to_string(),
            Self::Date => "a date".to_string(),
            Self::OneOf(values) => format!("one of {}", values.join(", ")),
        }
    }
}

/// Which of these are called depends on the store.
const _: () = {
    let _ = (Sent::parsed::<i64>, Sent::others, Sent::body);
    let _ = [Kind::Text, Kind::Boolean, Kind::Number, Kind::Time, Kind::Date, Kind::OneOf(&[])];
    let _ = Kind::Integer(0, 0);
};
