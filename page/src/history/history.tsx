// The page "History": any measures over any time, before and after an event, and the busiest minutes of each day.
import { signal, useSignalEffect } from "@preact/signals";
import { Field } from "./field";
import { measure, OWN, ownFrom, ownTo, second, span, SPANS, frameOf, subject, subjects, subjectWords, type Frame } from "./asked";
import { Busiest } from "./busiest";
import { Compare } from "./compare";
import { MEASURES, measureOf, shown, unitOf, type Measure } from "./measures";
import { columnsOf, MARKS, Plot } from "./plot";
import { eventsOf, Refused, refusedBy, series, type Series, type Stored } from "./series";
import { lengthOf, moment } from "./words";

interface Found {
  frame: Frame;
  charts: { measure: Measure; series: Series }[];
  events: Stored[];
  marks: Stored[];
}

/** Null: no answer yet, or a failure. */
const found = signal<Found | null>(null);
const failure = signal<Refused | null>(null);
let requests = 0;
const TONES = ["--wlan", "--up"];

async function load(): Promise<void> {
  const mine = ++requests;
  const frame = frameOf();
  if (!frame) {
    [found.value, failure.value] = [null, new Refused("From and To need a day and a time each.")];
    return;
  }
  const names = [measure.value, ...(second.value && second.value !== measure.value ? [second.value] : [])];
  const ask = async (name: string) => ({ measure: measureOf(name), series: await series({ ...frame, measure: name, subject: subject.value }) });
  try {
    const [charts, events] = await Promise.all([Promise.all(names.map(ask)), eventsOf(frame.from, frame.to)]);
    if (mine === requests) [found.value, failure.value] = [{ frame, charts, events, marks: events.slice(-MARKS) }, null];
  } catch (error) {
    if (mine === requests) [found.value, failure.value] = [null, refusedBy(error)];
  }
}

function Measures({ id, of, label, isOptional }: { id: string; of: typeof measure; label: string; isOptional?: boolean }) {
  const groups = [...new Set(MEASURES.map(({ group }) => group))];
  return (
    <Field id={id} label={label}><select id={id} value={of.value} onChange={(at) => (of.value = at.currentTarget.value)}>
      {isOptional && <option value="">none</option>}
      {groups.map((group) => (
        <optgroup key={group} label={group}>
          {MEASURES.filter((one) => one.group === group).map(({ name, words }) => <option key={name} value={name}>{words}</option>)}
        </optgroup>
      ))}
    </select></Field>
  );
}

function Subjects() {
  return (
    <Field id="of" label="Of"><select id="of" value={subject.value} onChange={(at) => (subject.value = at.currentTarget.value)}>
      <option value="box">the whole site</option>
      {subjects.value.map(({ kind, all }) => (
        <optgroup key={kind} label={kind}>{all.map(({ value, words }) => <option key={value} value={value}>{words}</option>)}</optgroup>
      ))}
    </select></Field>
  );
}

function Controls() {
  return (
    <form class="controls" onSubmit={(at) => (at.preventDefault(), void load())}>
      <Measures id="measure" of={measure} label="Measure" />
      <Measures id="second" of={second} label="Second measure" isOptional />
      <Subjects />
      <Field id="time" label="Time"><select id="time" value={span.value} onChange={(at) => (span.value = at.currentTarget.value)}>
        {SPANS.map(({ name, words }) => <option key={name} value={name}>last {words}</option>)}
        <option value={OWN}>from … to</option>
      </select></Field>
      {span.value === OWN && (
        <>
          <Field id="from" label="From"><input id="from" type="datetime-local" required value={ownFrom.value} onChange={(at) => (ownFrom.value = at.currentTarget.value)} /></Field>
          <Field id="to" label="To"><input id="to" type="datetime-local" required value={ownTo.value} onChange={(at) => (ownTo.value = at.currentTarget.value)} /></Field>
        </>
      )}
      <button>Reload</button>
    </form>
  );
}

