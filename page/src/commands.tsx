// Insert, observe and bypass, each after a dialog that says what happens next and how to undo it.
import { signal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { away, farewell, silence, type Line } from "./feed";
import { change, may } from "./me";

interface Command {
  path: "insert" | "observe" | "bypass";
  label: string;
  /** The mode to which the command leads. */
  mode: string;
  question: string;
  next: string;
  undo: string;
  done: string;
}

const COMMANDS: Command[] = [
  {
    path: "insert", label: "Insert", mode: "inserted", question: "Insert the box?",
    next: "The box takes over the queues and shares the air among the stations. Connections go on. The Wi-Fi is judged anew for ten seconds.",
    undo: "Observe or Bypass undoes it.", done: "The box is inserted.",
  },
  {
    path: "observe", label: "Observe", mode: "observing", question: "Let the box only observe?",
    next: "The box sends what it holds; then the bridge carries the traffic and the box only measures. It does not share the air any more, so that one station can hold it again.",
    undo: "Insert undoes it.", done: "The box observes.",
  },
  {
    path: "bypass", label: "Bypass", mode: "bypassed", question: "Bypass the box?",
    next: "The box sends what it holds and steps aside; then the bridge carries the traffic. Nothing is shared, and nothing is measured: this page shows no more values.",
    undo: "Insert or Observe undoes it.", done: "The box is bypassed.",
  },
];

const asked = signal<Command | null>(null);
const isBusy = signal(false);
const failure = signal<string | null>(null);
const outcome = signal("");

function open(command: Command): void {
  failure.value = null;
  outcome.value = "";
  asked.value = command;
}

async function carryOut({ path, done }: Command): Promise<void> {
  isBusy.value = true;
  failure.value = await change("POST", path);
  isBusy.value = false;
  if (failure.value != null) return;
  outcome.value = done;
  asked.value = null;
}

function Question({ command, canBridge }: { command: Command; canBridge: boolean }) {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => dialog.current?.showModal(), []);
  const needsBridge = command.path !== "insert" && !canBridge;
  return (
    <dialog ref={dialog} aria-labelledby="question" aria-describedby="next" onClose={() => (asked.value = null)}>
      <h2 id="question">{command.question}</h2>
      <p id="next">{command.next}</p>
      <p>{command.undo}</p>
      {needsBridge && <p class="why">The bridge cannot carry the traffic now, so that the box will refuse: run <code>evenair doctor</code> on the box.</p>}
      {failure.value != null && <p class="why" role="alert">Not done: {failure.value}</p>}
      <div class="choice">
        <button type="button" onClick={() => dialog.current?.close()}>Cancel</button>
        <button type="button" class="main" disabled={isBusy.value} onClick={() => void carryOut(command)}>
          {isBusy.value ? "The box is at it …" : command.label}
        </button>
      </div>
    </dialog>
  );
}

/** The buttons, for accounts with the permission; hidden while the state of the box is unknown. */
export function Commands({ at }: { at: Line }) {
  if (!may("operate") || away.value != null || farewell.value != null || silence.value > 0) return null;
  const { mode, fail_open } = at.totals;
  return (
    <div class="commands" role="group" aria-label="Commands to the box">
      {COMMANDS.filter((command) => command.mode !== mode).map((command) => (
        <button type="button" key={command.path} disabled={mode === "draining"} onClick={() => open(command)}>{command.label} …</button>
      ))}
      <span class="quiet" role="status">{outcome.value}</span>
      {asked.value && <Question key={asked.value.path} command={asked.value} canBridge={fail_open} />}
    </div>
  );
}
