// Actions of accounts on the page: commands, names, the audit log, logout, passwords and codes; by keyboard, under the real content
// security policy.
import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { asAccount, enrol, makeAccount } from "../accounts-for-tests.mjs";
import { freePort, isForEverybody, launch, newPage, started } from "../browser-for-tests.mjs";
import { control, serve } from "../feed-for-tests.mjs";

const program = process.env.EVENAIR_WEB;
assert.ok(program, "EVENAIR_WEB must be the path of the program evenair-web");
const pictures = process.env.EVENAIR_PICTURES;
const folder = mkdtempSync(join(tmpdir(), "evenair-act-"));
const port = await freePort();
const address = `http://127.0.0.1:${port}/`;
const file = join(folder, "web.toml");
const PASSWORD = "correct-horse";

let browser;
let web;
let feed;
let box;
/** State of the box in the feed. */
let mode = "observing";

before(async () => {
  const path = (name) => JSON.stringify(join(folder, name));
  writeFileSync(file, `listen = "127.0.0.1:${port}"\nsocket = ${path("watch.sock")}\ncontrol = ${path("control.sock")}\nstate = ${path("state")}\n`);
  feed = await serve(join(folder, "watch.sock"), () => ({ totals: { mode, carrier: mode === "bypassed" ? "bridge" : "box" } }));
  box = await control(join(folder, "control.sock"));
  web = spawn(program, ["--config", file], { stdio: ["ignore", "pipe", "inherit"] });
  await started(web);
  browser = await launch();
  for (const [name, role] of [["anna", "admin"], ["otto", "operate"], ["vera", "view"]]) {
    await makeAccount(browser, { program, file, name, role, password: PASSWORD });
  }
});

after(async () => {
  await browser?.close();
  web?.kill();
  await feed?.close();
  box?.close();
  rmSync(folder, { recursive: true, force: true });
});

/** The page of an account, once it shows the stations. */
function as(name, options, act, password = PASSWORD) {
  return asAccount(browser, { address, name, password, options }, async (page) => {
    await page.getByText("laptop-1").waitFor();
    await act(page);
  });
}

async function picture(page, name) {
  if (pictures) await page.screenshot({ path: join(pictures, `${name}.png`), fullPage: true });
}

const wide = { viewport: { width: 1400, height: 900 } };
const phone = { viewport: { width: 390, height: 800 }, colorScheme: "dark" };

test("an operator commands by keyboard, and dialogs say what happens next and how to undo it", async () => {
  mode = "observing";
  await as("otto", wide, async (page) => {
    await page.getByText("otto, operate").waitFor();
    assert.equal(await page.getByRole("button", { name: "Observe …" }).count(), 0, "the mode that it has");
    assert.equal(await page.getByRole("button", { name: "Audit log" }).count(), 0, "for admins");
    const button = page.getByRole("button", { name: "Insert …" });
    await button.focus();
    await page.keyboard.press("Enter");
    const dialog = page.getByRole("dialog", { name: "Insert the box?" });
    await dialog.waitFor();
    assert.match(await dialog.innerText(), /shares the air among the stations[^]*Observe or Bypass undoes it/);
    await isForEverybody(page, "the question");
    await picture(page, "question");
    await page.keyboard.press("Escape");
    await dialog.waitFor({ state: "hidden" });
    assert.ok(await button.evaluate((at) => at === document.activeElement), "the focus comes back");
    assert.deepEqual(box.asked, [], "nothing is done without a yes");
    await page.keyboard.press("Enter");
    await dialog.waitFor();
    await page.keyboard.press("Tab");
    assert.equal(await page.evaluate(() => document.activeElement.textContent), "Insert");
    await page.keyboard.press("Enter");
    await page.getByRole("status").getByText("The box is inserted.").waitFor();
    assert.deepEqual(box.asked.splice(0), [{ command: "insert" }]);
    mode = "inserted";
    await page.getByRole("button", { name: "Observe …" }).waitFor();
  });
});

