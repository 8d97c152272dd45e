// Series and events of the stored history, from the API, and the texts for missing ones.

export interface Series {
  unit: string;
  subject: string;
  every_s: number;
  begins?: number;
  data_s: number;
  points: { at: number; value: number }[];
}

export interface Stored {
  at: number;
  event: string;
  text: string;
}

interface Problem {
  detail?: string;
  errors?: { parameter: string; detail: string }[];
}

/** Why there is no answer, as text. */
export class Refused extends Error {
  /** Nothing is stored of the subject. */
  isMissing = false;
}

/** The result of a failed request, as the reason that there is no answer. */
export const refusedBy = (error: unknown): Refused => (error instanceof Refused ? error : new Refused(String(error)));

/** A text as a sentence. */
const sentence = (text: string): string => `${text.charAt(0).toUpperCase()}${text.slice(1)}${/[.?!]$/.test(text) ? "" : "."}`;

/** Names of the controls that set a parameter. */
const CONTROLS: Record<string, string> = { from: "From", to: "To", every: "Step", subject: "Of", measure: "Measure" };

const controlOf = (parameter: string): string => CONTROLS[parameter] ?? parameter;

async function get<T>(path: string): Promise<T> {
  const answer = await fetch(`api/v1/${path}`).catch(() => null);
  if (!answer) throw new Refused("The program of the page does not answer.");
  if (answer.ok) return (await answer.json()) as T;
  if (answer.status === 401) location.assign("login");
  const { errors, detail } = (await answer.json().catch(() => ({}))) as Problem;
  const all = errors?.map(({ parameter, detail }) => sentence(`${controlOf(parameter)}: ${detail.replace(/`(\w+)`/g, (_, name: string) => controlOf(name))}`)).join(" ");
  const refused = new Refused(all || (detail ? sentence(detail) : `The program of the page answers with status ${answer.status}.`));
  refused.isMissing = answer.status === 404;
  throw refused;
}

/** A time in the notation of the API. */
export const utc = (at: number): string => new Date(at * 1000).toISOString().slice(0, 19) + "Z";

export interface Asked {
  measure: string;
  subject: string;
  from: number;
  to: number;
  /** Length of a step in seconds, or one for the whole time. */
  every: number | "all";
  busiest?: boolean;
}

export function series({ measure, subject, from, to, every, busiest }: Asked): Promise<Series> {
  const length = every === "all" ? every : `${every / 60}min`;
  const query = new URLSearchParams({ measure, subject, from: utc(from), to: utc(to), every: length, ...(busiest && { busiest: "true" }) });
  return get(`history?${query}`);
}

/** Maximum number of pages of events that are read. */
const PAGES = 10;

/** The stored events of a time except transient reasons of the health; oldest first. */
export async function eventsOf(from: number, to: number): Promise<Stored[]> {
  const events: Stored[] = [];
  let cursor: string | undefined;
  for (let page = 0; page < PAGES; page++) {
    const query = new URLSearchParams({ from: utc(from), to: utc(to), limit: "1000", ...(cursor && { cursor }) });
    const { items, next } = await get<{ items: Stored[]; next?: string }>(`events?${query}`);
    events.push(...items.filter(({ event }) => event !== "health"));
    if (next == null) break;
    cursor = next;
  }
  return events;
}
