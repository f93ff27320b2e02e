// Seeds defects in pages, to prove that the checks can fail. The checks of reading.ts must find the
// defective styles. `Watch` must record an exception, and a request to another server.

import type { Browser, BrowserContextOptions } from "playwright-core";
import type { ApiDocument } from "./api_document.js";
import * as reading from "./reading.js";
import { STEP_TIMEOUT_MS, assert, until } from "./until.js";
import { Watch } from "./watch.js";

const GUIDE_STYLES: [reading.Check, string][] = [
  [reading.wholeWords, "main td { word-break: break-all; max-width: 3rem; }"],
  [reading.nothingCut, "main { min-width: 500px; }"],
];

const REFERENCE_STYLES: [reading.Check, string][] = [
  [reading.nothingCut, "#reference .markdown { min-width: 500px; }"],
  [reading.accessible, ":root { --quiet: light-dark(#909cb0, #5a6880) !important; }"],
];

const EXCEPTION = "an exception";
const SCRIPT = `fetch("http://127.0.0.1:9").catch(() => {});
  setTimeout(() => { throw new Error("${EXCEPTION}"); })`;

export async function seededDefectsAreFound(
  browser: Browser,
  view: BrowserContextOptions,
  origin: string,
  document: ApiDocument,
): Promise<void> {
  // Bypass the Content-Security-Policy of the pages, because it would block the seeded styles and
  // the seeded request to another server.
  const context = await browser.newContext({ ...view, bypassCSP: true });
  context.setDefaultTimeout(STEP_TIMEOUT_MS);
  const page = await context.newPage();
  const watch = await Watch.start(context, page);
  await page.goto(`${origin}/docs/v1`);
  await page.evaluate(`{ ${SCRIPT} }`);
  for (const finding of ["a request to another server", EXCEPTION]) {
    await until(
      async () => watch.findings(origin).some((text) => text.includes(finding)),
      () => `${finding} is not recorded`,
    );
  }
  const find = async (styles: [reading.Check, string][]) => {
    for (const [check, content] of styles) {
      const style = await page.addStyleTag({ content });
      assert((await check(page, document)).length > 0, `nothing is found with ${content}`);
      await style.evaluate((element) => (element as unknown as Element).remove());
    }
  };
  await reading.drawn(page, document);
  await find(REFERENCE_STYLES);
  await page.goto(`${origin}/guide`);
  await find(GUIDE_STYLES);
  await context.close();
}
