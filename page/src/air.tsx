// Holders of the air, for each contention domain: its time by downloads, uploads and unreported use, and its stations.
import { signal } from "@preact/signals";
import { airOf, known, lately, type Domain, type Line, type Station } from "./feed";
import { Flows } from "./flows";
import { countsInWords, legs, lossOf, ms, spread } from "./legs";
import { may } from "./me";
import { domainMeans, meanIn, stationMeans, type Mean } from "./means";
import { hidden, nameOf, ordered } from "./names";
import { Rename } from "./rename";
import { number, percent, source, UNKNOWN, whole } from "./words";

/** Number of stations in the list before it is unfolded. */
const SHOWN = 12;
/** Part of the air that a full bar shows, unless a station has more. */
const WHOLE_BAR = 0.5;
/** A station has little demand if it has less than this part of an equal share, and waits no longer than this. */
const LITTLE = 0.5;
const LONG_WAIT_MS = 100;

const chosen = signal<string | null>(null);
const isUnfolded = signal(false);
/** MAC address of the station whose details are shown. */
const opened = signal<string | null>(null);

function Budget({ domain }: { domain: Domain }) {
  const mean = meanIn(domainMeans.value, domain.name);
  const [down, up] = [known(mean.air_down), known(mean.air_up)];
  if (down == null || up == null) return <p class="quiet">How the air is used is unknown: the box sees no packets.</p>;
  const [downs, ups, rest] = whole([down, up, Math.max(0, 1 - down - up)]);
  const words = `Downloads ${downs} %, uploads ${ups} %, not reported ${rest} %`;
  return (
    <figure>
      <svg class="budget" viewBox="0 0 100 6" preserveAspectRatio="none" role="img" aria-label={words}>
        <rect class="rest" width="100" height="6" />
        <rect class="down" width={down * 100} height="6" />
        <rect class="up" x={down * 100} width={up * 100} height="6" />
      </svg>
      <figcaption>
        <span class="key down">Downloads <b>{downs} %</b></span>
        <span class="key up">Uploads <b>{ups} %</b></span>
        <span class="key rest">Not reported (idle, other networks) <b>{rest} %</b></span>
      </figcaption>
    </figure>
  );
}

/** Data of a row of the table. */
interface Entry {
  station: Station;
  mean: Mean;
  air: number | null;
}

/** An equal share of the air in use for a station of weight 1, and the stations with little demand, which do not take part in it. */
interface Shares {
  equal: number | null;
  busy: number;
  little: Set<string>;
}

function sharesOf(entries: Entry[]): Shares {
  const active = entries.filter(({ station, air }) => station.active !== false && air != null);
  const little = new Set<string>();
  for (;;) {
    const busy = active.filter(({ station }) => !little.has(station.mac));
    const weights = busy.reduce((sum, { station }) => sum + station.weight, 0);
    const equal = weights > 0 ? busy.reduce((sum, { air }) => sum + (air ?? 0), 0) / weights : null;
    const less = busy.filter(({ station, mean, air }) =>
      equal != null && (air ?? 0) < LITTLE * equal * station.weight && (mean.wlan ?? mean.box ?? 0) <= LONG_WAIT_MS);
    if (equal == null || less.length === 0) return { equal, busy: busy.length, little };
    less.forEach(({ station }) => little.add(station.mac));
  }
}

interface Tag {
  tone: string;
  text: string;
}

/** Health of stations, by MAC address. */
function tagsOf(at: Line): Map<string, Tag> {
  const tags = new Map<string, Tag>();
  for (const { code, subject, with: others, suffering } of at.health?.reasons ?? []) {
    const add = (ids: string[], tag: Tag) => ids.filter((id) => !tags.has(id)).forEach((id) => tags.set(id, tag));
    if (code === "starving") tags.set(subject.id, { tone: "bad", text: "starves" });
    if (code !== "holds-the-air") continue;
    add([subject, ...(others ?? [])].map(({ id }) => id), { tone: "watch", text: "holds the air" });
    add((suffering ?? []).map(({ id }) => id), { tone: "bad", text: "waits long" });
  }
  return tags;
}

