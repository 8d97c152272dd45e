//! Violates, once each, every ban of the house. Never built into anything: scripts/lint-canaries runs the linter over
//! it and fails if one of the bans goes unreported, for a ban that does not bite is only a sentence.

/// What checks/core-clippy.toml bans in the core crates; one function a subject.
pub mod core_bans {
    pub fn clocks() -> bool {
        let begin = std::time::Instant::now();
        let day = std::time::SystemTime::now();
        begin.elapsed().as_nanos() == 0 || day.elapsed().is_ok()
    }

    pub fn orders() -> usize {
        let map: std::collections::HashMap<u8, u8> = Default::default();
        let set: std::collections::HashSet<u8> = Default::default();
        map.len() + set.len()
    }

    pub fn randomness() -> std::hash::RandomState {
        std::hash::RandomState::new()
    }

    pub fn environment() -> bool {
        std::env::args().count() > 0
            || std::env::var("A").is_ok()
            || std::env::var_os("A").is_some()
            || std::env::vars().count() > 0
            || std::env::current_dir().is_ok()
            || std::env::temp_dir().exists()
    }

    pub fn files(_: std::fs::File, _: std::fs::OpenOptions) -> bool {
        std::fs::create_dir_all("a").is_ok()
            || std::fs::metadata("a").is_ok()
            || std::fs::read("a").is_ok()
            || std::fs::read_dir("a").is_ok()
            || std::fs::read_to_string("a").is_ok()
            || std::fs::remove_file("a").is_ok()
            || std::fs::write("a", "b").is_ok()
            || std::io::stdin().lines().count() > 0
    }

    pub fn sockets(_: std::net::TcpListener, _: std::net::TcpStream, _: std::net::UdpSocket) -> bool {
        std::net::ToSocketAddrs::to_socket_addrs("localhost:1").is_ok()
    }

    pub fn local_sockets(
        _: std::os::unix::net::UnixDatagram,
        _: std::os::unix::net::UnixListener,
        _: std::os::unix::net::UnixStream,
    ) {
    }

    pub fn processes(_: std::process::Command, _: std::thread::Thread) {
        let here = std::thread::current().id();
        std::thread::spawn(move || here);
        std::thread::sleep(std::time::Duration::ZERO);
        std::process::exit(std::process::id() as i32)
    }
}

/// What crates with integer arithmetic only deny in their `lib.rs`.
#[deny(clippy::float_arithmetic)]
pub mod floats {
    pub fn half(x: f64) -> f64 {
        x / 2.0
    }
}

/// What [workspace.lints] asks of every crate. The last item has no documentation.
pub mod workspace_lints {
    pub fn undone(x: u8) -> u8 {
        match dbg!(x) {
            0 => todo!(),
            _ => unimplemented!(),
        }
    }

    pub fn first(of: &[u8]) -> u8 {
        unsafe { *of.as_ptr() }
    }

    pub fn many(a: u8, b: u8, c: u8, d: u8, e: u8, f: u8) -> u8 {
        a + b + c + d + e + f
    }

    pub fn long(x: u8) -> core::option::Option<u8> {
        Some(x)
    }
}

pub fn undocumented() {}
