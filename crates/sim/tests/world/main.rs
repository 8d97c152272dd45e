//! The simulator as a whole, against an independent simulator, published findings and its own laws.

mod adwiser;
mod calls;
mod classes;
mod datagrams;
mod domains;
mod fair;
mod flood;
mod guard;
mod hidden;
mod inferred;
mod internet;
mod lag;
mod laws;
mod measures;
mod ns3;
mod paths;
mod probes;
mod queues;
mod radio;
mod rate_control;
mod receiver;
mod settings;
mod share;
mod standing;
mod station_queues;
mod traffic;
