// The totals, each with the last ten minutes.
import { busiest, known, type Line, type Point, type Value } from "./feed";
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
      <p class={value === UNKNOWN ? "number none" : "number"}>
        {value}
        {value !== UNKNOWN && unit && <small> {unit}</small>}
      </p>
      <p class="quiet">{note}</p>
      {pick && <Chart points={points} pick={pick} until={until} />}
    </section>
  );
}

export function Cards({ at, points }: { at: Line; points: Point[] }) {
  const { totals } = at;
  const air = busiest(at.domains);
  const shared = { points, until: at.at };
  return (
    <div class="cards">
      <Card title="Wait in the box, p95" value={number(totals.wait_p95_ms)} unit="ms" note={`${totals.held} packets wait`}
        pick={(point) => point.wait_p95_ms} {...shared} />
      <Card title="Air in use" value={percent(air.share)} note={at.domains.length > 1 && air.name ? `${air.name}, the busiest` : "charged, an estimate"}
        pick={(point) => point.air} {...shared} />
      <Card title="Downloads" value={number(totals.down_mbps)} unit="Mb/s" note="to all stations" pick={(point) => point.down_mbps} {...shared} />
      <Card title="Uploads" value={number(totals.up_mbps)} unit="Mb/s" note="from all stations" pick={(point) => point.up_mbps} {...shared} />
      <Card title="Stations" value={String(totals.stations)} note={totals.active == null ? "how many are active is unknown" : `${totals.active} active`} {...shared} />
    </div>
  );
}
