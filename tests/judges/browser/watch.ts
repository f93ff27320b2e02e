// Records what pages request and which errors they log, and tests the recording itself.

import type { Browser, BrowserContext, Page } from "playwright-core";
import { until } from "./until.js";

/** Records the requests and console errors of every page and worker of a context. */
export class Watch {
  private readonly requests: string[] = [];
  private readonly errors: string[] = [];

  static async start(context: BrowserContext, page: Page): Promise<Watch> {
    const watch = new Watch();
    context.on("request", (request) => watch.requests.push(request.url()));
    page.on("websocket", (socket) => watch.requests.push(socket.url()));
    context.on("console", (message) => {
      if (message.type() === "error") watch.errors.push(message.text());
    });
    context.on("weberror", (error) => watch.errors.push(error.error().message));
    // Playwright has no event for this one.
    const devtools = await context.newCDPSession(page);
    devtools.on("Network.webTransportCreated", (event) => watch.requests.push(event.url));
    await devtools.send("Network.enable");
    return watch;
  }

  findings(origin: string): string[] {
    const own = (url: string) => url.startsWith(`${origin}/`);
    // None of these leaves the browser; chrome: is its own empty page.
    const local = (url: string) => /^(data|blob|chrome|about):/.test(url);
    const foreign = this.requests.filter((url) => !own(url) && !local(url));
    return [
      ...foreign.map((url) => `a request to another server: ${url}`),
      ...this.errors.map((error) => `console: ${error}`),
      ...(this.requests.some(own) ? [] : ["no request was recorded: nothing was watched"]),
    ];
  }
}

// Findings, each with a script that must cause it: a watch that records nothing has
// no findings either. Nothing listens on port 9.
const VIOLATIONS: [string, string][] = [
  ["server: http://127.0.0.1:9/image", "new Image().src = 'http://127.0.0.1:9/image'"],
  ["server: http://127.0.0.1:9/fetch", "fetch('http://127.0.0.1:9/fetch').catch(() => {})"],
  ["server: ws://127.0.0.1:9/socket", "new WebSocket('ws://127.0.0.1:9/socket')"],
  [
    "server: https://127.0.0.1:9/transport",
    "new WebTransport('https://127.0.0.1:9/transport').ready.catch(() => {})",
  ],
  ["console: an error", "console.error('an error')"],
  ["console: an exception", "setTimeout(() => { throw new Error('an exception'); })"],
];
const BLOCKED: [string, string] = [
  "violates the following Content Security Policy",
  "fetch('http://127.0.0.1:9/blocked').catch(() => {})",
];

export async function watchDetectsViolations(browser: Browser, origin: string): Promise<void> {
  for (const [finding, script] of [...VIOLATIONS, BLOCKED]) {
    // The page's own policy would block the other requests before they are sent.
    const context = await browser.newContext({ bypassCSP: finding !== BLOCKED[0] });
    const page = await context.newPage();
    const watch = await Watch.start(context, page);
    await page.goto(`${origin}/changelog`);
    await page.evaluate(`{ ${script}; }`);
    const found = () => watch.findings(origin);
    await until(
      async () => found().some((text) => text.includes(finding)),
      () => `${script} is not recorded, only: ${found().join("; ")}`,
    );
    await context.close();
  }
}
