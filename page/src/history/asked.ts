// Selection on the page "History": measures, subject, and time.
import { computed, signal } from "@preact/signals";
import { line } from "../feed";
import { hidden, nameOf } from "../names";

const MINUTE = 60;
const HOUR = 60 * MINUTE;
export const DAY = 24 * HOUR;

export const SPANS = [
  { name: "1h", words: "hour", length: HOUR },
  { name: "24h", words: "24 hours", length: DAY },
  { name: "7d", words: "7 days", length: 7 * DAY },
  { name: "30d", words: "30 days", length: 30 * DAY },
  { name: "90d", words: "90 days", length: 90 * DAY },
] as const;
export const OWN = "own";

export const measure = signal("wlan-p95");
/** Second measure beside the first; empty: none. */
export const second = signal("");
/** The subject, in the notation of requests. */
export const subject = signal("box");
export const span = signal<string>("24h");

/** A time in the notation of `datetime-local`. */
export function local(at: number): string {
  const shifted = at - new Date(at * 1000).getTimezoneOffset() * MINUTE;
  return new Date(shifted * 1000).toISOString().slice(0, 16);
}

const now = () => Math.floor(Date.now() / 1000);

/** Begin and end of a custom span, as in their fields. */
export const ownFrom = signal(local(now() - DAY));
export const ownTo = signal(local(now()));

export interface Frame {
  from: number;
  to: number;
  /** Length of a step in seconds. */
  every: number;
}

/** Maximum number of steps of a chart. */
const MOST_STEPS = 400;
const STEPS = [MINUTE, 5 * MINUTE, 15 * MINUTE, 30 * MINUTE, HOUR, 2 * HOUR, 6 * HOUR, DAY, 7 * DAY, 30 * DAY];

/** The shortest step for which the history has rows of a time that begins this long ago. */
function shortestStep(age: number, isStation: boolean): number {
  if (age <= 7 * DAY + HOUR) return MINUTE;
  return isStation || age > 90 * DAY + HOUR ? HOUR : 15 * MINUTE;
}

/** The selected time, and its steps; null: a custom span is incomplete. */
export function frameOf(): Frame | null {
  const known = SPANS.find(({ name }) => name === span.value);
  const end = now();
  const [from, to] = known ? [end - known.length, end] : [ownFrom.value, ownTo.value].map((text) => Math.floor(Date.parse(text) / 1000));
  if (from == null || to == null || !Number.isFinite(from) || !Number.isFinite(to)) return null;
  const least = Math.max((to - from) / MOST_STEPS, shortestStep(end - from, subject.value.startsWith("station:")));
  return { from, to, every: STEPS.find((step) => step >= least) ?? (STEPS.at(-1) as number) };
}

export interface Choice {
  value: string;
  words: string;
}

/** Possible subjects of a history: those that the box names now, by kind. */
export const subjects = computed<{ kind: string; all: Choice[] }[]>(() => {
  const at = line.value;
  const named = (kind: string, all?: { name: string }[]) => (all ?? []).map(({ name }) => ({ value: `${kind}:${name}`, words: name }));
  const stations = (at?.stations ?? []).map((station) => ({ value: `station:${station.mac}`, words: nameOf(station) }));
  const groups = [
    { kind: "Access points", all: named("access-point", at?.access_points) },
    { kind: "Contention domains", all: named("domain", at?.domains) },
    { kind: "Policy classes", all: named("class", at?.classes) },
    { kind: "Stations", all: stations },
  ];
  const isListed = groups.some(({ all }) => all.some(({ value }) => value === subject.value));
  if (!isListed && subject.value !== "box") {
    groups.push({ kind: "Not seen now", all: [{ value: subject.value, words: hidden.value ? "a station" : subject.value.replace(/^[\w-]+:/, "") }] });
  }
  for (const { all } of groups) all.sort((a, b) => a.words.localeCompare(b.words, undefined, { numeric: true }));
  return groups.filter(({ all }) => all.length > 0);
});

/** The subject as text. */
export const subjectWords = computed(() => {
  const all = subjects.value.flatMap(({ all }) => all);
  return all.find(({ value }) => value === subject.value)?.words ?? "the whole site";
});
