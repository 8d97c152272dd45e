// Contention domains with their access points.
import { airOf, type Domain } from "./feed";
import { number, percent } from "./words";

export function AccessPoints({ domains }: { domains: Domain[] }) {
  return (
    <section class="card" aria-labelledby="points">
      <h2 id="points">Access points</h2>
      <div class="scroll" tabIndex={0} role="region" aria-label="Table of access points">
        <table>
          <thead>
            <tr>
              <th scope="col">Share a channel</th>
              <th scope="col" class="n">Stations</th>
              <th scope="col" class="n">Air</th>
              <th scope="col" class="n">Wait p95, ms</th>
              <th scope="col" class="n">↓ Mb/s</th>
              <th scope="col" class="n">↑ Mb/s</th>
            </tr>
          </thead>
          <tbody>
            {domains.map((domain) => (
              <tr key={domain.name}>
                <th scope="row">{domain.access_points.length > 0 ? domain.access_points.join(", ") : domain.name}</th>
                <td class="n">{domain.stations}</td>
                <td class="n">{percent(airOf(domain))}</td>
                <td class="n">{number(domain.wait_p95_ms)}</td>
                <td class="n">{number(domain.down_mbps)}</td>
                <td class="n">{number(domain.up_mbps)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}
