// Checks that a page reads well. Each check returns its findings. Call `drawn` before a check in
// `CHECKS`, so that the browser has drawn the whole reference page.

import axe from "axe-core";
import type { Page } from "playwright-core";
import { errorCodes, operations } from "./api_document.js";
import type { ApiDocument, Operation } from "./api_document.js";
import { soon, until } from "./until.js";

export type Check = (page: Page, api: ApiDocument) => Promise<string[]>;

const REACTION_TIMEOUT_MS = 10_000;
/** How long `searchedPlace` waits for a first result. */
const SEARCH_TIMEOUT_MS = 3_000;
const SCROLL_MS = 50;
/**
 * If the page has not grown for this long, `drawn` takes it as complete. A part may appear late,
 * because Scalar draws only while the browser is idle.
 */
const DRAWN_WITHIN_MS = 1_600;
/**
 * The maximum distance in pixels between the top of the window and the section that a link leads
 * to. It leaves room for two headers above the section.
 */
export const BELOW_HEADERS = 250;

/**
 * Scrolls down until all parts are drawn, and then back to the top. Scalar draws a part only once
 * it is near the window.
 */
export async function drawn(page: Page, api: ApiDocument): Promise<void> {
  const last = Object.keys(api.components.schemas).at(-1);
  await page.locator(`[id="api/models/${last}"]`).waitFor();
  let top = 0;
  let height = 0;
  let grew = Date.now();
  await until(
    async () => {
      await page.waitForTimeout(SCROLL_MS);
      const next = await page.evaluate((top) => {
        scrollTo({ top, behavior: "instant" });
        return top + innerHeight / 2;
      }, top);
      const [bottom, scrollHeight] = await page.evaluate(
        () => [scrollY + innerHeight, document.documentElement.scrollHeight] as const,
      );
      top = Math.min(next, scrollHeight);
      if (scrollHeight !== height) grew = Date.now();
      height = scrollHeight;
      return bottom + 1 >= height && Date.now() - grew > DRAWN_WITHIN_MS;
    },
    () => "the page does not end",
  );
  await page.evaluate(() => scrollTo({ top: 0, behavior: "instant" }));
}

/** The first operation must begin within this many window heights of the top of the page. */
const SCREENS_BEFORE_OPERATIONS = 1.5;

/**
 * Checks that the first operation begins near the top of the page, and that the box for the API key
 * begins above it or beside it.
 */
export const beginsWithOperations: Check = async (page, api) => {
  const viewport = page.viewportSize()!;
  const first = operations(api).find(([, operation]) => operation.tags[0] === api.tags[0]!.name)!;
  const operation = page.locator(`[id="api/tag/${first[0]}"]`).first();
  const key = page.getByPlaceholder("Token").filter({ visible: true }).first();
  const top = (await operation.boundingBox())?.y ?? Infinity;
  const found: string[] = [];
  const most = viewport.height * SCREENS_BEFORE_OPERATIONS;
  if (top > most) found.push(`the first operation begins at ${top}, after ${most}`);
  const box = (await key.boundingBox())?.y ?? Infinity;
  if (box > top) found.push(`the box for the key is at ${box}, the first operation at ${top}`);
  return found;
};

/**
 * Words that readers search for. Each word must be in a heading of the guide, or the search of the
 * reference must lead to a text that matches the pattern.
 */
const WORDS: [string, RegExp][] = [
  ["pagination", /pagination|pages/i],
  ["authentication", /authenticat|api key/i],
  ["etag", /etag/i],
  ["rate limit", /limit/i],
  ["retry", /retr(y|ies)|send the request again/i],
  ["python", /python/i],
  ["cursor", /cursor/i],
  ["429", /429/],
  ["filter", /filter/i],
  ["deprecated", /deprecat/i],
];

