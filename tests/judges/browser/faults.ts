// Plants faults in the pages, each of which its check must find: a check that finds
// nothing proves nothing.

import type { Browser, BrowserContextOptions } from "playwright-core";
import type { ApiDocument } from "./api_document.js";
import * as reading from "./reading.js";
import { STEP_TIMEOUT_MS, assert } from "./until.js";

/** What the server sends at the path, changed; what is replaced must be there. */
interface Fault {
  check: reading.Check;
  finding: string;
  path: string;
  replace: string | RegExp;
  by: string;
}

const DOCUMENT = "/openapi.json";
const PAGE = "/docs";
const SCRIPT = "/docs/docs.js";
const STYLE = "/docs/docs.css";

const FAULTS: Fault[] = [
  {
    check: reading.wholeWords,
    finding: "is broken",
    path: STYLE,
    replace: "word-break: normal; overflow-wrap: normal;",
    by: "word-break: break-all; max-width: 3rem;",
  },
  {
    check: reading.wholeWords,
    finding: "is broken",
    path: STYLE,
    replace: "white-space: nowrap;",
    by: "word-break: break-all;",
  },
  {
    check: reading.nothingCut,
    finding: "goes beyond the window",
    path: STYLE,
    replace: "#reference .markdown {",
    by: "#reference .markdown { min-width: 500px;",
  },
  {
    check: reading.nothingCut,
    finding: "wider than the window",
    path: STYLE,
    replace: "#reference .markdown {",
    by: "#reference { width: 500px; } #reference .markdown {",
  },
  {
    check: reading.nothingCut,
    finding: "the links at the top are",
    path: "/docs/pages.css",
    replace: "gap: .625rem;",
    by: "",
  },
  {
    check: reading.nothingCut,
    finding: "a command is cut",
    path: STYLE,
    replace: ".scalar-code-block) :is(pre, pre *)",
    by: ".nothing) pre",
  },
  {
    check: reading.scrollbar,
    finding: "the scrollbar in dark mode is",
    path: STYLE,
    replace: ":root:has(> .dark-mode)",
    by: ":root:has(> .none)",
  },
  {
    check: reading.accessible,
    finding: "color-contrast",
    path: "/docs/pages.css",
    replace: /--quiet: [^;]+/,
    by: "--quiet: light-dark(#909cb0, #5a6880)",
  },
  {
    check: reading.badges,
    finding: "has no badge stable",
    path: SCRIPT,
    replace: "operation['x-badges']",
    by: "operation['x-other']",
  },
  {
    check: reading.changelogLinks,
    finding: "no link to the changelog",
    path: PAGE,
    replace: 'href="/changelog"',
    by: 'href="/"',
  },
  {
    check: reading.changelogLinks,
    finding: "no link to the feed",
    path: PAGE,
    replace: 'type="application/atom+xml"',
    by: "",
  },
  {
    check: reading.changelogLinks,
    finding: "does not parse",
    path: "/changelog.atom",
    replace: "</feed>",
    by: "",
  },
  {
    check: reading.tagNames,
    finding: "the heading of the tag",
    path: DOCUMENT,
    replace: /"x-displayName"/g,
    by: '"x-other"',
  },
  {
    check: reading.openFields,
    finding: "the responses of",
    path: SCRIPT,
    replace: "expandAllResponses: true",
    by: "expandAllResponses: false",
  },
  {
    check: reading.openFields,
    finding: "the responses of",
    path: SCRIPT,
    replace: "expandAllSchemaProperties: true",
    by: "expandAllSchemaProperties: false",
  },
  {
    check: reading.openFields,
    finding: "the model",
    path: SCRIPT,
    replace: "expandAllModelSections: true",
    by: "expandAllModelSections: false",
  },
  {
    check: reading.openFields,
    finding: "repeats the fields of Error",
    path: SCRIPT,
    replace: "delete media.schema",
    by: "delete media.none",
  },
  {
    check: reading.programs,
    finding: "does not show its program for curl",
    path: DOCUMENT,
    replace: /"curl -fsS /g,
    by: '"curl ',
  },
  {
    check: reading.programs,
    finding: "offers curl,Python,TypeScript,Rust,",
    path: SCRIPT,
    replace: "hiddenClients: true",
    by: "hiddenClients: []",
  },
  {
    check: reading.errorAddresses,
    finding: "has no address",
    path: SCRIPT,
    replace: "replaceAll('-', '_')",
    by: "trim()",
  },
  {
    check: reading.errorAddresses,
    finding: "does not scroll to it",
    path: STYLE,
    replace: "scroll-margin-top: calc(",
    by: "scroll-margin-top: calc(20rem + ",
  },
  {
    check: reading.searchFinds,
    finding: "the search finds for",
    path: DOCUMENT,
    replace: /### (\d+) \*(\w+)\*/g,
    by: "### $1 $2",
  },
  {
    check: reading.searchFinds,
    finding: "no search opens",
    path: SCRIPT,
    replace: "persistAuth: false,",
    by: "hideSearch: true,",
  },
  {
    check: reading.redirects,
    finding: "/docs/ leads to",
    path: "/docs/",
    replace: /$/,
    by: " ",
  },
];

/** Each fault in a page of its own. */
export async function faultsAreFound(
  browser: Browser,
  view: BrowserContextOptions,
  origin: string,
  document: ApiDocument,
): Promise<void> {
  for (const fault of FAULTS) {
    const context = await browser.newContext(view);
    context.setDefaultTimeout(STEP_TIMEOUT_MS);
    let planted = false;
    await context.route(`${origin}${fault.path}`, async (route) => {
      const headers = { ...route.request().headers(), "accept-encoding": "identity" };
      const response = await route.fetch({ headers });
      const text = await response.text();
      const changed = text.replace(fault.replace, fault.by);
      planted ||= changed !== text;
      await route.fulfill({ response, body: changed });
    });
    const page = await context.newPage();
    await page.goto(`${origin}/docs`);
    await reading.drawn(page, document);
    const findings = await fault.check(page, document);
    assert(planted, `${fault.path} has no ${fault.replace}`);
    assert(
      findings.some((finding) => finding.includes(fault.finding)),
      `"${fault.finding}" is not found with ${fault.replace} replaced in ${fault.path}, only: ` +
        findings.slice(0, 3).join("; "),
    );
    await context.close();
  }
}
