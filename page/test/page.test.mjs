// The page in Chromium: each state at two widths, light and dark, checked by its texts and by axe-core. EVENAIR_WEB is the
// program.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { freePort, isForEverybody, launch, newPage, started } from "../browser-for-tests.mjs";
import { bypassed, insertion, serve, station, unwell } from "../feed-for-tests.mjs";

const program = process.env.EVENAIR_WEB;
assert.ok(program, "EVENAIR_WEB must be the path of the program evenair-web");
const pictures = process.env.EVENAIR_PICTURES;
/** Lines of an inserted box without reasons. */
const WELL = "No station starves or waits long";
const folder = mkdtempSync(join(tmpdir(), "evenair-page-"));
const socket = join(folder, "watch.sock");

let browser;
let web;
let address;

before(async () => {
  const port = await freePort();
  web = spawn(program, ["--socket", socket, "--state", `${socket}.state`, "--listen", `127.0.0.1:${port}`], { stdio: ["ignore", "pipe", "inherit"] });
  await started(web);
  address = `http://127.0.0.1:${port}/`;
  browser = await launch();
});

after(async () => {
  await browser?.close();
  web?.kill();
  rmSync(folder, { recursive: true, force: true });
});

/** Runs an action while the box sends these lines. */
async function during(more, act) {
  const feed = await serve(socket, more);
  try {
    await act(feed);
  } finally {
    await feed.close();
  }
}

/** A new page, which is closed at the end. */
async function onPage(options, act) {
  const page = await newPage(browser, options);
  try {
    await act(page);
  } finally {
    await page.close();
  }
}

/** The page at each width and scheme, once it has the heading; no request leaves it, and axe-core finds no violation. */
async function look(name, heading, see = async () => {}) {
  for (const [width, scheme] of [[1400, "light"], [1400, "dark"], [390, "light"], [390, "dark"]]) {
    await onPage({ viewport: { width, height: 900 }, colorScheme: scheme, bypassCSP: true }, async (page) => {
      const strangers = [];
      page.on("request", (request) => request.url().startsWith(address) || strangers.push(request.url()));
      const errors = [];
      page.on("pageerror", (error) => errors.push(error.message));
      await page.goto(address);
      await page.getByRole("heading", { level: 1, name: heading }).waitFor();
      await see(page);
      if (pictures) await page.screenshot({ path: join(pictures, `${name}-${width}-${scheme}.png`), fullPage: true });
      await isForEverybody(page, `${name} ${width} ${scheme}`);
      assert.deepEqual([strangers, errors], [[], []]);
    });
  }
}

test("no box: the page says why, and recovers by itself", async () => {
  await look("away", "No data from the box");
  await onPage({}, async (page) => {
    await page.goto(address);
    await page.getByText("watch.sock").waitFor();
    await during({}, () => page.getByRole("heading", { name: WELL }).waitFor());
    await page.getByRole("heading", { name: "No data from the box" }).waitFor();
    await page.getByText("laptop-1").waitFor();
  });
});

test("inserted: holders of the air, in order", async () => {
  await during({}, () => look("inserted", WELL, async (page) => {
    const names = await page.locator("tbody th").allTextContents();
    assert.ok(names[0].startsWith("laptop-1"), names.join());
    await page.getByText("inserted by root", { exact: true }).waitFor();
    await page.getByRole("button", { name: "yard" }).click();
    await page.getByText("No station has been seen yet").waitFor();
    await page.getByRole("button", { name: "hall" }).click();
    await page.waitForFunction(() => document.querySelector(".chart path").getAttribute("d").length > 100);
    const text = await page.locator("main").innerText();
    for (const said of ["5.0 ms in the box", "8.4 ms on the Wi-Fi", "31.0 ms", "Last 24 hours", "66.0", "Inserted for 1 min", "A whole bar is"]) assert.ok(text.includes(said), `${said}: ${text}`);
    await page.waitForFunction(() => document.querySelector(".day .wlan").getAttribute("d").split("L").length > 1000);
    await page.getByRole("button", { name: "laptop-1" }).click();
    await page.getByText("mean of the last 10 s").waitFor();
    await page.getByText("in the box, 70 on the Wi-Fi, 10 beyond the wire port, of 10000 segments").waitFor();
    await page.getByText("4.2 ms, p95 8.4 ms (40 timed)").waitFor();
    await page.getByText("The 8 fastest of 10 flows").waitFor();
    const fastest = page.locator(".flows tbody tr").first();
    // 1.0 Mb/s, by the time between two answers.
    await fastest.filter({ hasText: /10\.0\.0\.7:443 – 10\.1\.0\.9:40009\s*(0\.[89]|1\.[012])/ }).waitFor();
    assert.equal(await page.locator(".flows tbody tr").count(), 8);
  }));
});

