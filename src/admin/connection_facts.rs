//! What metrics ask of the listener of the API.

/// What the listener of the API is asked for at each scrape.
#[derive(Default)]
pub struct ConnectionFacts {
    /// How many connections are open; `None` where the system does not say.
    pub open: Option<Figure>,
    /// When the certificate ends, in Unix seconds; `None` without TLS.
    pub certificate_ends_at: Option<Figure>,
}

/// A figure that is computed when it is asked for.
pub type Figure = Box<dyn Fn() -> f64 + Send + Sync>;
