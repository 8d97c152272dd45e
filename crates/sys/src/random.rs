//! Random bytes from the kernel, for keys.

use std::fs::File;
use std::io::{self, Read};

/// `N` random bytes (urandom(4)).
///
/// # Errors
/// The device cannot be read.
pub fn random<const N: usize>() -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(bytes)
}
