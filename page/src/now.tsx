// The page "Now", beside the history and the audit log: mode, holders of the air, access points, and events.
import { AccessPoints } from "./access-points";
import { Air } from "./air";
import { Audit } from "./audit";
import { Cards } from "./cards";
import { Change } from "./change";
import { Commands } from "./commands";
import { Day } from "./day";
import { events, line, points, type BoxEvent } from "./feed";
import { Head, Reasons } from "./head";
import { may, me } from "./me";
import { hidden } from "./names";
import { History } from "./history/history";
import { TITLES, view } from "./view";
import { duration, time } from "./words";

/** Mark of an event. */
function toneOf({ event, text }: BoxEvent): string {
  if (event !== "health") return "info";
  return text.startsWith("raised") ? "watch" : text.startsWith("cleared") ? "good" : "info";
}

function Events() {
  const latest = [...events.value].reverse();
  return (
    <section class="card" aria-labelledby="events">
      <h2 id="events">Events</h2>
      {latest.length === 0 ? <p class="quiet">Nothing has happened since the box started.</p> : (
        <ol class="events">
          {latest.slice(0, 12).map((event) => (
            <li key={`${event.at} ${event.text}`} class={toneOf(event)}>
              <time dateTime={new Date(event.at * 1000).toISOString()}>{time(event.at)}</time>
              <span>{hidden.value && event.event === "health" ? "A reason was raised or cleared." : event.text}</span>
            </li>
          ))}
        </ol>
      )}
    </section>
  );
}

/** The account, and the logout. */
function Account() {
  if (me.value?.by !== "account") return null;
  return (
    <form method="post" action="logout">
      <span class="quiet">{me.value.who}, {me.value.role}</span>
      <a href="password">Change password</a>
      <button>Log out</button>
    </form>
  );
}

function Header() {
  return (
    <header>
      <img src="icon.svg" alt="" width="24" height="24" />
      <strong>Evenair</strong>
      <nav aria-label="Views">
        {(["now", "history"] as const).map((to) => <a key={to} href={`#${to}`} aria-current={view.value === to ? "page" : undefined}>{TITLES[to]}</a>)}
      </nav>
      <div class="tools">
        {may("admin") && (
          <button type="button" aria-pressed={view.value === "audit"} onClick={() => (location.hash = view.value === "audit" ? "#now" : "#audit")}>Audit log</button>
        )}
        <button type="button" aria-pressed={hidden.value} onClick={() => (hidden.value = !hidden.value)}>Hide names</button>
        <Account />
      </div>
    </header>
  );
}

export function Now() {
  const at = line.value;
  if (view.value !== "now") return <><Header /><main>{view.value === "audit" ? <Audit /> : <History />}</main></>;
  return (
    <>
      <Header />
      <main>
        <Head at={at} />
        {at && <Commands at={at} />}
        <Reasons />
        {at && <Change at={at} />}
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
        {at ? `Numbers of ${time(at.at)}; loads, air and latencies are means of the last ten seconds. The box has run for ${duration(at.uptime_s)}.` : "No numbers yet."}
      </footer>
    </>
  );
}
