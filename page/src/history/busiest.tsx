// The busiest tenth of the minutes of each day, when users notice most.
import { signal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { DAY, measure, subject, type Frame } from "./asked";
import { measureOf, shown, unitOf } from "./measures";
import { refusedBy, series, type Refused, type Series } from "./series";
import { dayOf } from "./words";

const ALWAYS = ["wlan-p95", "internet-p95", "down-mbps", "up-mbps"];
/** Retention of minutes, in seconds. */
const MINUTES = 7 * DAY;

interface Column {
  name: string;
  series: Series;
}

const columns = signal<Column[]>([]);
const failure = signal<Refused | null>(null);
let requests = 0;

async function load(frame: Frame): Promise<void> {
  const mine = ++requests;
  const names = [...new Set([...ALWAYS, measure.value])];
  const asked = { subject: subject.value, from: Math.floor(frame.from / DAY) * DAY, to: frame.to, every: DAY, busiest: true };
  try {
    const all = await Promise.all(names.map(async (name) => ({ name, series: await series({ ...asked, measure: name }) })));
    if (mine === requests) [columns.value, failure.value] = [all, null];
  } catch (error) {
    if (mine === requests) [columns.value, failure.value] = [[], refusedBy(error)];
  }
}

function Row({ day }: { day: number }) {
  return (
    <tr>
      <th scope="row">{dayOf(day, "UTC")}</th>
      {columns.value.map(({ name, series: { points } }) => {
        const value = points.find(({ at }) => at === day)?.value;
        return <td key={name} class="n">{value == null ? <span class="none">unknown</span> : shown(value * measureOf(name).scale)}</td>;
      })}
    </tr>
  );
}

export function Busiest({ frame }: { frame: Frame }) {
  useEffect(() => void load(frame), [frame]);
  const days = [...new Set(columns.value.flatMap(({ series: { points } }) => points.map(({ at }) => at)))].sort((a, b) => b - a);
  return (
    <section class="card" aria-labelledby="busiest">
      <h2 id="busiest">The busiest 10 % of the minutes of each day</h2>
      {failure.value != null ? <p class="why" role="alert">{failure.value.message}</p> : days.length === 0 ? <p class="quiet">Nothing is stored of these days.</p> : (
        <>
          <div class="scroll days" tabIndex={0} role="region" aria-label="Days">
            <table>
              <thead>
                <tr>
                  <th scope="col">Day (UTC)</th>
                  {columns.value.map(({ name }) => <th key={name} scope="col" class="n">{measureOf(name).words}{unitOf(measureOf(name)) && `,${unitOf(measureOf(name))}`}</th>)}
                </tr>
              </thead>
              <tbody>{days.map((day) => <Row key={day} day={day} />)}</tbody>
            </table>
          </div>
          <p class="quiet note">
            Minutes in which it had the most data, down and up.
            {frame.from < Date.now() / 1000 - MINUTES && " Minutes are kept for 7 days: of the days before, a tenth of the longer intervals that are kept."}
          </p>
        </>
      )}
    </section>
  );
}
