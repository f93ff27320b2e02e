//! Serves the public pages. For every other request, finds the route, authenticates the client and
//! applies the rate limits before the handler runs.

use super::caller::{Caller, TrustedProxies, Unauthenticated, authenticate, unauthorized};
use super::docs::Docs;
use super::inner_router::{BuildError, DropshotContext, InnerRouter, Route, catch_all};
use super::request_scope::RequestScope;
use crate::clock::Now;
use crate::context::ServerContext;
use crate::key_cache::{KnownKey, ValidKey};
use crate::metrics::RouteId;
use crate::rate_limiter::Decision;
use crate::store::{Freshness, REQUEST_TIMEOUT};
use dropshot::{ApiDescription, Body, HttpError, RequestInfo};
use futures::FutureExt;
use futures::future::poll_immediate;
use http::{HeaderValue, Request, Response, header};
use std::ops::ControlFlow;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Instant;
use store_orders_api::errors;
use store_orders_api::plans::Plan;
use tokio::time::sleep_until;

pub struct Middleware {
    router: InnerRouter,
    docs: Docs,
    proxies: TrustedProxies,
}

impl Middleware {
    pub fn new(router: InnerRouter, docs: Docs, proxies: TrustedProxies) -> Middleware {
        Middleware { router, docs, proxies }
    }

    /// Builds the API that dropshot serves: catch-all routes that call the middleware.
    pub fn into_api(self) -> Result<ApiDescription<Arc<ServerContext>>, BuildError> {
        let middleware = Arc::new(self);
        catch_all(move |context, request| Arc::clone(&middleware).handle(context, request))
    }

    /// Handles a request, or responds with a 500 after a panic. Never returns an error, because
    /// dropshot's response to an error would lack the API's headers. Everything runs in one future,
    /// because passing `context` and `request` to further futures would cost more than the work in
    /// them.
    async fn handle(
        self: Arc<Self>,
        context: DropshotContext,
        mut request: Request<Body>,
    ) -> Result<Response<Body>, HttpError> {
        let started = Instant::now();
        let deadline = started + REQUEST_TIMEOUT;
        let peer = context.request.remote_addr().ip();
        let client = self.proxies.client(peer, context.request.headers());
        let mut scope = RequestScope::begin(&context, client, started);
        let steps = async {
            let (document, route) =
                self.router.route(context.request.method(), context.request.uri().path());
            scope.note_route(document, &route);
            if let Route::OutsideVersions = route
                && let Some(page) = self.docs.find(&context.request)
            {
                scope.route = RouteId::PUBLIC;
                return page;
            }
            let caller = match admit(&mut scope, &context.request, &route, deadline).await {
                ControlFlow::Continue(caller) => caller,
                ControlFlow::Break(refusal) => return refusal,
            };
            match route {
                Route::Found(..) if scope.server().damage_check.refuses().is_some() => {
                    scope.refusal = Some("store_damaged");
                    scope.log_unavailable(&"the store is damaged")
                }
                Route::Found(operation, endpoint) => {
                    request.extensions_mut().insert(caller);
                    let handled = operation.call(context, endpoint, request);
                    tokio::select! {
                        biased;
                        handled = handled => handled,
                        // Only reads time out here. Cancellations time out in the handler or in the
                        // writer.
                        () = sleep_until(deadline.into()), if scope.is_read() => {
                            scope.log_timeout()
                        }
                    }
                }
                Route::NotFound => errors::not_found(document),
                Route::SlashAtEnd => errors::slash_at_end(document),
                Route::OutsideVersions => errors::outside_versions(),
                Route::OtherMethod { allow, later, .. } => {
                    errors::method_not_allowed(&allow, later.as_deref(), document)
                }
            }
        };
        let response = match AssertUnwindSafe(steps).catch_unwind().await {
            Ok(response) => response,
            Err(panic) => {
                if scope.limit_status.is_none() {
                    // Even a 500 has rate limit headers. If the rate limiter has not decided, the
                    // headers show the limit of the client's address.
                    show_status_of_address(&mut scope);
                }
                let why = panic.downcast_ref::<String>().map(String::as_str);
                scope.log_panic(why.or(panic.downcast_ref().copied()).unwrap_or("no message"))
            }
        };
        Ok(scope.finish(response))
    }
}

