// A chart of one measure over time, by uPlot: gaps for unknown values, and marks for events.
import { signal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import type { Frame } from "./asked";
import { shown, unitOf, type Measure } from "./measures";
import type { Series, Stored } from "./series";
import { dayOf, moment } from "./words";
import { clockTime } from "../words";

const HEIGHT = 220;
/** Width left of the chart for the scale: the same in all charts, so that their times are aligned. */
const SCALE = 58;
/** Maximum number of marks, of the latest events. */
export const MARKS = 30;
/** Step of the time scale in seconds from which on it shows only days. */
const DAYS = 86_400;
const colour = (name: string): string => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

/** The time under the pointer, in all charts. */
export const pointed = signal<number | null>(null);

type Column = (number | null)[];

/** A point for each step of the time: null for unknown values. */
export function columnsOf(series: Series, frame: Frame, scale: number): [number[], Column] {
  const values = new Map(series.points.map(({ at, value }) => [at, value * scale]));
  const times: number[] = [];
  for (let at = Math.floor(frame.from / frame.every) * frame.every; at < frame.to; at += frame.every) times.push(at);
  return [times, times.map((at) => values.get(at) ?? null)];
}

/** Isolated points between two gaps, which form no line. */
function alone(plot: uPlot): number[] {
  const column = plot.data[1] as Column;
  return [...column.keys()].filter((at) => column[at] != null && column[at - 1] == null && column[at + 1] == null);
}

function drawMarks(plot: uPlot, marks: Stored[]): void {
  const { ctx, bbox } = plot;
  const ratio = devicePixelRatio;
  ctx.save();
  ctx.strokeStyle = colour("--quiet");
  ctx.lineWidth = ratio;
  ctx.setLineDash([3 * ratio, 3 * ratio]);
  for (const { at } of marks) {
    const x = plot.valToPos(at, "x", true);
    ctx.beginPath();
    ctx.moveTo(x, bbox.top);
    ctx.lineTo(x, bbox.top + bbox.height);
    ctx.stroke();
  }
  ctx.restore();
}

function timesOf(_: uPlot, splits: number[], __: number, ___: number, step: number): string[] {
  let before = "";
  return splits.map((at) => {
    const day = dayOf(at);
    const text = step >= DAYS ? day : day === before ? clockTime(at) : `${clockTime(at)}\n${day}`;
    before = day;
    return text;
  });
}

interface PlotProps {
  measure: Measure;
  series: Series;
  frame: Frame;
  marks: Stored[];
  /** Style of its line: the name of a colour. */
  tone: string;
  label: string;
}

function options({ measure, frame, marks, tone }: PlotProps, width: number): uPlot.Options {
  const axis = { stroke: () => colour("--quiet"), font: "12px system-ui, sans-serif", ticks: { show: false } };
  const grid = { stroke: () => colour("--line"), width: 1 };
  return {
    width,
    height: HEIGHT,
    legend: { show: false },
    cursor: { drag: { x: false, y: false }, sync: { key: "history" }, y: false },
    scales: { x: { time: true, range: () => [frame.from, frame.to] }, y: { range: (_, __, most) => [0, most > 0 ? most * 1.08 : 1] } },
    axes: [
      { ...axis, grid: { show: false }, values: timesOf, space: 64, size: 42 },
      { ...axis, grid, size: SCALE, values: (_, splits) => splits.map((at) => `${Number(at.toPrecision(6))}${measure.unit === "%" ? " %" : ""}`) },
    ],
    series: [{}, {
      stroke: () => colour(tone), width: 1.5, spanGaps: false,
      points: { show: true, filter: (plot) => alone(plot), size: 5, fill: () => colour(tone) },
    }],
    hooks: {
      drawAxes: [(plot) => drawMarks(plot, marks)],
      setCursor: [({ cursor, data }) => (pointed.value = cursor.idx == null ? null : (data[0][cursor.idx] ?? null))],
    },
  };
}

/** Values under the pointer. */
function Readout({ measure, series, frame }: Pick<PlotProps, "measure" | "series" | "frame">) {
  const at = pointed.value;
  const point = at == null ? undefined : series.points.find((point) => point.at === at);
  if (at == null || at < frame.from - frame.every) return <span class="quiet" aria-hidden="true">&nbsp;</span>;
  return <span class="quiet" aria-hidden="true">{moment(at)}: {point ? `${shown(point.value * measure.scale)}${unitOf(measure)}` : "unknown"}</span>;
}

export function Plot(props: PlotProps) {
  const { measure, series, frame, label } = props;
  const place = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const element = place.current;
    if (!element) return;
    const plot = new uPlot(options(props, element.clientWidth), columnsOf(series, frame, measure.scale), element);
    const watcher = new ResizeObserver(() => plot.setSize({ width: element.clientWidth, height: HEIGHT }));
    watcher.observe(element);
    const scheme = matchMedia("(prefers-color-scheme: dark)");
    const redraw = () => plot.redraw(false, true);
    scheme.addEventListener("change", redraw);
    return () => {
      watcher.disconnect();
      scheme.removeEventListener("change", redraw);
      plot.destroy();
    };
  }, [series, frame, props.marks]);
  return (
    <>
      <p class="readout"><strong>{measure.words}</strong>{measure.unit !== "" && <span class="quiet">{measure.unit}</span>}<Readout measure={measure} series={series} frame={frame} /></p>
      <div class="plot" ref={place} role="img" aria-label={label} />
    </>
  );
}