/** A station's part of the air; the tick is its equal share. */
function Share({ entry: { station, mean }, scale, equal }: { entry: Entry; scale: number; equal: number | null }) {
  const [down, up] = [known(mean.air_down) ?? 0, known(mean.air_up) ?? 0];
  const part = 100 / scale;
  return (
    <svg class="share" viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true">
      <rect class="rest" width="100" height="8" />
      <rect class="down" width={down * part} height="8" />
      <rect class="up" x={down * part} width={up * part} height="8" />
      {equal != null && <rect class="tick" x={Math.min(99.4, equal * station.weight * part)} width="0.6" height="8" />}
    </svg>
  );
}

/** PHY rate with its mode and source. */
function rateOf({ rate_mbps, mode }: Station): string {
  if (known(rate_mbps) == null) return UNKNOWN;
  return `${number(rate_mbps)} Mb/s${mode ? ` ${mode}` : ""}, ${source(rate_mbps)}`;
}

/** All details of a station. */
function Details({ station, mean, columns }: { station: Station; mean: Mean; columns: number }) {
  const { box, wlan, internet_queue, internet } = station.latency ?? {};
  const rows: [string, string][] = [
    ["Wait in the box", spread(box)],
    ["Access point and air, and back", spread(wlan)],
    ["Wait for the Internet link", internet_queue ? spread(internet_queue) : "none"],
    ["Beyond the wire port, and back", spread(internet)],
    ["Lost toward it, 10 s", legs(mean.losses.down)],
    ["Lost from it, 10 s", legs(mean.losses.up)],
    ["Packets in the box, 10 s", countsInWords(mean.counted)],
    ["Waiting in the box now", `${station.held} packets`],
    ["Rate", rateOf(station)],
    ["Access point", station.access_point ?? `${UNKNOWN}, of ${station.domain}`],
    ["MAC address", hidden.value ? "hidden" : station.mac],
  ];
  return (
    <tr class="details">
      <td colSpan={columns}>
        {may("operate") && !hidden.value && <Rename station={station} />}
        <dl>
          {rows.map(([key, text]) => (
            <div key={key}>
              <dt>{key}</dt>
              <dd>{text}</dd>
            </div>
          ))}
        </dl>
        <Flows mac={station.mac} />
      </td>
    </tr>
  );
}

/** Columns that only some tables have. */
interface Columns {
  box: boolean;
  rate: boolean;
  signal: boolean;
}

interface RowProps {
  entry: Entry;
  scale: number;
  shares: Shares;
  tag: Tag | undefined;
  columns: Columns;
}

const NOT_TIMED = "no TCP packet was timed in the last ten seconds";

function Time({ value }: { value: number | undefined }) {
  return <td class="n" title={value == null ? NOT_TIMED : undefined}>{value == null ? <span class="none">{UNKNOWN}</span> : ms(value)}</td>;
}

function Row({ entry, scale, shares, tag, columns }: RowProps) {
  const { station, mean, air } = entry;
  const isOpen = opened.value === station.mac;
  const isIdle = station.active === false;
  const said = tag ?? (isIdle ? { tone: "", text: "idle" } : shares.little.has(station.mac) ? { tone: "", text: "asks for little" } : null);
  const loss = lossOf(mean.losses);
  return (
    <>
      <tr class={isIdle ? "idle" : ""}>
        <th scope="row" title={hidden.value ? undefined : station.mac}>
          <button type="button" class="name" aria-expanded={isOpen} onClick={() => (opened.value = isOpen ? null : station.mac)}>
            {nameOf(station)}
          </button>
          {station.random_mac && !hidden.value && (
            <span class="random" title="A private MAC address that the station made up: it may change">
              <span aria-hidden="true">*</span><span class="unseen">, random address</span>
            </span>
          )}
          {said && <span class={`tag ${said.tone}`}>{said.text}</span>}
        </th>
        <td class="wide"><Share entry={entry} scale={scale} equal={shares.equal} /></td>
        <td class="n strong">{percent(air)}</td>
        <td class="n">{number(mean.down_mbps)}</td>
        <td class="n">{number(mean.up_mbps)}</td>
        {columns.box && <Time value={mean.box} />}
        <Time value={mean.wlan} />
        <td class="n far" title={loss == null ? NOT_TIMED : undefined}>{loss == null ? <span class="none">{UNKNOWN}</span> : percent(loss)}</td>
        {columns.rate && (
          <td class="n far" title={`${station.mode ?? ""} ${source(station.rate_mbps)}`.trim()}>{number(station.rate_mbps)}</td>
        )}
        {columns.signal && <td class="n far">{number(station.signal_dbm, 0)}</td>}
      </tr>
      {isOpen && <Details station={station} mean={mean} columns={7 + Object.values(columns).filter(Boolean).length} />}
    </>
  );
}

