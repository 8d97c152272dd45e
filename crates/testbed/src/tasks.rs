//! From the scenario's applications to what each host's agent has to do.

use std::net::SocketAddr;

use evenair_scenario::{App, AppKind, Direction, Scenario, Tool};

use crate::agent::protocol::{Part, Task, Transfer};
use crate::plan;

/// The parts of all applications: host number and part, servers before clients so that nobody connects in vain.
pub fn parts(scenario: &Scenario) -> Vec<(usize, Part)> {
    let both: Vec<_> =
        scenario.apps.iter().enumerate().map(|(index, app)| (index, app, tasks(scenario, index))).collect();
    let part = |index, app: &App, task| {
        let stop = app.stop.unwrap_or(scenario.duration);
        Part { app: index, start_ns: app.start.as_nanos(), stop_ns: stop.as_nanos(), task }
    };
    let servers = both.iter().map(|(index, app, (server, _))| (app.peer, part(*index, app, server.clone())));
    let clients = both.iter().map(|(index, app, (_, client))| (app.station, part(*index, app, client.clone())));
    servers.chain(clients).collect()
}

/// What the server and what the station does.
fn tasks(scenario: &Scenario, index: usize) -> (Task, Task) {
    let app = &scenario.apps[index];
    let server = SocketAddr::new(plan::app_address(scenario, app, app.peer), plan::server_port(index));
    let local = SocketAddr::new(plan::app_address(scenario, app, app.station), plan::client_port(index));
    match &app.kind {
        AppKind::Bulk { tool: Tool::Builtin, congestion_control, bytes } => {
            let chosen = congestion_control.as_ref().unwrap_or(&scenario.tcp.congestion_control);
            let send = Transfer::Send { bytes: bytes.map(|b| b.0), congestion_control: Some(chosen.clone()) };
            let (theirs, ours) = match app.direction {
                Direction::Up => (Transfer::Receive, send),
                Direction::Down => (send, Transfer::Receive),
            };
            (Task::BulkServer { listen: server, transfer: theirs }, Task::BulkClient { server, transfer: ours })
        }
        AppKind::Bulk { tool: Tool::Iperf3, congestion_control, bytes } => {
            let chosen = congestion_control.as_ref().unwrap_or(&scenario.tcp.congestion_control);
            let client = Task::Iperf3Client {
                local: local.ip(),
                server,
                data_port: local.port(),
                reverse: app.direction == Direction::Down,
                bytes: bytes.map(|b| b.0),
                congestion_control: Some(chosen.clone()),
            };
            (Task::Iperf3Server { listen: server }, client)
        }
        AppKind::Udp { rate, payload } => {
            let payload_bytes = usize::try_from(payload.0).unwrap_or(usize::MAX);
            let sender = |local, remote| Task::UdpSender { local, remote, rate_bps: rate.as_bps(), payload_bytes };
            match app.direction {
                Direction::Up => (Task::UdpReceiver { local: server }, sender(local, server)),
                Direction::Down => (sender(server, local), Task::UdpReceiver { local }),
            }
        }
        AppKind::Web { objects, size, think } => {
            let reader = Task::WebReader {
                server,
                objects: *objects,
                size: (size.alpha, size.mean.0, size.cap.0),
                think_ns: think.as_nanos(),
                seed: scenario.seed,
            };
            let congestion_control = scenario.tcp.congestion_control.clone();
            (Task::WebServer { listen: server, congestion_control }, reader)
        }
        AppKind::Ping { interval } => {
            (Task::EchoServer { listen: server }, Task::Pinger { server, interval_ns: interval.as_nanos() })
        }
    }
}
