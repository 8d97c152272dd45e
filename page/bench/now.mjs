// Cost of the page "Now": 200 stations whose numbers all change each second and 2,000 flows, three browsers that show all stations
// and the flows of one, no GPU.
//
//   node bench/now.mjs [--minutes 8] [--early 2]       EVENAIR_WEB is the program, CHROMIUM the browser
//
// CPU time is counted from the second minute on: of the browsers' main threads and of script on them (CDP, Performance.getMetrics
// in thread ticks), and of the program (/proc/PID/schedstat). The heap is measured after a collection, at minute --early and at
// the end: 30 minutes with --minutes 30 --early 5. Exits with 1 if a bound is missed.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { gzipSync } from "node:zlib";
import { chromium } from "playwright-core";
import { freePort } from "../browser-for-tests.mjs";
import { crowd, serve } from "../feed-for-tests.mjs";

const STATIONS = 200;
/** Flows of each station. */
const FLOWS = 10;
const BROWSERS = 3;
const MINUTE = 60_000;
/** Time before CPU time is counted, in ms: the page loads, its history arrives, its script is compiled. */
const WARM_UP = MINUTE;
const COLLECTIONS = 4;
const LARGEST_SCRIPT_KB = 90;
const options = parseArgs({ options: { minutes: { type: "string", default: "8" }, early: { type: "string", default: "2" } } }).values;
const [minutes, early] = [Number(options.minutes), Number(options.early)];
assert.ok(1 < early && early < minutes, "--early is more than a minute, and less than --minutes");
const program = process.env.EVENAIR_WEB;
assert.ok(program, "EVENAIR_WEB must be the path of the program evenair-web");

/** Starts evenair-web on this socket; returns its process and address. */
async function startWeb(socket) {
  const port = await freePort();
  const web = spawn(program, ["--socket", socket, "--state", `${socket}.state`, "--listen", `127.0.0.1:${port}`], { stdio: ["ignore", "pipe", "inherit"] });
  await new Promise((ready, failed) => {
    web.stdout.once("data", ready);
    web.once("exit", (code) => failed(new Error(`evenair-web ended with ${code}`)));
  });
  return { web, address: `http://127.0.0.1:${port}/` };
}

/** A browser that shows all stations, and the time in ms until it first painted something of the page. */
async function open(address) {
  const browser = await chromium.launch({
    executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
    args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
      "--disable-component-update", "--disable-sync", "--disable-backgrounding-occluded-windows"],
  });
  const page = await browser.newPage({ viewport: { width: 1400, height: 900 } });
  await page.goto(address);
  await page.getByRole("button", { name: `Show all ${STATIONS}` }).click();
  await page.locator("tbody button.name").first().click();
  await page.getByText(`fastest of ${FLOWS} flows`).waitFor();
  const paint = await page.evaluate(() => performance.getEntriesByName("first-contentful-paint")[0].startTime);
  const cdp = await page.context().newCDPSession(page);
  await cdp.send("Performance.enable", { timeDomain: "threadTicks" });
  return { browser, cdp, page, paint };
}

/** CPU time so far in seconds: of the main thread, and of its parts. */
async function spent({ cdp }) {
  const { metrics } = await cdp.send("Performance.getMetrics");
  const of = (name) => metrics.find((metric) => metric.name === name).value;
  return { main: of("TaskDuration"), script: of("ScriptDuration"), layout: of("LayoutDuration"), style: of("RecalcStyleDuration") };
}

/** CPU time so far of a process with one thread, in seconds. */
const spentBy = ({ pid }) => Number(readFileSync(`/proc/${pid}/schedstat`, "utf8").split(" ")[0]) / 1e9;

/** Bytes of script objects in use. A single collection leaves up to 2 MB that only the next one frees. */
async function heap({ cdp }) {
  for (let at = 0; at < COLLECTIONS; at += 1) await cdp.send("HeapProfiler.collectGarbage");
  return (await cdp.send("Runtime.getHeapUsage")).usedSize;
}

let isMet = true;
function judge(what, value, digits, unit, bound) {
  const isGood = value <= bound;
  isMet &&= isGood;
  console.log(`${isGood ? "ok    " : "MISSED"}  ${what}: ${value.toFixed(digits)}${unit} (bound: <= ${bound}${unit})`);
}

async function measure(web, viewers) {
  const all = (of) => Promise.all(viewers.map(of));
  const start = Date.now();
  await sleep(WARM_UP);
  const [begin, cpu, before] = [Date.now(), spentBy(web), await all(spent)];
  await sleep(start + early * MINUTE - Date.now());
  const first = await all(heap);
  await sleep(start + minutes * MINUTE - Date.now());
  const [took, served, after] = [(Date.now() - begin) / 1000, spentBy(web) - cpu, await all(spent)];
  const last = await all(heap);
  after.forEach((now, at) => {
    const part = (key) => (100 * (now[key] - before[at][key])) / took;
    const [main, script, layout, style] = ["main", "script", "layout", "style"].map(part);
    console.log(`        browser ${at + 1}: main thread ${main.toFixed(2)} %, of it script ${script.toFixed(2)}, layout ${layout.toFixed(2)}, style ${style.toFixed(2)}; heap ${(first[at] / 1e6).toFixed(2)} MB at minute ${early}, ${(last[at] / 1e6).toFixed(2)} at ${minutes}`);
  });
  const most = (key) => Math.max(...after.map((now, at) => (100 * (now[key] - before[at][key])) / took));
  judge("script of a browser", most("script"), 2, " % of a core", 3);
  judge("main thread of a browser", most("main"), 2, " % of a core", 12);
  judge("evenair-web", (100 * served) / took, 2, " % of a core", 5);
  judge(`heap at minute ${minutes} beside minute ${early}`, Math.max(...last.map((size, at) => size / first[at])), 3, "", 1.1);
}

const folder = mkdtempSync(join(tmpdir(), "evenair-bench-"));
const socket = join(folder, "watch.sock");
const feed = await serve(socket, crowd(STATIONS), { period: 1000, flows: FLOWS });
const { web, address } = await startWeb(socket);
const viewers = [];
try {
  for (let at = 0; at < BROWSERS; at += 1) viewers.push(await open(address));
  const script = gzipSync(readFileSync(new URL("../dist/main.js", import.meta.url)));
  console.log(`${STATIONS} stations, ${STATIONS * FLOWS} flows, ${BROWSERS} browsers (${viewers[0].browser.version()}), a line of ${JSON.stringify(feed.latest()).length} bytes a second`);
  judge("script, gzip", script.length / 1000, 1, " kB", LARGEST_SCRIPT_KB);
  judge("first paint", Math.max(...viewers.map(({ paint }) => paint)), 0, " ms", 1000);
  await measure(web, viewers);
} finally {
  await Promise.all(viewers.map(({ browser }) => browser.close()));
  web.kill();
  await feed.close();
  rmSync(folder, { recursive: true, force: true });
}
process.exitCode = isMet ? 0 : 1;
