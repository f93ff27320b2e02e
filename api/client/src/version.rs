//! The client of a version of the API, besides its operations.

use crate::call::Call;
use std::fmt;

/// Defines the client of a version over progenitor's client of its document.
macro_rules! client_of_version {
    ($(#[$doc:meta])* $generated:ty, $base_path:literal, $other_version:literal) => {
        $(#[$doc])*
        #[derive(Clone)]
        pub struct Client {
            /// Sends nothing itself: each call is made by a copy with a [`Call`] of its own.
            ///
            /// [`Call`]: crate::call::Call
            pub(crate) generated: $generated,
        }

        impl Client {
            /// A client with the default time-outs and [`RetryPolicy`](crate::RetryPolicy).
            ///
            #[doc = concat!("`base_url` may end in `", $base_path, "`, which is appended unless")]
            /// it does. Any path before it is allowed.
            ///
            /// `key` is an API key, issued by the operator of the service: `sto_live_` or
            /// `sto_test_`, then 36 letters and digits.
            ///
            /// An error says what is wrong with the base URL or the key. Neither is tried: the
            /// first request opens the first connection.
            pub fn new(
                base_url: impl Into<String>,
                key: impl Into<String>,
            ) -> Result<Self, $crate::BuildError> {
                Self::builder(base_url, key).build()
            }

            /// Like [`new`](Self::new), with options to set before
            /// [`build`](crate::ClientBuilder::build).
            pub fn builder(
                base_url: impl Into<String>,
                key: impl Into<String>,
            ) -> $crate::ClientBuilder<Self> {
                $crate::ClientBuilder::new(base_url.into(), key.into())
            }

            fn for_one_call(&self) -> $generated {
                let mut client = self.generated.clone();
                client.inner = client.inner.next();
                client
            }
        }

        impl $crate::builder::Versioned for Client {
            const BASE_PATH: &'static str = $base_path;
            const OTHER_VERSION: &'static str = $other_version;

            fn from_parts(root: &str, http: reqwest::Client, call: $crate::call::Call) -> Self {
                let base_url = format!("{root}{}", $base_path);
                Self { generated: <$generated>::new_with_client(&base_url, http, call) }
            }
        }

        impl progenitor_client::ClientHooks<$crate::call::Call> for $generated {
            async fn exec(
                &self,
                request: reqwest::Request,
                info: &progenitor_client::OperationInfo,
            ) -> reqwest::Result<reqwest::Response> {
                let execute = |request| self.client.execute(request);
                $crate::send::send(&self.inner, info.operation_id, request, execute).await
            }
        }

        impl std::fmt::Debug for Client {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                $crate::version::debug(&self.generated.baseurl, &self.generated.inner, f)
            }
        }
    };
}

pub(crate) use client_of_version;

/// Shows no key: it is a header of the HTTP client, which is left out.
pub(crate) fn debug(base_url: &str, call: &Call, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    f.debug_struct("Client")
        .field("base_url", &base_url)
        .field("retry", &call.policy)
        .finish_non_exhaustive()
}
