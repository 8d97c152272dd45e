//! The agent: the process on each host of the testbed that generates its traffic.
//!
//! It reads commands from standard input and writes reports to standard output (see [`protocol`]); at the end of its input
//! it exits and ends everything it started. None of this crosses the network under test.

mod bulk;
mod call;
mod iperf;
mod marking;
pub mod protocol;
pub mod quic;
mod softphone;
mod state;
mod transfers;
mod udp;
mod web;

use std::io::BufRead;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread;

use evenair_units::Streams;
use evenair_workload::DatagramSource;
use protocol::{Part, Report, Request, Task, Transfer};
use state::{App, Reporter, Times, sleep_until};

/// The rest of a part's work, run once the run begins.
type Job = Box<dyn FnOnce(&Arc<App>, Times) + Send>;

/// A part that is prepared.
struct Prepared {
    app: Arc<App>,
    start_ns: u64,
    stop_ns: u64,
    job: Job,
}

/// Runs the agent on standard input and output until its input ends.
///
/// # Errors
/// If a request cannot be parsed: the two ends are of different versions.
pub fn main() -> Result<(), String> {
    let reporter = Arc::new(Reporter);
    let mut prepared = Vec::new();
    for line in std::io::stdin().lock().lines() {
        let line = line.map_err(|e| format!("read a request: {e}"))?;
        match serde_json::from_str(&line).map_err(|e| format!("not a request: {line}: {e}"))? {
            Request::Prepare(part) => prepared.extend(prepare(*part, &reporter)),
            Request::Begin { origin_ns, interval_ns } => begin(std::mem::take(&mut prepared), origin_ns, interval_ns),
        }
    }
    // Connections and children of all threads end with the process.
    std::process::exit(0)
}

fn prepare(part: Part, reporter: &Arc<Reporter>) -> Option<Prepared> {
    let Part { app: number, start_ns, stop_ns, dscp, task } = part;
    match job(task, dscp) {
        Ok(job) => {
            reporter.send(&Report::Prepared { app: number });
            let app = Arc::new(App::new(number, dscp, Arc::clone(reporter)));
            Some(Prepared { app, start_ns, stop_ns, job })
        }
        Err(error) => {
            reporter.send(&Report::Failed { app: number, error });
            None
        }
    }
}

