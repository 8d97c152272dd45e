// The last day: latency on a scale of powers of ten, the air in use below it, and the events.
import { day, events, known, points, type BoxEvent, type Point, type Value } from "./feed";
import { clockTime } from "./words";

/** Text keeps its size on a phone. */
const WIDTH = globalThis.innerWidth < 560 ? 330 : 700;
/** Left of the charts, for the scales. */
const MARGIN = 44;
const LATENCY = { top: 8, height: 100 };
const AIR = { top: 122, height: 44 };
const HEIGHT = 168;
const DAY = 86_400;
/** Shortest span, in seconds: a box that has just started has its chart wider. */
const LEAST = 600;
/** 1 ms to 10 s. */
const DECADES = [1, 10, 100, 1_000, 10_000];
/** Events that have a mark, the last ones. */
const MARKS = 5;
/** A wider step between two points is a gap, in steps. */
const GAP = 2.5;

const height = (value: number) => {
  const part = Math.log10(Math.max(1, Math.min(10_000, value))) / (DECADES.length - 1);
  return LATENCY.top + LATENCY.height * (1 - part);
};

interface Frame {
  from: number;
  until: number;
  step: number;
}

/** Pieces of a line where the value is known. */
function pathOf(all: Point[], frame: Frame, pick: (point: Point) => Value, y: (value: number) => number): string {
  let path = "";
  let before: number | null = null;
  for (const point of all) {
    const value = known(pick(point));
    if (value == null || point.at < frame.from) {
      before = null;
      continue;
    }
    const x = (WIDTH * (point.at - frame.from)) / (frame.until - frame.from);
    path += `${before != null && point.at - before < GAP * frame.step ? "L" : "M"}${x.toFixed(1)} ${y(value).toFixed(1)}`;
    before = point.at;
  }
  return path;
}

function Marks({ marked, frame }: { marked: BoxEvent[]; frame: Frame }) {
  return (
    <>
      {marked.map((event, at) => {
        const x = (WIDTH * (event.at - frame.from)) / (frame.until - frame.from);
        return (
          <g key={`${event.at} ${event.text}`} class="event">
            <line x1={x} x2={x} y1={LATENCY.top} y2={HEIGHT} />
            <text x={Math.min(WIDTH - 6, Math.max(6, x))} y={LATENCY.top + 2}>{at + 1}</text>
          </g>
        );
      })}
    </>
  );
}

function Chart({ all, frame, marked }: { all: Point[]; frame: Frame; marked: BoxEvent[] }) {
  const air = (value: number) => AIR.top + AIR.height * (1 - Math.min(1, value));
  return (
    <svg class="day" viewBox={`${-MARGIN} 0 ${WIDTH + MARGIN + 4} ${HEIGHT + 16}`} role="img"
      aria-label="Wi-Fi and Internet latency and the air in use over the time">
      {DECADES.map((ms) => (
        <g key={ms} class="grid">
          <line x1="0" x2={WIDTH} y1={height(ms)} y2={height(ms)} />
          <text x="-6" y={height(ms) + 4}>{ms >= 1_000 ? `${ms / 1_000} s` : `${ms} ms`}</text>
        </g>
      ))}
      {[0, 1].map((part) => (
        <g key={part} class="grid">
          <line x1="0" x2={WIDTH} y1={air(part)} y2={air(part)} />
          <text x="-6" y={air(part) + 4}>{part * 100} %</text>
        </g>
      ))}
      <path class="air" d={pathOf(all, frame, (point) => point.air, air)} />
      <path class="internet" d={pathOf(all, frame, (point) => point.internet_p95_ms, height)} />
      <path class="wlan" d={pathOf(all, frame, (point) => point.wlan_p95_ms, height)} />
      <path class="wait" d={pathOf(all, frame, (point) => point.wait_p95_ms, height)} />
      <Marks marked={marked} frame={frame} />
      {[0, 0.25, 0.5, 0.75].map((part) => (
        <text key={part} class="at" x={WIDTH * part} y={HEIGHT + 13}>{clockTime(frame.from + part * (frame.until - frame.from))}</text>
      ))}
    </svg>
  );
}

/** Minutes of the day, or seconds where the box has run for less than ten minutes. */
export function Day() {
  const isYoung = day.value.length < 10;
  const all = isYoung ? points.value : day.value;
  const until = points.value.at(-1)?.at ?? all.at(-1)?.at;
  if (until == null || all.length < 2) return null;
  const from = Math.max(until - DAY, Math.min(all[0]?.at ?? until, until - LEAST));
  const frame = { from, until, step: isYoung ? 1 : 60 };
  const marked = events.value.filter((event) => event.at >= from && event.at <= until).slice(-MARKS);
  return (
    <section class="card" aria-labelledby="day">
      <h2 id="day">{isYoung ? "Last ten minutes" : "Last 24 hours"}</h2>
      <p class="quiet legend">
        <span class="key wlan">Access point and air, p95</span>
        <span class="key wait">wait in the box, p95</span>
        <span class="key internet">Internet round trip, p95</span>
        <span class="key air">air in use, of the busiest channel</span>
      </p>
      <Chart all={all} frame={frame} marked={marked} />
      {marked.length > 0 && (
        <p class="quiet note">{marked.map((event, at) => `${at + 1}: ${clockTime(event.at)} ${event.text}`).join(" · ")}</p>
      )}
    </section>
  );
}