test("a demo that has ended keeps its last numbers", async () => {
  const [socket, port] = [join(folder, "demo.sock"), await freePort()];
  const demo = spawn(program, ["--socket", socket, "--state", `${socket}.state`, "--listen", `127.0.0.1:${port}`, "--farewell", "The demo has ended"],
    { stdio: ["ignore", "pipe", "inherit"] });
  let feed;
  try {
    await started(demo);
    feed = await serve(socket);
    await onPage({}, async (page) => {
      await page.goto(`http://127.0.0.1:${port}/`);
      await page.getByText("laptop-1").waitFor();
      await feed.close();
      await page.getByRole("heading", { name: "The demo has ended" }).waitFor();
      demo.kill();
      await page.waitForTimeout(4000);
      await page.getByRole("heading", { name: "The demo has ended" }).waitFor();
      await page.getByText("laptop-1").waitFor();
    });
  } finally {
    demo.kill();
    // An open connection would keep the test program from ending.
    await feed?.close();
  }
});

test("the first reason comes first, with its remedy, and the others are listed", async () => {
  await during(unwell, async () => {
    await look("unwell", "laptop-2 starves, and 1 more waits long: laptop-1 holds 60 % of the air of hall", async (page) => {
      const head = await page.locator("section.head").innerText();
      assert.match(head, /What to do: run evenair insert on the box: .*\. Inserted for 1 min/);
      assert.deepEqual(await page.locator("section.head code").allInnerTexts(), ["evenair insert", "evenair observe"]);
      const others = await page.locator("section:has(#reasons) li").allTextContents();
      assert.equal(others.length, 2);
      assert.match(others[0], /laptop-2 starves: it gets 0\.4 Mb\/s.*Since [\d:]+\.$/, "what to do is said once");
      assert.match(others[1], /Half of the packets.*Lower the rates/);
      const tags = ["laptop-1", "laptop-2", "laptop-4"].map((name) => page.locator("tbody tr", { hasText: name }).first().locator(".tag").innerText());
      assert.deepEqual(await Promise.all(tags), ["holds the air", "starves", "waits long"]);
    });
    await onPage({}, async (page) => {
      await page.goto(address);
      await page.getByRole("button", { name: "Hide names" }).click();
      await page.getByRole("heading", { level: 1, name: "station 2 starves, and 1 more waits long: station 1 holds" }).waitFor();
    });
  });
  await during({ health: { level: "good", reasons: [] } }, () => look("well", WELL, async (page) => {
    assert.equal(await page.locator("#reasons").count(), 0);
  }));
});

test("inserted: the reasons are evaluated anew, then shown as ended, beside earlier numbers", async () => {
  const box = insertion();
  await during(box.lines, async () => {
    await onPage({ viewport: { width: 1400, height: 900 } }, async (page) => {
      await page.goto(address);
      await page.getByRole("heading", { level: 1, name: "laptop-2 waits long: laptop-1 holds 60 % of the air of hall" }).waitFor();
      box.insert();
      await page.getByRole("heading", { level: 1, name: /^Inserted for \d s: the Wi-Fi is judged anew$/ }).waitFor();
      await page.getByText("Before: laptop-2 waits long").waitFor();
      box.judge();
      await page.getByRole("heading", { level: 1, name: `${WELL} any more` }).waitFor();
      // Until the means have no second of before.
      await page.getByText("mean of the last 10 s").waitFor();
      const text = (await page.locator("section:has(#change)").innerText()).replaceAll("\n", " ");
      for (const said of ["500 → about 80.0 ms", "1.0 → 9.0 Mb/s", "laptop-1 60 % → 20 % of the air"]) assert.ok(text.includes(said), text);
      await page.getByText("judged anew after insert: holds-the-air", { exact: true }).waitFor();
      assert.equal(await page.locator(".day circle").count(), 1, "close events have one mark");
    });
  });
});

