//! Runs with real hosts: each test creates network namespaces and needs the privilege for it. They are one program, so that
//! they run one after another (see [`common::turn`]).

mod airtime;
mod apps;
mod cleanup;
mod common;
mod events;
mod htb;
mod management;
mod middlebox;
mod ping;
mod queues;
mod receiver;
mod roaming;
mod saturation;
mod vlans;
mod wlan_latency;
