//! The state of interfaces, as it is saved before a change: state that cannot be restored is refused before the first change,
//! entries move to another interface with all their fields, and the state is compared after the change or its undo.
//!
//! Not here: settings below `/proc/sys`, queueing disciplines and offloads, which stay with the ports.

use std::path::Path;
use std::time::{Duration, Instant};
use std::{fs, thread};

use evenair_sys::iproute;
use serde_json::Value;

use super::act::Act;
use super::entry::{Entry, Object};

/// Polling interval of the state.
const INTERVAL: Duration = Duration::from_millis(100);
/// Time that the kernel may take to complete a change: carrier, duplicate address detection.
const SETTLE: Duration = Duration::from_secs(4);

/// Addresses, permanent neighbours and routes of some interfaces, and other objects that depend on these.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct State {
    /// The existing interfaces, with their own properties.
    links: Vec<Link>,
    entries: Vec<Entry>,
    /// Routes over other interfaces.
    elsewhere: Vec<Entry>,
    /// Interfaces on top of one of these (VLANs, tunnels), and which one.
    stacked: Vec<(String, String)>,
    rules: Vec<String>,
    /// Nexthop objects over these interfaces.
    nexthops: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Link {
    name: String,
    is_up: bool,
    master: Option<String>,
    mac: String,
    mtu: u64,
}

impl Link {
    fn line(&self) -> String {
        let (up, master) = (if self.is_up { "up" } else { "down" }, self.master.as_deref().unwrap_or("none"));
        format!("link {} {up} master {master} mtu {} address {}", self.name, self.mtu, self.mac)
    }
}

impl State {
    /// The state of those interfaces that exist.
    ///
    /// # Errors
    /// The error of `ip`.
    pub(super) fn read(devices: &[&str]) -> Result<Self, String> {
        let mut state = Self::default();
        for link in iproute::list(&["ip", "-j", "-d", "addr", "show"])? {
            state.read_link(devices, &link);
        }
        for line in lines("ip -o neigh show nud permanent")?.iter().chain(&lines("ip -o neigh show proxy")?) {
            let entry = Entry::neighbour(line).filter(|entry| devices.iter().any(|device| entry.is_on(device)));
            state.entries.extend(entry);
        }
        let has_v6 = Path::new("/proc/sys/net/ipv6").exists();
        for (family, is_v6) in [("-4", false), ("-6", true)].into_iter().take(1 + usize::from(has_v6)) {
            let routes = lines(&format!("ip {family} -o -d route show table all"))?;
            state.read_routes(devices, routes.iter().filter_map(|line| Entry::route(line, is_v6)).collect());
            let rules = lines(&format!("ip {family} -o rule show"))?;
            state.rules.extend(rules.iter().map(|line| format!("rule {family} {line}")));
        }
        let names_one = |line: &String| devices.iter().any(|device| has_word(line, device));
        state.nexthops = lines("ip -o nexthop show")?.into_iter().filter(names_one).collect();
        Ok(state)
    }

    fn read_link(&mut self, devices: &[&str], link: &Value) {
        let text = |key: &str| link[key].as_str().unwrap_or_default().to_owned();
        let (name, mac) = (text("ifname"), text("address"));
        let below = [&link["link"], &link["linkinfo"]["info_data"]["link"]].map(Value::as_str);
        let port = below.into_iter().flatten().find(|port| devices.contains(port));
        // The ends of a veth pair name each other.
        if let Some(port) = port.filter(|_| link["linkinfo"]["info_kind"] != "veth") {
            self.stacked.push((name.clone(), port.to_owned()));
        }
        if !devices.contains(&&*name) {
            return;
        }
        let list = link["addr_info"].as_array().into_iter().flatten();
        self.entries.extend(list.filter_map(|info| Entry::address(&name, &mac, info)));
        let is_up = link["flags"].as_array().is_some_and(|flags| flags.iter().any(|flag| flag == "UP"));
        let mtu = link["mtu"].as_u64().unwrap_or_default();
        self.links.push(Link { name, is_up, master: link["master"].as_str().map(str::to_owned), mac, mtu });
    }

