// A watch socket with the lines that a test needs: states of the page are tested without a box.
import { createServer } from "node:net";

const measured = (value) => ({ value, source: "measured" });
const charged = (value) => ({ value, source: "charged" });
const unknown = { source: "unknown" };
const inserted = { at: Math.round(Date.now() / 1000) - 60, event: "mode", text: "inserted by root" };

const times = (p95_ms, packets = 40) => ({ p50_ms: p95_ms / 2, p95_ms, packets });
const latency = { box: times(5), wlan: times(8.4), internet: times(31) };
const losses = { down: { data: 1000, here: 2, wlan: 7, wire: 1 }, up: { data: 100, here: 0, wlan: 0, wire: 0 } };

export function station(at, more = {}) {
  const tail = String(at).padStart(2, "0");
  return {
    mac: `02:00:00:00:00:${tail}`, name: at % 3 === 0 ? null : `laptop-${at}`, random_mac: at % 3 === 0,
    access_point: "hall", domain: "hall", weight: 1,
    down_mbps: measured(12 / at), up_mbps: measured(0.4), air_down: charged(0.5 / at), air_up: charged(0.1 / at),
    rate_mbps: at % 2 ? { value: 143.4, source: "reported" } : at % 4 ? unknown : { value: 24, source: "inferred" },
    mode: at % 2 ? "HE MCS 11" : null, signal_dbm: at % 2 ? { value: -60, source: "reported" } : unknown, held: 0, active: true,
    latency, losses, counted: { dropped: 2, for_a_later_page: 1 }, ...more,
  };
}

export function line(seq, more = {}) {
  const stations = more.stations ?? [1, 2, 3, 4, 5].map((at) => station(at));
  const domain = (name, extra = {}) => ({
    name, access_points: [name], down_mbps: measured(50), up_mbps: measured(5), air_down: charged(0.6), air_up: charged(0.2),
    capacity_mbps: charged(60), held: 12, wait_p95_ms: measured(9), stations: stations.length, active: stations.length, latency, losses, ...extra,
  });
  return {
    v: 1, seq, at: Date.now() / 1000, uptime_s: 100_000 + seq,
    domains: [domain("hall"), domain("yard", { air_down: charged(0.1) })],
    access_points: [{ ...domain("hall"), name: "hall-east", domain: "hall", latency: { ...latency, wlan: times(66) } }],
    stations, classes: [], calls: [], health: { level: "good", reasons: [] },
    events: seq === 1 ? [inserted] : [],
    ...more,
    totals: {
      mode: "inserted", carrier: "box", since_s: 60, fail_open: true, guard: "watching", down_mbps: measured(50), up_mbps: measured(5),
      held: 12, wait_p95_ms: measured(9), dropped: 3, stations: stations.length, active: stations.length, latency, losses, ...more.totals,
    },
  };
}

const reason = (code, level, subject, sentence, more) => ({
  code, level, subject, since_s: Date.now() / 1000 - 30, sentence, value: 1, limit: 2, unit: "", remedy: "", ...more,
});
const subject = (at) => ({ kind: "station", id: station(at).mac, name: `laptop-${at}` });
const ofBox = { kind: "box", id: "", name: "the box" };

export const unwell = {
  health: {
    level: "bad",
    reasons: [
      reason("holds-the-air", "bad", subject(1), "laptop-2 starves, and 1 more waits long: laptop-1 holds 60 % of the air of hall", {
        remedy: "run evenair insert on the box: it then shares the air; evenair observe undoes it",
        suffering: [subject(2), subject(4)],
      }),
      reason("starving", "bad", subject(2), "laptop-2 starves: it gets 0.4 Mb/s, and an equal share of hall is 5.1 Mb/s",
        { remedy: "run evenair insert on the box: it then shares the air; evenair observe undoes it" }),
      reason("internet-latency", "watch", ofBox, "Half of the packets take 200 ms to the Internet and back",
        { remedy: "lower the rates of [manager.wan]" }),
    ],
  },
};

/**
 * Lines of an observing box in which laptop-2 waits, until `insert()`: from then on the box is inserted without reasons. Its seconds
 * since then stop at 5, while the Wi-Fi is evaluated anew, until `judge()`. A test calls each once it has seen the state before.
 */
export function insertion() {
  let at = Infinity;
  let mode = "observing";
  let longest = 5;
  const lines = (seq) => {
    if (mode === "inserted") at = Math.min(at, seq);
    const [waits, gets] = mode === "observing" ? [500, 1] : [30, 9];
    const latency = mode === "observing" ? { wlan: times(500), internet: times(31) } : { box: times(50), wlan: times(30), internet: times(31) };
    const reasons = [reason("holds-the-air", "watch", subject(1), "laptop-2 waits long: laptop-1 holds 60 % of the air of hall", { suffering: [subject(2)] })];
    const stations = [1, 2, 3].map((place) => station(place, {
      down_mbps: measured(place === 2 ? gets : 9), up_mbps: measured(0), air_down: charged(mode === "observing" && place === 1 ? 0.6 : 0.2),
      air_up: charged(0), latency: { ...latency, wlan: times(waits) },
    }));
    const text = { observing: "the box has started: observing", inserted: "inserted by root" }[mode];
    return {
      stations, uptime_s: seq, health: mode === "observing" ? { level: "watch", reasons } : { level: "good", reasons: [] },
      events: seq === at ? [{ at: Date.now() / 1000, event: "inserted", text }, { at: Date.now() / 1000, event: "health", text: "judged anew after insert: holds-the-air" }] : [],
      totals: { mode, latency, since_s: mode === "observing" ? seq : Math.min(seq - at, longest) },
    };
  };
  return { lines, insert: () => { mode = "inserted"; }, judge: () => { longest = Infinity; } };
}

