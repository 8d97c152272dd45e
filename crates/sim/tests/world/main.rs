//! The simulator as a whole, against an independent simulator, published findings and its own laws.

mod adwiser;
mod laws;
mod ns3;
mod rate_control;