    /// Keeps routes over the interfaces, and routes from their addresses, which move too. Drops those that each interface has by
    /// itself.
    fn read_routes(&mut self, devices: &[&str], routes: Vec<Entry>) {
        let addresses = self.entries.iter().filter(|entry| entry.object == Object::Address);
        let of = |entry: &Entry| entry.words[0].split('/').next().unwrap_or_default().to_owned();
        let sources: Vec<_> = addresses.map(of).collect();
        let is_concerned = |route: &Entry| {
            devices.iter().any(|device| route.is_on(device))
                || route.value("src").is_some_and(|source| sources.iter().any(|own| own == source))
        };
        let is_own = |route: &Entry| {
            route.is_of_kernel() || route.value("proto") == Some("kernel") && route.destination() == "fe80::/64"
        };
        let (concerned, others): (Vec<_>, Vec<_>) = routes.into_iter().filter(|r| !is_own(r)).partition(is_concerned);
        self.elsewhere.extend(others);
        self.entries.extend(concerned);
    }

    fn link(&self, name: &str) -> Option<&Link> {
        self.links.iter().find(|link| link.name == name)
    }

    fn addresses_of(&self, device: &str) -> impl Iterator<Item = &Entry> {
        self.entries.iter().filter(move |entry| entry.object == Object::Address && entry.is_on(device))
    }

    /// The entries that move with an interface: those over it, and those of its addresses.
    fn moving(&self, device: &str) -> Vec<Entry> {
        let is_from = |entry: &Entry| {
            let own = |address: &Entry| address.words[0].split('/').next() == entry.value("src");
            entry.object == Object::Route && self.addresses_of(device).any(own)
        };
        self.entries.iter().filter(|entry| entry.is_on(device) || is_from(entry)).cloned().collect()
    }

    /// Checks that all entries of an interface can be restored, and moved to another.
    ///
    /// # Errors
    /// The first that cannot, with the remedy.
    pub(super) fn check(&self, device: &str, to: &str) -> Result<(), String> {
        self.check_made_of()?;
        if let Some(line) = self.nexthops.first() {
            return Err(format!("nexthop object {line}: it cannot move; give its routes their gateways themselves"));
        }
        let moving = self.moving(device);
        let stays = |entry: &&Entry| entry.object == Object::Route && !moving.contains(entry);
        let staying: Vec<_> = self.elsewhere.iter().chain(self.entries.iter().filter(stays)).map(key).collect();
        // Every interface has its own IPv6 routes that come with addresses.
        let counts = |entry: &&Entry| entry.object == Object::Route && !(entry.is_v6 && entry.value("via").is_none());
        if let Some(route) = moving.iter().filter(counts).find(|route| staying.contains(&key(route))) {
            return Err(format!(
                "{}: there is a route to the same destination, with the same metric, over another interface, and which of them \
                 counts could not be restored; give them different metrics",
                route.line()
            ));
        }
        for entry in moving {
            if let Some(field) = &entry.renamed(device, to).unknown {
                return Err(format!(
                    "{}: {field:?} is not known here, so that it could not be restored; remove it, or join the interfaces \
                     yourself",
                    entry.line()
                ));
            }
        }
        Ok(())
    }

    /// Checks that no other interface is on top of one of these, and no rule names one: they would mean the port, whose traffic
    /// the bridge gets.
    ///
    /// # Errors
    /// The first one, with the remedy.
    pub(super) fn check_made_of(&self) -> Result<(), String> {
        if let Some((upper, port)) = self.stacked.first() {
            return Err(format!(
                "{upper} is made of {port}, and would not get its traffic any more once {port} is a port of a bridge; remove it \
                 (ip link del {upper}), and make it of the bridge afterwards"
            ));
        }
        let names_one = |line: &&String| self.links.iter().any(|link| has_word(line, &link.name));
        match self.rules.iter().find(names_one) {
            Some(line) => Err(format!("{line}: it names a port of the bridge; have it name the addresses instead")),
            None => Ok(()),
        }
    }

