// Names of stations, their order, and how they are hidden for screenshots.
import { computed, signal } from "@preact/signals";
import { airOf, line, type Reason, type Station, type Subject } from "./feed";
import { meanIn, stationMeans } from "./means";

/** Hides names and addresses for screenshots. */
export const hidden = signal(false);

/** The stations, those with the most air first. */
export const ordered = computed(() => {
  const airs = new Map((line.value?.stations ?? []).map((station) => [station.mac, airOf(meanIn(stationMeans.value, station.mac)) ?? -1]));
  return [...(line.value?.stations ?? [])].sort((a, b) => (airs.get(b.mac) ?? 0) - (airs.get(a.mac) ?? 0));
});

/** Numbers that replace names. */
const places = computed(() => new Map(ordered.value.map((station, at) => [station.mac, `station ${at + 1}`])));

const numbered = (mac: string): string => places.value.get(mac) ?? "a station";

export function nameOf(station: Pick<Station, "mac" | "name">): string {
  return hidden.value ? numbered(station.mac) : (station.name ?? station.mac);
}

export const nameOfSubject = ({ id, name }: Subject): string => (hidden.value ? numbered(id) : name);

/** A text of a reason, without the names of its stations if names are hidden. */
export function worded(text: string, { subject, with: others, suffering }: Reason): string {
  if (!hidden.value) return text;
  const stations = [subject, ...(others ?? []), ...(suffering ?? [])].filter(({ kind, id }) => kind === "station" && id !== "");
  const replaced = stations.flatMap(({ id, name }) => [[name, numbered(id)], [id, numbered(id)]] as const).filter(([from]) => from !== "");
  // The longest first: a name may be part of another one.
  const names = replaced.sort(([a], [b]) => b.length - a.length);
  if (names.length === 0) return text;
  const pattern = names.map(([from]) => from.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")).join("|");
  const to = new Map(names);
  return text.replace(new RegExp(`(?<![\\w-])(?:${pattern})(?![\\w-])`, "g"), (from) => to.get(from) ?? "a station");
}
