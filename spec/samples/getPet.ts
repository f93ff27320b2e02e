import { env, exit } from "node:process";

const response = await fetch(`${env.BASE_URL}/pets/7`, {
  headers: { Authorization: `Bearer ${env.API_KEY}` },
});
const body = await response.text();
if (!response.ok) {
  console.error(body);
  exit(1);
}
// Its `id` may have lost digits. Parse without loss what has an id that you use.
console.log((JSON.parse(body) as { name: string }).name);
