//! Runs with real hosts: each test makes network namespaces and needs the right to. They are one program, so that they
//! take turns (see [`common::turn`]).

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
mod wlan_latency;