/** Checks that readers find each of `WORDS` in the guide or with the search of the reference. */
export const wordsAreFound: Check = async (page) => {
  const url = page.url().split("#")[0]!;
  const guide = await page.request.get(new URL("/guide", url).href);
  const headings = guide.ok()
    ? Array.from((await guide.text()).matchAll(/<h[2-4][^>]* id=.*?<\/h[2-4]>/gs), ([heading]) =>
        heading.replaceAll(/<[^>]*>/g, "").toLowerCase(),
      )
    : [];
  const found: string[] = [];
  for (const [word, place] of WORDS) {
    if (headings.some((heading) => heading.includes(word))) continue;
    await page.goto("about:blank");
    await page.goto(url);
    const said = await searchedPlace(page, word);
    if (!place.test(said)) found.push(`neither the guide nor the search leads to ${word}`);
  }
  return found;
};

/**
 * Searches the reference for a word, opens the first result and returns the text to which it leads.
 * Returns an empty string if there is no result or no text.
 */
async function searchedPlace(page: Page, word: string): Promise<string> {
  await page.locator("#reference h1").first().waitFor();
  await page.keyboard.press("Control+k");
  const field = page.getByPlaceholder("Search").last();
  if (!(await soon(() => field.isVisible(), REACTION_TIMEOUT_MS))) return "";
  await field.fill(word);
  const first = page.getByRole("option").first();
  if (!(await soon(() => first.isVisible(), SEARCH_TIMEOUT_MS))) return "";
  await first.click();
  await soon(async () => page.url().includes("#"), REACTION_TIMEOUT_MS);
  const id = decodeURIComponent(page.url().split("#")[1] ?? "");
  const place = page.locator(`[id="api/${id}"]`).first();
  return (await soon(() => place.isVisible(), REACTION_TIMEOUT_MS)) ? place.innerText() : "";
}

/**
 * Checks that the page of an older version has a banner at the top and `older` in its title, and
 * that other pages have neither.
 */
export const banner: Check = async (page) => {
  const isOlder = page.url().includes("/v1");
  const link = page.locator("aside.older a:visible").first();
  const top = (await link.count()) > 0 ? (await link.boundingBox())?.y : undefined;
  const titled = (await page.title()).includes("older");
  const found: string[] = [];
  if (isOlder !== (top !== undefined && top < 150)) found.push(`the banner is at ${top}`);
  if (isOlder !== titled) found.push(`the title is ${await page.title()}`);
  return found;
};

/**
 * Finds what is broken across lines: words in tables and headings, and inline code in the
 * reference.
 */
export const wholeWords: Check = (page) =>
  page.evaluate(() => {
    const lines = (rects: DOMRectList) =>
      new Set(Array.from(rects, (rect) => Math.round(rect.top))).size;
    const shown = (element: Element) => element.checkVisibility();
    const found: string[] = [];
    for (const cell of document.querySelectorAll(
      ":is(#reference .markdown, main) :is(td, th, h2, h3)",
    )) {
      const walker = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT);
      for (let node = walker.nextNode(); node !== null; node = walker.nextNode()) {
        // Split words at hyphens, because a line may end after a hyphen.
        for (const word of node.textContent!.matchAll(/[^\s-]+-?/g)) {
          const range = document.createRange();
          range.setStart(node, word.index);
          range.setEnd(node, word.index + word[0].length);
          if (shown(cell) && lines(range.getClientRects()) > 1) found.push(word[0]);
        }
      }
    }
    for (const code of document.querySelectorAll("#reference .markdown :not(pre) > code")) {
      if (shown(code) && lines(code.getClientRects()) > 1) found.push(code.textContent!);
    }
    return found.map((word) => `${word} is broken`);
  });

/**
 * Finds what is cut off: parts that extend beyond the window and cannot be scrolled, and curl
 * commands in the reference that extend beyond their box.
 */
