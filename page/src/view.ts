// The view of the page: the part of the address behind "#", so that links and the back button work.
import { computed, effect, signal } from "@preact/signals";
import { may } from "./me";

export type View = "now" | "history" | "audit";

export const TITLES: Record<View, string> = { now: "Now", history: "History", audit: "Audit log" };

const hash = signal(location.hash);
addEventListener("hashchange", () => (hash.value = location.hash));

/** The view of the address; the audit log is for admins. */
export const view = computed<View>(() => {
  if (hash.value === "#history") return "history";
  return hash.value === "#audit" && may("admin") ? "audit" : "now";
});

effect(() => void (document.title = `Evenair: ${TITLES[view.value].toLowerCase()}`));
