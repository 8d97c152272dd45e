//! What the manager may know of a packet: parsing, metadata, edits