test("a box without health shows its mode, and a phone has every column", async () => {
  await during({ health: undefined }, () => look("unjudged", "Inserted for 1 min", async (page) => {
    const tables = await page.locator(".scroll").evaluateAll((all) => all.map(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth));
    assert.deepEqual(tables, [0, 0]);
  }));
});

test("names are hidden for screenshots", async () => {
  await during({}, async () => {
    await onPage({}, async (page) => {
      await page.goto(address);
      await page.getByText("laptop-1").waitFor();
      await page.getByRole("button", { name: "Hide names" }).click();
      await page.getByText("station 1").waitFor();
      await page.getByRole("button", { name: "station 1" }).click();
      await page.getByText("Flows are hidden").waitFor();
      const text = await page.locator("main").innerHTML();
      assert.ok(!text.includes("laptop") && !/([0-9a-f]{2}:){5}|10\.0\.0\.7/.test(text), text);
    });
  });
});

test("bypassed: values that are not measured are unknown and not zero", async () => {
  await during(bypassed, async () => {
    await look("bypassed", "Bypassed for 1 min", async (page) => {
      const row = await page.locator("tbody tr").first().innerText();
      assert.match(row, /unknown/);
      assert.doesNotMatch(row, /\b0\.0\b/);
      assert.doesNotMatch(await page.locator("main").innerText(), /undefined|null|NaN/);
    });
  });
});

test("a PHY rate is reported, inferred or unknown", async () => {
  await during({}, async () => {
    await onPage({ viewport: { width: 1400, height: 900 } }, async (page) => {
      await page.goto(address);
      const rates = [["laptop-1", "143", "143 Mb/s HE MCS 11, reported by the access point"], ["laptop-2", "unknown", "unknown"],
        ["laptop-4", "24.0", "24.0 Mb/s, not reported: inferred from airtime"]];
      for (const [name, cell, details] of rates) {
        const row = page.locator("tbody tr", { hasText: name });
        await row.waitFor();
        assert.equal((await row.locator("td").nth(7).innerText()).trim(), cell, name);
        await page.getByRole("button", { name }).click();
        assert.equal(await page.locator(".details div", { hasText: /^Rate/ }).locator("dd").innerText(), details, name);
        await page.getByRole("button", { name }).click();
      }
    });
  });
});

test("counts of a station are sums of ten seconds, by whatever name the box gives, or unknown", async () => {
  const counts = async (state, expected) => during(state, async () => {
    await onPage({ viewport: { width: 1400, height: 900 } }, async (page) => {
      await page.goto(address);
      await page.getByRole("button", { name: "laptop-1" }).click();
      const said = page.locator(".details div", { hasText: /^Packets in the box/ }).locator("dd");
      await said.waitFor();
      assert.match(await said.innerText(), expected);
    });
  });
  await counts({}, /^(\d*[02468]) dropped, \d+ for a later page$/);
  await counts(bypassed, /^unknown$/);
});

test("empty: a box that has seen no station", async () => {
  await during({ stations: [], totals: { stations: 0, active: 0 } }, async () => {
    await look("empty", "No station is active", async (page) => {
      await page.getByText("No station has been seen yet").waitFor();
    });
  });
});

test("200 stations fold, and names of any kind stay text", async () => {
  const stations = [...Array(200).keys()].map((at) => station(at + 1, { name: at === 0 ? "<img src=x onerror=alert(1)>" : `s${at}` }));
  await during({ stations }, async () => {
    await look("many", WELL, async (page) => {
      await page.getByText("<img src=x").waitFor();
      const random = page.locator("tbody tr", { hasText: "random address" });
      await random.filter({ hasText: "s2" }).first().waitFor();
      assert.equal(await random.filter({ hasText: "s1" }).filter({ hasNotText: /s1\d/ }).count(), 0);
      assert.equal(await page.locator("section:has(#air) tbody tr").count(), 12);
      await page.getByRole("button", { name: "Show all 200" }).click();
      assert.equal(await page.locator("section:has(#air) tbody tr").count(), 200);
    });
  });
});