/// Authenticates and counts a request. A request with a valid key counts against the key's account.
/// Other requests count against the client's address, unless the key cannot be checked now. If the
/// request is refused, breaks with the response.
async fn admit(
    scope: &mut RequestScope,
    request: &RequestInfo,
    route: &Route<'_>,
    deadline: Instant,
) -> ControlFlow<Response<Body>, Caller> {
    let (client, now) = (scope.client, scope.now);
    match authenticate(scope.server(), request.headers(), client, now, deadline).await {
        Ok(ValidKey { key, was_looked_up }) => {
            scope.key = Some(Arc::clone(&key));
            let server = scope.server();
            let now = if was_looked_up { server.clock.now() } else { now };
            let counted = count_and_query(server, &key, now, deadline, route.reads_list()).await;
            let Counted { decision, decided_at, freshness } = counted;
            enforce(scope, Some(key.account.plan.name), decision, decided_at)?;
            ControlFlow::Continue(Caller { key, deadline, freshness })
        }
        Err(Unauthenticated::Refused { refusal, key_sent }) => {
            scope.refusal = Some(refusal.as_str());
            count_by_address(scope).await?;
            // Outside the API versions no key is required, so respond with 404 instead of 401.
            if matches!(route, Route::OutsideVersions) {
                scope.refusal = None;
                return ControlFlow::Break(errors::outside_versions());
            }
            let here = scope.server().environment;
            let document = scope.document();
            ControlFlow::Break(unauthorized(refusal, key_sent, request, here, document))
        }
        Err(Unauthenticated::KeysOutdated) => {
            // The key may be valid, so do not count the request against the client's address. If
            // such requests were counted, callers without a key at the same address would get 429
            // after the outage.
            show_status_of_address(scope);
            let why = "the key cannot be checked: the store has not answered in time";
            ControlFlow::Break(scope.log_unavailable(&why))
        }
    }
}

/// The rate limiter's decision, and the freshness query. Both may wait for PostgreSQL, so both run
/// at the same time. `freshness` is `None` if no query was sent.
struct Counted {
    decision: Decision,
    decided_at: Now,
    freshness: Option<Freshness>,
}

/// Counts a request against its account. If `reads_list` is true, also queries the store's last
/// changes, unless a refusal is already certain.
async fn count_and_query(
    server: &ServerContext,
    key: &KnownKey,
    now: Now,
    deadline: Instant,
    reads_list: bool,
) -> Counted {
    let request = key.request();
    let mut deciding = server.rate_limiter.admit(request, &key.id, now, deadline);
    // The in-memory limiter always decides in the first poll. The limiter in PostgreSQL decides in
    // the first poll only if it refuses the request without a query.
    let first = poll_immediate(&mut deciding).await;
    let is_refused = first.is_some_and(|decision| !decision.admits()) || request.has_zero_limit();
    let sends_query = reads_list && !is_refused;
    // If the query cannot be sent now, the handler tries again.
    let freshness = sends_query.then(|| server.orders.query_freshness().ok()).flatten();
    let (decision, decided_at) = match first {
        Some(decision) => (decision, now),
        None => (deciding.await, server.clock.now()),
    };
    Counted { decision, decided_at, freshness }
}

/// Counts a request without a valid key against the client's address. Breaks with a 429 if the
/// address has reached its limit.
async fn count_by_address(scope: &mut RequestScope) -> ControlFlow<Response<Body>> {
    let (server, client) = (scope.server(), scope.client);
    let now = server.clock.now();
    let decision = server.rate_limiter.admit_unauthenticated(client, now).await;
    if let Decision::Limited(status, _) = decision {
        server.keys.shed(client, status.resets_in);
    }
    enforce(scope, None, decision, now)
}

/// Refuses the request unless `decision` admits it, and records the rate limit status for the
/// response headers. `plan` is `None` without a valid key.
fn enforce(
    scope: &mut RequestScope,
    plan: Option<Plan>,
    decision: Decision,
    decided_at: Now,
) -> ControlFlow<Response<Body>> {
    let status = decision.status();
    scope.limit_status = Some((status, decided_at));
    let (server, document, seconds) = (scope.server(), scope.document(), status.retry_after());
    let (reason, mut response) = match decision {
        Decision::Admitted(_) => return ControlFlow::Continue(()),
        Decision::Limited(_, window) => (
            "rate_limited",
            errors::rate_limit_exceeded(status.limit, window.unit(), seconds, document),
        ),
        Decision::Banned { .. } => ("banned", errors::key_banned(seconds, document)),
        Decision::Unavailable(_) => {
            let why = server.rate_limiter.unavailable_because();
            let why = why.as_deref().unwrap_or("no answer in time");
            let why = format_args!("the request cannot be counted: {why}");
            ("counts_unavailable", scope.log_unavailable(&why))
        }
    };
    server.metrics.rate_limited.count(plan, &decision);
    // For a request without a valid key, `refusal` already has a reason, such as `expired_key`.
    // Keep that reason.
    scope.refusal.get_or_insert(reason);
    response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
    ControlFlow::Break(response)
}

/// Sets the response's rate limit headers to the status of the client's address. Used if the rate
/// limiter did not decide on the request.
fn show_status_of_address(scope: &mut RequestScope) {
    let now = scope.server().clock.now();
    let status = scope.server().rate_limiter.unauthenticated_status(scope.client, now);
    scope.limit_status = Some((status, now));
}
