//! The drivers with real agents and servers: net-snmp, HTTP, a Unix socket.

mod agent;
mod answers;
mod changed;
mod hostapd;
mod parsers;
mod recorded;
mod routeros;
mod server;
mod snmp;
mod tls;
mod web;
mod web_answers;
