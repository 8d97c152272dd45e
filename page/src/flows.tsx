// The flows of the station whose details are shown, requested from the box meanwhile.
import { useEffect, useState } from "preact/hooks";
import { ms } from "./legs";
import { hidden } from "./names";
import { UNKNOWN } from "./words";

/** Time between two requests, in milliseconds. */
const PERIOD = 2000;
/** Maximum number of flows in the list: those with the highest rates. */
const SHOWN = 8;

/** A flow as the API has it; IP-level bytes since the box first saw it. */
interface Flow {
  low: string;
  high: string;
  vlan?: number | null;
  released_bytes: number;
  from_wlan_bytes: number;
  wlan_rtt_ms?: number | null;
  backlog_packets: number;
}

/** An answer of the API, and its time of arrival in milliseconds. */
interface Answer {
  at: number;
  flows: Flow[];
  total: number;
}

/** The last two answers, or why there is none. */
interface Known {
  before?: Answer;
  now?: Answer;
  why?: string;
}

async function ask(mac: string): Promise<Answer | string> {
  const answer = await fetch(`api/v1/stations/${mac}/flows?limit=1000`).catch(() => null);
  if (!answer) return "the program of the page does not answer";
  const body = (await answer.json().catch(() => ({}))) as { items?: Flow[]; total?: number; detail?: string };
  if (!answer.ok || !body.items) return body.detail ?? `the program of the page answers with status ${answer.status}`;
  return { at: performance.now(), flows: body.items, total: body.total ?? body.items.length };
}

const idOf = ({ low, high, vlan }: Flow) => `${low} ${high} ${vlan ?? ""}`;

interface Rated {
  flow: Flow;
  /** Mb/s between the last two answers; absent if the flow was not in the previous one. */
  down?: number;
  up?: number;
}

function rated({ before, now }: Known): Rated[] {
  const was = new Map(before?.flows.map((flow) => [idOf(flow), flow]));
  const span = before && now ? now.at - before.at : 0;
  const all = (now?.flows ?? []).map((flow): Rated => {
    const then = was.get(idOf(flow));
    if (!then || span <= 0) return { flow };
    const mbps = (bytes: number, bytesThen: number) => (Math.max(0, bytes - bytesThen) * 8) / span / 1000;
    return { flow, down: mbps(flow.released_bytes, then.released_bytes), up: mbps(flow.from_wlan_bytes, then.from_wlan_bytes) };
  });
  const sum = ({ down, up }: Rated) => (down ?? 0) + (up ?? 0);
  const bytes = ({ flow }: Rated) => flow.released_bytes + flow.from_wlan_bytes;
  return all.sort((a, b) => sum(b) - sum(a) || bytes(b) - bytes(a));
}

const rate = (mbps: number | undefined) => (mbps == null ? UNKNOWN : mbps.toFixed(mbps >= 100 ? 0 : 1));

export function Flows({ mac }: { mac: string }) {
  const [known, setKnown] = useState<Known>({});
  useEffect(() => {
    let isOver = false;
    let timer: ReturnType<typeof setTimeout>;
    const again = async () => {
      const now = await ask(mac);
      if (isOver) return;
      setKnown((last) => (typeof now === "string" ? { why: now } : { before: last.now, now }));
      timer = setTimeout(again, PERIOD);
    };
    void again();
    return () => {
      isOver = true;
      clearTimeout(timer);
    };
  }, [mac]);
  if (hidden.value) return <p class="quiet">Flows are hidden: they have addresses.</p>;
  if (known.why) return <p class="quiet">Flows are {UNKNOWN}: {known.why}.</p>;
  if (!known.now) return <p class="quiet">The box is asked for the flows.</p>;
  const { total } = known.now;
  if (total === 0) return <p class="quiet">No flow has been seen lately.</p>;
  return (
    <table class="flows">
      <caption>{total === 1 ? "1 flow" : total > SHOWN ? `The ${SHOWN} fastest of ${total} flows` : `${total} flows, the fastest first`}</caption>
      <thead>
        <tr>
          <th scope="col">Ends</th>
          <th scope="col" class="n">↓ Mb/s</th>
          <th scope="col" class="n">↑ Mb/s</th>
          <th scope="col" class="n far" title="Round trip between the box and the station, smoothed">Wi-Fi RTT ms</th>
          <th scope="col" class="n far" title="Packets in the box now">Waiting</th>
        </tr>
      </thead>
      <tbody>
        {rated(known).slice(0, SHOWN).map(({ flow, down, up }) => (
          <tr key={idOf(flow)}>
            <td class="text">{flow.low} – {flow.high}{flow.vlan == null ? "" : `, VLAN ${flow.vlan}`}</td>
            <td class="n">{rate(down)}</td>
            <td class="n">{rate(up)}</td>
            <td class="n far">{ms(flow.wlan_rtt_ms ?? undefined)}</td>
            <td class="n far">{flow.backlog_packets}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
