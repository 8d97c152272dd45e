// The box's feed in the page: types of a line, and signals that follow the stream of events.
import { batch, computed, signal } from "@preact/signals";

/** A number with its source, or unknown. */
export type Value =
  | { value: number; source: "measured" | "charged" | "reported" | "inferred" | "assumed" }
  | { source: "unknown" };

/** Times of a leg's packets in the last second. */
export interface Times {
  p50_ms: number;
  p95_ms: number;
  packets: number;
}

/** Times by leg; an absent one is unknown. */
export interface Latency {
  box?: Times;
  wlan?: Times;
  internet_queue?: Times;
  internet?: Times;
}

export interface LossCounts {
  data: number;
  here: number;
  wlan: number;
  wire: number;
}

/** Losses by direction, in the last second. */
export interface Losses {
  down: LossCounts;
  up: LossCounts;
}

/** Common fields of totals, domains, access points and stations. */
export interface Timed {
  latency?: Latency;
  losses?: Losses;
}

/** Packets of a station by what the box counted, in the last second, under keys that the box chooses. */
export type StationCounts = Record<string, number>;

export interface Call {
  station: string;
  refused?: string | null;
  down?: { r_factor?: number | null; mos?: number | null };
  up?: { r_factor?: number | null; mos?: number | null };
}

export interface Totals extends Timed {
  mode: string;
  carrier: string;
  since_s?: number;
  fail_open: boolean;
  guard: string;
  down_mbps: Value;
  up_mbps: Value;
  held: number;
  wait_p95_ms: Value;
  dropped: number;
  stations: number;
  /** Absent while it is unknown. */
  active?: number;
}

/** A contention domain: access points that share a medium. */
export interface Domain extends Timed {
  name: string;
  access_points: string[];
  down_mbps: Value;
  up_mbps: Value;
  air_down: Value;
  air_up: Value;
  capacity_mbps: Value;
  /** Medium time of packets, as a multiple of what known PHY rates explain. */
  air_cost?: Value;
  held: number;
  wait_p95_ms: Value;
  stations: number;
  /** Absent while it is unknown. */
  active?: number;
}

/** An access point: the sums of its stations. */
export interface AccessPoint extends Timed {
  name: string;
  domain: string;
  down_mbps: Value;
  up_mbps: Value;
  air_down: Value;
  air_up: Value;
  stations: number;
  /** Absent while it is unknown. */
  active?: number;
}

export interface Station extends Timed {
  mac: string;
  name?: string | null;
  random_mac: boolean;
  access_point?: string | null;
  domain: string;
  weight: number;
  down_mbps: Value;
  up_mbps: Value;
  air_down: Value;
  air_up: Value;
  rate_mbps: Value;
  mode?: string | null;
  signal_dbm: Value;
  held: number;
  /** Absent while it is unknown. */
  counted?: StationCounts;
  active?: boolean;
}

export interface Class {
  name: string;
  down_mbps: Value;
  up_mbps: Value;
  air: Value;
  held: number;
  dropped: number;
  at_ceiling: boolean;
}

export interface BoxEvent {
  at: number;
  event: string;
  text: string;
}

/** Subject of a reason; `id` of a station is its MAC address. */
export interface Subject {
  kind: string;
  id: string;
  name: string;
}

/** A reason of the health, with a number and a remedy. */
export interface Reason {
  code: string;
  level: string;
  subject: Subject;
  since_s: number;
  sentence: string;
  remedy: string;
  /** Other holders of the air, and the stations that starve or wait because of it. */
  with?: Subject[];
  suffering?: Subject[];
}

/** Reasons of the health, the most important first. */
export interface Health {
  level: string;
  reasons: Reason[];
}

export interface Line {
  v: number;
  seq: number;
  at: number;
  uptime_s: number;
  /** Absent from an older box without health. */
  health?: Health;
  totals: Totals;
  domains: Domain[];
  access_points?: AccessPoint[];
  stations: Station[];
  classes: Class[];
  /** Absent from a box that does not look for calls. */
  calls?: Call[];
  events?: BoxEvent[];
}

/** A second of the last ten minutes. */
export interface Point {
  at: number;
  mode?: string;
  down_mbps: Value;
  up_mbps: Value;
  wait_p95_ms: Value;
  wlan_p95_ms: Value;
  internet_p95_ms: Value;
  air: Value;
}

/** Maximum numbers of events and points kept. */
const EVENTS = 50;
/** Number of lines in a mean, as in the sentences of the box's health. */
const LATELY = 10;
/** Time between two requests for the last day, in ms. */
const DAY_AGAIN = 60_000;
const POINTS = 600;
/** Age in ms from which on a line is no longer "now". */
const STALE = 3000;