    /// Commands that remove all entries from an interface, in order.
    pub(super) fn removals(&self, device: &str) -> Vec<String> {
        let moving = self.moving(device);
        let made = self.made_by_addresses(device);
        let routes = moving.iter().filter(|entry| entry.object == Object::Route && !made.contains(entry));
        let mut routes: Vec<_> = routes.collect();
        routes.sort_by_key(|route| route.value("via").is_none());
        // In reverse order: removing the first address of a network removes its others.
        let addresses = self.addresses_of(device).collect::<Vec<_>>().into_iter().rev();
        routes.into_iter().chain(addresses).map(Entry::removal).collect()
    }

    /// Commands that add this interface's entries to another, in order.
    pub(super) fn additions(&self, device: &str, to: &str) -> Vec<String> {
        let all: Vec<_> = self.moving(device).iter().map(|entry| entry.renamed(device, to)).collect();
        let of = |object: Object| all.iter().filter(move |entry| entry.object == object);
        let (v6, v4): (Vec<_>, Vec<_>) = of(Object::Address).partition(|entry| entry.is_v6);
        let made = self.made_by_addresses(device);
        let made: Vec<_> = made.iter().map(|entry| entry.renamed(device, to)).collect();
        let mut routes: Vec<_> = of(Object::Route).filter(|route| !made.contains(route)).collect();
        routes.sort_by_key(|route| route.value("via").is_some());
        let mut commands = Vec::new();
        // The kernel puts an IPv6 address before existing ones, and refuses it as a route's source until duplicate detection has
        // ended.
        let waits = routes.iter().any(|route| route.is_v6 && route.value("src").is_some());
        let setting = |to: &str| format!("net/ipv6/conf/{to}/accept_dad");
        let now = fs::read_to_string(Path::new("/proc/sys").join(setting(device))).unwrap_or_default();
        if waits {
            commands.push(format!("sysctl {}=0", setting(to)));
        }
        commands.extend(v4.into_iter().chain(v6.into_iter().rev()).map(|entry| entry.command("add")));
        if waits && !now.is_empty() {
            commands.push(format!("sysctl {}={}", setting(to), now.trim()));
        }
        commands.extend(self.unmade_prefixes(device).iter().map(|prefix| format!("{prefix} dev {to} proto kernel")));
        commands.extend(of(Object::Neighbour).map(|entry| entry.command("replace")));
        for (at, route) in routes.iter().enumerate() {
            let is_next = routes[..at].iter().any(|before| key(before) == key(route));
            commands.push(route.command(if is_next { "append" } else { "add" }));
        }
        commands
    }

    /// The routes that come with an interface's addresses.
    fn made_by_addresses(&self, device: &str) -> Vec<Entry> {
        let prefixes: Vec<_> = self.addresses_of(device).filter_map(Entry::prefix).collect();
        let is_made = |entry: &&Entry| {
            let of_kernel = entry.value("proto") == Some("kernel") && entry.value("via").is_none();
            let is_of_prefix = entry.target().is_some_and(|target| prefixes.contains(&target));
            entry.object == Object::Route && entry.is_on(device) && of_kernel && is_of_prefix
        };
        self.entries.iter().filter(is_made).cloned().collect()
    }

    /// Commands, without the interface, that remove routes that come with addresses but did not exist.
    fn unmade_prefixes(&self, device: &str) -> Vec<String> {
        if !self.link(device).is_some_and(|link| link.is_up) {
            return Vec::new();
        }
        let made: Vec<_> = self.made_by_addresses(device).iter().filter_map(Entry::target).collect();
        let mut gone: Vec<_> = self.addresses_of(device).filter_map(Entry::prefix).collect();
        gone.retain(|prefix| !made.contains(prefix) && !prefix.0.to_string().starts_with("fe80:"));
        gone.dedup();
        let family = |prefix: &std::net::IpAddr| if prefix.is_ipv6() { "-6" } else { "-4" };
        gone.iter().map(|(first, length)| format!("ip {} route flush exact {first}/{length}", family(first))).collect()
    }

