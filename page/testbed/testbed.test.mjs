// The page of a box in the testbed: real hosts in a simulated room of 802.11ax, the daemon, and Chromium. Each view and action, by keyboard,
// with what this box measures. EVENAIR_PROGRAMS is the folder of evenair-lab, evenaird and evenair-web; it needs root and
// about four minutes, because the history has minutes.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { asAccount, codeOf, enrol, makeAccount } from "../accounts-for-tests.mjs";
import { freePort, isForEverybody, launch, PATIENCE, started } from "../browser-for-tests.mjs";

const programs = process.env.EVENAIR_PROGRAMS;
assert.ok(programs, "EVENAIR_PROGRAMS must be the folder of the programs");
const pictures = process.env.EVENAIR_PICTURES;
const program = join(programs, "evenair-web");
const folder = mkdtempSync(join(tmpdir(), "evenair-testbed-"));
const file = join(folder, "web.toml");
const PASSWORD = "correct-horse";
const wide = { viewport: { width: 1400, height: 900 } };
const phone = { viewport: { width: 390, height: 800 }, colorScheme: "dark" };
/** Scenario: the room of the demo for longer, in which nobody inserts the box but this test. */
const scenario = () => {
  const room = readFileSync(new URL("../../scenarios/demo-room.toml", import.meta.url), "utf8");
  const [head] = room.split("[[event]]");
  return `${head.replace('duration = "50 s"', 'duration = "600 s"')}[[event]]\nat = "590 s"\ndo = "insert"\n`;
};

let browser;
let lab;
let labEnded;
let web;
let address;

/** Result of `look` once it is not empty. */
async function until(what, look) {
  for (const start = Date.now(); ; ) {
    const seen = await look();
    if (seen) return seen;
    assert.ok(Date.now() - start < 3 * PATIENCE, what);
    await new Promise((again) => setTimeout(again, 200));
  }
}

/** The run's directory, which holds the sockets of its box. */
function runDirectory() {
  assert.equal(lab.exitCode, null, "the testbed has ended");
  const bases = ["/run/evenair", join(process.env.XDG_RUNTIME_DIR ?? "/nowhere", "evenair"), join(tmpdir(), "evenair")];
  const runs = bases.filter(existsSync).flatMap((base) => readdirSync(base).map((name) => join(base, name)));
  return runs.find((run) => run.includes(`/${lab.pid}-`) && existsSync(join(run, "box.watch.sock")));
}

before(async () => {
  writeFileSync(join(folder, "room.toml"), scenario());
  lab = spawn(join(programs, "evenair-lab"), ["testbed", "run", join(folder, "room.toml"), "--out", join(folder, "results")],
    { stdio: ["ignore", "ignore", "inherit"] });
  labEnded = new Promise((ended) => lab.once("exit", ended));
  const run = await until("the testbed has no box", runDirectory);
  const port = await freePort();
  address = `http://127.0.0.1:${port}/`;
  const path = (at) => JSON.stringify(at);
  writeFileSync(file, `listen = "127.0.0.1:${port}"\nsocket = ${path(join(run, "box.watch.sock"))}\ncontrol = ${path(join(run, "box.sock"))}\nstate = ${path(join(folder, "state"))}\n[history]\nfiles = ${path(join(folder, "nothing"))}\n`);
  web = spawn(program, ["--config", file], { stdio: ["ignore", "pipe", "inherit"] });
  await started(web);
  browser = await launch();
  await makeAccount(browser, { program, file, name: "anna", role: "admin", password: PASSWORD });
});

after(async () => {
  await browser?.close();
  web?.kill();
  // It removes its hosts and their interfaces.
  lab?.kill("SIGINT");
  await labEnded;
  rmSync(folder, { recursive: true, force: true });
});

