// Latency and loss by leg, as text and numbers.
import type { LossCounts, Losses, StationCounts, Times } from "./feed";
import { UNKNOWN } from "./words";

export function ms(value: number | undefined): string {
  if (value == null) return UNKNOWN;
  return value >= 100 ? value.toFixed(0) : value.toFixed(1);
}

/** Median and 95th percentile, and their number of packets. */
export function spread(times: Times | undefined): string {
  return times ? `${ms(times.p50_ms)} ms, p95 ${ms(times.p95_ms)} ms (${times.packets} timed)` : UNKNOWN;
}

/** Part of the packets that were lost, on all legs; null: no TCP data to measure it. */
export function lossOf({ down, up }: Losses): number | null {
  const of = (counts: LossCounts) => counts.data + counts.here + counts.wire;
  const lost = (counts: LossCounts) => counts.here + counts.wlan + counts.wire;
  return down.data + up.data === 0 ? null : (lost(down) + lost(up)) / (of(down) + of(up));
}

/** Losses of a direction by leg. */
export function legs(counts: LossCounts): string {
  if (counts.data === 0) return counts.here > 0 ? `${counts.here} in the box, elsewhere ${UNKNOWN}` : UNKNOWN;
  return `${counts.here} in the box, ${counts.wlan} on the Wi-Fi, ${counts.wire} beyond the wire port, of ${counts.data} segments`;
}

/** Counts of the box by their keys: "3 dropped, 12 marked". */
export function countsInWords(counts: StationCounts | undefined): string {
  if (!counts) return UNKNOWN;
  return Object.entries(counts).map(([key, count]) => `${count} ${key.replaceAll("_", " ")}`).join(", ");
}
