// Accounts of evenair-web in tests: made by the link of `setup`, and logged in, each in a separate browser.
import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { createHmac } from "node:crypto";
import { newPage } from "./browser-for-tests.mjs";

/** Makes an account by the link that `evenair-web setup` prints. */
export async function makeAccount(browser, { program, file, name, role, password }) {
  const link = execFileSync(program, ["setup", "--config", file, "--role", role], { encoding: "utf8" }).split("\n")[0];
  const page = await newPage(browser);
  await page.goto(link);
  await page.getByLabel("Name").fill(name);
  await page.getByLabel("Password, at least 10 characters").fill(password);
  await page.getByLabel("Password again").fill(password);
  await page.getByRole("button", { name: "Make the account" }).click();
  await page.getByRole("heading", { name: "Log in to Evenair" }).waitFor();
  await page.close();
}

/** Logs in, and does something on the page, in which the content security policy refuses nothing. */
export async function asAccount(browser, { address, name, password, options }, act) {
  const context = await browser.newContext(options);
  const page = await newPage(context);
  const complaints = [];
  page.on("pageerror", (error) => complaints.push(error.message));
  page.on("console", (message) => /Content Security Policy/.test(message.text()) && complaints.push(message.text()));
  try {
    await page.goto(`${address}login`);
    await page.getByLabel("Name").fill(name);
    await page.getByLabel("Password").fill(password);
    await page.getByRole("button", { name: "Log in" }).click();
    await act(page);
    assert.deepEqual(complaints, []);
  } finally {
    await context.close();
  }
}

/** Decodes base32. */
function bytesOf(text) {
  const bits = [...text].map((c) => "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567".indexOf(c).toString(2).padStart(5, "0")).join("");
  return Buffer.from(bits.match(/.{8}/g).map((byte) => parseInt(byte, 2)));
}

/** The present code of an authenticator app (RFC 6238). */
export function codeOf(secret) {
  const step = Buffer.alloc(8);
  step.writeBigUInt64BE(BigInt(Math.floor(Date.now() / 30_000)));
  const hash = createHmac("sha1", bytesOf(secret)).update(step).digest();
  return String((hash.readUInt32BE(hash[19] & 15) & 0x7fffffff) % 1_000_000).padStart(6, "0");
}

/** Gives an account a second factor: the secret of the authenticator app, and the recovery code. */
export async function enrol({ program, file, name }) {
  const command = spawn(program, ["account", "totp", name, "--config", file], { stdio: ["pipe", "pipe", "inherit"] });
  let said = "";
  let secret;
  for await (const part of command.stdout) {
    said += part;
    secret ??= /app: ([A-Z2-7]+)\n/.exec(said)?.[1];
    if (secret && !command.stdin.writableEnded) command.stdin.end(`${codeOf(secret)}\n`);
  }
  const recovery = said.trimEnd().split("\n").at(-1);
  assert.match(recovery, /^[a-z2-7]{4}(-[a-z2-7]{4}){3}$/, said);
  return { secret, recovery };
}
