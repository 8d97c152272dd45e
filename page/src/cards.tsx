// The totals, each with the last ten minutes.
import { busiest, known, type Call, type Line, type Point, type Value } from "./feed";
import { ms } from "./legs";
import { domainMeans, meanIn, totalMeans } from "./means";
import { number, percent, UNKNOWN } from "./words";

const WIDTH = 160;
const HEIGHT = 36;
/** Part of the air above which it is busy. */
const BUSY = 0.8;
/** Ten minutes, in seconds; charts of a younger box are stretched. */
const SPAN = 600;
const LEAST_SPAN = 60;

/** The path of a chart: pieces of a line, with gaps for unknown values. */
export function pathOf(points: Point[], pick: (point: Point) => Value, until: number): string {
  const values = points.map((point) => ({ at: point.at, value: known(pick(point)) }));
  const span = Math.min(SPAN, Math.max(LEAST_SPAN, until - (points[0]?.at ?? until)));
  const most = Math.max(1e-9, ...values.map(({ value }) => value ?? 0));
  let path = "";
  let before: number | null = null;
  for (const { at, value } of values) {
    const age = until - at;
    if (value == null || age > span) {
      before = null;
      continue;
    }
    const x = (WIDTH * (1 - age / span)).toFixed(1);
    const y = (HEIGHT - 2 - (HEIGHT - 4) * (value / most)).toFixed(1);
    path += `${before != null && at - before < 2.5 ? "L" : "M"}${x} ${y}`;
    before = at;
  }
  return path;
}

function Chart({ points, pick, until }: { points: Point[]; pick: (point: Point) => Value; until: number }) {
  return (
    <svg class="chart" viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" aria-hidden="true">
      <path d={pathOf(points, pick, until)} />
    </svg>
  );
}

/** A value with its unit and its label. */
interface Part {
  value: string;
  unit?: string;
  of?: string;
}

interface CardProps {
  title: string;
  /** One value, or several that do not add up. */
  parts: Part[];
  note?: string;
  points: Point[];
  until: number;
  pick?: (point: Point) => Value;
}

function Card({ title, parts, note, points, until, pick }: CardProps) {
  return (
    <section class="card value">
      <h2>{title}</h2>
      {parts.map(({ value, unit, of }) => (
        <p key={of} class={value === UNKNOWN ? "number none" : parts.length > 1 ? "number part" : "number"}>
          {value}
          {value !== UNKNOWN && unit && <small> {unit}</small>}
          {parts.length > 1 && <small class="quiet"> {of}</small>}
        </p>
      ))}
      {note && <p class="quiet">{note}</p>}
      {pick && <Chart points={points} pick={pick} until={until} />}
    </section>
  );
}

/** The worst call in progress, by its R value. */
function worst(calls: Call[]): { r: number; mos: number } | null {
  const ways = calls.flatMap((call) => [call.down, call.up]);
  const rated = ways.flatMap((way) => (way?.r_factor != null ? [{ r: way.r_factor, mos: way.mos ?? 0 }] : []));
  return rated.length === 0 ? null : rated.reduce((least, one) => (one.r < least.r ? one : least));
}

function Calls({ calls, shared }: { calls?: Call[]; shared: Pick<CardProps, "points" | "until"> }) {
  if (!calls) return <Card title="Calls" parts={[{ value: UNKNOWN }]} note="not looked for: [manager.voice]" {...shared} />;
  const least = worst(calls);
  const refused = calls.filter((call) => call.refused).length;
  const note = least ? `MOS of the worst of ${calls.length}, R ${least.r.toFixed(0)}${refused > 0 ? `; ${refused} do not go first` : ""}` : "none goes on";
  return <Card title="Calls" parts={[{ value: least ? least.mos.toFixed(1) : String(calls.length) }]} note={note} {...shared} />;
}

function sum(a: number | null, b: number | null): Value {
  return a == null && b == null ? { source: "unknown" } : { value: (a ?? 0) + (b ?? 0), source: "measured" };
}

/** Wait in the box, and latency behind it: their p95s do not add up. */
function legsOf(box: number | undefined, wlan: number | undefined): Part[] {
  const known = [{ at: box, of: "in the box" }, { at: wlan, of: "on the Wi-Fi" }].filter(({ at }) => at != null);
  return known.length === 0 ? [{ value: UNKNOWN }] : known.map(({ at, of }) => ({ value: ms(at), unit: "ms", of }));
}

/** The busiest domain, and whether that is a fault: a busy medium that is shared is none. */
function AirCard({ at, shared }: { at: Line; shared: Pick<CardProps, "points" | "until"> }) {
  const air = busiest(at.domains.map((domain) => ({ ...domain, ...meanIn(domainMeans.value, domain.name) })));
  const name = at.domains.length > 1 && air.name ? `${air.name}, the busiest: ` : "";
  const isBusy = air.share != null && air.share > BUSY;
  const state = !isBusy ? "an estimate" : at.totals.mode === "inserted" ? "busy, shared by the box" : "busy, not shared";
  return <Card title="Air in use" parts={[{ value: percent(air.share == null ? air.share : Math.min(air.share, 1)) }]} note={`${name}${state}`} pick={(point) => point.air} {...shared} />;
}

export function Cards({ at, points }: { at: Line; points: Point[] }) {
  const { totals } = at;
  const { box, wlan, internet, down_mbps, up_mbps } = totalMeans.value;
  const shared = { points, until: at.at };
  const half = totals.latency?.internet?.p50_ms;
  return (
    <div class="cards">
      <Card title="Wi-Fi latency, p95" parts={legsOf(box, wlan)} note={box != null && wlan != null ? undefined : wlan != null ? "access point and air" : box != null ? "in the box; beyond it unknown" : "no packet was timed"}
        pick={(point) => sum(known(point.wait_p95_ms), known(point.wlan_p95_ms))} {...shared} />
      <Card title="Internet round trip, p95" parts={[{ value: ms(internet), unit: "ms" }]}
        note={internet == null ? "no packet was timed" : half != null ? `half take up to ${ms(half)} ms` : undefined}
        pick={(point) => point.internet_p95_ms} {...shared} />
      <AirCard at={at} shared={shared} />
      <Card title="Throughput" parts={[{ value: number(down_mbps), unit: "Mb/s", of: "down" }, { value: number(up_mbps), unit: "Mb/s", of: "up" }]}
        pick={(point) => sum(known(point.down_mbps), known(point.up_mbps))} {...shared} />
      <Card title="Stations" parts={[{ value: String(totals.stations) }]} note={totals.active == null ? "how many are active is unknown" : `${totals.active} active`} {...shared} />
      <Calls calls={at.calls} shared={shared} />
    </div>
  );
}