interface StationsProps {
  entries: Entry[];
  shares: Shares;
  scale: number;
  tags: Map<string, Tag>;
}

function Stations({ entries, shares, scale, tags }: StationsProps) {
  const list = isUnfolded.value ? entries : entries.slice(0, SHOWN);
  const columns = {
    box: entries.some(({ mean }) => mean.box != null),
    rate: entries.some(({ station }) => known(station.rate_mbps) != null),
    signal: entries.some(({ station }) => known(station.signal_dbm) != null),
  };
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
            {columns.box && <th scope="col" class="n" title="95 of 100 packets waited no longer in the box">In box ms</th>}
            <th scope="col" class="n" title="95 of 100 packets took no longer from the box over access point and air to the station and back">Wi-Fi ms</th>
            <th scope="col" class="n far">Loss</th>
            {columns.rate && <th scope="col" class="n far">PHY Mb/s</th>}
            {columns.signal && <th scope="col" class="n far">dBm</th>}
          </tr>
        </thead>
        <tbody>
          {list.map((entry) => (
            <Row key={entry.station.mac} entry={entry} scale={scale} shares={shares} tag={tags.get(entry.station.mac)} columns={columns} />
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** Legend of the bars and marks. */
function Legend({ entries, shares, scale }: Omit<StationsProps, "tags">) {
  const { equal, busy, little } = shares;
  const share = equal == null ? "No station is active." : busy === 1 ? "One station alone is busy."
    : `${percent(equal)}, an equal share of the air in use for each of the ${busy} busy stations${little.size > 0 ? "; those that ask for little do not count" : ""}.`;
  const isRandom = !hidden.value && entries.some(({ station }) => station.random_mac);
  const isUntimed = entries.some(({ mean }) => mean.wlan == null);
  return (
    <p class="quiet note">
      <span class="tick" aria-hidden="true" /> {share} A whole bar is {percent(scale)} of the air, which the box charges: an estimate.
      {isUntimed && " Latency and loss are unknown where no TCP packet was timed."}
      {isRandom && " * A private MAC address that the station made up."}
    </p>
  );
}

export function Air({ at }: { at: Line }) {
  const domain = at.domains.find((one) => one.name === chosen.value) ?? at.domains[0];
  if (!domain) return null;
  const entries = ordered.value.filter((station) => station.domain === domain.name).map((station): Entry => {
    const mean = meanIn(stationMeans.value, station.mac);
    return { station, mean, air: airOf(mean) };
  });
  const shares = sharesOf(entries);
  const scale = entries.some(({ air }) => (air ?? 0) > WHOLE_BAR) ? 1 : WHOLE_BAR;
  return (
    <section class="card" aria-labelledby="air">
      <h2 id="air">Who holds the air <small class="quiet">mean of the last {lately.value.length} s</small></h2>
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
      {entries.length === 0 ? <p class="quiet">No station has been seen yet.</p> : (
        <Stations entries={entries} shares={shares} scale={scale} tags={tagsOf(at)} />
      )}
      {entries.length > SHOWN && (
        <button type="button" aria-expanded={isUnfolded.value} onClick={() => (isUnfolded.value = !isUnfolded.value)}>
          {isUnfolded.value ? "Show fewer" : `Show all ${entries.length}`}
        </button>
      )}
      {entries.some(({ air }) => air != null) && <Legend entries={entries} shares={shares} scale={scale} />}
    </section>
  );
}
