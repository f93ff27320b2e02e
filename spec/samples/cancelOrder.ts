// Cancels the orders whose ids are arguments: node cancel.ts 1042 1043
import { argv, env } from "node:process";
import { setTimeout as sleep } from "node:timers/promises";

/** The id is text: as a number, a large one would become that of another order. */
async function cancel(id: string): Promise<string> {
  for (let attempt = 1; ; attempt += 1) {
    // No response: the order may have been cancelled nevertheless.
    const { status, after, body } = await fetch(`${env.BASE_URL}/store/orders/${id}`, {
      method: "DELETE",
      headers: { Authorization: `Bearer ${env.API_KEY}` },
      signal: AbortSignal.timeout(10_000),
    })
      .then(async (response) => ({
        status: response.status,
        after: response.headers.get("Retry-After"),
        body: await response.text(),
      }))
      .catch((error) => ({ status: 0, after: null, body: String(error.cause ?? error) }));
    if (status === 204) return "cancelled";
    // 404: it is not there any more. An earlier attempt may have cancelled it.
    if (status === 409 || (status === 404 && body.includes('"order_not_found"'))) {
      return (JSON.parse(body) as { message: string }).message;
    }
    const wait = Number(after ?? 2 ** attempt);
    // A ban lasts longer than 2 minutes, and so does a day whose requests are used up.
    if (![0, 429, 500, 502, 503, 504].includes(status) || attempt === 5 || wait > 120) {
      throw new Error(`order ${id}: ${body}`);
    }
    await sleep(wait * 1000);
  }
}

if (!env.BASE_URL || !env.API_KEY) throw new Error("BASE_URL and API_KEY are not set");
for (const id of argv.slice(2)) console.log(`order ${id}: ${await cancel(id)}`);
