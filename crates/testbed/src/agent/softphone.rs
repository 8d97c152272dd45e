//! Calls with baresip (<https://github.com/baresip/baresip>), a telephone program that is independent of the testbed.
//!
//! Each host runs one instance, without a registrar: the station's instance calls, the server's answers. They send a tone.
//! SIP is not on its standard port, and RTP is on a port that the box does not know; the testbed measures the quality where
//! the packets leave and reach the hosts (`calls`), not in baresip.

use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;
use std::{fs, thread};

use evenair_sys::process::tie;
use evenair_workload::voice::BaresipCodec;

use super::protocol::Telephone;
use super::state::{App, Times, sleep_until};

/// Directories of baresip's modules in Debian and other distributions.
const MODULES: [&str; 4] = [
    "/usr/lib/baresip/modules",
    "/usr/local/lib/baresip/modules",
    "/usr/lib/x86_64-linux-gnu/baresip/modules",
    "/usr/lib/aarch64-linux-gnu/baresip/modules",
];

/// User name of every instance: it is called by its address, and answers to this name only.
const USER: &str = "evenair";

/// A running instance. Dropping it removes its folder.
#[derive(Debug)]
pub(super) struct Running {
    child: Child,
    folder: PathBuf,
}

impl Drop for Running {
    fn drop(&mut self) {
        // All of these fail only if there is nothing left to do.
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// Starts an instance. It dies with the calling thread, which must live for the whole run.
pub(super) fn start(telephone: &Telephone, dscp: u8) -> Result<Running, String> {
    let folder = std::env::temp_dir().join(format!("evenair-baresip-{}-{}", std::process::id(), telephone.rtp_port));
    let failed = |what: &str, error: std::io::Error| format!("{what} {}: {error}", folder.display());
    fs::create_dir_all(&folder).map_err(|e| failed("make the folder", e))?;
    let modules = MODULES.into_iter().find(|path| Path::new(path).is_dir());
    let modules = modules.ok_or_else(|| format!("baresip's modules are in none of {}", MODULES.join(", ")))?;
    for (name, text) in [("config", config(telephone, modules, dscp)), ("accounts", account(telephone))] {
        fs::write(folder.join(name), text).map_err(|e| failed("write into", e))?;
    }
    let mut command = Command::new("baresip");
    command.arg("-f").arg(&folder);
    if let Some(other) = telephone.calls {
        command.args(["-e", &format!("/dial sip:{USER}@{other}")]);
    }
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    match tie(&mut command, None).spawn() {
        Ok(child) => Ok(Running { child, folder }),
        Err(error) => {
            let _ = fs::remove_dir_all(&folder);
            Err(format!("start baresip: {error}"))
        }
    }
}

/// Waits until the application stops; reports an instance that ends earlier.
pub(super) fn watch(app: &App, mut running: Running) {
    while !app.is_stopped() {
        if let Ok(Some(status)) = running.child.try_wait() {
            app.note(format!("baresip ended: {status}"));
            return;
        }
        thread::sleep(Duration::from_millis(50));
    }
}

/// Calls once the application starts.
pub(super) fn call(app: &Arc<App>, telephone: &Telephone, times: Times) {
    sleep_until(times.start_ns);
    match start(telephone, app.dscp) {
        Ok(running) => watch(app, running),
        Err(error) => app.note(error),
    }
}

/// The configuration. Names are those of baresip's documentation.
fn config(telephone: &Telephone, modules: &str, dscp: u8) -> String {
    let Telephone { sip, rtp_port, .. } = telephone;
    let (tos, last) = (u32::from(dscp) << 2, rtp_port + 2);
    format!(
        "poll_method epoll\nsip_listen {sip}\n\
         audio_source ausine,440\naudio_player aubridge,none\naudio_alert aubridge,none\nausrc_srate 48000\n\
         ausrc_channels 2\nrtp_tos {tos}\nsip_tos {tos}\nrtp_ports {rtp_port}-{last}\nrtp_timeout 0\n\
         module_path {modules}\nmodule g711.so\nmodule opus.so\nmodule ausine.so\nmodule aubridge.so\n\
         module_tmp uuid.so\nmodule_tmp account.so\nmodule_app menu.so\n"
    )
}

fn account(telephone: &Telephone) -> String {
    let codec = match telephone.codec {
        BaresipCodec::Pcmu => "pcmu/8000/1",
        BaresipCodec::Opus => "opus/48000/2",
    };
    let address: IpAddr = telephone.sip.ip();
    format!("<sip:{USER}@{address}:{}>;regint=0;answermode=auto;audio_codecs={codec};ptime=20\n", telephone.sip.port())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_are_marked_only_if_configured() {
        let sip = ([10, 0, 0, 1], 10_003).into();
        let telephone = Telephone { sip, rtp_port: 28_006, codec: BaresipCodec::Pcmu, calls: None };
        let text = config(&telephone, "/m", 0);
        for line in ["rtp_tos 0\n", "sip_tos 0\n", "rtp_ports 28006-28008\n", "sip_listen 10.0.0.1:10003\n"] {
            assert!(text.contains(line), "{line:?} is not in {text}");
        }
        assert!(config(&telephone, "/m", 46).contains("rtp_tos 184\n"));
        assert!(account(&telephone).contains("audio_codecs=pcmu/8000/1"));
    }
}
