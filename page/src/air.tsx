// Who holds the air, for each contention domain: its time by downloads, uploads and what nobody reports, and its stations.
import { signal } from "@preact/signals";
import { airOf, known, type Domain, type Line, type Station } from "./feed";
import { hidden } from "./now";
import { legs, lossOf, p95, recent, spread } from "./legs";
import { number, percent, source, UNKNOWN } from "./words";

/** Stations in the list before it is unfolded. */
const SHOWN = 12;

const chosen = signal<string | null>(null);
const isUnfolded = signal(false);
/** MAC address of the station whose details are shown. */
const opened = signal<string | null>(null);

function nameOf(station: Station, place: number): string {
  return hidden.value ? `station ${place}` : (station.name ?? station.mac);
}

function Budget({ domain }: { domain: Domain }) {
  const [down, up] = [known(domain.air_down), known(domain.air_up)];
  if (down == null || up == null) return <p class="quiet">How the air is used is unknown: the box sees no packets.</p>;
  const rest = Math.max(0, 1 - down - up);
  const words = `Downloads ${percent(down)}, uploads ${percent(up)}, not reported ${percent(rest)}`;
  return (
    <figure>
      <svg class="budget" viewBox="0 0 100 6" preserveAspectRatio="none" role="img" aria-label={words}>
        <rect class="rest" width="100" height="6" />
        <rect class="down" width={down * 100} height="6" />
        <rect class="up" x={down * 100} width={up * 100} height="6" />
      </svg>
      <figcaption>
        <span class="key down">Downloads <b>{percent(down)}</b></span>
        <span class="key up">Uploads <b>{percent(up)}</b></span>
        <span class="key rest">Not reported (idle, other networks) <b>{percent(rest)}</b></span>
      </figcaption>
    </figure>
  );
}

/** A station's part of the air; the tick is an equal share of the active ones. */
function Share({ station, most, equal }: { station: Station; most: number; equal: number | null }) {
  const [down, up] = [known(station.air_down) ?? 0, known(station.air_up) ?? 0];
  const scale = 100 / most;
  return (
    <svg class="share" viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true">
      <rect class="rest" width="100" height="8" />
      <rect class="down" width={down * scale} height="8" />
      <rect class="up" x={down * scale} width={up * scale} height="8" />
      {equal != null && <rect class="tick" x={Math.min(99.4, equal * scale)} width="0.6" height="8" />}
    </svg>
  );
}

const lossesOf = (station: Station) =>
  recent((line) => line.stations.find((one) => one.mac === station.mac)?.losses);

/** PHY rate with its mode and source. */
function rateOf({ rate_mbps, mode }: Station): string {
  if (known(rate_mbps) == null) return UNKNOWN;
  return `${number(rate_mbps)} Mb/s${mode ? ` ${mode}` : ""}, ${source(rate_mbps)}`;
}

/** All that is known of a station. */
function Details({ station }: { station: Station }) {
  const { box, wlan, internet_queue, internet } = station.latency ?? {};
  const losses = lossesOf(station);
  const rows: [string, string][] = [
    ["Wait in the box", spread(box)],
    ["Access point and air, and back", spread(wlan)],
    ["Wait for the Internet link", internet_queue ? spread(internet_queue) : "none"],
    ["Beyond the wire port, and back", spread(internet)],
    ["Lost toward it, 10 s", legs(losses.down)],
    ["Lost from it, 10 s", legs(losses.up)],
    ["Waiting in the box now", `${station.held} packets`],
    ["Rate", rateOf(station)],
    ["Access point", station.access_point ?? `${UNKNOWN}, of ${station.domain}`],
    ["MAC address", hidden.value ? "hidden" : station.mac],
  ];
  return (
    <tr class="details">
      <td colSpan={9}>
        <dl>
          {rows.map(([key, text]) => (
            <div key={key}>
              <dt>{key}</dt>
              <dd>{text}</dd>
            </div>
          ))}
        </dl>
      </td>
    </tr>
  );
}

