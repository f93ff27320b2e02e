// Visits the public pages in Chromium and checks what a reader sees. The argument is one of `VIEWS`
// or one of these words:
//
// - `plain` disables scripts.
// - `settings` checks that a page shows the operator's settings.
// - `negative-controls` checks that seeded defects are found.
//
// Exits with 1 after printing problems, and with 2 if Chromium does not start.

import { chromium } from "playwright-core";
import type { Browser, BrowserContextOptions, Locator, Page } from "playwright-core";
import { errorCodes, operations } from "./api_document.js";
import type { ApiDocument, Operation } from "./api_document.js";
import { seededDefectsAreFound } from "./negative_controls.js";
import {
  BELOW_HEADERS,
  CHECKS,
  accessible,
  contrast,
  drawn,
  errorAddresses,
  nothingCut,
  wholeWords,
  wordsAreFound,
} from "./reading.js";
import { STEP_TIMEOUT_MS, assert, until } from "./until.js";
import { Watch } from "./watch.js";

declare const process: {
  argv: string[];
  env: Record<string, string | undefined>;
  exitCode: number;
  exit(code: number): never;
};

// Chromium cannot use its sandbox as root. The last three flags prevent requests that Chromium
// sends by itself.
const BROWSER_ARGUMENTS = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-dev-shm-usage",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

const DESKTOP = { viewport: { width: 1400, height: 900 } };
const TABLET = { viewport: { width: 768, height: 1024 }, isMobile: true, hasTouch: true };
const PHONE = { viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true };

const VIEWS: Record<string, BrowserContextOptions> = {
  "desktop-light": { ...DESKTOP, colorScheme: "light" },
  "desktop-dark": { ...DESKTOP, colorScheme: "dark" },
  "tablet-light": { ...TABLET, colorScheme: "light" },
  "phone-light": { ...PHONE, colorScheme: "light" },
  "phone-dark": { ...PHONE, colorScheme: "dark" },
};

function setting(name: string): string {
  const value = process.env[name];
  if (value === undefined) throw new Error(`${name} is not set`);
  return value;
}

/** Headers that the guide must describe, because the references leave them out. */
const ON_EVERY_RESPONSE = [
  "X-RateLimit-Limit",
  "X-RateLimit-Remaining",
  "X-RateLimit-Reset",
  "x-request-id",
];

/** Goes through the guide, the references and the changelog in one view. */
class Tour {
  /** The dialog that composes a request and shows its response. */
  private readonly client: Locator;

  constructor(
    private readonly page: Page,
    private readonly view: string,
    private readonly origin: string,
    private readonly document: ApiDocument,
    private readonly second: ApiDocument,
  ) {
    this.client = page.locator(".scalar-app-layout").first();
  }

  async run(key: string): Promise<void> {
    await this.guide();
    await this.introduction();
    await this.operations();
    await this.request(key);
    await this.page.goto(this.origin);
    await reads(this.page.locator("#reference"), this.second.info.title);
    await this.heading(this.second.info.title);
    assert((await this.page.title()).endsWith("v2"), `the first page is ${await this.page.title()}`);
    await this.page.goto(`${this.origin}/changelog`);
    await this.heading("Changelog");
    none(await accessible(this.page, this.document));
    await this.picture("changelog");
    await this.page.goto(`${this.origin}/docs/v1`);
    await this.readsWell(this.document);
    await this.version2();
  }

  /** Checks that the link to version 2 leads to a reference that reads well. */
  private async version2(): Promise<void> {
    await this.page.goto(`${this.origin}/docs/v1`);
    await click(this.page.locator("aside").getByRole("link", { name: "v2" }));
    await this.page.waitForURL(`${this.origin}/docs/v2`);
    await reads(this.page.locator("body"), `${this.origin}/v2`, "nextCursor");
    await this.fits();
    await this.picture("v2");
    await this.page.goto(`${this.origin}/docs/v2#tag/orders/GET/store/orders`);
    const list = this.page.locator('section[id*="GET/store/orders"]').first();
    await reads(list, "shipDateBefore", "Test Request");
    await this.picture("v2-operation");
    await this.page.goto(`${this.origin}/docs/v2`);
    none(await wordsAreFound(this.page, this.second));
    await this.page.goto(`${this.origin}/docs/v2`);
    await this.readsWell(this.second);
  }

  private async readsWell(document: ApiDocument): Promise<void> {
    await drawn(this.page, document);
    const findings: string[] = [];
    for (const check of CHECKS) findings.push(...(await check(this.page, document)));
    none(findings);
  }