/** The range of a chart as text, for users who cannot see it. */
function summaryOf({ frame, charts }: Found, { measure, series }: Found["charts"][number]): string {
  const values = series.points.map(({ value }) => value * measure.scale);
  const [times] = columnsOf(charts[0]?.series ?? series, frame, 1);
  const range = values.length === 0 ? "nothing is known" : `from ${shown(Math.min(...values))} to ${shown(Math.max(...values))}${unitOf(measure)}`;
  return `${measure.words} of ${subjectWords.value}, ${moment(frame.from)} to ${moment(frame.to)}: ${range}; known in ${values.length} of ${times.length} steps`;
}

function Numbers({ of }: { of: Found }) {
  const times = [...new Set(of.charts.flatMap(({ series }) => series.points.map(({ at }) => at)))].sort((a, b) => b - a);
  const valueAt = (at: number, points: Series["points"]) => points.find((point) => point.at === at)?.value;
  return (
    <details>
      <summary>The numbers, as a table</summary>
      <div class="scroll days" tabIndex={0} role="region" aria-label="The numbers">
        <table>
          <thead>
            <tr>
              <th scope="col">From</th>
              {of.charts.map(({ measure }) => <th key={measure.name} scope="col" class="n">{measure.words}{unitOf(measure) && `,${unitOf(measure)}`}</th>)}
            </tr>
          </thead>
          <tbody>
            {times.map((at) => (
              <tr key={at}>
                <th scope="row"><time dateTime={new Date(at * 1000).toISOString()}>{moment(at)}</time></th>
                {of.charts.map(({ measure, series }) => {
                  const value = valueAt(at, series.points);
                  return <td key={measure.name} class="n">{value == null ? <span class="none">unknown</span> : shown(value * measure.scale)}</td>;
                })}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </details>
  );
}

/** Notes on a chart. */
function notesOf({ frame, charts, events, marks }: Found): string[] {
  const begins = charts[0]?.series.begins;
  const notes = [`Each point is of ${lengthOf(frame.every)}; where nothing is known the line has a gap.`];
  if (charts.some(({ measure }) => measure.unit === "ms")) notes.push("Latencies are known to a tenth of their value.");
  if (begins != null && begins > frame.from) notes.push(`The history begins ${moment(begins)}.`);
  if (events.length > marks.length) notes.push(`Marked are the last ${marks.length} of ${events.length} events.`);
  else if (events.length > 0) notes.push("Dashed lines are events.");
  return notes;
}

function Charts({ of }: { of: Found }) {
  return (
    <>
      {of.charts.map((chart, number) => (
        <div key={chart.measure.name}>
          <Plot measure={chart.measure} series={chart.series} frame={of.frame} marks={of.marks} tone={TONES[number] ?? "--text"} label={summaryOf(of, chart)} />
          {chart.series.points.length === 0 && <p>{empty(chart.measure)}</p>}
        </div>
      ))}
      <p class="quiet note">{notesOf(of).join(" ")}</p>
      <Numbers of={of} />
    </>
  );
}

/** Why a chart has no line. */
function empty({ words, isOfSite }: Measure): string {
  if (isOfSite && subject.value !== "box") return `${words}: it is known of the whole site alone.`;
  return `${words}: nothing is stored of ${subjectWords.value} in this time.`;
}

function wordsOf({ message, isMissing }: Refused): string {
  if (isMissing) return `Nothing is stored of ${subjectWords.value}: it begins with the first minute that has traffic.`;
  return /no history yet/.test(message) ? `${message} Minutes are stored as they end: look again in two minutes.` : message;
}

export function History() {
  useSignalEffect(() => void load());
  return (
    <>
      <section class="card" aria-labelledby="history">
        <h1 id="history">History</h1>
        <Controls />
        {failure.value != null && <p class="why" role="alert">{wordsOf(failure.value)}</p>}
        {found.value && <Charts of={found.value} />}
        {found.value == null && failure.value == null && <p class="quiet">Reading …</p>}
      </section>
      {found.value && <Compare events={found.value.events} />}
      {found.value && <Busiest frame={found.value.frame} />}
    </>
  );
}