export const nothingCut: Check = (page) =>
  page.evaluate(() => {
    // Do not use innerWidth, which grows with the page on a phone.
    const { clientWidth, scrollWidth } = document.documentElement;
    const wider = scrollWidth - clientWidth;
    const found = wider > 0 ? [`the page is ${wider} pixels wider than the window`] : [];
    const top = document.querySelector(".site")!;
    const beyond = top.scrollWidth - top.clientWidth;
    if (beyond > 0) found.push(`the links at the top are ${beyond} pixels wider than the window`);
    const scrolls = (element: Element) =>
      element.closest("table, pre") !== null || element.closest(".custom-scroll") !== null;
    for (const part of document.querySelectorAll(":is(#reference .markdown, main) *")) {
      const beyond = part.getBoundingClientRect().right > clientWidth;
      if (beyond && !scrolls(part)) found.push(`${part.textContent} goes beyond the window`);
    }
    // Check only the reference, because commands in the guide scroll if they are too wide.
    const commands = Array.from(document.querySelectorAll("#reference pre"));
    const curls = commands.filter((pre) => /\bcurl\b/.test(pre.textContent!));
    if (curls.length === 0 && document.querySelector("#reference") !== null) {
      found.push("there are no curl commands");
    }
    for (const curl of curls) {
      for (const part of [curl, ...curl.querySelectorAll("*")]) {
        if (part.getBoundingClientRect().right > curl.parentElement!.getBoundingClientRect().right)
          found.push(`a command is cut: ${part.textContent}`);
      }
    }
    return found;
  });

/** Checks that the scrollbar follows the color mode that a reader chooses, not the system's. */
export const scrollbar: Check = (page) =>
  page.evaluate(() => {
    const { classList } = document.body;
    const [own, other] = classList.contains("dark-mode") ? ["dark", "light"] : ["light", "dark"];
    classList.replace(`${own}-mode`, `${other}-mode`);
    const { colorScheme } = getComputedStyle(document.documentElement);
    classList.replace(`${other}-mode`, `${own}-mode`);
    return colorScheme === other ? [] : [`the scrollbar in ${other} mode is ${colorScheme}`];
  });

/** Waits until no animation is running, except those that never end. */
async function still(page: Page): Promise<void> {
  const moving = () =>
    page.evaluate(async () => {
      // Wait for two frames. The first callback runs before the next frame is drawn. Animations of
      // new parts begin only when that frame is drawn.
      for (let frame = 0; frame < 2; frame += 1) await new Promise(requestAnimationFrame);
      const ends = (animation: Animation) =>
        animation.effect?.getComputedTiming().endTime !== Infinity;
      return document
        .getAnimations()
        .some((animation) => ends(animation) && animation.playState === "running");
    });
  await until(
    async () => !(await moving()),
    () => "the page does not stop moving",
  );
}

/**
 * Returns axe's findings about accessibility. Waits for animations first, because a part has too
 * little contrast while it fades in.
 */
export const accessible: Check = async (page) => {
  await still(page);
  await page.evaluate(axe.source);
  const { violations } = await page.evaluate(
    () => (window as unknown as { axe: typeof axe }).axe.run(document),
  );
  return violations.flatMap((violation) =>
    violation.nodes.map((node) => `${violation.id}: ${node.html} ${node.failureSummary}`),
  );
};

/**
 * Returns only axe's findings about contrast. This check is for Scalar's dialogs, whose markup this
 * project cannot change.
 */
export const contrast: Check = async (page, api) =>
  (await accessible(page, api)).filter((finding) => finding.startsWith("color-contrast"));

/** Checks that each operation has a badge: `deprecated` if it is deprecated, else its stability. */
export const badges: Check = async (page, api) => {
  const found: string[] = [];
  for (const [address, operation] of operations(api)) {
    const stability = operation.deprecated ? "deprecated" : operation["x-stability"];
    const badge = page.locator(`[id="api/tag/${address}"] [class*=badge]:visible`);
    const texts = await badge.allInnerTexts();
    if (!texts.some((text) => text.trim().toLowerCase() === stability))
      found.push(`${address} has no badge ${stability}`);
  }
  return found;
};

