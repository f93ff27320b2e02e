// Uses the clients that @hey-api/openapi-ts generates from the documents of a live server.
// No address is configured: the clients have that of their documents.

import { listOrders } from "./client/sdk.gen.js";
import { listOrders as listPage } from "./client-v2/sdk.gen.js";

declare const process: { env: Record<string, string | undefined> };

const key = process.env["KEY"];
if (key === undefined) throw new Error("KEY is not set");
const { data, error, response } = await listOrders({ auth: key });
if (data === undefined || data.length === 0) {
  throw new Error(`${response?.status}: ${JSON.stringify(error)}`);
}
const expected = data.filter((order) => Number(order.petId) === 7 && !order.complete);
const ids: string[] = [];
let cursor: string | undefined;
let pages = 0;
do {
  const page = await listPage({
    auth: key,
    query: { petId: 7, complete: false, limit: 50, ...(cursor === undefined ? {} : { cursor }) },
  });
  if (page.data === undefined) {
    throw new Error(`${page.response?.status}: ${JSON.stringify(page.error)}`);
  }
  ids.push(...page.data.orders.map((order) => String(order.id)));
  cursor = page.data.nextCursor;
  pages += 1;
} while (cursor !== undefined);
if (JSON.stringify(ids) !== JSON.stringify(expected.map((order) => String(order.id))) || pages < 2) {
  throw new Error(`${pages} pages have ${ids.length} orders, the list has ${expected.length}`);
}
console.log(`${response?.url} lists ${data.length} orders`);
