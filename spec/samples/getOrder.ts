import { env, exit } from "node:process";
import { parse } from "lossless-json";

// Numbers are kept as text: JSON.parse would lose digits of large identifiers.
type Order = { id: string; petId: string; status: string; cancelledAt?: string };

const response = await fetch(`${env.BASE_URL}/store/orders/1042`, {
  headers: { Authorization: `Bearer ${env.API_KEY}` },
});
const body = await response.text();
if (!response.ok) {
  console.error(body);
  exit(1);
}
const order = parse(body, null, (number) => number) as Order;
console.log(`order ${order.id}: ${order.status} ${order.cancelledAt ?? ""}`);