/// Opens the sockets of a task, which mark their packets with `dscp`, and returns the task's job.
fn job(task: Task, dscp: u8) -> Result<Job, String> {
    Ok(match task {
        Task::BulkServer { listen, transfer } => {
            let listener = bulk::listen(listen, &transfer, dscp)?;
            Box::new(move |app, _| bulk::serve(app, &listener, &transfer))
        }
        Task::BulkClient { server, transfer } => {
            Box::new(move |app, times| bulk::run_client(app, server, &transfer, times))
        }
        Task::QuicServer { listen, transfer, certificate, key } => {
            let (socket, config) = quic::listen(listen, quic::Identity { certificate, key }, &transfer, dscp)?;
            Box::new(move |app, _| quic::serve(app, socket, config, &transfer))
        }
        Task::QuicClient { server, transfer, certificate } => {
            Box::new(move |app, times| quic::run_client(app, server, certificate, &transfer, times))
        }
        Task::UdpSender { local, remote, spec, seed } => {
            let socket = udp::bind(local, dscp)?;
            Box::new(move |app, times| {
                let source = DatagramSource::new(&spec, &Streams::new(seed));
                udp::send(app, &socket, remote, source, times);
            })
        }
        Task::Speaker { local, remote, spec, seed } => {
            let socket = udp::bind(local, dscp)?;
            Box::new(move |app, times| {
                let source = DatagramSource::new(&spec.packets, &Streams::new(seed));
                call::speak(app, &socket, remote, source, times);
            })
        }
        Task::Listener { local, call } => {
            let socket = udp::bind(local, dscp)?;
            Box::new(move |app, times| call::listen(app, &socket, &call, times))
        }
        Task::AnswerCalls { telephone } => {
            // A child of the agent's main thread, with which it ends.
            let running = softphone::start(&telephone, dscp)?;
            Box::new(move |app, _| softphone::watch(app, running))
        }
        Task::Call { telephone } => Box::new(move |app, times| softphone::call(app, &telephone, times)),
        Task::TransferServer { listen, up, congestion_control } => {
            let transfer = Transfer::Send { bytes: None, congestion_control: Some(congestion_control) };
            let listener = bulk::listen(listen, &transfer, dscp)?;
            Box::new(move |app, _| transfers::serve(app, &listener, up))
        }
        Task::FlowClient { server, up, congestion_control, spec, seed } => {
            let ends = transfers::Ends { server, up, congestion_control };
            Box::new(move |app, times| transfers::open_flows(app, &ends, &spec, seed, times))
        }
        Task::FileClient { server, up, congestion_control, spec, seed } => {
            let ends = transfers::Ends { server, up, congestion_control };
            Box::new(move |app, times| transfers::move_files(app, &ends, &spec, seed, times))
        }
        Task::UdpReceiver { local } => {
            let socket = udp::bind(local, dscp)?;
            Box::new(move |app, _| udp::receive(app, &socket))
        }
        Task::GroupReceiver { group, port, interface } => {
            let socket = udp::bind_to_group(group, port, interface)?;
            Box::new(move |app, _| udp::receive(app, &socket))
        }
        Task::EchoServer { listen } => {
            let socket = udp::bind(listen, dscp)?;
            Box::new(move |app, _| udp::echo(app, &socket))
        }
        Task::Pinger { server, interval_ns } => Box::new(move |app, times| udp::ping(app, server, interval_ns, times)),
        Task::WebServer { listen, congestion_control } => {
            let transfer = Transfer::Send { bytes: None, congestion_control: Some(congestion_control) };
            let listener = bulk::listen(listen, &transfer, dscp)?;
            Box::new(move |app, _| web::serve(app, &listener))
        }
        Task::WebReader { server, objects, size, think_ns, seed } => {
            let reading = web::Reading { server, objects, size, think_ns, seed };
            Box::new(move |app, times| web::read_pages(app, reading, times))
        }
        Task::Iperf3Server { listen } => {
            // A child of the agent's main thread, with which it ends.
            let server = iperf::serve(listen)?;
            Box::new(move |app, _| iperf::watch(app, server))
        }
        Task::Iperf3Client { local, server, data_port, reverse, bytes, congestion_control } => {
            let client = iperf::Client { local, server, data_port, reverse, bytes, congestion_control, dscp };
            Box::new(move |app, times| iperf::run_client(app, &client, times))
        }
    })
}

fn begin(parts: Vec<Prepared>, origin_ns: u64, interval_ns: u64) {
    let mut ends: Vec<_> = parts.iter().map(|part| (origin_ns + part.stop_ns, Arc::clone(&part.app))).collect();
    ends.sort_by_key(|&(at, _)| at);
    thread::spawn(move || {
        for (at, app) in ends {
            sleep_until(at);
            app.stop();
        }
    });
    let apps: Vec<_> = parts.iter().map(|part| Arc::clone(&part.app)).collect();
    thread::spawn(move || sample(&apps, origin_ns, interval_ns));
    for Prepared { app, start_ns, stop_ns, job } in parts {
        app.will_stop(origin_ns + stop_ns);
        let times = Times { start_ns: origin_ns + start_ns, stop_ns: origin_ns + stop_ns };
        thread::spawn(move || job(&app, times));
    }
}

/// Reports all applications at the end of each interval, forever.
fn sample(apps: &[Arc<App>], origin_ns: u64, interval_ns: u64) {
    for index in 0.. {
        sleep_until(origin_ns + (index + 1) * interval_ns);
        for app in apps {
            let received_bytes = app.received.load(Ordering::Relaxed);
            app.report(&Report::Sample { app: app.number, index, received_bytes, tcp: app.sample() });
        }
    }
}
