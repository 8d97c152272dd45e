// Means of the last ten seconds: values of single seconds vary much, and the box's sentences state the same means.
import { computed } from "@preact/signals";
import { known, lately, type Latency, type LossCounts, type Losses, type StationCounts, type Times, type Value } from "./feed";

/** Objects with means: stations, access points, contention domains and, without its air, the whole box. */
interface Measured {
  down_mbps: Value;
  up_mbps: Value;
  air_down?: Value;
  air_up?: Value;
  latency?: Latency;
  losses?: Losses;
  counted?: StationCounts;
}

export interface Mean {
  down_mbps: Value;
  up_mbps: Value;
  air_down: Value;
  air_up: Value;
  /** p95 in ms, the seconds weighted by their packets; undefined: none was timed. */
  box?: number;
  wlan?: number;
  internet?: number;
  /** Sums, not means. */
  losses: Losses;
  /** Sums; undefined: unknown in all seconds. */
  counted?: StationCounts;
}

/** The mean of the known values. */
function meanOf(values: (Value | undefined)[]): Value {
  let [sum, count] = [0, 0];
  let last: Value = { source: "unknown" };
  for (const value of values) {
    const at = known(value);
    if (at == null || value == null) continue;
    [sum, count, last] = [sum + at, count + 1, value];
  }
  return "value" in last ? { value: sum / count, source: last.source } : last;
}

function p95Of(times: (Times | undefined)[]): number | undefined {
  let [sum, packets] = [0, 0];
  for (const one of times) {
    if (one) [sum, packets] = [sum + one.p95_ms * one.packets, packets + one.packets];
  }
  return packets > 0 ? sum / packets : undefined;
}

function lossesOf(all: (Losses | undefined)[]): Losses {
  const none = (): LossCounts => ({ data: 0, here: 0, wlan: 0, wire: 0 });
  const sum = { down: none(), up: none() };
  for (const losses of all) {
    for (const way of ["down", "up"] as const) {
      const counts = losses?.[way];
      if (!counts) continue;
      for (const key of ["data", "here", "wlan", "wire"] as const) sum[way][key] += counts[key];
    }
  }
  return sum;
}

function countedOf(all: (StationCounts | undefined)[]): StationCounts | undefined {
  const seen = all.filter((counts) => counts != null);
  const sum: StationCounts = {};
  for (const counts of seen) {
    for (const [key, count] of Object.entries(counts)) sum[key] = (sum[key] ?? 0) + count;
  }
  return seen.length > 0 ? sum : undefined;
}

function fold(seconds: Measured[]): Mean {
  return {
    down_mbps: meanOf(seconds.map((one) => one.down_mbps)),
    up_mbps: meanOf(seconds.map((one) => one.up_mbps)),
    air_down: meanOf(seconds.map((one) => one.air_down)),
    air_up: meanOf(seconds.map((one) => one.air_up)),
    box: p95Of(seconds.map((one) => one.latency?.box)),
    wlan: p95Of(seconds.map((one) => one.latency?.wlan)),
    internet: p95Of(seconds.map((one) => one.latency?.internet)),
    losses: lossesOf(seconds.map((one) => one.losses)),
    counted: countedOf(seconds.map((one) => one.counted)),
  };
}

function byKey<T extends Measured>(all: (T[] | undefined)[], keyOf: (one: T) => string): Map<string, Mean> {
  const seconds = new Map<string, T[]>();
  for (const one of all.flatMap((of) => of ?? [])) {
    const key = keyOf(one);
    const list = seconds.get(key);
    if (list) list.push(one);
    else seconds.set(key, [one]);
  }
  return new Map([...seconds].map(([key, list]) => [key, fold(list)]));
}

const NONE = fold([]);

/** Means by MAC address. */
export const stationMeans = computed(() => byKey(lately.value.map((one) => one.stations), (one) => one.mac));
/** Means by name. */
export const domainMeans = computed(() => byKey(lately.value.map((one) => one.domains), (one) => one.name));
export const pointMeans = computed(() => byKey(lately.value.map((one) => one.access_points), (one) => one.name));
export const totalMeans = computed(() => fold(lately.value.map((one) => one.totals)));

export const meanIn = (means: Map<string, Mean>, key: string): Mean => means.get(key) ?? NONE;
