// The name of a station, for accounts that may change it.
import { signal } from "@preact/signals";
import { useRef } from "preact/hooks";
import type { Station } from "./feed";
import { change } from "./me";

/** Longest name, in characters. */
const LONGEST = 64;

/** Result of the last change, and its station. */
const outcome = signal({ mac: "", text: "", failed: false });

async function save(mac: string, name: string): Promise<void> {
  const path = `stations/${mac}/name`;
  const why = name === "" ? await change("DELETE", path) : await change("PUT", path, { name });
  outcome.value = why == null
    ? { mac, text: name === "" ? "The name is taken away." : "Saved.", failed: false }
    : { mac, text: `Not saved: ${why}`, failed: true };
}

export function Rename({ station: { mac, name } }: { station: Station }) {
  const field = useRef<HTMLInputElement>(null);
  const { text, failed } = outcome.value.mac === mac ? outcome.value : { text: "", failed: false };
  const submit = (event: Event) => {
    event.preventDefault();
    void save(mac, field.current?.value.trim() ?? "");
  };
  return (
    <form class="rename" onSubmit={submit}>
      <label for={`name-${mac}`}>Name</label>
      <input ref={field} id={`name-${mac}`} defaultValue={name ?? ""} maxLength={LONGEST} autocomplete="off" />
      <button>Save</button>
      <span class={failed ? "why" : "quiet"} role="status">{text || "Without one the box shows what the station says of itself."}</span>
    </form>
  );
}
