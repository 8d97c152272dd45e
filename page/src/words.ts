// Numbers and times in texts. Unknown is a word, never a zero.
import { known, type Value } from "./feed";

export const UNKNOWN = "unknown";

export function number(value: Value | undefined, digits = 1): string {
  const at = known(value);
  return at == null ? UNKNOWN : at.toFixed(at >= 100 ? 0 : digits);
}

export function percent(share: number | null): string {
  return share == null ? UNKNOWN : `${(share * 100).toFixed(share < 0.1 ? 1 : 0)} %`;
}

/** Parts as whole percents; the last one is the rest of a hundred, so that they add up. */
export function whole(parts: number[]): number[] {
  const rounded = parts.map((part) => Math.round(part * 100));
  const others = rounded.slice(0, -1).reduce((sum, part) => sum + part, 0);
  return [...rounded.slice(0, -1), Math.max(0, 100 - others)];
}

export function duration(seconds: number): string {
  const whole = Math.max(0, Math.round(seconds));
  if (whole < 60) return `${whole} s`;
  if (whole < 3600) return `${Math.floor(whole / 60)} min`;
  if (whole < 172800) return `${Math.floor(whole / 3600)} h ${Math.floor((whole % 3600) / 60)} min`;
  return `${Math.floor(whole / 86400)} days`;
}

export function time(at: number): string {
  return new Date(at * 1000).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", second: "2-digit", hour12: false });
}

export function clockTime(at: number): string {
  return new Date(at * 1000).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", hour12: false });
}

/** Source of a number, as text. */
export function source(value: Value | undefined): string {
  switch (value?.source) {
    case "measured":
      return "measured by the box";
    case "charged":
      return "charged by the box, an estimate";
    case "reported":
      return "reported by the access point";
    case "inferred":
      return "not reported: inferred from airtime";
    case "assumed":
      return "an estimate by default or inferred rates";
    default:
      return UNKNOWN;
  }
}
