// The measures of the stored history: names, and notation of their numbers.

export interface Measure {
  /** Name in requests. */
  name: string;
  words: string;
  group: string;
  unit: string;
  /** Factor from the API's unit to this one. */
  scale: number;
  /** Only for the whole site. */
  isOfSite?: boolean;
}

const measure = (group: string, unit: string, scale = 1, more: Partial<Measure> = {}) =>
  (name: string, words: string): Measure => ({ name, words, group, unit, scale, ...more });

const rate = measure("Traffic", "Mb/s");
const bytes = measure("Traffic", "MB", 1e-6);
const part = measure("Wi-Fi", "%", 100);
const count = measure("Wi-Fi", "");
const lost = measure("Packets lost", "");
const health = measure("Health", "min", 1 / 60, { isOfSite: true });

function leg(name: string, words: string): Measure[] {
  const of = measure(words, "ms");
  return [[95, "p95"], [50, "median"], [99, "p99"]].map(([number, word]) => of(`${name}-p${number}`, `${words}, ${word}`));
}

export const MEASURES: Measure[] = [
  ...leg("wlan", "Wi-Fi latency"),
  ...leg("box", "Wait in the box"),
  ...leg("internet", "Internet round trip"),
  ...leg("internet-queue", "Wait for the Internet link"),
  rate("down-mbps", "Throughput down"), rate("up-mbps", "Throughput up"), bytes("down-bytes", "Data down"), bytes("up-bytes", "Data up"),
  part("air", "Air in use"), count("active", "Active stations"),
  lost("box-lost", "Dropped in the box"), lost("wlan-lost", "Lost on the Wi-Fi"), lost("wire-lost", "Lost beyond the wire port"),
  health("good-s", "Time in which nothing was wrong"), health("watch-s", "Time with something to watch"), health("bad-s", "Time with something bad"),
];

const byName = new Map(MEASURES.map((one) => [one.name, one]));

/** The measure of this name, or the first one if there is none. */
export const measureOf = (name: string): Measure => byName.get(name) ?? (MEASURES[0] as Measure);

/** A number in the unit of its measure, without the unit. */
export function shown(value: number): string {
  const size = Math.abs(value);
  return value.toFixed(size === 0 || size >= 100 ? 0 : size >= 1 ? 1 : 2);
}

export const unitOf = ({ unit }: Measure): string => (unit === "" ? "" : ` ${unit}`);
