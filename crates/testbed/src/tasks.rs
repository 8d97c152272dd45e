//! Converts the scenario's applications to the tasks of each host's agent.

use std::net::SocketAddr;

use evenair_scenario::{App, AppKind, Scenario, Tool};
use evenair_units::{Span, Streams};
use evenair_workload::Direction;
use evenair_workload::voice::{CallTool, VoipSpec};

use crate::agent::protocol::{Call, Part, Task, Telephone, Transfer};
use crate::agent::quic;
use crate::plan;

/// The parts of all applications: host number and part, servers before clients so that no connection attempt fails.
pub fn parts(scenario: &Scenario) -> Vec<(usize, Part)> {
    // A telephone speaks and listens: the task of the call from the station also covers the call to it.
    let apps =
        scenario.apps.iter().enumerate().filter(|(_, app)| !app.is_telephone() || app.direction == Direction::Up);
    let both: Vec<_> = apps.map(|(index, app)| (index, app, tasks(scenario, index))).collect();
    let part = |index, app: &App, task| {
        let stop = app.stop.unwrap_or(scenario.duration);
        Part { app: index, start_ns: app.start.as_nanos(), stop_ns: stop.as_nanos(), dscp: app.dscp, task }
    };
    let servers = both.iter().map(|(index, app, (server, _))| (app.peer, part(*index, app, server.clone())));
    let clients = both.iter().map(|(index, app, (_, client))| (app.station, part(*index, app, client.clone())));
    servers.chain(clients).collect()
}

/// Tasks of the server and of the station.
fn tasks(scenario: &Scenario, index: usize) -> (Task, Task) {
    let app = &scenario.apps[index];
    let streams = Streams::new(scenario.seed).of(&app.streams);
    let server = SocketAddr::new(plan::app_address(scenario, app, app.peer), plan::server_port(index));
    let local = SocketAddr::new(plan::app_address(scenario, app, app.station), plan::client_port(index));
    match &app.kind {
        AppKind::Bulk { tool: tool @ (Tool::Builtin | Tool::Quic), congestion_control, bytes } => {
            let chosen = congestion_control.as_ref().unwrap_or(&scenario.tcp.congestion_control);
            let bytes = bytes.map(|b| b.0);
            let send = Transfer::Send { bytes, congestion_control: Some(chosen.clone()) };
            let receive = Transfer::Receive { bytes };
            let (theirs, ours) = match app.direction {
                Direction::Up => (receive, send),
                Direction::Down => (send, receive),
            };
            if *tool == Tool::Quic {
                return quic_ends(server, theirs, ours);
            }
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
        AppKind::Udp(spec) => {
            let sender = |local, remote| Task::UdpSender { local, remote, spec: spec.clone(), seed: streams.seed() };
            match (app.direction, app.group_address()) {
                (Direction::Up, _) => (Task::UdpReceiver { local: server }, sender(local, server)),
                (Direction::Down, None) => (sender(server, local), Task::UdpReceiver { local }),
                (Direction::Down, Some(group)) => {
                    let listen = SocketAddr::new(group.into(), local.port());
                    let interface = plan::host(scenario, app.station).v4;
                    (sender(server, listen), Task::GroupReceiver { group, port: local.port(), interface })
                }
            }
        }
        AppKind::Web { objects, size, think } => {
            let reader = Task::WebReader {
                server,
                objects: *objects,
                size: size.clone(),
                think_ns: think.as_nanos(),
                seed: streams.seed(),
            };
            let congestion_control = scenario.tcp.congestion_control.clone();
            (Task::WebServer { listen: server, congestion_control }, reader)
        }
        AppKind::Voip(VoipSpec { tool: CallTool::Baresip(codec), .. }) => {
            let telephone = |host: usize, calls| {
                let sip = SocketAddr::new(plan::app_address(scenario, app, host), plan::client_port(index));
                Telephone { sip, rtp_port: plan::rtp_port(index), codec: *codec, calls }
            };
            let answers = telephone(app.peer, None);
            let calls = telephone(app.station, Some(answers.sip));
            (Task::AnswerCalls { telephone: answers }, Task::Call { telephone: calls })
        }
        AppKind::Voip(spec) => {
            let nanos = |span: Span| span.as_nanos();
            let call = Call {
                spec: spec.clone(),
                phases: scenario.measure.phases.iter().map(|phase| (nanos(phase.from), nanos(phase.to))).collect(),
                lasts: (nanos(app.start), nanos(app.stop.unwrap_or(scenario.duration))),
                seed: streams.seed(),
            };
            let speaker = |local, remote| Task::Speaker { local, remote, spec: spec.clone(), seed: streams.seed() };
            match app.direction {
                Direction::Up => (Task::Listener { local: server, call }, speaker(local, server)),
                Direction::Down => (speaker(server, local), Task::Listener { local, call }),
            }
        }
        AppKind::Flows(spec) => {
            let (up, congestion_control, theirs) = transfer_ends(scenario, app, server);
            let client = Task::FlowClient { server, up, congestion_control, spec: spec.clone(), seed: streams.seed() };
            (theirs, client)
        }
        AppKind::OnOff(spec) => {
            let (up, congestion_control, theirs) = transfer_ends(scenario, app, server);
            let client = Task::FileClient { server, up, congestion_control, spec: spec.clone(), seed: streams.seed() };
            (theirs, client)
        }
        AppKind::Ping { interval } => {
            (Task::EchoServer { listen: server }, Task::Pinger { server, interval_ns: interval.as_nanos() })
        }
    }
}

/// Tasks of a server and a station for a transfer over QUIC, with a new certificate.
fn quic_ends(server: SocketAddr, theirs: Transfer, ours: Transfer) -> (Task, Task) {
    let made = rcgen::generate_simple_self_signed([quic::NAME.to_owned()]).expect("the name is one");
    let certificate = made.cert.der().to_vec();
    let key = made.signing_key.serialize_der();
    let listens = Task::QuicServer { listen: server, transfer: theirs, certificate: certificate.clone(), key };
    (listens, Task::QuicClient { server, transfer: ours, certificate })
}

/// Whether the station sends its transfers, their congestion control, and the server's task.
fn transfer_ends(scenario: &Scenario, app: &App, listen: SocketAddr) -> (bool, String, Task) {
    let up = app.direction == Direction::Up;
    let chosen = app.kind.congestion_control().unwrap_or(&scenario.tcp.congestion_control).to_owned();
    (up, chosen.clone(), Task::TransferServer { listen, up, congestion_control: chosen })
}
