// The last day, or the time since the start: latency on a scale of powers of ten, the air in use below it, and the events.
import { signal } from "@preact/signals";
import { day, events, known, line, points, type BoxEvent, type Point, type Value } from "./feed";
import { clockTime, duration, time } from "./words";

/** Width of the drawing in its units: smaller on a phone, so that text keeps its size. */
const widthNow = () => (globalThis.innerWidth < 560 ? 330 : 700);
const width = signal(widthNow());
addEventListener("resize", () => (width.value = widthNow()));
/** Width left of the charts for the scales. */
const MARGIN = 44;
const LATENCY = { top: 34, height: 104 };
const AIR = { top: 170, height: 44 };
const HEIGHT = AIR.top + AIR.height;
const DAY = 86_400;
/** Seconds of minutes needed for a chart; before that it shows seconds. */
const YOUNG = 600;
/** Minimum span, in seconds. */
const LEAST = 10;
/** 1 ms to 10 s. */
const DECADES = [1, 10, 100, 1_000, 10_000];
/** Maximum number of marks, of the latest events; events closer than this part of the width share a mark. */
const MARKS = 6;
const CLOSE = 0.05;
/** Steps between two points above which there is a gap. */
const GAP = 2.5;

const height = (value: number) => {
  const part = Math.log10(Math.max(1, Math.min(10_000, value))) / (DECADES.length - 1);
  return LATENCY.top + LATENCY.height * (1 - part);
};
const airHeight = (value: number) => AIR.top + AIR.height * (1 - Math.min(1, value));

interface Frame {
  from: number;
  until: number;
  step: number;
}

const xOf = (at: number, { from, until }: Frame) => (width.value * (at - from)) / (until - from);

/** Pieces of a line with known values. */
function pathOf(all: Point[], frame: Frame, pick: (point: Point) => Value, y: (value: number) => number): string {
  let path = "";
  let before: number | null = null;
  for (const point of all) {
    const value = known(pick(point));
    if (value == null || point.at < frame.from) {
      before = null;
      continue;
    }
    path += `${before != null && point.at - before < GAP * frame.step ? "L" : "M"}${xOf(point.at, frame).toFixed(1)} ${y(value).toFixed(1)}`;
    before = point.at;
  }
  return path;
}

/** Groups of events that are close to each other. */
interface Mark {
  at: number;
  events: BoxEvent[];
}

function marksOf(all: BoxEvent[], frame: Frame): Mark[] {
  const close = CLOSE * (frame.until - frame.from);
  const marks: Mark[] = [];
  for (const event of all.filter(({ at }) => at >= frame.from && at <= frame.until)) {
    const last = marks.at(-1);
    if (last && event.at - last.at < close) last.events.push(event);
    else marks.push({ at: event.at, events: [event] });
  }
  return marks.slice(-MARKS);
}

/** An event in a word or two; the list of events has its full text. */
function short({ event, text }: BoxEvent): string {
  const [, what, code] = /^(raised|cleared): ([\w-]+)/.exec(text) ?? [];
  if (what && code) return `${code} ${what}`;
  return event === "health" ? (text.split(":")[0] ?? text) : event;
}

function Marks({ marks, frame }: { marks: Mark[]; frame: Frame }) {
  return (
    <>
      {marks.map(({ at }, number) => {
        const x = Math.min(width.value - 7, Math.max(7, xOf(at, frame)));
        return (
          <g key={at} class="event">
            <line x1={x} x2={x} y1={LATENCY.top - 6} y2={HEIGHT} />
            <circle cx={x} cy={LATENCY.top - 13} r="7" />
            <text x={x} y={LATENCY.top - 9.5}>{number + 1}</text>
          </g>
        );
      })}
    </>
  );
}

function Scales({ frame }: { frame: Frame }) {
  const clock = frame.until - frame.from < YOUNG ? time : clockTime;
  const parts = width.value < 560 ? [0, 0.5] : [0, 0.25, 0.5, 0.75];
  return (
    <>
      <text class="what" x={-MARGIN} y={10}>Latency, 95 of 100 packets, logarithmic</text>
      {DECADES.map((ms) => (
        <g key={ms} class="grid">
          <line x1="0" x2={width.value} y1={height(ms)} y2={height(ms)} />
          <text x="-6" y={height(ms) + 4}>{ms >= 1_000 ? `${ms / 1_000} s` : `${ms} ms`}</text>
        </g>
      ))}
      <text class="what" x={-MARGIN} y={AIR.top - 10}>Air in use, of the busiest channel</text>
      {[0, 1].map((part) => (
        <g key={part} class="grid">
          <line x1="0" x2={width.value} y1={airHeight(part)} y2={airHeight(part)} />
          <text x="-6" y={airHeight(part) + 4}>{part * 100} %</text>
        </g>
      ))}
      {parts.map((part) => <text key={part} x={width.value * part} y={HEIGHT + 14}>{clock(frame.from + part * (frame.until - frame.from))}</text>)}
      <text class="now" x={width.value} y={HEIGHT + 14}>now</text>
    </>
  );
}

function Chart({ all, frame, marks }: { all: Point[]; frame: Frame; marks: Mark[] }) {
  return (
    <svg class="day" viewBox={`${-MARGIN} 0 ${width.value + MARGIN + 4} ${HEIGHT + 18}`} role="img"
      aria-label="Wi-Fi and Internet latency and the air in use over the time">
      <Scales frame={frame} />
      <path class="air" d={pathOf(all, frame, (point) => point.air, airHeight)} />
      <path class="internet" d={pathOf(all, frame, (point) => point.internet_p95_ms, height)} />
      <path class="wlan" d={pathOf(all, frame, (point) => point.wlan_p95_ms, height)} />
      <path class="wait" d={pathOf(all, frame, (point) => point.wait_p95_ms, height)} />
      <Marks marks={marks} frame={frame} />
    </svg>
  );
}

/** Title of the chart: the whole life of the box, if that is shorter than a day. */
function titleOf(lives: number, isYoung: boolean): string {
  if (lives < (isYoung ? YOUNG : DAY)) return `Since the start, ${duration(lives)} ago`;
  return isYoung ? "Last ten minutes" : "Last 24 hours";
}

/** Minutes of the day, or seconds if the box has run for less than ten minutes. */
export function Day() {
  const isYoung = day.value.length < YOUNG / 60;
  const all = isYoung ? points.value : day.value;
  const until = points.value.at(-1)?.at ?? all.at(-1)?.at;
  if (until == null || all.length < 2) return null;
  const lives = line.value?.uptime_s ?? DAY;
  const span = Math.max(LEAST, Math.min(lives, isYoung ? YOUNG : DAY));
  const frame = { from: until - span, until, step: isYoung ? 1 : 60 };
  const marks = marksOf(events.value, frame);
  return (
    <section class="card" aria-labelledby="day">
      <h2 id="day">{titleOf(lives, isYoung)}</h2>
      <p class="quiet legend">
        <span class="key wlan">Access point and air</span>
        <span class="key wait">wait in the box</span>
        <span class="key internet">Internet round trip</span>
        <span class="key air">air in use</span>
      </p>
      <Chart all={all} frame={frame} marks={marks} />
      {marks.length > 0 && (
        <ol class="quiet marks">
          {marks.map(({ at, events }) => <li key={at}>{time(at)} {events.map(short).join(", ")}</li>)}
        </ol>
      )}
    </section>
  );
}
