//! A box on the command line, for trying it by hand: `box WLAN WIRE BRIDGE SOCKET [--inserted]`.
use evenair_live::BoxConfig;
use evenair_manager::Config;
use evenair_wifi::{Phy, Standard};

fn main() -> anyhow::Result<()> {
    let mut args: Vec<_> = std::env::args().skip(1).collect();
    let inserted = args.iter().position(|a| a == "--inserted").map(|at| args.remove(at)).is_some();
    let [wlan, wire, bridge, socket] = &args[..] else { anyhow::bail!("usage: box WLAN WIRE BRIDGE SOCKET") };
    let manager = Config::new(Phy::default_for(Standard::Dot11g));
    let mut config = BoxConfig::new(wlan, wire, manager);
    config.bridge = Some(bridge.clone());
    config.control = Some(socket.into());
    config.inserted = inserted;
    let status = evenair_live::run(config)?;
    println!("{}", serde_json::to_string(&status)?);
    Ok(())
}
