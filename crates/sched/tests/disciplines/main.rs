//! The queue disciplines against common laws, and each against its own theory.

mod cake;
mod cbq;
mod codel;
mod drr;
mod fq_codel;
mod htb;
mod las_ack;
mod laws;
mod mac80211;
mod packets;
mod station_fifo;
mod token_bucket;
mod whtb;
