// Calls a live server with openapi-fetch and the types that openapi-typescript generates. tsc
// --strict checks this file against the types.

import createClient from "openapi-fetch";
import type { components, paths } from "./api-v1.js";
import type { components as componentsV2, paths as pathsV2 } from "./api-v2.js";

type Order = components["schemas"]["Order"];
type ApiError = components["schemas"]["Error"];

declare const process: { env: Record<string, string | undefined> };

function setting(name: string): string {
  const value = process.env[name];
  if (value === undefined) throw new Error(`${name} is not set`);
  return value;
}

function assert(holds: boolean, what: unknown): asserts holds {
  if (!holds) throw new Error(JSON.stringify(what));
}

function client(key: string) {
  const headers = { Authorization: `Bearer ${setting(key)}` };
  return createClient<paths>({ baseUrl: setting("BASE_URL"), headers });
}

function cancel(orders: ReturnType<typeof client>, orderId: number) {
  return orders.DELETE("/store/orders/{orderId}", { params: { path: { orderId } } });
}

/** Checks that the response is this error, with a message and no undocumented fields. */
function expectError(
  result: { error?: ApiError | undefined; response: Response },
  status: number,
  code: string,
) {
  const error = result.error;
  assert(result.response.status === status, result.response.status);
  assert(error?.code === code && error.status === status && error.message !== "", error);
  assert(Object.keys(error).length === 3, error);
}

async function listed(orders: ReturnType<typeof client>): Promise<Map<number, Order>> {
  const { data, error } = await orders.GET("/store/orders");
  assert(data !== undefined, error);
  return new Map(data.map((order) => [order.id, order]));
}

const [pending, shipped, missing] = ["PENDING", "SHIPPED", "MISSING"].map((name) =>
  Number(setting(name)),
) as [number, number, number];
const orders = client("KEY");

const before = await listed(orders);
const order = before.get(pending);
assert(order?.petId === 7 && order.complete === false, order);
const shipDate: string | undefined = order.shipDate;
assert(shipDate !== undefined && !Number.isNaN(Date.parse(shipDate)), order);
assert(!("shipDate" in (before.get(shipped) ?? { shipDate: "" })), before.get(shipped));
// @ts-expect-error: an order of version 1 has no status
assert(order.status === undefined, order);

const cancelled = await cancel(orders, pending);
assert(cancelled.response.status === 204 && cancelled.error === undefined, cancelled.error);
assert(Number(cancelled.response.headers.get("X-RateLimit-Remaining")) > 0, "no rate limit headers");
const after = await listed(orders);
assert(after.size === before.size - 1 && !after.has(pending), "still listed");

expectError(await cancel(orders, pending), 404, "order_not_found");
expectError(await cancel(orders, missing), 404, "order_not_found");
expectError(await cancel(orders, shipped), 409, "order_already_shipped");
expectError(await client("WRONG_KEY").GET("/store/orders"), 401, "unauthorized");

const limited = client("LIMITED_KEY");
assert((await limited.GET("/store/orders")).data !== undefined, "the first request is admitted");
const limitedResponse = await limited.GET("/store/orders");
expectError(limitedResponse, 429, "rate_limit_exceeded");
const wait = Number(limitedResponse.response.headers.get("Retry-After"));
assert(wait >= 1 && wait <= 60, wait);
console.log("listed, cancelled, 401, 404, 409 and 429: all as documented");

/** Returns all pending orders of pet 7. Reads them in pages of 50. */
async function pendingOfPet7(): Promise<componentsV2["schemas"]["Order"][]> {
  const headers = { Authorization: `Bearer ${setting("KEY")}` };
  const v2 = createClient<pathsV2>({ baseUrl: setting("URL_V2"), headers });
  const all = [];
  let cursor: string | undefined;
  let pages = 0;
  do {
    const query = { petId: 7, status: "pending", limit: 50 } as const;
    const { data, error } = await v2.GET("/store/orders", {
      params: { query: cursor === undefined ? query : { ...query, cursor } },
    });
    assert(data !== undefined, error);
    all.push(...data.orders);
    cursor = data.nextCursor;
    pages += 1;
  } while (cursor !== undefined);
  assert(pages > 2 && all.every((one) => one.petId === 7 && one.status === "pending"), pages);
  return all;
}

const toCancel = (await pendingOfPet7()).slice(0, 60);
for (const { id } of toCancel) {
  const { response, error } = await cancel(orders, id);
  assert(response.status === 204, error);
}
const kept = new Set((await pendingOfPet7()).map((one) => one.id));
assert(toCancel.length === 60 && !toCancel.some((one) => kept.has(one.id)), "still pending");
console.log("version 2: all pages of the pending orders of a pet");
