
import type { BrowserContext, Page } from "playwright-core";

/**
 * Records the requests, console errors and uncaught exceptions of a context. WebSocket and
 * WebTransport connections are recorded only for the given page.
 */
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
    // Use the DevTools protocol, because Playwright has no event for WebTransport.
    const devtools = await context.newCDPSession(page);
    devtools.on("Network.webTransportCreated", (event) => watch.requests.push(event.url));
    await devtools.send("Network.enable");
    return watch;
  }

  findings(origin: string): string[] {
    const own = (url: string) => url.startsWith(`${origin}/`);
    // The browser itself answers requests with these schemes, for example for an empty page.
    const local = (url: string) => /^(data|blob|chrome|about):/.test(url);
    const foreign = this.requests.filter((url) => !own(url) && !local(url));
    return [
      ...foreign.map((url) => `a request to another server: ${url}`),
      ...this.errors.map((error) => `console: ${error}`),
      ...(this.requests.some(own) ? [] : ["no request was recorded: nothing was watched"]),
    ];
  }
}
