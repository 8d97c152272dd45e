// The page "History" with a stored history: chart, numbers, before and after, the busiest minutes, and errors as text.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { freePort, isForEverybody, launch, newPage, PATIENCE, started } from "../browser-for-tests.mjs";
import { serveWithPast } from "../history-for-tests.mjs";

const program = process.env.EVENAIR_WEB;
assert.ok(program, "EVENAIR_WEB must be the path of the program evenair-web");
const pictures = process.env.EVENAIR_PICTURES;
const folder = mkdtempSync(join(tmpdir(), "evenair-history-"));
const address = `http://127.0.0.1:${await freePort()}/`;
/** Number of past minutes, and those of them without data of the box. */
const [MINUTES, GAP, INSERTION] = [600, [200, 300], 420];

let browser;
let web;
let feed;

const api = async (query) => (await fetch(`${address}api/v1/${query}`)).json();

before(async () => {
  const path = (name) => JSON.stringify(join(folder, name));
  const file = join(folder, "web.toml");
  writeFileSync(file, `listen = "${new URL(address).host}"\nsocket = ${path("watch.sock")}\nstate = ${path("state")}\n[history]\nfiles = ${path("nothing")}\n`);
  web = spawn(program, ["--config", file], { stdio: ["ignore", "pipe", "inherit"] });
  await started(web);
  browser = await launch();
});

after(async () => {
  await browser?.close();
  web?.kill();
  await feed?.close();
  rmSync(folder, { recursive: true, force: true });
});

/** The page under its real content security policy, which requests nothing elsewhere. */
async function onPage(options, act) {
  const page = await newPage(browser, options);
  const complaints = [];
  page.on("pageerror", (error) => complaints.push(error.message));
  page.on("console", (message) => /Content Security Policy/.test(message.text()) && complaints.push(message.text()));
  page.on("request", (request) => request.url().startsWith(address) || complaints.push(request.url()));
  try {
    await page.goto(address);
    await act(page);
    assert.deepEqual(complaints, []);
  } finally {
    await page.close();
  }
}

async function see(page, name) {
  if (pictures) await page.screenshot({ path: join(pictures, `history-${name}.png`), fullPage: true });
  await isForEverybody(page, name);
}

/** Number of pixels of a chart with the colour of its line, by tenths of its width. */
const inked = (page, tone) => page.locator(".plot canvas").first().evaluate((canvas, tone) => {
  const context = canvas.getContext("2d");
  document.body.style.setProperty("color", `var(${tone})`);
  const [red, green, blue] = getComputedStyle(document.body).color.match(/\d+/g).map(Number);
  const { data, width } = context.getImageData(0, 0, canvas.width, canvas.height);
  const tenths = Array(10).fill(0);
  for (let at = 0; at < data.length; at += 4) {
    const isLine = Math.abs(data[at] - red) + Math.abs(data[at + 1] - green) + Math.abs(data[at + 2] - blue) < 12 && data[at + 3] > 200;
    if (isLine) tenths[Math.floor((((at / 4) % width) / width) * 10)]++;
  }
  return tenths;
}, tone);

const phone = { viewport: { width: 390, height: 800 }, colorScheme: "dark" };
const wide = { viewport: { width: 1400, height: 900 } };

test("no history yet: it says so, and when there will be one", async () => {
  await onPage(phone, async (page) => {
    await page.getByRole("link", { name: "History" }).click();
    await page.getByRole("alert").getByText("There is no history yet: it begins with the first minute of the box. Minutes are stored as they end").waitFor();
    assert.equal(await page.locator(".plot").count(), 0);
    await see(page, "none");
  });
  feed = await serveWithPast(join(folder, "watch.sock"), { minutes: MINUTES, gap: GAP, insertion: INSERTION });
  const last = feed.timeOf(MINUTES - 1);
  const isStored = async () => {
    const { points } = await api("history?measure=down-mbps&every=1min&from=1h");
    return points?.some(({ at, value }) => at >= last && value != null);
  };
  for (const start = Date.now(); !(await isStored());) {
    assert.ok(Date.now() - start < PATIENCE, "the past is not stored");
    await new Promise((again) => setTimeout(again, 100));
  }
});

