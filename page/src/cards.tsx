// The totals, each with the last ten minutes.
import { busiest, known, type Call, type Line, type Point, type Value } from "./feed";
import { ms, p95 } from "./legs";
import { number, percent, UNKNOWN } from "./words";

const WIDTH = 160;
const HEIGHT = 36;
/** Ten minutes, in seconds; a box that is younger has its charts wider. */
const SPAN = 600;
const LEAST_SPAN = 60;

/** The path of a chart: pieces of a line, with a gap where nothing is known. */
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

interface CardProps {
  title: string;
  value: string;
  unit?: string;
  note: string;
  points: Point[];
  until: number;
  pick?: (point: Point) => Value;
}

function Card({ title, value, unit, note, points, until, pick }: CardProps) {
  return (
    <section class="card value">
      <h2>{title}</h2>
      <p class={value === UNKNOWN ? "number none" : value.length > 9 ? "number long" : "number"}>
        {value}
        {value !== UNKNOWN && unit && <small> {unit}</small>}
      </p>
      <p class="quiet">{note}</p>
      {pick && <Chart points={points} pick={pick} until={until} />}
    </section>
  );
}

/** The worst of the calls that go on, by its R value. */
function worst(calls: Call[]): { r: number; mos: number } | null {
  const ways = calls.flatMap((call) => [call.down, call.up]);
  const rated = ways.flatMap((way) => (way?.r_factor != null ? [{ r: way.r_factor, mos: way.mos ?? 0 }] : []));
  return rated.length === 0 ? null : rated.reduce((least, one) => (one.r < least.r ? one : least));
}

function Calls({ calls, shared }: { calls?: Call[]; shared: Pick<CardProps, "points" | "until"> }) {
  if (!calls) return <Card title="Calls" value="unknown" note="not looked for: [manager.voice]" {...shared} />;
  const least = worst(calls);
  const refused = calls.filter((call) => call.refused).length;
  const note = least ? `MOS of the worst of ${calls.length}, R ${least.r.toFixed(0)}${refused > 0 ? `; ${refused} do not go first` : ""}` : "none goes on";
  return <Card title="Calls" value={least ? least.mos.toFixed(1) : String(calls.length)} note={note} {...shared} />;
}

function sum(a: number | null, b: number | null): Value {
  return a == null && b == null ? { source: "unknown" } : { value: (a ?? 0) + (b ?? 0), source: "measured" };
}

export function Cards({ at, points }: { at: Line; points: Point[] }) {
  const { totals } = at;
  const air = busiest(at.domains);
  const shared = { points, until: at.at };
  const { box, wlan, internet } = totals.latency ?? {};
  const together = [box, wlan].filter((times) => times != null);
  return (
    <div class="cards">
      <Card title="Wi-Fi latency, p95" value={together.length === 0 ? UNKNOWN : together.map((times) => ms(times.p95_ms)).join(" + ")} unit="ms"
        note={together.length === 2 ? "wait here + access point and air" : wlan ? "access point and air" : box ? "wait here; beyond it unknown" : "no packet was timed"}
        pick={(point) => sum(known(point.wait_p95_ms), known(point.wlan_p95_ms))} {...shared} />
      <Card title="Internet round trip, p95" value={p95(internet)} unit="ms"
        note={internet ? `half of ${internet.packets} below ${ms(internet.p50_ms)} ms` : "no packet was timed"}
        pick={(point) => point.internet_p95_ms} {...shared} />
      <Card title="Air in use" value={percent(air.share)} note={at.domains.length > 1 && air.name ? `${air.name}, the busiest` : "charged, an estimate"}
        pick={(point) => point.air} {...shared} />
      <Card title="Throughput" value={`↓ ${number(totals.down_mbps)} ↑ ${number(totals.up_mbps)}`} unit="Mb/s" note="to and from all stations"
        pick={(point) => sum(known(point.down_mbps), known(point.up_mbps))} {...shared} />
      <Card title="Stations" value={String(totals.stations)} note={totals.active == null ? "how many are active is unknown" : `${totals.active} active`} {...shared} />
      <Calls calls={at.calls} shared={shared} />
    </div>
  );
}