test("the dialog shows the box's refusal, on a phone as well", async () => {
  mode = "inserted";
  box.refusal = "the bridge cannot carry the traffic";
  await as("otto", phone, async (page) => {
    await page.getByRole("button", { name: "Bypass …" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Bypass" }).click();
    await page.getByRole("alert").getByText("Not done: the box refuses: the bridge cannot carry the traffic").waitFor();
    await isForEverybody(page, "a refusal");
    await picture(page, "refusal");
    await page.getByRole("button", { name: "Cancel" }).click();
    await page.getByRole("dialog").waitFor({ state: "hidden" });
  });
  box.refusal = null;
  assert.deepEqual(box.asked.splice(0), [{ command: "bypass" }], "never by force");
});

test("a station gets a name, and the name is removed", async () => {
  await as("otto", wide, async (page) => {
    await page.getByRole("button", { name: "laptop-1" }).click();
    const name = page.getByLabel("Name", { exact: true });
    assert.equal(await name.inputValue(), "laptop-1");
    await name.fill("<b>Anne</b>");
    await page.keyboard.press("Enter");
    await page.getByText("Saved.").waitFor();
    assert.equal(await name.inputValue(), "<b>Anne</b>", "a line of the feed does not change what is written");
    await isForEverybody(page, "the name");
    await picture(page, "name");
    await name.fill("");
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByText("The name is taken away.").waitFor();
    await page.getByRole("button", { name: "Hide names" }).click();
    await name.waitFor({ state: "hidden" });
  });
  const mac = "02:00:00:00:00:01";
  assert.deepEqual(box.asked.splice(0), [{ command: "name", mac, name: "<b>Anne</b>" }, { command: "name", mac }]);
});

test("an admin reads the audit log, and logs out", async () => {
  for (const options of [phone, wide]) {
    await as("anna", options, async (page) => {
      await page.getByRole("button", { name: "Audit log" }).click();
      await page.getByRole("heading", { level: 1, name: "Audit log" }).waitFor();
      const insert = page.locator("tbody tr", { hasText: "POST /insert" });
      assert.match(await insert.innerText(), /otto \(operate\)\s+127\.0\.0\.1\s+POST \/insert\s+done/);
      assert.match(await page.locator("tbody").innerText(), /name: <b>Anne<\/b>[^]*the box refuses: the bridge cannot[^]*in a shell/);
      assert.ok(!(await page.locator("tbody").innerText()).includes(PASSWORD));
      await isForEverybody(page, "the audit log");
      await picture(page, `audit-${options.viewport.width}`);
      await page.getByRole("button", { name: "Log out" }).click();
      await page.getByRole("heading", { name: "Log in to Evenair" }).waitFor();
      await page.goto(address);
      await page.getByRole("heading", { name: "Log in to Evenair" }).waitFor();
    });
  }
});

test("a read-only account sees no commands", async () => {
  await as("vera", wide, async (page) => {
    await page.getByText("vera, view").waitFor();
    await page.getByRole("button", { name: "laptop-1" }).click();
    await page.getByText("MAC address", { exact: true }).waitFor();
    for (const name of [/Insert|Observe|Bypass/, "Save", "Audit log"]) assert.equal(await page.getByRole("button", { name }).count(), 0);
  });
});

const NEW = "battery-staple";

test("an account changes its password", async () => {
  for (const options of [phone, wide]) {
    const [old, next] = options === phone ? [PASSWORD, NEW] : [NEW, PASSWORD];
    await as("vera", options, async (page) => {
      await page.getByRole("link", { name: "Change password" }).click();
      await page.getByRole("heading", { name: "Password of Evenair" }).waitFor();
      await isForEverybody(page, "the form of a new password");
      const change = async (given) => {
        await page.getByLabel("Old password").fill(given);
        await page.getByLabel("New password, at least 10 characters").fill(next);
        await page.getByLabel("New password again").fill(next);
        await page.keyboard.press("Enter");
      };
      await change("wrong-password");
      await page.getByRole("alert").getByText("The old password is wrong.").waitFor();
      await change(old);
      await page.getByText("Your password is changed").waitFor();
      await picture(page, `password-${options.viewport.width}`);
      await page.getByRole("link", { name: "To the page" }).click();
      await page.getByText("vera, view").waitFor();
    }, old);
  }
});

test("an account with a second factor is asked for a code, and others are not", async () => {
  const { recovery } = await enrol({ program, file, name: "vera" });
  const context = await browser.newContext(phone);
  const page = await newPage(context);
  await page.goto(`${address}login`);
  assert.equal(await page.getByLabel(/Code/).count(), 0);
  await page.getByLabel("Name").fill("vera");
  await page.getByLabel("Password").fill(PASSWORD);
  await page.getByRole("button", { name: "Log in" }).click();
  const code = page.getByLabel("Code of your authenticator app");
  await code.waitFor();
  assert.ok(await code.evaluate((field) => field === document.activeElement), "it can be typed at once");
  await isForEverybody(page, "the form of the code");
  await picture(page, "code");
  await page.keyboard.type(recovery);
  await page.keyboard.press("Enter");
  await page.getByText("vera, view").waitFor();
  await context.close();
  execFileSync(program, ["account", "totp", "vera", "--off", "--config", file]);
});

test("the page works below a path", async () => {
  const below = join(folder, "below.toml");
  const otherPort = await freePort();
  const other = `http://127.0.0.1:${otherPort}/evenair`;
  const state = JSON.stringify(join(folder, "below"));
  const socket = JSON.stringify(join(folder, "watch.sock"));
  writeFileSync(below, `listen = "127.0.0.1:${otherPort}"\nbase_path = "/evenair"\nsocket = ${socket}\nstate = ${state}\n`);
  const process = spawn(program, ["--config", below], { stdio: ["ignore", "pipe", "inherit"] });
  const page = await newPage(browser);
  try {
    await started(process);
    const missing = [];
    page.on("response", (answer) => answer.status() >= 400 && missing.push(`${answer.status()} ${answer.url()}`));
    await page.goto(other);
    await page.getByText("laptop-1").waitFor();
    assert.equal(page.url(), `${other}/`);
    assert.deepEqual(missing, []);
  } finally {
    await page.close();
    process.kill();
  }
});