    /// Changes that restore an interface whose addresses and routes have been moved, whatever their current state.
    fn restoration(&self, device: &str, flush: bool) -> Vec<Act> {
        let mut commands = Vec::new();
        if self.link(device).is_some_and(|link| !link.is_up) {
            commands.push(format!("ip link set {device} down"));
        }
        // In order, or other addresses of a network would become its first.
        if flush && self.addresses_of(device).any(|address| !address.is_v6) {
            commands.push(format!("ip -4 addr flush dev {device}"));
        }
        commands.extend(self.additions(device, device));
        commands.into_iter().map(Act::Run).collect()
    }

    /// The whole state as lines, for comparison.
    fn lines(&self, line: fn(&Entry) -> String) -> Vec<String> {
        let entries = self.entries.iter().filter(|entry| !entry.is_temporary()).map(line);
        entries.chain(self.links.iter().map(Link::line)).chain(self.rules.iter().cloned()).collect()
    }
}

/// The fields that identify a route to the kernel: among equal ones, the first takes effect.
fn key(route: &Entry) -> (bool, String, [Option<String>; 4]) {
    let fields = ["table", "tos", "metric", "from"].map(|field| route.value(field).map(str::to_owned));
    (route.is_v6, route.destination().to_owned(), fields)
}

fn has_word(line: &str, word: &str) -> bool {
    line.split_whitespace().any(|other| other == word)
}

fn lines(command: &str) -> Result<Vec<String>, String> {
    let output = iproute::run(&command.split(' ').collect::<Vec<_>>())?;
    Ok(String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned).collect())
}

/// The lines of one list that another lacks, respecting repetitions.
fn without(list: &[String], other: &[String]) -> Vec<String> {
    let mut other = other.to_vec();
    let mut rest = list.to_vec();
    rest.retain(|line| match other.iter().position(|there| there == line) {
        Some(at) => {
            other.swap_remove(at);
            false
        }
        None => true,
    });
    rest
}

/// The state before a change, its restoration, and the expected state after the change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Saved {
    devices: Vec<String>,
    before: State,
    restore: Vec<Act>,
    /// Lines expected after the change.
    after: Vec<String>,
    /// Time that another program may take for the change and for its undo.
    patience: Duration,
}

impl Saved {
    /// For a change that moves entries from `from` to `to`, among these interfaces. `patience`: timeout of another program that
    /// makes and reverts it, if there is one.
    pub(super) fn new(before: &State, devices: &[&str], [from, to]: [&str; 2], patience: Option<Duration>) -> Self {
        let mut restore = before.restoration(from, patience.is_none());
        for other in devices.iter().filter(|other| **other != from) {
            let is_down = before.link(other).is_some_and(|link| !link.is_up);
            restore.extend(is_down.then(|| Act::Run(format!("ip link set {other} down"))));
        }
        let after = before.moving(from).into_iter().filter(|entry| !entry.is_temporary());
        let after = after.map(|entry| entry.renamed(from, to).line_of_arrival()).chain(before.rules.iter().cloned());
        Self {
            devices: devices.iter().chain([&to]).map(|&device| device.to_owned()).collect(),
            before: before.clone(),
            restore,
            after: after.collect(),
            patience: patience.unwrap_or_default(),
        }
    }

    /// The changes that restore the state after the undo of the link changes. Each may fail, because its entry may already exist.
    pub(super) fn restoration(&self) -> &[Act] {
        &self.restore
    }

    fn now(&self) -> Result<State, String> {
        State::read(&self.devices.iter().map(String::as_str).collect::<Vec<_>>())
    }

    /// Waits until there are no differences. Returns the remaining ones.
    fn wait(&self, within: Duration, differences: impl Fn(&State) -> Vec<String>) -> Vec<String> {
        let began = Instant::now();
        loop {
            let found = self.now().map_or_else(|error| vec![error], |now| differences(&now));
            if found.is_empty() || began.elapsed() >= within {
                return found;
            }
            thread::sleep(INTERVAL);
        }
    }

    /// Checks that the state is still the saved one.
    ///
    /// # Errors
    /// The differences.
    pub(super) fn check_unchanged(&self) -> Result<(), String> {
        match self.differences(&self.now()?) {
            found if found.is_empty() => Ok(()),
            found => Err(format!("nothing was changed, since the network changes by itself: {}", found.join("; "))),
        }
    }

