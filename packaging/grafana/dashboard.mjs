// The dashboard evenair.json, made with Grafana's typed builders: prints it. `scripts/dashboard` writes the file, and
// `scripts/dashboard check` compares it. Each query is of the metrics of `crates/serve/src/metrics.rs`; a test of the box asks a real
// Prometheus server each of them.

import { DashboardBuilder, DatasourceVariableBuilder, QueryVariableBuilder, RowBuilder, VariableHide, VariableRefresh }
    from "@grafana/grafana-foundation-sdk/dashboard";
import { DataqueryBuilder, PromQueryFormat } from "@grafana/grafana-foundation-sdk/prometheus";
import { PanelBuilder as StatBuilder } from "@grafana/grafana-foundation-sdk/stat";
import { PanelBuilder as TableBuilder } from "@grafana/grafana-foundation-sdk/table";
import { PanelBuilder as TimeseriesBuilder } from "@grafana/grafana-foundation-sdk/timeseries";

/** The data source that is chosen above the dashboard. */
const SOURCE = { type: "prometheus", uid: "${datasource}" };
/** The boxes that are chosen there. */
const BOX = 'instance=~"$instance"';
/** Columns of a dashboard. */
const WIDTH = 24;

/** The rate of a counter, per second. */
const rate = (counter, labels = "") => `rate(${counter}{${BOX}${labels}}[$__rate_interval])`;

const target = (refId, expr, legend) =>
    new DataqueryBuilder().refId(refId).datasource(SOURCE).expr(expr).legendFormat(legend);

/** A panel of curves: its queries are pairs of expression and legend. */
function curves(title, description, unit, queries) {
    const panel = new TimeseriesBuilder().title(title).description(description).datasource(SOURCE).unit(unit).min(0);
    queries.forEach(([expr, legend], k) => panel.withTarget(target("ABCDEF"[k], expr, legend)));
    return panel.height(8).span(WIDTH / 2);
}

/** A panel of one number for each box. */
function number(title, description, expr) {
    const panel = new StatBuilder().title(title).description(description).datasource(SOURCE);
    return panel.withTarget(target("A", expr, "{{instance}}")).height(6).span(WIDTH / 6);
}

const level = number("Health", "That of the worst reason.",
    `max by (instance) (evenair_health_level{${BOX},level="watch"} or 2 * evenair_health_level{${BOX},level="bad"})`)
    .mappings([{
        type: "value",
        options: {
            0: { text: "good", color: "green", index: 0 },
            1: { text: "watch", color: "orange", index: 1 },
            2: { text: "bad", color: "red", index: 2 },
        },
    }]);

const reasons = new TableBuilder().title("What is wrong").datasource(SOURCE)
    .description("Empty where nothing is wrong. `evenair status` says what to do about each.")
    .withTarget(target("A", `evenair_health{${BOX}}`, "").format(PromQueryFormat.Table).instant())
    .height(6).span(WIDTH / 2);

const latency = (quantile) => [
    `histogram_quantile(${quantile}, sum by (hop, le) (${rate("evenair_latency_seconds_bucket")}))`,
    "{{hop}}",
];

const airtime = `topk(10, sum by (instance, mac) (${rate("evenair_station_charged_airtime_seconds_total")}))`;
const names = `max by (instance, mac, name) (evenair_station_info{${BOX}})`;

const dashboard = new DashboardBuilder("Evenair")
    .uid("evenair").tags(["evenair", "wifi"]).editable().refresh("30s").time({ from: "now-6h", to: "now" }).timezone("browser")
    .withVariable(new DatasourceVariableBuilder("datasource").label("Data source").type("prometheus"))
    .withVariable(new QueryVariableBuilder("instance").label("Box").datasource(SOURCE)
        .query("label_values(evenair_uptime_seconds, instance)").refresh(VariableRefresh.OnTimeRangeChanged)
        .hide(VariableHide.DontHide).multi(true).includeAll(true).allValue(".*").current({ selected: true, text: "All", value: "$__all" }))
    .withRow(new RowBuilder("Health"))
    .withPanel(level)
    .withPanel(number("Stations", "Stations that the box knows.", `wifi_stations{${BOX}}`))
    .withPanel(reasons)
    .withRow(new RowBuilder("Wi-Fi"))
    .withPanel(curves("Throughput by access point", "IP-level bits. \"unknown\": stations of which no access point is known.", "bps", [
        [`8 * sum by (access_point) (${rate("evenair_access_point_transmit_bytes_total")})`, "{{access_point}}, down"],
        [`8 * sum by (access_point) (${rate("evenair_access_point_receive_bytes_total")})`, "{{access_point}}, up"],
    ]))
    .withPanel(curves("Airtime by station", "Charged airtime as a part of the time, an estimate: the ten stations with the most.",
        "percentunit", [[`${airtime} * on (instance, mac) group_left (name) ${names}`, "{{name}} {{mac}}"]]))
    .withPanel(curves("Latency, median", "By hop: held in the box, Wi-Fi there and back, held for the Internet link, Internet there and back.",
        "s", [latency("0.5")]))
    .withPanel(curves("Latency, 95th percentile", "By hop, as beside. Exact at doublings of 0.512 ms, interpolated between them.",
        "s", [latency("0.95")]))
    .withPanel(curves("Drops and losses by cause", "Packets per second: dropped to keep queues short, or lost in the box.", "pps",
        [[`sum by (reason) (${rate("evenair_dropped_packets_total")})`, "{{reason}}"]]))
    .withPanel(curves("Service rate and capacity", "IP-level bits per second that are released, and what the stations' rates allow.", "bps", [
        [`8 * sum(evenair_service_rate_bytes_per_second{${BOX}})`, "service rate"],
        [`8 * sum(evenair_capacity_bytes_per_second{${BOX}})`, "capacity"],
    ]))
    .withRow(new RowBuilder("Calls"))
    .withPanel(curves("Calls", "Calls that go on, by whether they go first.", "short", [
        [`sum by (state) (evenair_calls{${BOX}})`, "{{state}}"],
    ]))
    .withPanel(curves("Calls found and ended", "Per minute.", "short", [
        [`60 * sum(${rate("evenair_calls_admitted_total")})`, "admitted"],
        [`60 * sum(${rate("evenair_calls_refused_total")})`, "refused"],
        [`60 * sum(${rate("evenair_calls_ended_total")})`, "ended"],
    ]));

process.stdout.write(`${JSON.stringify(dashboard.build(), null, 2)}\n`);
