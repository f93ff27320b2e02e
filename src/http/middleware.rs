//! The middleware: authenticates, rate-limits and routes every request before its handler.

use super::authentication::{Caller, Unauthenticated, authenticate, unauthorized};
use super::client_ip::TrustedProxies;
use super::docs::Docs;
use super::inner_router::{BuildError, DropshotContext, InnerRouter, Route, catch_all};
use super::rate_limit;
use super::request_scope::RequestScope;
use super::responses::method_not_allowed;
use crate::clock::Now;
use crate::context::ServerContext;
use crate::key_cache::{KnownKey, ValidKey};
use crate::limits::Decision;
use crate::metrics::RouteId;
use crate::store::Freshness;
use dropshot::{ApiDescription, Body, HttpError, RequestInfo};
use futures::FutureExt;
use futures::future::poll_immediate;
use http::{Request, Response};
use std::ops::ControlFlow;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use store_orders_api::errors;
use tokio::time::sleep_until;

/// The middleware: the router, the public pages and the trusted proxies. Dropshot passes the
/// server's context with each request.
pub struct Middleware {
    router: InnerRouter,
    docs: Docs,
    proxies: TrustedProxies,
}

impl Middleware {
    /// Creates the middleware in front of this router.
    pub fn new(router: InnerRouter, docs: Docs, proxies: TrustedProxies) -> Middleware {
        Middleware { router, docs, proxies }
    }

    /// Builds the API that dropshot serves: catch-all routes that call the middleware.
    pub fn into_api(self) -> Result<ApiDescription<Arc<ServerContext>>, BuildError> {
        let middleware = Arc::new(self);
        catch_all(move |context, request| Arc::clone(&middleware).handle(context, request))
    }

    /// Runs the steps; if one panics, the response is a 500. Never returns an error. All steps
    /// share one future, because moving `context` and `request` from step to step costs more than
    /// the steps do.
    async fn handle(
        self: Arc<Self>,
        context: DropshotContext,
        mut request: Request<Body>,
    ) -> Result<Response<Body>, HttpError> {
        let peer = context.request.remote_addr().ip();
        let client = self.proxies.client(peer, context.request.headers());
        let mut scope = RequestScope::begin(&context, client);
        if let Some(page) = self.docs.find(&context.request) {
            scope.route = RouteId::PUBLIC;
            return Ok(scope.finish_unlimited(page));
        }
        let steps = async {
            let (document, route) =
                self.router.route(context.request.method(), context.request.uri().path());
            scope.note_route(document, &route);
            match (admit(&mut scope, &context.request, &route).await, route) {
                (ControlFlow::Break(refusal), _) => refusal,
                (_, Route::Found(..)) if scope.server().store_check.refuses().is_some() => {
                    scope.refusal = Some("store_damaged");
                    scope.unavailable(&"the store is damaged")
                }
                (ControlFlow::Continue(caller), Route::Found(operation, endpoint)) => {
                    request.extensions_mut().insert(caller);
                    let handled = operation.call(context, endpoint, request);
                    tokio::select! {
                        biased;
                        handled = handled => handled,
                        // Only reads time out here. A cancellation times out in the writer.
                        () = sleep_until(scope.deadline().into()), if scope.is_read() => {
                            scope.timed_out()
                        }
                    }
                }
                (_, Route::NotFound | Route::OutsideVersions) => {
                    errors::not_found(scope.document())
                }
                (_, Route::OtherMethod { allow, .. }) => {
                    method_not_allowed(&allow, scope.document())
                }
            }
        };
        let response = match AssertUnwindSafe(steps).catch_unwind().await {
            Ok(response) => response,
            Err(panic) => {
                if scope.limit_status.is_none() {
                    // Even a 500 has the rate limit headers. If the panic came before the rate
                    // limiter's decision, their values come from the count of the client's address.
                    rate_limit::show_status_of_address(&mut scope);
                }
                let why = panic.downcast_ref::<String>().map(String::as_str);
                scope.panicked(why.or(panic.downcast_ref().copied()).unwrap_or("no message"))
            }
        };
        Ok(scope.finish(response))
    }
}

/// Authenticates the request and counts it against its account or, without a valid key, against the
/// client's address.
async fn admit(
    scope: &mut RequestScope,
    request: &RequestInfo,
    route: &Route<'_>,
) -> ControlFlow<Response<Body>, Caller> {
    match authenticate(scope, request.headers()).await {
        Ok(ValidKey { key, was_looked_up }) => {
            scope.key = Some(Arc::clone(&key));
            let now = if was_looked_up { scope.server().clock.now() } else { scope.now };
            let (decision, freshness) = decide(scope, &key, now, route).await;
            rate_limit::by_account(scope, &key, decision)?;
            ControlFlow::Continue(Caller { key, deadline: scope.deadline(), freshness })
        }
        Err(Unauthenticated::Refused { refusal, key_sent }) => {
            scope.refusal = Some(refusal.as_str());
            rate_limit::by_address(scope).await?;
            // Paths outside the API versions require no key.
            if matches!(route, Route::OutsideVersions) {
                scope.refusal = None;
                return ControlFlow::Break(errors::not_found(scope.document()));
            }
            let here = scope.server().environment;
            let document = scope.document();
            ControlFlow::Break(unauthorized(refusal, key_sent, request, here, document))
        }
        Err(Unauthenticated::KeysOutdated) => {
            // The key may be valid. If its request were counted, callers without a key at the same
            // address would get 429 after the outage.
            rate_limit::show_status_of_address(scope);
            let why = "the key cannot be checked: the store has not answered in time";
            ControlFlow::Break(scope.unavailable(&why))
        }
    }
}

/// Counts a request against its account. Returns the rate limiter's decision and the time of the
/// decision. If the operation reads the list, also queries the store for the last changes, while
/// the limiter decides. Sends no query if the limiter refuses the request at once. Returns no query
/// if it cannot be sent; the handler then sends one.
async fn decide(
    scope: &RequestScope,
    key: &KnownKey,
    now: Now,
    route: &Route<'_>,
) -> ((Decision, Now), Option<Freshness>) {
    let (server, request) = (scope.server(), key.request());
    let mut decision = server.limits.admit(request, &key.row.id, now, scope.deadline());
    let immediate = poll_immediate(&mut decision).await;
    let is_refused =
        immediate.is_some_and(|decision| !decision.admits()) || request.has_zero_limit();
    let sends_query = route.reads_list() && !is_refused;
    let freshness = sends_query.then(|| server.orders.query_freshness().ok()).flatten();
    match immediate {
        Some(decision) => ((decision, now), freshness),
        None => ((decision.await, server.clock.now()), freshness),
    }
}
