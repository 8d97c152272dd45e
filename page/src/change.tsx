// Effect of an insertion of the box, in measured numbers only: ten seconds before compared with the last ten.
import { effect, signal } from "@preact/signals";
import { airOf, known, line, points, type Line, type Point, type Reason, type Subject, type Value } from "./feed";
import { ms } from "./legs";
import { meanIn, stationMeans, totalMeans, type Mean } from "./means";
import { nameOfSubject } from "./names";
import { number, percent } from "./words";

/** Number of points, one per second, in the mean of the earlier latency. */
const BEFORE = 10;
/** Seconds after a change of mode in which the reasons about the Wi-Fi are evaluated anew. */
export const ANEW = 10;
/** Seconds of a mode in which the previous mode is of interest. */
const RECENT = 600;
/** Maximum number of compared stations. */
const MOST = 4;

/** The last seconds of the previous mode, if the page has seen them. */
interface Before {
  mode: string;
  reasons: Reason[];
  stations: Map<string, Mean>;
}

const before = signal<Before | null>(null);
let last: Before | null = null;

effect(() => {
  const at = line.value;
  if (!at) return;
  const now = { mode: at.totals.mode, reasons: at.health?.reasons ?? [], stations: stationMeans.value };
  if (last && last.mode !== now.mode) before.value = last;
  last = now;
});

/** Seconds since the mode began, while it is recent enough for a comparison. */
function isRecent({ totals }: Line): boolean {
  return totals.since_s != null && totals.since_s < RECENT;
}

/** The first reason of the previous mode, while it may be raised anew or compared. */
export function reasonBefore(at: Line): Reason | null {
  return isRecent(at) ? (before.value?.reasons[0] ?? null) : null;
}

/** Stations that starved or waited before. */
function sufferers(reasons: Reason[]): Subject[] {
  const starving = reasons.filter((reason) => reason.code === "starving").map((reason) => reason.subject);
  const all = [...starving, ...reasons.flatMap((reason) => reason.suffering ?? [])];
  return [...new Map(all.map((subject) => [subject.id, subject])).values()];
}

/** Wi-Fi latency in the last points before the present mode, p95. */
function latencyBefore(all: Point[], mode: string): number | undefined {
  const end = all.map((point) => point.mode !== mode).lastIndexOf(true);
  const points = all.slice(Math.max(0, end + 1 - BEFORE), end + 1).filter((point) => point.mode === all[end]?.mode);
  const values = points.map((point) => known(point.wlan_p95_ms)).filter((value) => value != null);
  return values.length > 0 ? values.reduce((a, b) => a + b) / values.length : undefined;
}

interface Row {
  what: string;
  change: string;
  note?: string;
}

function latencyRow(at: Line): Row[] {
  const was = latencyBefore(points.value, at.totals.mode);
  const { box, wlan } = totalMeans.value;
  if (was == null || wlan == null) return [];
  const note = box == null ? "access point and air" : `${ms(box)} in the box, ${ms(wlan)} access point and air`;
  return [{ what: "Wi-Fi latency, p95", change: `${ms(was)} → ${box == null ? "" : "about "}${ms((box ?? 0) + wlan)} ms`, note }];
}

const sum = ({ down_mbps, up_mbps }: Mean): Value => {
  const [down, up] = [known(down_mbps), known(up_mbps)];
  return down == null && up == null ? { source: "unknown" } : { value: (down ?? 0) + (up ?? 0), source: "measured" };
};

function holdersRow({ reasons, stations }: Before): Row[] {
  const holder = reasons.find((reason) => reason.code === "holds-the-air");
  if (!holder) return [];
  const all = [holder.subject, ...(holder.with ?? [])];
  const air = (means: Map<string, Mean>) => all.reduce((sum, { id }) => sum + (airOf(meanIn(means, id)) ?? 0), 0);
  return [{ what: all.map(nameOfSubject).join(" and "), change: `${percent(air(stations))} → ${percent(air(stationMeans.value))} of the air` }];
}

function suffererRows({ reasons, stations }: Before): Row[] {
  return sufferers(reasons).flatMap((subject) => {
    const [was, now] = [meanIn(stations, subject.id), meanIn(stationMeans.value, subject.id)];
    const [rateWas, rateNow] = [sum(was), sum(now)];
    if (known(rateWas) == null || known(rateNow) == null) return [];
    const what = nameOfSubject(subject);
    const rate = `${number(rateWas)} → ${number(rateNow)} Mb/s`;
    // The wait shows more: with pages, a station's throughput depends on its demand.
    if (was.wlan == null || now.wlan == null) return [{ what, change: rate }];
    const waits = `${ms(was.wlan)} → ${now.box == null ? "" : "about "}${ms(now.wlan + (now.box ?? 0))} ms`;
    return [{ what: `${what} waits`, change: waits, note: rate }];
  }).slice(0, MOST);
}

/** Only for an inserted box whose first seconds are over, and only values measured on both sides. */
export function Change({ at }: { at: Line }) {
  if (at.totals.mode !== "inserted" || !isRecent(at) || (at.totals.since_s ?? 0) < ANEW) return null;
  const rows = [...latencyRow(at), ...(before.value ? [...suffererRows(before.value), ...holdersRow(before.value)] : [])];
  if (rows.length === 0) return null;
  return (
    <section class="card" aria-labelledby="change">
      <h2 id="change">Since the insertion <small class="quiet">the ten seconds before → the last ten</small></h2>
      <dl class="change">
        {rows.map(({ what, change, note }) => (
          <div key={what + change}>
            <dt>{what}</dt>
            <dd>{change}</dd>
            {note && <dd class="quiet">{note}</dd>}
          </div>
        ))}
      </dl>
    </section>
  );
}
