//! Replaces the example addresses and contact in the checked-in documents with the addresses and
//! contact in the settings.

use crate::api_key::Environment;
use crate::config::DocumentSettings;
use serde_json::{Map, Value, json};
use store_orders_api::BASE_PATH;
use store_orders_api::documents::{DOCUMENTS, Document};
use store_orders_api::emission::DocumentError;

pub fn served_documents(
    settings: &DocumentSettings,
    environment: Environment,
) -> Result<Vec<Value>, DocumentError> {
    DOCUMENTS.iter().map(|document| served_document(document, settings, environment)).collect()
}

/// Returns the document with the addresses and the contact from the operator's settings. In
/// `servers`, the address of this server's environment comes first.
///
/// If no address is set, `servers` contains only the base path, because addresses are never taken
/// from a request.
pub fn served_document(
    document: &Document,
    settings: &DocumentSettings,
    environment: Environment,
) -> Result<Value, DocumentError> {
    let mut served = document.json()?;
    if let Some(servers) = served.get_mut("servers") {
        *servers = addresses(document, settings, environment);
    }
    if let Some(Value::Object(info)) = served.get_mut("info") {
        match contact(settings) {
            contact if contact.is_empty() => {
                info.shift_remove("contact");
            }
            contact => {
                info.insert("contact".to_string(), Value::Object(contact));
            }
        }
    }
    Ok(served)
}

fn addresses(document: &Document, settings: &DocumentSettings, here: Environment) -> Value {
    let mut addresses = vec![
        (Environment::Production, &settings.production_url, "Production"),
        (Environment::Staging, &settings.staging_url, "Staging"),
    ];
    addresses.sort_by_key(|(environment, ..)| *environment != here);
    let servers: Vec<Value> = addresses
        .into_iter()
        .filter_map(|(environment, url, name)| {
            let prefix = environment.prefix();
            let description = format!("{name}: accepts keys that begin with {prefix}");
            // The URL in the settings ends with the base path of v1, so replace that path.
            let url = url.as_ref()?.to_string();
            let host = url.strip_suffix(BASE_PATH).unwrap_or(&url);
            let url = format!("{host}{}", document.base_path);
            Some(json!({ "url": url, "description": description }))
        })
        .collect();
    if servers.is_empty() { json!([{ "url": document.base_path }]) } else { Value::Array(servers) }
}

fn contact(settings: &DocumentSettings) -> Map<String, Value> {
    let DocumentSettings { contact_name, contact_url, contact_email, .. } = settings;
    let fields = [("name", contact_name), ("url", contact_url), ("email", contact_email)];
    let set_fields = fields
        .into_iter()
        .filter_map(|(field, value)| Some((field.to_string(), Value::String(value.clone()?))));
    set_fields.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use codegen::compare::differing_pointers;
    use store_orders_api::documents::{V1, V2};

    fn served(settings: &DocumentSettings, environment: Environment) -> Value {
        served_document(&V1, settings, environment).unwrap()
    }

    #[test]
    fn examples_are_not_served_if_nothing_is_set() {
        let document = served(&DocumentSettings::default(), Environment::Production);
        assert_eq!(document["servers"], json!([{ "url": "/v1" }]));
        assert_eq!(document["info"].get("contact"), None);
        assert!(!document.to_string().contains(".example"), "{document}");
        let v2 = served_document(&V2, &DocumentSettings::default(), Environment::Production);
        assert_eq!(v2.unwrap()["servers"], json!([{ "url": "/v2" }]));
    }

    #[test]
    fn the_operators_settings_are_served_and_nothing_else_changes() {
        let settings = DocumentSettings {
            production_url: Some("https://orders.test/v1".parse().unwrap()),
            staging_url: Some("https://staging.test/v1".parse().unwrap()),
            contact_email: Some("help@orders.test".to_string()),
            ..DocumentSettings::default()
        };
        for (environment, first) in [
            (Environment::Production, "https://orders.test/v1"),
            (Environment::Staging, "https://staging.test/v1"),
        ] {
            let document = served(&settings, environment);
            assert_eq!(document["servers"][0]["url"], first);
            assert_eq!(document["servers"].as_array().unwrap().len(), 2);
            let v2 = served_document(&V2, &settings, environment).unwrap();
            assert_eq!(v2["servers"][0]["url"], first.replace("/v1", "/v2"));
            assert_eq!(document["info"]["contact"], json!({ "email": "help@orders.test" }));
            let mut changed = differing_pointers(&V1.json().unwrap(), &document);
            changed.retain(|place| !place.starts_with("/servers/"));
            assert_eq!(changed, ["/info/contact/name", "/info/contact/url", "/info/contact/email"]);
        }
    }
}
