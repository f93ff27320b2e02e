//! The macro that defines the client type of each version of the API. Other modules add a method
//! for each operation.

use crate::call::Call;
use std::fmt;

/// Defines the client of an API version. The client wraps the code that progenitor generates.
macro_rules! client_of_version {
    ($(#[$doc:meta])* $name:ident, $generated:ty, $base_path:literal) => {
        $(#[$doc])*
        #[derive(Clone)]
        pub struct $name {
            /// The template of all requests. Each request uses a copy of the template with its own
            /// [`Call`].
            ///
            /// [`Call`]: crate::call::Call
            generated: $generated,
        }

        impl $name {
            pub(crate) fn from_parts(
                root: &str,
                http: reqwest::Client,
                call: $crate::call::Call,
            ) -> Self {
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

        impl std::fmt::Debug for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                std::fmt::Debug::fmt(&self.generated, f)
            }
        }

        impl std::fmt::Debug for $generated {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                $crate::version::debug(stringify!($name), &self.baseurl, &self.inner, f)
            }
        }
    };
}

pub(crate) use client_of_version;

/// Implements `Debug` for a client. Leaves out the inner `reqwest` client, because its default
/// headers contain the key.
pub(crate) fn debug(
    name: &str,
    base_url: &str,
    call: &Call,
    f: &mut fmt::Formatter<'_>,
) -> fmt::Result {
    f.debug_struct(name)
        .field("base_url", &base_url)
        .field("retry", &call.policy)
        .finish_non_exhaustive()
}