test("a measure over a day by keyboard: gaps, numbers as a table, and the back button", async () => {
  await onPage(wide, async (page) => {
    await page.getByText("laptop-1").waitFor();
    await page.getByRole("link", { name: "History" }).focus();
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { level: 1, name: "History" }).waitFor();
    assert.equal(new URL(page.url()).hash, "#history");
    await page.getByLabel("Measure", { exact: true }).selectOption("down-mbps");
    const chart = page.getByRole("img", { name: /^Throughput down of the whole site, .* of 28[89] steps$/ });
    await chart.waitFor();
    await page.getByText(/Each point is of 5 minutes.*The history begins/).waitFor();
    await page.locator("summary").focus();
    await page.keyboard.press("Enter");
    const rows = await page.locator("details tbody tr").allInnerTexts();
    const { points } = await api("history?measure=down-mbps&every=5min&from=24h");
    const shown = Number(/known in (\d+) of/.exec(await chart.getAttribute("aria-label"))[1]);
    const known = points.filter(({ value }) => value != null).length;
    assert.ok(Math.abs(shown - known) <= 1, `${shown} steps in the chart, ${known} of the API: the last step goes on`);
    assert.ok(known >= 98, `500 minutes are stored, and ${known} steps of 5 minutes known`);
    const wanted = points.reverse().map(({ value }) => value.toFixed(1));
    assert.deepEqual(rows.map((row) => row.split("\t")[1]).slice(-90), wanted.slice(-90), "the last step goes on");
    await see(page, "wide");
    await page.getByLabel("Time", { exact: true }).selectOption("own");
    const local = (minute) => {
      const at = new Date((feed.timeOf(minute) - new Date().getTimezoneOffset() * 60) * 1000);
      return at.toISOString().slice(0, 16);
    };
    await page.getByLabel("From", { exact: true }).fill(local(100));
    await page.getByLabel("To", { exact: true }).fill(local(400));
    await page.getByRole("img", { name: /known in 200 of 300 steps$/ }).waitFor();
    const tenths = await inked(page, "--wlan");
    assert.ok(tenths[1] > 20 && tenths[8] > 20, `the line is drawn: ${tenths}`);
    assert.deepEqual(tenths.slice(4, 6), [0, 0], "a third of the time is unknown");
    await page.goBack();
    await page.getByText("laptop-1").waitFor();
  });
});

test("before and after an event, and the busiest minutes of a day", async () => {
  await onPage({ ...wide, colorScheme: "dark" }, async (page) => {
    await page.goto(`${address}#history`);
    await page.getByLabel("Second measure").selectOption("down-mbps");
    const compared = page.locator("section:has(#compare)");
    await compared.getByRole("row", { name: /^Wi-Fi latency, p95/ }).waitFor();
    assert.deepEqual((await compared.locator("option").allInnerTexts()).slice(0, 2).map((text) => text.replace(/^.*:\d+: /, "")),
      ["inserted by root", "the box has started: observing"], "reasons of the health are none");
    const row = (await compared.getByRole("row", { name: /^Wi-Fi latency, p95/ }).innerText()).split("\t");
    assert.deepEqual([row[2], row[4]], ["60 of 60", "60 of 60"]);
    assert.ok(parseFloat(row[1]) > 5 * parseFloat(row[3]), `the Wi-Fi is faster since: ${row}`);
    await compared.getByLabel("Event").selectOption({ index: 1 });
    // The box had run for a minute when it was started.
    await compared.getByRole("row", { name: /^Throughput down .* 1 of 60 .* 60 of 60$/ }).waitFor();
    const days = page.locator("section:has(#busiest) tbody tr");
    await days.first().waitFor();
    const { points } = await api("history?measure=wlan-p95&every=1day&busiest=true&from=24h");
    const last = points.at(-1);
    const [, shown] = (await days.first().innerText()).split("\t");
    assert.ok(Math.abs(parseFloat(shown) - last.value) <= 0.5, `${shown}, ${last.value}`);
    await see(page, "dark");
  });
});

test("errors are shown as text, on a phone as well", async () => {
  await onPage(phone, async (page) => {
    await page.goto(`${address}#history`);
    await page.getByRole("img", { name: /^Wi-Fi latency, p95/ }).waitFor();
    await see(page, "phone");
    await page.getByLabel("Time", { exact: true }).selectOption("own");
    await page.getByLabel("From", { exact: true }).fill("2026-03-02T08:00");
    await page.getByLabel("To", { exact: true }).fill("2026-03-01T08:00");
    await page.getByRole("alert").getByText("From: it is not before To, or before now.").waitFor();
    await see(page, "bad-span");
    await page.getByLabel("To", { exact: true }).fill("");
    await page.getByRole("alert").getByText("From and To need a day and a time each.").waitFor();
    await page.getByLabel("Time", { exact: true }).selectOption("24h");
    await page.getByLabel("Of", { exact: true }).selectOption("station:02:00:00:00:00:05");
    await page.getByRole("alert").getByText("Nothing is stored of laptop-5").waitFor();
    await page.getByLabel("Of", { exact: true }).selectOption({ label: "laptop-1" });
    await page.getByLabel("Measure", { exact: true }).selectOption("bad-s");
    await page.getByText("Time with something bad: it is known of the whole site alone.").waitFor();
    await page.getByRole("button", { name: "Hide names" }).click();
    // It is drawn anew a moment after the click.
    await page.waitForFunction(() => !/laptop|([0-9a-f]{2}:){5}/.test(document.querySelector("main").innerText));
  });
});
