// Times of the history in texts.
import { clockTime } from "../words";

/** The day of a time, such as "12 Mar". */
export function dayOf(at: number, zone?: string): string {
  return new Date(at * 1000).toLocaleDateString([], { day: "numeric", month: "short", ...(zone && { timeZone: zone }) });
}

export const moment = (at: number): string => `${dayOf(at)} ${clockTime(at)}`;

const SIZES = [[86_400, "day"], [3600, "hour"], [60, "minute"]] as const;

/** A whole duration, such as "30 minutes". */
export function lengthOf(seconds: number): string {
  const [size, word] = SIZES.find(([size]) => seconds >= size && seconds % size === 0) ?? SIZES[2];
  const count = Math.round(seconds / size);
  return `${count} ${word}${count === 1 ? "" : "s"}`;
}
