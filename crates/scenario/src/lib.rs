//! The scenario file format and the results format