  /**
   * Checks the guide's sections on keys, plans and errors, its buttons to copy commands and its
   * table of contents.
   */
  private async guide(): Promise<void> {
    await this.page.goto(`${this.origin}/guide`);
    await this.heading("Guide to the Store Orders API");
    const main = this.page.locator("main");
    await reads(main, "The operator of the service gives you an API key", "sto_live_");
    const plans = ["Free", "Pro", "Business", "100,000", "Enterprise", "Retry-After"];
    await reads(main, ...plans, ...ON_EVERY_RESPONSE);
    const commands = await main.locator(".language-shell").count();
    const buttons = await main.getByRole("button", { name: "Copy" }).count();
    assert(commands > 0 && buttons === commands, `${commands} commands, ${buttons} buttons to copy`);
    for (const check of [wholeWords, nothingCut, accessible]) {
      none(await check(this.page, this.document));
    }
    await this.picture("guide");
    for (const document of [this.document, this.second]) {
      none(await errorAddresses(this.page, document));
    }
    await this.contents();
    await this.picture("guide-error");
  }

  /** Scrolls to the end of the guide. On a wide screen, its table of contents must stay in view. */
  private async contents(): Promise<void> {
    await this.page.evaluate(() => scrollTo({ top: document.body.scrollHeight }));
    if (this.page.viewportSize()!.width < DESKTOP.viewport.width) return;
    const box = await this.page.getByRole("navigation", { name: "Contents" }).boundingBox();
    const isInView = box !== null && box.y >= 0 && box.y < BELOW_HEADERS;
    assert(isInView, `the contents are at ${box?.y}`);
  }

  /**
   * Checks that the reference of version 1 says that a key is needed, and that it links to the
   * guide.
   */
  private async introduction(): Promise<void> {
    await this.page.goto(`${this.origin}/docs/v1`);
    await reads(this.page.locator("#reference"), "Every request needs an API key");
    await this.page.locator('#reference a[href$="/guide"]').first().waitFor();
    await this.fits();
    await this.picture("docs");
  }

  /** Checks the three operations of version 1. getPet must be marked as deprecated. */
  private async operations(): Promise<void> {
    const [pet] = await this.operation("pets", "GET", "/pets/{petId}");
    await reads(pet, "Deprecated", "1 December 2027");
    const badges = pet.locator("[class*=badge]");
    await badges.filter({ hasText: /^\s*deprecated\s*$/ }).first().waitFor();
    const [cancel] = await this.operation("orders", "DELETE", "/store/orders/{orderId}");
    await reads(cancel, "409", "already shipped");
    const [list, listed] = await this.operation("orders", "GET", "/store/orders");
    await reads(list, "429", "Test Request");
    await this.picture("operation");
    await reads(list, listed.responses["200"]!.description!);
  }

  /** Opens an operation in the reference of version 1, and waits until its summary is shown. */
  private async operation(tag: string, method: string, path: string): Promise<[Locator, Operation]> {
    await this.page.goto(`${this.origin}/docs/v1#tag/${tag}/${method}${path}`);
    const operation = this.document.paths[path]?.[method.toLowerCase()];
    assert(operation !== undefined, `the document has no ${method} ${path}`);
    const section = this.page.locator(`section[id*="${method}${path}"]`).first();
    await reads(section, operation.summary);
    return [section, operation];
  }

  /** Types a key into the page and sends listOrders. The page must not store the key. */
  private async request(key: string): Promise<void> {
    const [list] = await this.operation("orders", "GET", "/store/orders");
    await click(list.getByRole("button", { name: "Test Request" }));
    await reads(this.client, `${this.origin}/v1`, "/store/orders");
    await this.client.getByPlaceholder("Token").first().click();
    await this.page.keyboard.type(key);
    await click(this.client.getByRole("button", { name: "Send get request" }));
    await reads(this.client, "200 OK", '"id"', setting("FIRST_ORDER"), '"complete"');
    none(await contrast(this.page, this.document));
    await this.picture("answer");
    // A faulty page might store the key only when the browser leaves the page. So leave and reopen
    // the page before the check.
    await this.page.goto("about:blank");
    await this.page.goto(`${this.origin}/docs/v1`);
    await reads(this.page.locator("#reference"), this.document.info.title);
    const kept = await this.page.evaluate(() =>
      JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie]),
    );
    assert(!kept.includes(key), "the page keeps the key that was typed");
  }

  private async heading(text: string): Promise<void> {
    await reads(this.page.locator("h1").first(), text);
    await this.fits();
  }

  private fits(): Promise<void> {
    return fits(this.page, this.view);
  }

  private picture(name: string): Promise<void> {
    return picture(this.page, `${name}-${this.view}`);
  }
}

/** Checks that the page is not wider than the window and follows the preferred color scheme. */
async function fits(page: Page, view: string): Promise<void> {
  const [overflow, lightness] = await page.evaluate(() => {
    const canvas = document.createElement("canvas").getContext("2d")!;
    canvas.fillStyle = getComputedStyle(document.querySelector("h1")!).color;
    canvas.fillRect(0, 0, 1, 1);
    const [red, green, blue] = canvas.getImageData(0, 0, 1, 1).data as unknown as number[];
    return [
      document.documentElement.scrollWidth - document.documentElement.clientWidth,
      (red! + green! + blue!) / (3 * 255),
    ] as const;
  });
  assert(overflow <= 0, `${page.url()} is ${overflow} pixels wider than the window`);
  assert(
    lightness > 0.5 === view.endsWith("dark"),
    `the lightness of the heading of ${page.url()} is ${lightness}`,
  );
}

