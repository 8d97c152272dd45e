//! Errors of a run, with remedies.

use std::path::PathBuf;

use evenair_sys::error::OsError;

/// Why a run could not be made or finished.
#[derive(Debug, thiserror::Error)]
pub enum TestbedError {
    /// The kernel refuses new network namespaces to this user.
    #[error(
        "not permitted to make network namespaces ({0}). Run as root, or in a user namespace of your own: \
         unshare --user --map-root-user --net --mount evenair testbed run ..."
    )]
    NotPermitted(OsError),
    /// The box cannot be started here.
    #[error("{0}. The run needs the box, for an event of the scenario or for a recording")]
    NoBox(String),
    /// `/dev/net/tun` is not usable.
    #[error("{error}. The testbed's hosts need TAP devices: {advice}")]
    NoTap {
        /// The failed call.
        error: OsError,
        /// What to do.
        advice: &'static str,
    },
    /// A TAP device of this name is there already.
    #[error("a network interface called {name} is there already in the testbed's own namespace ({error})")]
    NameTaken {
        /// Name of the interface.
        name: String,
        /// The failed call.
        error: OsError,
    },
    /// A program that is needed is not installed.
    #[error("the program {program} is not installed or not in PATH; {needed_for}")]
    MissingProgram {
        /// Its name.
        program: String,
        /// What it is needed for, and which package has it.
        needed_for: String,
    },
    /// The kernel lacks something that the scenario asks for.
    #[error("{0}")]
    Unsupported(String),
    /// The scenario is larger than the testbed's addresses.
    #[error("{0}")]
    TooLarge(String),
    /// A program that configures the network failed.
    #[error("ip(8) failed for {machine}: {stderr}")]
    Configure {
        /// Which host.
        machine: String,
        /// What it wrote.
        stderr: String,
    },
    /// The run directory.
    #[error("{what} {}: {source}", path.display())]
    Files {
        /// What was tried.
        what: &'static str,
        /// The file.
        path: PathBuf,
        /// Why it failed.
        source: std::io::Error,
    },
    /// A child process ended unexpectedly.
    #[error("{who} ended unexpectedly ({status}){}", quote(stderr))]
    ChildDied {
        /// Which.
        who: String,
        /// Exit status or signal.
        status: String,
        /// Last lines that it wrote to standard error.
        stderr: String,
    },
    /// A child process could not be started, or the communication with it failed.
    #[error("{who}: {source}")]
    Child {
        /// Which.
        who: String,
        /// Why.
        source: std::io::Error,
    },
    /// A child process answered something unexpected, or not in time.
    #[error("{who}: {what}")]
    Protocol {
        /// Which.
        who: String,
        /// What was wrong.
        what: String,
    },
    /// A host to run a command in was not found.
    #[error("{what}; running now: {}", if there_is.is_empty() { "nothing" } else { there_is })]
    NoSuchHost {
        /// What is wrong.
        what: &'static str,
        /// Runs and their hosts.
        there_is: String,
    },
    /// Any other call to the operating system.
    #[error(transparent)]
    Os(#[from] OsError),
}

fn quote(stderr: &str) -> String {
    if stderr.is_empty() { String::new() } else { format!("; its last words:\n{stderr}") }
}

impl TestbedError {
    /// For a failed [`evenair_sys::netns::Netns::new`].
    pub fn from_namespace(error: OsError) -> Self {
        if error.errno() == libc::EPERM { Self::NotPermitted(error) } else { Self::Os(error) }
    }

    /// For a failed [`evenair_sys::tap::Tap::create`].
    pub fn from_tap(name: &str, error: OsError) -> Self {
        let advice = match error.errno() {
            libc::EBUSY => return Self::NameTaken { name: name.to_owned(), error },
            libc::ENOENT => {
                "load the driver and make the device: modprobe tun; mkdir -p /dev/net; mknod /dev/net/tun c 10 200. \
                 In a container, pass it in (--device /dev/net/tun)"
            }
            libc::ENODEV | libc::ENXIO => "the kernel has no TUN/TAP driver: modprobe tun, or a kernel with CONFIG_TUN",
            libc::EACCES => {
                "the device is not open to this user. Run as root, or as root: chmod 0666 /dev/net/tun (safe: making \
                 interfaces still needs CAP_NET_ADMIN)"
            }
            libc::EPERM => {
                "CAP_NET_ADMIN is missing. Run as root, or in a user namespace: unshare --user --map-root-user --net; \
                 in a container, add it (--cap-add NET_ADMIN) and the device (--device /dev/net/tun)"
            }
            _ => return Self::Os(error),
        };
        Self::NoTap { error, advice }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_error_has_a_remedy() {
        let cases = [
            (libc::ENOENT, "mknod /dev/net/tun"),
            (libc::ENODEV, "modprobe tun"),
            (libc::EACCES, "chmod 0666"),
            (libc::EPERM, "CAP_NET_ADMIN"),
            (libc::EBUSY, "called wlan0 is there already"),
        ];
        for (errno, words) in cases {
            let text = TestbedError::from_tap("wlan0", OsError::new("open /dev/net/tun", errno)).to_string();
            assert!(text.contains(words) && text.contains("open /dev/net/tun"), "{text}");
        }
        let text = TestbedError::from_namespace(OsError::new("unshare(CLONE_NEWNET)", libc::EPERM)).to_string();
        assert!(text.contains("Run as root") && text.contains("unshare(CLONE_NEWNET)"), "{text}");
    }
}
