// Access points, or the contention domains where no station's access point is known.
import { airOf, type AccessPoint, type Domain, type Line } from "./feed";
import { lossOf, p95, recent } from "./legs";
import { number, percent } from "./words";

type Row = Pick<AccessPoint, "name" | "down_mbps" | "up_mbps" | "air_down" | "air_up" | "stations" | "latency"> & { key: string };

const ofDomain = (domain: Domain): Row => ({
  ...domain,
  key: domain.name,
  name: domain.access_points.length > 0 ? domain.access_points.join(", ") : domain.name,
});

export function AccessPoints({ at }: { at: Line }) {
  const points = at.access_points ?? [];
  const ofPoints = points.length > 0;
  const rows: Row[] = ofPoints ? points.map((point) => ({ ...point, key: point.name })) : at.domains.map(ofDomain);
  const losses = (row: Row) => recent((line) =>
    (ofPoints ? line.access_points : line.domains)?.find((one) => one.name === row.key)?.losses);
  return (
    <section class="card" aria-labelledby="points">
      <h2 id="points">Access points</h2>
      <div class="scroll" tabIndex={0} role="region" aria-label="Table of access points">
        <table>
          <thead>
            <tr>
              <th scope="col">{ofPoints ? "Name" : "Share a channel"}</th>
              <th scope="col" class="n">Stations</th>
              <th scope="col" class="n">Air</th>
              <th scope="col" class="n" title="95 of 100 packets took no longer to the station and back">Wi-Fi ms</th>
              <th scope="col" class="n far">Loss</th>
              <th scope="col" class="n">↓ Mb/s</th>
              <th scope="col" class="n">↑ Mb/s</th>
            </tr>
          </thead>
          <tbody>
            {rows.map((row) => (
              <tr key={row.key}>
                <th scope="row">{row.name}</th>
                <td class="n">{row.stations}</td>
                <td class="n">{percent(airOf(row))}</td>
                <td class="n">{p95(row.latency?.wlan)}</td>
                <td class="n far">{percent(lossOf(losses(row)))}</td>
                <td class="n">{number(row.down_mbps)}</td>
                <td class="n">{number(row.up_mbps)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}