export const line = signal<Line | null>(null);
export const events = signal<BoxEvent[]>([]);
export const points = signal<Point[]>([]);
/** Minutes of the last day. */
export const day = signal<Point[]>([]);
/** The last lines of the mode, for means and losses. */
export const lately = signal<Line[]>([]);
/** Why the box is unreachable; null: it is reachable. */
export const away = signal<string | null>(null);
/** The program's last message after the box has ended for good; null: it is running. */
export const farewell = signal<string | null>(null);
const heard = signal(0);
const clock = signal(Date.now());

/** Seconds since the last line, if that is longer than usual. */
export const silence = computed(() => {
  const age = clock.value - heard.value;
  return heard.value > 0 && age > STALE ? Math.round(age / 1000) : 0;
});

export const known = (value: Value | undefined): number | null =>
  value && "value" in value ? value.value : null;

/** The part of the time that a station or a domain uses, down and up. */
export function airOf({ air_down, air_up }: Pick<Domain, "air_down" | "air_up">): number | null {
  const [down, up] = [known(air_down), known(air_up)];
  return down == null || up == null ? null : down + up;
}

/** The domain that uses the largest part of its time. */
export function busiest(domains: Domain[]): { share: number | null; name: string } {
  const all = domains.map((domain) => ({ share: airOf(domain), name: domain.name }));
  return all.reduce((most, one) => ((one.share ?? -1) > (most.share ?? -1) ? one : most), { share: null, name: "" });
}

function pointOf(at: Line): Point {
  const { mode, down_mbps, up_mbps, wait_p95_ms } = at.totals;
  const { share } = busiest(at.domains);
  const air: Value = share == null ? { source: "unknown" } : { value: share, source: "charged" };
  const p95 = (times?: Times): Value => (times ? { value: times.p95_ms, source: "measured" } : { source: "unknown" });
  const { wlan, internet } = at.totals.latency ?? {};
  return { at: at.at, mode, down_mbps, up_mbps, wait_p95_ms, wlan_p95_ms: p95(wlan), internet_p95_ms: p95(internet), air };
}

function take(next: Line): void {
  const isAlike = (one: Line) => one.at < next.at && one.totals.mode === next.totals.mode;
  batch(() => {
    heard.value = Date.now();
    away.value = null;
    line.value = next;
    lately.value = [...lately.value.filter(isAlike), next].slice(-LATELY);
    points.value = [...points.value.filter((point) => point.at < next.at), pointOf(next)].slice(-POINTS);
  });
  if (next.events && next.events.length > 0) {
    remember(next.events);
  }
}

function remember(more: BoxEvent[]): void {
  const key = (event: BoxEvent) => `${event.at} ${event.event} ${event.text}`;
  const all = new Map([...events.value, ...more].map((event) => [key(event), event]));
  events.value = [...all.values()].sort((a, b) => a.at - b.at).slice(-EVENTS);
}

async function history(path: string): Promise<Point[]> {
  const answer = await fetch(path).catch(() => null);
  if (!answer?.ok) return [];
  return ((await answer.json()) as { history?: { points?: Point[] } }).history?.points ?? [];
}

async function recallDay(): Promise<void> {
  day.value = await history("history/day");
}

async function recall(): Promise<void> {
  const past = await history("history");
  const first = points.value[0]?.at ?? Infinity;
  points.value = [...past.filter((point) => point.at < first), ...points.value].slice(-POINTS);
}

/** Goes to the login if it is required. */
async function logInAgain(): Promise<void> {
  const answer = await fetch("history").catch(() => null);
  if (answer?.status === 401) location.assign("login");
}

/** Follows the box from now on. The browser reconnects by itself. */
export function follow(): void {
  const stream = new EventSource("events");
  let isRecalled = false;
  stream.addEventListener("line", (message) => {
    take(JSON.parse(message.data) as Line);
    if (!isRecalled) {
      isRecalled = true;
      void recall();
      void recallDay();
    }
  });
  stream.addEventListener("events", (message) => remember(JSON.parse(message.data) as BoxEvent[]));
  stream.addEventListener("away", (message) => {
    away.value = (JSON.parse(message.data) as { why: string }).why;
    isRecalled = false;
  });
  stream.addEventListener("end", (message) => {
    farewell.value = (JSON.parse(message.data) as { why: string }).why;
    away.value = null;
    stream.close();
  });
  // The browser does not reconnect after a refusal: the session has ended, or there are too many streams.
  stream.addEventListener("error", () => {
    if (stream.readyState === EventSource.CLOSED) void logInAgain();
  });
  setInterval(() => away.value == null && void recallDay(), DAY_AGAIN);
  setInterval(() => (clock.value = Date.now()), 1000);
}