interface RowProps {
  station: Station;
  place: number;
  most: number;
  equal: number | null;
}

function Row({ station, place, most, equal }: RowProps) {
  const isOpen = opened.value === station.mac;
  return (
    <>
      <tr class={station.active === false ? "idle" : ""}>
        <th scope="row" title={hidden.value ? undefined : station.mac}>
          <button type="button" class="name" aria-expanded={isOpen} onClick={() => (opened.value = isOpen ? null : station.mac)}>
            {nameOf(station, place)}
          </button>
          {station.random_mac && !hidden.value && <span class="tag" title="A private MAC address that the station made up: it may change">random address</span>}
        </th>
        <td class="wide"><Share station={station} most={most} equal={equal} /></td>
        <td class="n strong">{percent(airOf(station))}</td>
        <td class="n">{number(station.down_mbps)}</td>
        <td class="n">{number(station.up_mbps)}</td>
        <td class="n">{p95(station.latency?.wlan)}</td>
        <td class="n far">{percent(lossOf(lossesOf(station)))}</td>
        <td class="n far" title={`${station.mode ?? ""} ${source(station.rate_mbps)}`.trim()}>
          {number(station.rate_mbps)}
        </td>
        <td class="n far">{number(station.signal_dbm, 0)}</td>
      </tr>
      {isOpen && <Details station={station} />}
    </>
  );
}

function Stations({ stations, active }: { stations: Station[]; active: number | undefined }) {
  const list = isUnfolded.value ? stations : stations.slice(0, SHOWN);
  const equal = active != null && active > 0 ? 1 / active : null;
  const most = Math.max(2 * (equal ?? 0), 0.05, ...list.map((station) => airOf(station) ?? 0));
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label="Table of stations">
      <table>
        <thead>
          <tr>
            <th scope="col">Station</th>
            <th scope="col" class="wide">Air, <span class="down">down</span> and <span class="up">up</span></th>
            <th scope="col" class="n">Air</th>
            <th scope="col" class="n">↓ Mb/s</th>
            <th scope="col" class="n">↑ Mb/s</th>
            <th scope="col" class="n" title="95 of 100 packets took no longer to the station and back">Wi-Fi ms</th>
            <th scope="col" class="n far">Loss</th>
            <th scope="col" class="n far">PHY Mb/s</th>
            <th scope="col" class="n far">dBm</th>
          </tr>
        </thead>
        <tbody>
          {list.map((station, at) => <Row key={station.mac} station={station} place={at + 1} most={most} equal={equal} />)}
        </tbody>
      </table>
    </div>
  );
}

export function Air({ at }: { at: Line }) {
  const domain = at.domains.find((one) => one.name === chosen.value) ?? at.domains[0];
  if (!domain) return null;
  const stations = at.stations.filter((station) => station.domain === domain.name);
  const equal = domain.active == null ? "how many stations are active is unknown" : domain.active > 0
    ? `an equal share of the ${domain.active} active stations` : "no station is active";
  return (
    <section class="card" aria-labelledby="air">
      <h2 id="air">Who holds the air <small class="quiet">last second</small></h2>
      {at.domains.length > 1 && (
        <div class="choice" role="group" aria-label="Contention domain">
          {at.domains.map((one) => (
            <button type="button" key={one.name} aria-pressed={one.name === domain.name} onClick={() => (chosen.value = one.name)}>
              {one.name}
            </button>
          ))}
        </div>
      )}
      <Budget domain={domain} />
      {stations.length === 0 ? <p class="quiet">No station has been seen yet.</p> : <Stations stations={stations} active={domain.active} />}
      {stations.length > SHOWN && (
        <button type="button" aria-expanded={isUnfolded.value} onClick={() => (isUnfolded.value = !isUnfolded.value)}>
          {isUnfolded.value ? "Show fewer" : `Show all ${stations.length}`}
        </button>
      )}
      <p class="quiet note"><span class="tick" aria-hidden="true" /> {equal}. Air is charged by the box, an estimate.</p>
    </section>
  );
}
