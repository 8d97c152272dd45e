// Before and after an event: the same measures over the same length of time.
import { signal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { hidden } from "../names";
import { measure, second, subject } from "./asked";
import { Field } from "./field";
import { measureOf, shown, unitOf, type Measure } from "./measures";
import { refusedBy, series, type Refused, type Series, type Stored } from "./series";
import { lengthOf, moment } from "./words";

const LENGTHS = [15 * 60, 3600, 6 * 3600, 24 * 3600];
/** Measures in addition to those of the charts. */
const ALWAYS = ["wlan-p50", "wlan-p95", "internet-p50", "internet-p95", "down-mbps", "up-mbps"];

const length = signal(3600);
/** The selected event, by its time and text; empty: the last one. */
const chosen = signal("");
const keyOf = ({ at, text }: Stored): string => `${at} ${text}`;

interface Sides {
  measure: Measure;
  before: Series;
  after: Series;
}

const sides = signal<Sides[]>([]);
const failure = signal<Refused | null>(null);
let requests = 0;

async function load(event: Stored): Promise<void> {
  const mine = ++requests;
  const names = [...new Set([measure.value, ...(second.value ? [second.value] : []), ...ALWAYS])];
  // The minute of the event belongs to neither side.
  const minute = Math.floor(event.at / 60) * 60;
  const whole = { subject: subject.value, every: "all" as const };
  const ask = async (name: string): Promise<Sides> => {
    const [before, after] = await Promise.all([
      series({ ...whole, measure: name, from: minute - length.value, to: minute }),
      series({ ...whole, measure: name, from: minute + 60, to: minute + 60 + length.value }),
    ]);
    return { measure: measureOf(name), before, after };
  };
  try {
    const all = await Promise.all(names.map(ask));
    if (mine === requests) [sides.value, failure.value] = [all, null];
  } catch (error) {
    if (mine === requests) [sides.value, failure.value] = [[], refusedBy(error)];
  }
}

/** The value of the whole time, and the number of minutes in it. */
function Side({ of, series: { points, data_s } }: { of: Measure; series: Series }) {
  const value = points[0]?.value;
  return (
    <>
      <td class="n">{value == null ? <span class="none">unknown</span> : `${shown(value * of.scale)}${unitOf(of)}`}</td>
      <td class="n quiet far">{Math.round(data_s / 60)} of {length.value / 60}</td>
    </>
  );
}

function Table() {
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label="Measures before and after">
      <table>
        <thead>
          <tr>
            <th scope="col">Measure</th>
            <th scope="col" class="n">Before</th>
            <th scope="col" class="n far">Minutes with data</th>
            <th scope="col" class="n">After</th>
            <th scope="col" class="n far">Minutes with data</th>
          </tr>
        </thead>
        <tbody>
          {sides.value.map(({ measure, before, after }) => (
            <tr key={measure.name}>
              <th scope="row">{measure.words}</th>
              <Side of={measure} series={before} />
              <Side of={measure} series={after} />
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

const eventOf = (events: Stored[]): Stored | undefined => events.find((event) => keyOf(event) === chosen.value) ?? events.at(-1);
const wordsOf = ({ at, event, text }: Stored): string => `${moment(at)}: ${hidden.value ? event : text || event}`;

/** Minimum number of minutes in a value of either side. */
function restsOn(): string {
  const least = (side: "before" | "after") => Math.min(...sides.value.map((one) => Math.round(one[side].data_s / 60)));
  const whole = length.value / 60;
  return `Each value rests on at least ${least("before")} of ${whole} minutes before the event and ${least("after")} of ${whole} after it.`;
}

export function Compare({ events }: { events: Stored[] }) {
  const event = eventOf(events);
  // Any other selection comes with other events.
  useEffect(() => void (event && load(event)), [events, event, length.value]);
  return (
    <section class="card" aria-labelledby="compare">
      <h2 id="compare">Before and after</h2>
      {!event ? <p class="quiet">Nothing has happened in this time: no start, no change of mode, no new configuration.</p> : (
        <>
          <div class="controls">
            <Field id="event" label="Event"><select id="event" value={keyOf(event)} onChange={(at) => (chosen.value = at.currentTarget.value)}>
              {[...events].reverse().map((event) => <option key={keyOf(event)} value={keyOf(event)}>{wordsOf(event)}</option>)}
            </select></Field>
            <Field id="length" label="Length"><select id="length" value={length.value} onChange={(at) => (length.value = Number(at.currentTarget.value))}>
              {LENGTHS.map((one) => <option key={one} value={one}>{lengthOf(one)}</option>)}
            </select></Field>
          </div>
          {failure.value != null ? <p class="why" role="alert">{failure.value.message}</p> : <Table />}
          {sides.value.length > 0 && <p class="quiet note">{restsOn()} The minute of the event counts for neither.</p>}
        </>
      )}
    </section>
  );
}
