// The headline: the stations that starve, another reason, or that all is well; and the remedy.
import { away, farewell, line, silence, type Health, type Line, type Reason } from "./feed";
import { ANEW, reasonBefore } from "./change";
import { totalMeans } from "./means";
import { worded } from "./names";
import { duration, time } from "./words";

/** Maximum number of reasons listed beside the first. */
const LISTED = 4;
/** Latency in ms, in the box and behind it, up to which no station is said to wait long: far below the limits of the health. */
const LONG_WAIT_MS = 250;
/** Reasons about the sharing of the Wi-Fi. */
const ABOUT_SHARES = ["holds-the-air", "starving", "wifi-latency"];

interface Headline {
  tone: "good" | "watch" | "bad" | "off";
  title: string;
  text: string;
}

/** Name and meaning of the mode. */
function ofMode({ totals: { mode, fail_open, guard, since_s } }: Line): Headline {
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
        : { tone: "watch", title: `Bypassed${lasts}`, text: "The bridge carries the traffic and nothing is managed. Start on the box with: evenair insert" };
  }
}

/** Headline of a box with health that finds no reason. */
function outcome(at: Line): string {
  const { box, wlan } = totalMeans.value;
  if (at.totals.active === 0 || at.totals.stations === 0) return "No station is active";
  if (box == null && wlan == null) return "Nothing wrong is known";
  const waits = (box ?? 0) + (wlan ?? 0) <= LONG_WAIT_MS ? " or waits long" : "";
  const first = at.totals.mode === "inserted" ? reasonBefore(at) : null;
  return first && ABOUT_SHARES.includes(first.code) ? `No station starves${waits} any more` : `No station starves${waits}`;
}

/** No reason, or not yet: after a change of mode the first seconds are inconclusive. */
function unharmed(at: Line): Headline {
  const state = ofMode(at);
  const { mode, since_s } = at.totals;
  if (!at.health || (mode !== "inserted" && mode !== "observing")) return state;
  const first = reasonBefore(at);
  if (since_s != null && since_s < ANEW) {
    const was = first ? `Before: ${worded(first.sentence, first)}. ` : "";
    const anew = first ? "judged anew" : "being judged";
    return { tone: "off", title: `${state.title}: the Wi-Fi is ${anew}`, text: `${was}The first ${ANEW} seconds say nothing yet.` };
  }
  return { ...state, title: outcome(at), text: `${state.title}. ${state.text}` };
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
  const health = wrong(at);
  const first = health?.reasons[0];
  if (!health || !first) return unharmed(at);
  const state = ofMode(at);
  const tone = health.level === "bad" || state.tone === "bad" ? "bad" : "watch";
  return { tone, title: worded(first.sentence, first), text: `What to do: ${worded(first.remedy, first)}. ${state.title}.` };
}

/** Present reasons of the box; nothing while its numbers are old. */
function wrong(at: Line | null): Health | null {
  const isOld = away.value != null || silence.value > 0 || farewell.value != null;
  return at?.health && at.health.reasons.length > 0 && !isOld ? at.health : null;
}

/** A text with its commands set as code. */
function Text({ of }: { of: string }) {
  const parts = of.split(/(evenair(?: (?:insert|observe|bypass|doctor|top|telemetry|history --events))|journalctl -u evenair)/);
  return <>{parts.map((part, at) => (at % 2 === 1 ? <code key={at}>{part}</code> : part))}</>;
}

const capital = (text: string): string => (text.startsWith("evenair ") ? text : text.charAt(0).toUpperCase() + text.slice(1));

export function Head({ at }: { at: Line | null }) {
  const { tone, title, text } = headline(at);
  return (
    <section class={`head ${tone}`} aria-live="polite">
      <span class="mark" aria-hidden="true">{tone === "good" ? "✓" : tone === "off" ? "…" : "!"}</span>
      <div>
        <h1>{title}</h1>
        <p><Text of={text} /></p>
      </div>
    </section>
  );
}

function Other({ reason, first }: { reason: Reason; first: Reason }) {
  const remedy = reason.remedy === first.remedy ? "" : ` ${capital(worded(reason.remedy, reason))}.`;
  return (
    <li class={reason.level}>
      <strong>{worded(reason.sentence, reason)}</strong>
      <span class="quiet">Since {time(reason.since_s)}.<Text of={remedy} /></span>
    </li>
  );
}

/** The other reasons. */
export function Reasons() {
  const [first, ...others] = wrong(line.value)?.reasons ?? [];
  if (!first || others.length === 0) return null;
  const more = others.length - LISTED;
  return (
    <section class="card" aria-labelledby="reasons">
      <h2 id="reasons">Also</h2>
      <ul class="reasons">
        {others.slice(0, LISTED).map((reason) => <Other key={`${reason.code} ${reason.subject.id}`} reason={reason} first={first} />)}
      </ul>
      {more > 0 && <p class="quiet note">And {more} more: <code>evenair status --all</code>, on the box.</p>}
    </section>
  );
}
