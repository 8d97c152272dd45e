// The page "Now": what the box does, who holds the air, how the access points are, what has happened.
import { signal } from "@preact/signals";
import { AccessPoints } from "./access-points";
import { Air } from "./air";
import { away, events, farewell, line, points, silence, type Health, type Line, type Reason } from "./feed";
import { Cards } from "./cards";
import { Day } from "./day";
import { duration, time } from "./words";

/** For screenshots: no names and no addresses. */
export const hidden = signal(false);

interface Headline {
  tone: "good" | "watch" | "bad" | "off";
  title: string;
  text: string;
}

function headline(at: Line | null): Headline {
  if (farewell.value != null) {
    return { tone: "off", title: farewell.value, text: at ? `What is below is of ${time(at.at)}, its last second.` : "" };
  }
  if (away.value != null) {
    const since = at ? ` What is below is of ${time(at.at)}.` : "";
    return { tone: "bad", title: "No data from the box", text: `${away.value}.${since} The page tries again every second.` };
  }
  if (silence.value > 0) {
    return { tone: "bad", title: `No data for ${silence.value} s`, text: "The page reconnects by itself; what is below is old." };
  }
  if (!at) return { tone: "off", title: "Waiting for the box", text: "The first numbers come within a second." };
  const { mode, fail_open, guard, since_s } = at.totals;
  const lasts = since_s == null ? "" : ` for ${duration(since_s)}`;
  const bridge = fail_open ? "The bridge takes over if the box stops." : "The bridge cannot take over if the box stops: run evenair doctor.";
  const tone = fail_open ? "good" : "watch";
  switch (mode) {
    case "inserted":
      return { tone, title: `Inserted${lasts}`, text: `The box holds the queues and shares the air. ${bridge}` };
    case "observing":
      return { tone, title: `Observing${lasts}`, text: `Packets pass the box unheld; it only measures. ${bridge}` };
    case "draining":
      return { tone: "watch", title: "Draining", text: "The box releases what it holds, then the bridge carries the traffic." };
    default:
      return guard === "bypassed"
        ? { tone: "bad", title: `Bypassed by the guard${lasts}`, text: "The box carried less than the network did without it, and stepped aside." }
        : { tone: "watch", title: `Bypassed${lasts}`, text: "The bridge carries the traffic and nothing is managed. Start with: evenair insert." };
  }
}

/** What the box finds wrong now; nothing while its numbers are old. */
function wrong(at: Line | null): Health | null {
  const isOld = away.value != null || silence.value > 0;
  return at?.health && at.health.reasons.length > 0 && !isOld ? at.health : null;
}

/** A text about a reason, without the name of its station where names are hidden. */
function worded(text: string, { subject }: Reason): string {
  const isNamed = subject.kind === "station" && hidden.value;
  return isNamed ? [subject.name, subject.id].reduce((rest, name) => (name ? rest.split(name).join("a station") : rest), text) : text;
}

/** The first reason in the place of the headline; what the box does goes beside it. */
function judged(at: Line | null): Headline {
  const state = headline(at);
  const health = wrong(at);
  const first = health?.reasons[0];
  if (!health || !first || state.tone === "off") return state;
  const tone = health.level === "bad" || state.tone === "bad" ? "bad" : "watch";
  return { tone, title: worded(first.sentence, first), text: `What to do: ${worded(first.remedy, first)}. ${state.title}.` };
}

function Reasons({ at }: { at: Line | null }) {
  const others = wrong(at)?.reasons.slice(1) ?? [];
  if (others.length === 0) return null;
  return (
    <section class="card" aria-labelledby="reasons">
      <h2 id="reasons">Also</h2>
      <ul class="reasons">
        {others.map((reason) => (
          <li key={`${reason.code} ${reason.subject.id}`} class={reason.level}>
            <strong>{worded(reason.sentence, reason)}</strong>
            <span class="quiet">since {time(reason.since_s)}. {worded(reason.remedy, reason)}</span>
          </li>
        ))}
      </ul>
    </section>
  );
}

function Head({ at }: { at: Line | null }) {
  const { tone, title, text } = judged(at);
  return (
    <section class={`head ${tone}`} aria-live="polite">
      <span class="mark" aria-hidden="true">{tone === "good" ? "✓" : tone === "off" ? "…" : "!"}</span>
      <div>
        <h1>{title}</h1>
        <p>{text}</p>
      </div>
    </section>
  );
}

function Events() {
  const latest = [...events.value].reverse();
  return (
    <section class="card" aria-labelledby="events">
      <h2 id="events">Events</h2>
      {latest.length === 0 ? <p class="quiet">Nothing has happened since the box started.</p> : (
        <ol class="events">
          {latest.slice(0, 12).map((event) => (
            <li key={`${event.at} ${event.text}`}>
              <time dateTime={new Date(event.at * 1000).toISOString()}>{time(event.at)}</time>
              <span>{hidden.value && event.event === "health" ? "A reason was raised or cleared." : event.text}</span>
            </li>
          ))}
        </ol>
      )}
    </section>
  );
}

export function Now() {
  const at = line.value;
  return (
    <>
      <header>
        <img src="icon.svg" alt="" width="24" height="24" />
        <strong>Evenair</strong>
        <span class="quiet">Now</span>
        <button type="button" aria-pressed={hidden.value} onClick={() => (hidden.value = !hidden.value)}>
          Hide names
        </button>
      </header>
      <main>
        <Head at={at} />
        <Reasons at={at} />
        {at && (
          <>
            <Cards at={at} points={points.value} />
            <div class="columns">
              <div>
                <Air at={at} />
                <Day />
                <AccessPoints at={at} />
              </div>
              <Events />
            </div>
          </>
        )}
      </main>
      <footer class="quiet">
        {at ? `Of ${time(at.at)}. The box runs for ${duration(at.uptime_s)}.` : "No numbers yet."}
      </footer>
    </>
  );
}