/** Checks that a link to the changelog is at the top, and that the linked Atom feed parses. */
export const changelogLinks: Check = async (page) => {
  const found: string[] = [];
  const link = page.locator('a[href="/changelog"]:visible').first();
  const box = (await link.count()) > 0 ? await link.boundingBox() : null;
  if (box === null || box.y > 100) found.push("no link to the changelog at the top");
  const problem = await page.evaluate(async () => {
    const link = 'link[rel="alternate"][type="application/atom+xml"]';
    const href = document.querySelector(link)?.getAttribute("href");
    if (!href) return "no link to the feed";
    const text = await (await fetch(href)).text();
    const feed = new DOMParser().parseFromString(text, "application/xml");
    const parses = feed.querySelector("parsererror") === null && feed.querySelector("entry");
    return parses ? "" : "the feed does not parse";
  });
  return problem ? [...found, problem] : found;
};

/** Checks that the heading of each tag is its display name and begins with a capital letter. */
export const tagNames: Check = async (page, api) => {
  const found: string[] = [];
  for (const tag of api.tags) {
    const heading = page.locator(`[id="api/tag/${tag.name}"]`).getByRole("heading").first();
    const text = (await heading.innerText()).trim();
    if (text !== tag["x-displayName"] || !/^\p{Lu}/u.test(text))
      found.push(`the heading of the tag ${tag.name} is ${text}`);
  }
  return found;
};

/** Headers of every response. The guide describes them, so the reference leaves them out. */
const COMMON_HEADERS = /^(X-RateLimit-.*|x-request-id|Cache-Control)$/;

/**
 * Returns how many lists of headers the page should show for an operation. A response has a list if
 * it has headers besides the common ones and the `Link` of errors. Another list shows the header
 * parameters, if the operation takes any.
 */
function shownHeaderLists(api: ApiDocument, operation: Operation): number {
  const lists = Object.entries(operation.responses).map(([status, { $ref, headers }]) => {
    const shared = $ref && api.components.responses[$ref.split("/").at(-1)!]?.headers;
    const names = Object.keys(shared || headers || {}).filter((name) => !COMMON_HEADERS.test(name));
    return names.filter((name) => name !== "Link" || /^[23]/.test(status));
  });
  const isSent = operation.parameters?.some((parameter) => parameter.in === "header") ?? false;
  return lists.filter((names) => names.length > 0).length + Number(isSent);
}

/**
 * Finds response headers and model fields that are collapsed. Also finds operations that repeat
 * what every error has (its fields and its `Link`) or what every response has (the rate limit
 * headers).
 */
export const openFields: Check = async (page, api) => {
  const found: string[] = [];
  for (const [address, operation] of operations(api)) {
    const section = page.locator(`[id="api/tag/${address}"]`);
    const text = await section.innerText();
    const count = (word: RegExp) => Array.from(text.matchAll(word)).length;
    if (count(/^Retry-After\b/gm) === 0) found.push(`the responses of ${address} are closed`);
    if (count(/^message\b/gm) > 0) found.push(`${address} repeats the fields of Error`);
    // `Link` may appear once, for the next page. In a deprecated operation, each response also
    // links to the changelog.
    const links = operation.deprecated ? Infinity : 1;
    if (count(/^Link\b/gm) > links) found.push(`${address} repeats the link of every error`);
    const lists = shownHeaderLists(api, operation);
    if (count(/^Headers$/gm) !== lists) found.push(`${address} shows not ${lists} lists of headers`);
    if (count(/^X-RateLimit-Reset\b/gm) > 0)
      found.push(`${address} repeats what the guide says of every response`);
  }
  for (const [name, schema] of Object.entries(api.components.schemas)) {
    const model = page.locator(`[id="api/models/${name}-content"]:visible`);
    const text = (await model.allInnerTexts()).join();
    const missing = Object.keys(schema.properties).filter((field) => !text.includes(field));
    if (missing.length > 0) found.push(`the model ${name} is closed: ${missing.join(", ")}`);
  }
  return found;
};

/**
 * Checks that each operation shows its first code sample, and that its menu offers exactly the
 * languages for which the document has samples.
 */
