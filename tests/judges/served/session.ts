// Uses the client that @hey-api/openapi-ts generates from the document of a live server.
// No address is configured: the client has that of the document.

import { listOrders } from "./client/sdk.gen.js";

declare const process: { env: Record<string, string | undefined> };

const key = process.env["KEY"];
if (key === undefined) throw new Error("KEY is not set");
const { data, error, response } = await listOrders({ auth: key });
if (data === undefined || data.length === 0) {
  throw new Error(`${response?.status}: ${JSON.stringify(error)}`);
}
console.log(`${response?.url} lists ${data.length} orders`);
