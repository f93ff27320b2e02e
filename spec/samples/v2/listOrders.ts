// Prints the pending orders of pet 7.
import { env, exit } from "node:process";
import { setTimeout as sleep } from "node:timers/promises";
import { parse } from "lossless-json";

// Numbers are kept as text: JSON.parse would lose digits of large identifiers.
type Order = { id: string; petId: string; quantity: string; status: string };
type Page = { orders: Order[]; nextCursor?: string };

const query = new URLSearchParams({ petId: "7", status: "pending" });
for (;;) {
  const response = await fetch(`${env.BASE_URL}/store/orders?${query}`, {
    headers: { Authorization: `Bearer ${env.API_KEY}` },
  });
  const body = await response.text();
  const wait = Number(response.headers.get("Retry-After") ?? 121);
  // A ban lasts longer than 2 minutes, and so does a day whose requests are used up.
  if (response.status === 429 && wait <= 120) {
    await sleep(wait * 1000);
    continue;
  }
  if (!response.ok) {
    console.error(body);
    exit(1);
  }
  const page = parse(body, null, (number) => number) as Page;
  for (const order of page.orders) {
    console.log(`order ${order.id}: ${order.quantity} of pet ${order.petId}`);
  }
  // A page without orders may have one, too.
  if (page.nextCursor === undefined) break;
  query.set("cursor", page.nextCursor);
}
