//! The program: its commands and options, its parts, and its results.

mod commands;
mod parts;
mod results;