/** Picture of a page that is accessible, at both widths. */
async function see(page, name) {
  const before = page.viewportSize();
  for (const size of [wide.viewport, phone.viewport]) {
    await page.setViewportSize(size);
    if (pictures) await page.screenshot({ path: join(pictures, `testbed-${name}-${size.width}.png`), fullPage: true });
    await isForEverybody(page, `${name} at ${size.width}`);
  }
  await page.setViewportSize(before);
}

function as(options, act, password = PASSWORD) {
  return asAccount(browser, { address, name: "anna", password, options }, async (page) => {
    try {
      await act(page);
    } catch (error) {
      if (pictures) await page.screenshot({ path: join(pictures, "testbed-failure.png"), fullPage: true });
      throw error;
    }
  });
}

/** Presses a button or follows a link by keyboard. */
async function press(page, role, name) {
  await page.getByRole(role, { name, exact: true }).first().focus();
  await page.keyboard.press("Enter");
}

/** Asks for a mode by keyboard, and answers the question. */
async function command(page, name, done) {
  await press(page, "button", `${name} …`);
  const dialog = page.getByRole("dialog");
  await dialog.waitFor();
  await see(page, name.toLowerCase());
  await dialog.getByRole("button", { name }).focus();
  await page.keyboard.press("Enter");
  await page.getByRole("status").getByText(done).waitFor();
}

/** Row of a station in the table of the air. */
const row = (page, name) => page.locator("section:has(#air) tbody tr", { hasText: name }).first();

/** The least share of the air of a station that always transfers, over the largest. */
async function evenness(page) {
  const names = ["laptop1", "laptop2", "laptop3", "far-laptop", "backup1", "backup2"];
  const shares = await Promise.all(names.map(async (name) => parseFloat(await row(page, name).locator("td").nth(1).innerText())));
  return Math.min(...shares) / Math.max(...shares);
}

test("bypassed, then observing, then inserted: the air is shared, and the page shows the change", async () => {
  await as(wide, async (page) => {
    await page.getByRole("heading", { level: 1, name: /^Bypassed/ }).waitFor();
    await see(page, "bypassed");
    await command(page, "Observe", "The box observes.");
    await page.getByRole("heading", { level: 1, name: /far-laptop/ }).waitFor();
    await page.getByText("mean of the last 10 s").waitFor();
    await see(page, "observing");
    const uneven = await evenness(page);
    await command(page, "Insert", "The box is inserted.");
    // Its last ten seconds are those of after, and no longer those in which the queues moved.
    await until("the Wi-Fi latency falls to a half", async () => {
      const change = (await page.locator("section:has(#change)").allInnerTexts()).join().replaceAll("\n", " ");
      const [, was, now] = /Wi-Fi latency, p95 ([\d.]+) → about ([\d.]+) ms/.exec(change) ?? [];
      return Number(now) < Number(was) / 2;
    });
    await page.getByText("mean of the last 10 s").waitFor();
    await see(page, "inserted");
    const even = await evenness(page);
    assert.ok(uneven < 0.4 && even > 0.6, `least over largest share of the air ${uneven}, then ${even}`);
  });
});

test("a station is opened, named, and hidden", async () => {
  await as(wide, async (page) => {
    await press(page, "button", /^far-laptop/);
    await page.getByText("MAC address", { exact: true }).waitFor();
    const flow = page.locator(".flows tbody tr").first();
    await flow.filter({ hasText: /\d+\.\d+\.\d+\.\d+:\d+ – / }).waitFor();
    await see(page, "station");
    const name = page.getByLabel("Name", { exact: true });
    await name.fill("<b>Anne's laptop</b>");
    await page.keyboard.press("Enter");
    await page.getByText("Saved.").waitFor();
    await row(page, "<b>Anne's laptop</b>").waitFor();
    await see(page, "named");
    await name.fill("");
    await press(page, "button", "Save");
    await page.getByText("The name is taken away.").waitFor();
    await press(page, "button", "Hide names");
    await page.waitForFunction(() => !/laptop|tablet|([0-9a-f]{2}:){5}/.test(document.querySelector("main").innerText));
    await see(page, "hidden");
  });
});

