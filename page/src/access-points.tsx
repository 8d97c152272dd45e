// Access points, or the contention domains if no station's access point is known.
import { airOf, type AccessPoint, type Domain, type Line } from "./feed";
import { lossOf, ms } from "./legs";
import { domainMeans, meanIn, pointMeans } from "./means";
import { number, percent } from "./words";

type Row = Pick<AccessPoint, "name" | "stations"> & { key: string };

/** Without reported access points there is one domain, "default". */
function ofDomain({ name, access_points, stations }: Domain, _: number, { length }: Domain[]): Row {
  const all = length === 1 && name === "default" ? "all" : name;
  return { key: name, name: access_points.length > 0 ? access_points.join(", ") : all, stations };
}

export function AccessPoints({ at }: { at: Line }) {
  const points = at.access_points ?? [];
  const ofPoints = points.length > 0;
  const rows: Row[] = ofPoints ? points.map((point) => ({ ...point, key: point.name })) : at.domains.map(ofDomain);
  const means = ofPoints ? pointMeans.value : domainMeans.value;
  return (
    <section class="card" aria-labelledby="points">
      <h2 id="points">Access points</h2>
      <div class="scroll" tabIndex={0} role="region" aria-label="Table of access points">
        <table>
          <thead>
            <tr>
              <th scope="col">{ofPoints || rows.length === 1 ? "Name" : "Contention domain"}</th>
              <th scope="col" class="n">Stations</th>
              <th scope="col" class="n">Air</th>
              <th scope="col" class="n" title="95 of 100 packets took no longer to the station and back">Wi-Fi ms</th>
              <th scope="col" class="n far">Loss</th>
              <th scope="col" class="n">↓ Mb/s</th>
              <th scope="col" class="n">↑ Mb/s</th>
            </tr>
          </thead>
          <tbody>
            {rows.map((row) => ({ row, mean: meanIn(means, row.key) })).map(({ row, mean }) => (
              <tr key={row.key}>
                <th scope="row">{row.name}</th>
                <td class="n">{row.stations}</td>
                <td class="n">{percent(airOf(mean))}</td>
                <td class="n">{ms(mean.wlan)}</td>
                <td class="n far">{percent(lossOf(mean.losses))}</td>
                <td class="n">{number(mean.down_mbps)}</td>
                <td class="n">{number(mean.up_mbps)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}