export const programs: Check = async (page, api) => {
  const found: string[] = [];
  for (const [address, operation] of operations(api)) {
    const section = page.locator(`[id="api/tag/${address}"]`);
    const samples = operation["x-codeSamples"];
    const { label } = samples[0]!;
    const shown = (await section.innerText()).replaceAll(/\s+/g, "");
    // In the curl command, the page replaces `${BASE_URL:?}` with the URL of its own server.
    const base = `${new URL(page.url()).origin}/v${api.info.version.split(".")[0]}`;
    const command = samples[0]!.source.replace("${BASE_URL:?}", base);
    const source = command.replaceAll(/\s+/g, "");
    if (!shown.includes(source)) found.push(`${address} does not show its program for ${label}`);
    await section.getByRole("button", { name: `language: ${label}` }).click();
    const options = page.getByRole("option");
    await options.first().waitFor();
    const labels = (await options.allInnerTexts()).map((text) => text.trim());
    const expected = samples.map((sample) => sample.label);
    if (labels.join() !== expected.join()) found.push(`${address} offers ${labels.join()}`);
    await page.keyboard.press("Escape");
  }
  return found;
};

/**
 * Checks that each error code is the id of an element in the guide. Opens the address of the last
 * code, and checks that the browser scrolls to that code's section.
 */
export const errorAddresses: Check = async (page, api) => {
  const codes = errorCodes(api);
  const found = await page.evaluate(
    (codes) => codes.filter((code) => document.getElementById(code) === null),
    codes,
  );
  const missing = found.map((code) => `${code} has no address`);
  const code = codes.at(-1)!;
  const url = page.url().split("#")[0];
  // Leave the page first, because the browser does not reload a page if only the fragment changes.
  await page.goto("about:blank");
  await page.goto(`${url}#${code}`);
  const row = page.getByRole("heading", { name: code });
  const landed = await soon(async () => {
    const top = (await row.boundingBox())?.y ?? -1;
    return top > 0 && top < BELOW_HEADERS;
  }, REACTION_TIMEOUT_MS);
  return landed ? missing : [...missing, `the address of ${code} does not scroll to it`];
};

/**
 * Checks that the first search result for the last operation's summary leads to that operation, and
 * that the results have enough contrast.
 */
export const searchFinds: Check = async (page, api) => {
  const [address, { summary }] = operations(api).at(-1)!;
  await page.keyboard.press("Control+k");
  const field = page.getByPlaceholder("Search").last();
  if (!(await soon(() => field.isVisible(), REACTION_TIMEOUT_MS))) return ["no search opens"];
  await field.fill(summary);
  const first = page.getByRole("option").first();
  const text = async () => ((await first.count()) > 0 ? await first.innerText() : "");
  const isFirst = await soon(async () => (await text()).includes(summary), REACTION_TIMEOUT_MS);
  if (!isFirst) return [`the search finds for ${summary}: ${(await text()).replace(/\s+/g, " ")}`];
  const faults = await contrast(page, api);
  await first.click();
  const isThere = async () => decodeURIComponent(page.url()).endsWith(`#tag/${address}`);
  if (await soon(isThere, REACTION_TIMEOUT_MS)) return faults;
  return [...faults, `the search leads to ${page.url()}`];
};

/** Checks that old and alternative addresses of the references redirect to the current ones. */
export const redirects: Check = async (page) => {
  const origin = new URL(page.url()).origin;
  const found: string[] = [];
  for (const [from, to] of [
    ["/docs/", "/docs"],
    // `/docs` was once the reference of version 1. Old links to a tag that version 2 lacks must
    // redirect to `/docs/v1`.
    ["/docs#tag/pets/GET/pets/{petId}", "/docs/v1#tag/pets/GET/pets/{petId}"],
  ]) {
    await page.goto("about:blank");
    await page.goto(`${origin}${from}`);
    const address = () => decodeURIComponent(page.url());
    const isThere = await soon(async () => address() === `${origin}${to}`, REACTION_TIMEOUT_MS);
    if (!isThere) found.push(`${from} leads to ${address()}`);
  }
  return found;
};

/** The checks of a reference. `searchFinds` and `redirects` come last, because they navigate. */
export const CHECKS: Check[] = [
  beginsWithOperations,
  banner,
  wholeWords,
  nothingCut,
  accessible,
  badges,
  changelogLinks,
  tagNames,
  scrollbar,
  openFields,
  programs,
  searchFinds,
  redirects,
];