test("the history has minutes of this box, before and after the insertion", async () => {
  await as(wide, async (page) => {
    await press(page, "link", "History");
    await page.getByRole("heading", { level: 1, name: "History" }).waitFor();
    await until("two minutes are stored", async () => {
      const { points } = await page.evaluate(async () => (await fetch("api/v1/history?measure=down-mbps&every=1min&from=1h")).json());
      return points?.filter(({ value }) => value != null).length >= 3;
    });
    await page.reload();
    await page.getByLabel("Time", { exact: true }).selectOption({ label: "last hour" });
    const measures = page.getByLabel("Measure", { exact: true });
    for (const words of await measures.locator("option").allInnerTexts()) {
      await measures.selectOption({ label: words });
      await page.getByRole("img", { name: new RegExp(`^${words} of the whole site`) }).waitFor();
    }
    await page.getByLabel("Measure", { exact: true }).selectOption("down-mbps");
    await page.getByRole("img", { name: /^Throughput down of the whole site, .*known in [1-9]/ }).waitFor();
    await page.getByLabel("Second measure").selectOption("wlan-p95");
    const compared = page.locator("section:has(#compare)");
    await compared.getByRole("row", { name: /^Wi-Fi latency, p95/ }).waitFor();
    assert.match((await compared.locator("option").allInnerTexts()).join(), /inserted/);
    await see(page, "history");
    await page.getByLabel("Of", { exact: true }).selectOption({ label: "laptop1" });
    await page.getByRole("img", { name: /^Throughput down of laptop1, .*known in [1-9]/ }).waitFor();
    await page.locator("summary").focus();
    await page.keyboard.press("Enter");
    assert.ok((await page.locator("details tbody tr").count()) > 0);
    await see(page, "history-station");
  });
});

test("bypassed again: nothing is measured, and traffic goes on", async () => {
  await as(phone, async (page) => {
    await command(page, "Bypass", "The box is bypassed.");
    await page.getByRole("heading", { level: 1, name: /^Bypassed/ }).waitFor();
    await see(page, "bypassed-again");
    await command(page, "Insert", "The box is inserted.");
    await row(page, "laptop1").waitFor();
  });
});

test("the audit log has every change, password and second factor work beside traffic", async () => {
  await as(phone, async (page) => {
    await press(page, "button", "Audit log");
    await page.getByRole("heading", { level: 1, name: "Audit log" }).waitFor();
    await page.getByRole("row", { name: /POST \/bypass/ }).first().waitFor();
    const log = await page.locator("tbody").innerText();
    for (const change of ["POST /observe", "POST /insert", "POST /bypass", "/name", "name: <b>Anne's laptop</b>"]) assert.ok(log.includes(change), log);
    assert.ok(!log.includes(PASSWORD));
    await see(page, "audit");
    await press(page, "link", "Change password");
    await page.getByLabel("Old password").fill(PASSWORD);
    await page.getByLabel("New password, at least 10 characters").fill("battery-staple");
    await page.getByLabel("New password again").fill("battery-staple");
    await see(page, "password");
    await page.keyboard.press("Enter");
    await page.getByText("Your password is changed").waitFor();
    await press(page, "link", "To the page");
    await row(page, "laptop1").waitFor();
    await press(page, "button", "Log out");
    await page.getByRole("heading", { name: "Log in to Evenair" }).waitFor();
    await see(page, "login");
  });
  const { secret } = await enrol({ program, file, name: "anna" });
  // A code is valid once.
  await new Promise((next) => setTimeout(next, 30_000 - (Date.now() % 30_000) + 100));
  await as(wide, async (page) => {
    await page.getByLabel("Code of your authenticator app").waitFor();
    await see(page, "code");
    await page.keyboard.type(codeOf(secret));
    await page.keyboard.press("Enter");
    await row(page, "laptop1").waitFor();
    await page.getByText("anna, admin").waitFor();
  }, "battery-staple");
});
