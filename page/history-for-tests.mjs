// A box with a history: a line for each past minute, which evenair-web stores, and then a line each second.
import { createServer } from "node:net";
import { line, station } from "./feed-for-tests.mjs";

const measured = (value) => ({ value, source: "measured" });
const MINUTE = 60;

/** Bucket of a time in ms: the first bucket of the histograms ends at 0.512 ms, and each doubling has four. */
const bucketOf = (ms) => (ms < 0.512 ? 0 : 1 + Math.floor(4 * Math.log2(ms / 0.512)));
const packets = (ms, slow_ms) => {
  const counts = Array(bucketOf(slow_ms) + 1).fill(0);
  counts[bucketOf(ms)] += 90;
  counts[bucketOf(slow_ms)] += 10;
  return counts;
};

/**
 * The line of a past minute, by its number: there is more traffic in the middle of a day, and the Wi-Fi is slow until the box is
 * inserted.
 */
function minute(at, number, insertion) {
  const wave = (1 + Math.sin((number / 1440) * 2 * Math.PI - 1)) / 2 + 0.2 * Math.sin(number / 7) ** 2;
  const slow = at < insertion ? 400 : 40;
  const of = { wlan: packets(6 + 3 * wave, slow * (0.6 + wave)), internet: packets(24, 70 + 40 * wave), ...(at >= insertion && { box: packets(2, 9) }) };
  const seen = line(2);
  const rates = { down_mbps: measured(10 + 60 * wave), up_mbps: measured(2 + 5 * wave) };
  return {
    ...seen,
    at: at + 1.5,
    seq: number * 2,
    totals: { ...seen.totals, ...rates, mode: at < insertion ? "observing" : "inserted" },
    stations: [1, 2, 3].map((place) => station(place)),
    events: [],
    histograms: { totals: of, stations: { [station(1).mac]: of }, access_points: { "hall-east": of }, domains: { hall: of } },
  };
}

/**
 * Serves this many past minutes to clients that request histograms, except those from `gap[0]` to `gap[1]`, counted from the first; then
 * a line each second. `insertion` is the number of the minute in which the box was inserted.
 */
export function serveWithPast(path, { minutes, gap = [0, 0], insertion }) {
  const open = new Set();
  const now = Math.floor(Date.now() / 1000 / MINUTE) * MINUTE;
  const timeOf = (number) => now - MINUTE * (minutes - number);
  const inserted = timeOf(insertion);
  const events = [{ at: timeOf(1), event: "started", text: "the box has started: observing" }, { at: inserted + 20, event: "inserted", text: "inserted by root" },
    { at: inserted + 25, event: "health", text: "raised: slow-link" }];
  function past() {
    const numbers = [...Array(minutes).keys()].filter((number) => number < gap[0] || number >= gap[1]);
    const lines = numbers.map((number) => minute(timeOf(number), number, inserted));
    if (lines[0]) lines[0].events = events;
    return lines;
  }
  const server = createServer((socket) => {
    open.add(socket);
    let timer;
    let seq = minutes * 2;
    socket.on("error", () => {});
    socket.on("close", () => {
      clearInterval(timer);
      open.delete(socket);
    });
    socket.on("data", (request) => {
      const text = String(request);
      if (text.includes("history")) return socket.write(`${JSON.stringify({ v: 1, history: { every_s: 60, points: [] } })}\n`);
      const isStored = text.includes("histograms");
      if (isStored) for (const one of past()) socket.write(`${JSON.stringify(one)}\n`);
      // Stations 4 and 5 are present, but nothing is stored of them.
      const more = isStored ? { events: [], stations: [1, 2, 3].map((place) => station(place)) } : { events: [] };
      timer = setInterval(() => socket.write(`${JSON.stringify(line(++seq, more))}\n`), 1000);
    });
  });
  return new Promise((ready) => server.listen(path, () => ready({
    timeOf,
    close: () => new Promise((done) => {
      for (const socket of open) socket.destroy();
      server.close(done);
    }),
  })));
}