    /// Checks that all moved entries have arrived.
    ///
    /// # Errors
    /// The missing ones.
    pub(super) fn check_arrived(&self) -> Result<(), String> {
        let missing = |now: &State| without(&self.after, &now.lines(Entry::line_of_arrival));
        match self.wait(SETTLE.max(self.patience), missing) {
            found if found.is_empty() => Ok(()),
            found => Err(format!("missing after the change: {}", found.join("; missing: "))),
        }
    }

    /// Differences from the state before.
    fn differences(&self, now: &State) -> Vec<String> {
        let (before, now) = (self.before.lines(Entry::line), now.lines(Entry::line));
        let missing = without(&before, &now).into_iter().map(|line| format!("missing: {line}"));
        missing.chain(without(&now, &before).into_iter().map(|line| format!("extra: {line}"))).collect()
    }

    /// Restores entries that differ, and returns the remaining differences.
    pub(super) fn restore(&self) -> Vec<String> {
        let differences = |now: &State| self.differences(now);
        if self.wait(self.patience, differences).is_empty() {
            return Vec::new();
        }
        for act in &self.restore {
            // The comparison shows the effect.
            let _ = act.make();
        }
        if self.wait(SETTLE, differences).is_empty() {
            return Vec::new();
        }
        self.mend();
        self.wait(SETTLE, differences)
    }

    /// Removes surplus entries and adds missing ones, independently of each other.
    fn mend(&self) {
        let Ok(now) = self.now() else { return };
        for (is_extra, list, other) in [(true, &now, &self.before), (false, &self.before, &now)] {
            let differing = without(&list.lines(Entry::line), &other.lines(Entry::line));
            for entry in list.entries.iter().filter(|entry| differing.contains(&entry.line())) {
                let command = if is_extra { entry.removal() } else { entry.command("add") };
                let _ = Act::Run(command).make();
            }
        }
    }
}

#[cfg(test)]
impl State {
    /// An interface that is up, with these addresses and IPv4 routes.
    pub(super) fn of(device: &str, addresses: &[String], routes: &[&str]) -> Self {
        let mut state = Self::default();
        let info = |address: &String| {
            let (local, length) = address.split_once('/').expect("with its length");
            let length: u8 = length.parse().expect("a number");
            serde_json::json!({"family": "inet", "local": local, "prefixlen": length, "scope": "global"})
        };
        let info: Vec<_> = addresses.iter().map(info).collect();
        state.read_link(&[device], &serde_json::json!({"ifname": device, "flags": ["UP"], "addr_info": info}));
        state.read_routes(&[device], routes.iter().filter_map(|line| Entry::route(line, false)).collect());
        state
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_interface_that_is_made_of_a_port_is_refused_and_a_cable_is_not() {
        let check = |link: Value| {
            let mut state = State::of("eth0", &["10.0.0.7/24".into()], &[]);
            state.read_link(&["eth0"], &link);
            state.check("eth0", "br0")
        };
        let vlan = json!({"ifname": "eth0.10", "link": "eth0", "linkinfo": {"info_kind": "vlan"}});
        let error = check(vlan).expect_err("refused");
        assert!(error.contains("eth0.10 is made of eth0") && error.contains("ip link del eth0.10"), "{error}");
        let tunnel = json!({"ifname": "vx0", "linkinfo": {"info_kind": "vxlan", "info_data": {"link": "eth0"}}});
        assert!(check(tunnel).is_err());
        for other in [
            json!({"ifname": "far0", "link": "eth0", "linkinfo": {"info_kind": "veth"}}),
            json!({"ifname": "eth9.10", "link": "eth9", "linkinfo": {"info_kind": "vlan"}}),
        ] {
            assert_eq!(check(other), Ok(()));
        }
    }

    #[test]
    fn differences_are_listed_with_their_repetitions() {
        let list = |lines: &[&str]| lines.iter().map(|&line| line.to_owned()).collect::<Vec<_>>();
        let (before, now) = (list(&["a", "a", "b"]), list(&["a", "c"]));
        assert_eq!((without(&before, &now), without(&now, &before)), (list(&["a", "b"]), list(&["c"])));
    }
}
