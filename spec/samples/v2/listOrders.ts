// Prints the pending orders of pet 7.
import { env } from "node:process";
import { parse } from "lossless-json";

// Numbers are kept as text: JSON.parse would lose digits of large identifiers.
type Order = { id: string; petId: string; quantity: string; status: string };
type Page = { orders: Order[]; nextCursor?: string };

const query = new URLSearchParams({ petId: "7", status: "pending" });
let cursor: string | undefined;
do {
  if (cursor !== undefined) query.set("cursor", cursor);
  const response = await fetch(`${env.BASE_URL}/store/orders?${query}`, {
    headers: { Authorization: `Bearer ${env.API_KEY}` },
  });
  const body = await response.text();
  if (!response.ok) throw new Error(body);
  const page = parse(body, null, (number) => number) as Page;
  for (const order of page.orders) {
    console.log(`order ${order.id}: ${order.quantity} of pet ${order.petId}`);
  }
  // A page without orders may have one, too.
  cursor = page.nextCursor;
} while (cursor !== undefined);