async function picture(page: Page, name: string): Promise<void> {
  const directory = process.env["PICTURES"];
  if (directory !== undefined) await page.screenshot({ path: `${directory}/${name}.png` });
}

function none(findings: string[]): void {
  assert(findings.length === 0, findings.join("\n"));
}

/** Waits until the element has shown each of these texts, not necessarily together. */
async function reads(element: Locator, ...texts: string[]): Promise<void> {
  for (const text of texts) {
    await until(
      async () => (await element.innerText()).includes(text),
      () => `${element} does not read ${text}`,
    );
  }
}

/** Clicks the visible copy of a control. Some controls exist twice, for wide and narrow pages. */
async function click(control: Locator): Promise<void> {
  await control.filter({ visible: true }).first().click();
}

async function tour(browser: Browser, view: string, document: ApiDocument): Promise<void> {
  const second: ApiDocument = await (await fetch(`${origin}/openapi-v2.json`)).json();
  const options = VIEWS[view];
  assert(options !== undefined, `there is no view ${view}`);
  const context = await browser.newContext(options);
  context.setDefaultTimeout(STEP_TIMEOUT_MS);
  const page = await context.newPage();
  const watch = await Watch.start(context, page);
  const findings: string[] = [];
  const add = (error: unknown) => findings.push(String(error));
  await new Tour(page, view, origin, document, second).run(setting("KEY")).catch(add);
  // Add what `watch` recorded even if the tour failed, because the records may explain the failure.
  findings.push(...watch.findings(origin));
  await context.close();
  none(findings);
}

/** Checks the guide and the references without scripts, in a window as wide as a phone. */
async function plain(browser: Browser, document: ApiDocument): Promise<void> {
  for (const view of ["phone-light", "phone-dark"]) {
    const context = await browser.newContext({ ...VIEWS[view]!, javaScriptEnabled: false });
    context.setDefaultTimeout(STEP_TIMEOUT_MS);
    for (const [path, source] of [
      ["/docs/v1", "/openapi.json"],
      ["/docs/v2", "/openapi-v2.json"],
    ] as const) {
      const api: ApiDocument = await (await fetch(`${origin}${source}`)).json();
      const page = await context.newPage();
      await page.goto(`${origin}${path}`);
      for (const [, { summary }] of operations(api)) await reads(page.locator("main"), summary);
      await fits(page, view);
      await picture(page, `plain${path.replaceAll("/", "-")}-${view}`);
    }
    const code = errorCodes(document).at(-1)!;
    const page = await context.newPage();
    await page.goto(`${origin}/guide#${code}`);
    const top = (await page.getByRole("heading", { name: code }).boundingBox())?.y ?? -1;
    assert(top > 0 && top < BELOW_HEADERS, `the section of ${code} is at ${top}`);
    assert((await page.getByRole("button").count()) === 0, "a button that does nothing");
    await fits(page, view);
    await picture(page, `plain-guide-${view}`);
    await context.close();
  }
}

/**
 * Checks that the reference of version 1 shows the operator's contact and server address, and that
 * it nowhere shows the host in the document's examples.
 */
async function settings(browser: Browser, document: ApiDocument): Promise<void> {
  const page = await browser.newPage(VIEWS["desktop-light"]!);
  page.setDefaultTimeout(STEP_TIMEOUT_MS);
  await page.goto(`${origin}/docs/v1`);
  await reads(page.locator("body"), setting("CONTACT_NAME"));
  await reads(page.locator("body"), `${origin}/v1`);
  await drawn(page, document);
  const shown = await page.locator("body").innerText();
  assert(!shown.includes("store.example"), "the reference shows an example's host");
}

const view = process.argv[2] ?? "";
const origin = new URL(setting("BASE_URL")).origin;
const launch = { executablePath: setting("CHROMIUM"), args: BROWSER_ARGUMENTS };
const browser = await chromium.launch(launch).catch((error) => {
  console.log(`chromium does not start: ${error}`);
  return process.exit(2);
});
try {
  const document: ApiDocument = await (await fetch(`${origin}/openapi.json`)).json();
  if (view === "plain") await plain(browser, document);
  else if (view === "settings") await settings(browser, document);
  else if (view === "negative-controls") {
    await seededDefectsAreFound(browser, VIEWS["phone-light"]!, origin, document);
  } else await tour(browser, view, document);
} catch (error) {
  console.log((error as Error).message);
  process.exitCode = 1;
} finally {
  await browser.close();
}