export const bypassed = {
  totals: { mode: "bypassed", carrier: "bridge", wait_p95_ms: unknown, active: undefined, latency: {}, losses: undefined },
  access_points: [],
  domains: [{
    name: "hall", access_points: ["hall"], down_mbps: unknown, up_mbps: unknown, air_down: unknown, air_up: unknown,
    capacity_mbps: unknown, held: 0, wait_p95_ms: unknown, stations: 2, active: undefined, latency: {},
  }],
  stations: [station(1, { down_mbps: unknown, up_mbps: unknown, air_down: unknown, air_up: unknown, active: undefined, latency: {}, losses: undefined, counted: undefined })],
};

/** This many flows of a station that began at 0; each moves 0.1 Mb/s more than the previous one. */
export function flowsOf(mac, count) {
  return [...Array(count).keys()].map((at) => ({
    low: "10.0.0.7:443", high: `10.1.0.9:${40_000 + at}`, station: mac, direction: "down", d: 2, from_wlan_bytes: 1000,
    released_bytes: Math.round((Date.now() / 1000) * (at + 1) * 12_500), wlan_rtt_ms: 8.4, backlog_packets: at % 3, dropped: 0,
  }));
}

/** Lines of this many stations behind ten access points in one domain; all numbers differ from line to line. */
export function crowd(count) {
  const names = [...Array(10).keys()].map((at) => `ap-${at}`);
  return (seq) => {
    /** A number between 0 and 1. */
    const wave = (at) => (1 + Math.sin(seq * 0.7 + at)) / 2;
    const latency = (at) => ({ box: times(9 * wave(at)), wlan: times(20 * wave(at + 1)), internet: times(40 * wave(at + 2)) });
    const flow = (at, part) => ({
      down_mbps: measured(part * wave(at)), up_mbps: measured((part * wave(at + 3)) / 8), air_down: charged((part * wave(at)) / 60),
      air_up: charged((part * wave(at + 3)) / 240), latency: latency(at), held: Math.round(20 * wave(at)),
    });
    const stations = [...Array(count).keys()].map((at) => station(at + 1, {
      ...flow(at, 50 / count), mac: `02:00:00:00:00:${at.toString(16).padStart(2, "0")}`, name: at % 3 ? `laptop-${at}` : null,
      access_point: names[at % names.length],
    }));
    const [first] = line(seq).domains;
    const counts = (of) => ({ stations: of, active: of });
    return {
      stations,
      domains: [{ ...first, ...flow(0, 50), ...counts(count), access_points: names }],
      access_points: names.map((name, at) => ({ ...first, ...flow(at, 5), ...counts(count / 10), name, domain: first.name })),
      totals: { ...counts(count), down_mbps: measured(50 * wave(0)), up_mbps: measured(5 * wave(3)), latency: latency(0) },
    };
  };
}

/**
 * Serves lines with the fields of `more`, an object or a function of the line's number, until it is closed; each station has this many
 * flows.
 */
export function serve(path, more = {}, { period = 200, flows = 10 } = {}) {
  const open = new Set();
  const lineOf = (seq) => line(seq, typeof more === "function" ? more(seq) : more);
  const server = createServer((socket) => {
    open.add(socket);
    let seq = 0;
    let timer;
    socket.on("data", (request) => {
      const mac = /"flows_of":"([0-9a-f:]+)"/.exec(String(request))?.[1];
      if (mac) {
        socket.write(`${JSON.stringify({ v: 1, flows: flowsOf(mac, flows) })}\n`);
      } else if (String(request).includes("history")) {
        const isDay = String(request).includes("24 h");
        const [every_s, count] = isDay ? [60, 1440] : [1, 300];
        const { totals } = line(2);
        const now = Date.now() / 1000;
        const points = [...Array(count).keys()].map((at) => ({
          ...totals, at: now - every_s * (count - at), air: charged(0.8), wlan_p95_ms: measured(8 + (at % 7)), internet_p95_ms: measured(30),
        }));
        socket.write(`${JSON.stringify({ v: 1, history: { every_s, points } })}\n`);
      } else {
        timer = setInterval(() => socket.write(`${JSON.stringify(lineOf(++seq))}\n`), period);
      }
    });
    socket.on("error", () => {});
    socket.on("close", () => {
      clearInterval(timer);
      open.delete(socket);
    });
  });
  return new Promise((ready) => server.listen(path, () => ready({
    latest: () => lineOf(1),
    close: () => new Promise((done) => {
      for (const socket of open) socket.destroy();
      server.close(done);
    }),
  })));
}

/** A control socket that records requests, and refuses them while there is a refusal. */
export function control(path) {
  const box = { asked: [], refusal: null };
  const server = createServer((socket) => {
    socket.on("error", () => {});
    socket.on("data", (request) => {
      box.asked.push(JSON.parse(String(request)));
      socket.write(`${JSON.stringify(box.refusal == null ? { ok: true } : { ok: false, error: box.refusal })}\n`);
    });
  });
  box.close = () => server.close();
  return new Promise((ready) => server.listen(path, () => ready(box)));
}
