//! One machine of the testbed: a network namespace with its TAP devices, configured and up.
//!
//! Addresses and routes are set by one `ip -batch` run inside the namespace, kernel variables through `/proc/sys`.
//! The namespace and the devices vanish with the [`Machine`], at the latest with this process.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use evenair_sys::error::OsError;
use evenair_sys::netns::{self, Netns};
use evenair_sys::tap::Tap;

use crate::error::TestbedError;

/// Configuration of a machine.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// Name for messages.
    pub name: String,
    /// Names of its TAP devices.
    pub taps: Vec<String>,
    /// Kernel variables, set before the devices are made so that these inherit the defaults.
    pub sysctls: Vec<(String, String)>,
    /// Default congestion control, if the kernel permits, else Reno: a namespace other than the first one may only have those that the
    /// administrator opened to all users. The agent chooses per socket, which is permitted.
    pub congestion_control: Option<String>,
    /// Commands for `ip -batch`, run after the devices are created.
    pub commands: Vec<String>,
}

/// A machine that is up.
#[derive(Debug)]
pub struct Machine {
    /// Its name.
    pub name: String,
    /// Its network namespace.
    pub netns: Netns,
    /// Its TAP devices, in the order of the plan, until the loop's thread takes them.
    pub taps: Vec<Tap>,
}

impl Machine {
    /// Creates the machine.
    ///
    /// # Errors
    /// If the kernel or `ip` refuses; the message has a remedy.
    pub fn build(plan: &Plan) -> Result<Self, TestbedError> {
        let netns = Netns::new().map_err(TestbedError::from_namespace)?;
        let taps = netns.run(|| set_up(plan))??;
        Ok(Self { name: plan.name.clone(), netns, taps })
    }

    /// Creates all machines concurrently; building is mostly waiting for the kernel.
    ///
    /// # Errors
    /// The first error; machines that were created are removed again.
    pub fn build_all(plans: &[Plan]) -> Result<Vec<Self>, TestbedError> {
        std::thread::scope(|scope| {
            let builders: Vec<_> = plans.iter().map(|plan| scope.spawn(|| Self::build(plan))).collect();
            let built: Vec<_> = builders
                .into_iter()
                .map(|builder| builder.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
                .collect();
            built.into_iter().collect()
        })
    }
}

/// Whether this kernel has IPv6.
pub fn has_ipv6() -> bool {
    Path::new("/proc/sys/net/ipv6").is_dir()
}

fn set_up(plan: &Plan) -> Result<Vec<Tap>, TestbedError> {
    for (name, value) in &plan.sysctls {
        netns::set_sysctl(name, value)?;
    }
    if let Some(name) = &plan.congestion_control
        && let Err(error) = set_default_congestion_control(name)
    {
        tracing::debug!(machine = plan.name, %error, "the namespace has Reno as its default congestion control");
        // Not the machine's, which may be BBR: a connection that began with it is paced for ever, whatever it has later.
        set_default_congestion_control("reno")?;
    }
    let make = |name: &String| Tap::create(name).map_err(|error| TestbedError::from_tap(name, error));
    let taps = plan.taps.iter().map(make).collect::<Result<_, _>>()?;
    run_ip(&plan.name, None, &plan.commands)?;
    Ok(taps)
}

/// Sets the congestion control of new connections in the calling thread's namespace.
fn set_default_congestion_control(name: &str) -> Result<(), OsError> {
    netns::set_sysctl("net/ipv4/tcp_congestion_control", name)
}

/// Runs the commands through `ip -batch` in the calling thread's namespace. `family` is `-4` or `-6` if no address implies
/// it.
///
/// # Errors
/// The output of `ip`, which names the line.
pub fn run_ip(machine: &str, family: Option<&str>, commands: &[String]) -> Result<(), TestbedError> {
    let failed = |source| TestbedError::Child { who: "ip".to_owned(), source };
    let mut ip = Command::new("ip");
    ip.args(family).args(["-batch", "-"]).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = ip.spawn().map_err(failed)?;
    let mut input = child.stdin.take().expect("piped");
    // A write error means that it ended early; its standard error says why.
    let _ = input.write_all((commands.join("\n") + "\n").as_bytes());
    drop(input);
    let output = child.wait_with_output().map_err(failed)?;
    if output.status.success() {
        return Ok(());
    }
    let stderr = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    Err(TestbedError::Configure { machine: machine.to_owned(), stderr })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_has_reno_where_it_may_not_have_the_congestion_control_it_should() {
        // One that no kernel has is refused, as one that is restricted to the first namespace is.
        for wanted in ["reno", "no_such_control"] {
            let plan = Plan { name: "host".into(), congestion_control: Some(wanted.into()), ..Plan::default() };
            let machine = match Machine::build(&plan) {
                Ok(machine) => machine,
                Err(error) => return eprintln!("skipped: {error}"),
            };
            let read = || std::fs::read_to_string("/proc/sys/net/ipv4/tcp_congestion_control");
            let default = machine.netns.run(read).expect("entered").expect("a kernel with TCP");
            assert_eq!(default.trim(), "reno", "{wanted}");
        }
    }
}
