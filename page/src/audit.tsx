// The audit log, for admins: logins and changes, with their accounts.
import { signal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { hidden } from "./names";

interface Entry {
  at: number;
  by: "account" | "token" | "shell" | "anonymous";
  who: string;
  role?: string;
  from?: string;
  what: string;
  values: Record<string, unknown>;
  result: string;
  left_out?: number;
}

interface Page {
  items: Entry[];
  next?: string;
}

const entries = signal<Entry[]>([]);
/** Cursor of the next page; null: there is none. */
const next = signal<string | null>(null);
const failure = signal<string | null>(null);

async function load(cursor: string | null): Promise<void> {
  const answer = await fetch(`api/v1/audit?limit=50${cursor ? `&cursor=${cursor}` : ""}`).catch(() => null);
  if (!answer?.ok) {
    failure.value = `The audit log cannot be read (status ${answer?.status ?? "none"}).`;
    return;
  }
  const page = (await answer.json()) as Page;
  failure.value = null;
  entries.value = cursor ? [...entries.value, ...page.items] : page.items;
  next.value = page.next ?? null;
}

function whoOf({ by, who, role }: Entry): string {
  const name = by === "anonymous" ? "anonymous" : who === "" ? "no account" : by === "token" ? `token ${who}` : by === "shell" ? `${who}, in a shell` : who;
  return role ? `${name} (${role})` : name;
}

function Row({ entry }: { entry: Entry }) {
  // The entries may have names and addresses of stations.
  const values = hidden.value ? [] : Object.entries(entry.values).filter(([, value]) => value != null);
  const time = new Date(entry.at * 1000);
  return (
    <tr>
      <td><time dateTime={time.toISOString()}>{time.toLocaleString()}</time></td>
      <th scope="row">{whoOf(entry)} <small class="quiet">{entry.from ?? "this machine"}</small></th>
      <td class="text">{entry.what.replace("/api/v1", "")} <span class="quiet">{values.map(([key, value]) => `${key}: ${typeof value === "string" ? value : JSON.stringify(value)}`).join(", ")}</span></td>
      <td class="text">{entry.result}{entry.left_out ? ` (${entry.left_out} failures before it are left out)` : ""}</td>
    </tr>
  );
}

export function Audit() {
  useEffect(() => void load(null), []);
  return (
    <section class="card" aria-labelledby="audit">
      <h1 id="audit">Audit log <small class="quiet">the newest line first</small></h1>
      {failure.value != null && <p class="why" role="alert">{failure.value}</p>}
      <div class="scroll" tabIndex={0} role="region" aria-label="Lines of the audit log">
        <table>
          <thead>
            <tr>
              <th scope="col">When</th>
              <th scope="col">Who, from where</th>
              <th scope="col">What</th>
              <th scope="col">Result</th>
            </tr>
          </thead>
          <tbody>{entries.value.map((entry, at) => <Row key={at} entry={entry} />)}</tbody>
        </table>
      </div>
      {next.value != null && <p><button type="button" onClick={() => void load(next.value)}>Older</button></p>}
    </section>
  );
}
