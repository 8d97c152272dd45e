// A browser for tests, and axe-core in its pages.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { createServer } from "node:net";
import { chromium } from "playwright-core";

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

export function launch() {
  return chromium.launch({
    executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
    args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
      "--disable-component-update", "--disable-sync"],
  });
}

/** Timeout of a test for what the page must show, in milliseconds; long, as other tests may use the processor meanwhile. */
export const PATIENCE = 60_000;

/** A new page of a browser or a context, which waits that long. */
export async function newPage(of, options) {
  const page = await of.newPage(options);
  page.setDefaultTimeout(PATIENCE);
  return page;
}

/** A TCP port of 127.0.0.1 at which no process listens. */
export function freePort() {
  return new Promise((ready, failed) => {
    const server = createServer();
    server.once("error", failed);
    server.listen(0, "127.0.0.1", () => {
      const { port } = server.address();
      server.close(() => ready(port));
    });
  });
}

/** Checks that the page is accessible, and no wider than the screen. */
export async function isForEverybody(page, name) {
  const isWide = await page.evaluate(() => document.documentElement.scrollWidth > document.documentElement.clientWidth);
  assert.ok(!isWide, `${name} is wider than the screen`);
  await page.evaluate(axe);
  const { violations } = await page.evaluate(() => globalThis.axe.run());
  assert.deepEqual(violations.map(({ id, nodes }) => `${id}: ${nodes[0].html}`), [], name);
}

/** A running evenair-web, once it has printed its address. */
export async function started(web) {
  await new Promise((ready, failed) => {
    web.stdout.once("data", ready);
    web.once("exit", (code) => failed(new Error(`evenair-web ended with ${code}`)));
  });
}
