// The account that uses the page, and its permissions.
import { signal } from "@preact/signals";

const ROLES = ["view", "operate", "admin"] as const;
export type Role = (typeof ROLES)[number];

export interface Me {
  by: "account" | "token" | "anonymous";
  who: string;
  role?: Role;
}

/** Null until the program has answered. */
export const me = signal<Me | null>(null);

export async function learnMe(): Promise<void> {
  const answer = await fetch("api/v1/me").catch(() => null);
  if (answer?.ok) me.value = (await answer.json()) as Me;
}

/** Whether the account has the permissions of this role. */
export function may(role: Role): boolean {
  const mine = me.value?.role;
  return mine != null && ROLES.indexOf(mine) >= ROLES.indexOf(role);
}

interface Problem {
  detail?: string;
}

/** Sends a request that changes something. Returns why it failed; null: it succeeded. */
export async function change(method: "POST" | "PUT" | "DELETE", path: string, body?: object): Promise<string | null> {
  const headers: Record<string, string> = body ? { "Content-Type": "application/json" } : {};
  const request = { method, headers, ...(body && { body: JSON.stringify(body) }) };
  const answer = await fetch(`api/v1/${path}`, request).catch(() => null);
  if (!answer) return "The program of the page does not answer. Whether it was done is not known.";
  if (answer.ok) return null;
  if (answer.status === 401) location.assign("login");
  const problem = (await answer.json().catch(() => ({}))) as Problem;
  return problem.detail ?? `The program of the page answers with status ${answer.status}.`;
}
