//! An address, a neighbour or a route in the words that `ip` prints and takes.
//!
//! Routes are read as text, not as JSON: the JSON of iproute2 6.1 lacks `lock` of a metric. What is not known here is kept for
//! comparison and marked, so that it is refused instead of lost ([`Entry::unknown`]).

use std::net::{IpAddr, Ipv6Addr};

use serde_json::Value;

/// A kind of entry: the object after `ip`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Object {
    Address,
    Neighbour,
    Route,
}

/// An address, a permanent neighbour or a route.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    pub(super) object: Object,
    pub(super) is_v6: bool,
    /// The arguments after `ip -4 route add` and the like.
    pub(super) words: Vec<String>,
    /// A secondary address: the kernel's flag for all but the first of a network.
    is_secondary: bool,
    /// The first unsupported field, with which the entry could not be restored.
    pub(super) unknown: Option<String>,
}

/// Fields of a route with one value each (ip-route(8)).
const VALUED: [&str; 24] = [
    "dev",
    "table",
    "proto",
    "scope",
    "src",
    "from",
    "metric",
    "tos",
    "realms",
    "pref",
    "weight",
    "window",
    "rtt",
    "rttvar",
    "ssthresh",
    "cwnd",
    "advmss",
    "reordering",
    "hoplimit",
    "initcwnd",
    "initrwnd",
    "quickack",
    "congctl",
    "mtu",
];
/// Flags of a route that the kernel sets and clears with the carrier.
const PASSING: [&str; 2] = ["linkdown", "dead"];
/// Defaults of `ip` for missing fields, for any route and for those with a gateway or of IPv6.
const ASSUMED: [(&str, &str); 4] = [("table", "main"), ("proto", "boot"), ("pref", "medium"), ("weight", "1")];
/// Route types, which precede the destination; `unicast` if missing.
const TYPES: [&str; 9] =
    ["local", "broadcast", "anycast", "multicast", "throw", "unreachable", "prohibit", "blackhole", "nat"];
/// Fields with lifetimes.
const LIFETIMES: [&str; 3] = ["valid_lft", "preferred_lft", "expires"];
/// Infinite lifetime in `ip -j addr`.
const FOREVER: u64 = u32::MAX as u64;

impl Entry {
    /// Parses a line of `ip -o -d route`. `None`: no route.
    pub(super) fn route(line: &str, is_v6: bool) -> Option<Self> {
        // A continuation of the previous line, such as `nh_info`.
        if line.starts_with(char::is_whitespace) {
            return None;
        }
        let line = line.replace('\\', " ");
        let mut tokens = line.split_whitespace();
        let (kind, target) = (tokens.next()?, tokens.next()?);
        let mut entry = Self::new(Object::Route, is_v6, vec![]);
        entry.words.extend((kind != "unicast").then(|| kind.to_owned()));
        entry.words.push(target.to_owned());
        let has_gateway = line.contains(" via ");
        while let Some(word) = tokens.next() {
            let mut value = || tokens.next().unwrap_or_default().to_owned();
            match word {
                _ if PASSING.contains(&word) => {}
                "onlink" | "nexthop" => entry.words.push(word.into()),
                "via" => {
                    let gateway = value();
                    let of_family = matches!(&*gateway, "inet" | "inet6").then(&mut value);
                    entry.words.extend([word.to_owned(), gateway]);
                    entry.words.extend(of_family);
                }
                "features" => match value() {
                    feature if feature == "ecn" => entry.words.extend([word.to_owned(), feature]),
                    feature => entry.mark(&format!("features {feature}")),
                },
                "expires" => entry.words.extend([word.to_owned(), value().trim_end_matches("sec").to_owned()]),
                // `ip` locks it itself, and accepts no other value.
                "rto_min" => match value() {
                    lock if lock == "lock" => entry.words.extend([word.to_owned(), value()]),
                    _ => entry.mark("rto_min without lock"),
                },
                _ if VALUED.contains(&word) => {
                    let first = value();
                    let locked = (first == "lock").then(&mut value);
                    let is_assumed = ASSUMED.contains(&(word, &*first))
                        || (word, &*first) == ("scope", "global") && (is_v6 || has_gateway);
                    if !is_assumed {
                        entry.words.extend([word.to_owned(), first]);
                        entry.words.extend(locked);
                    }
                }
                _ => {
                    entry.mark(word);
                    entry.words.push(word.into());
                }
            }
        }
        Some(entry)
    }

    /// Parses a line of `ip -o neigh`: a permanent or proxy neighbour. `None`: another one.
    pub(super) fn neighbour(line: &str) -> Option<Self> {
        let mut tokens = line.split_whitespace();
        let address = tokens.next()?;
        let mut entry = Self::new(Object::Neighbour, address.contains(':'), vec![address.to_owned()]);
        while let Some(word) = tokens.next() {
            match word {
                "dev" | "lladdr" | "proto" => entry.words.extend([word, tokens.next()?].map(str::to_owned)),
                "PERMANENT" => entry.words.extend(["nud", "permanent"].map(str::to_owned)),
                "router" | "proxy" => entry.words.push(word.into()),
                _ => {
                    entry.mark(word);
                    entry.words.push(word.into());
                }
            }
        }
        Some(entry)
    }

    /// An address of a device, from `addr_info` of `ip -j addr`. `None`: the kernel gives it to every interface.
    pub(super) fn address(device: &str, mac: &str, info: &Value) -> Option<Self> {
        let info = info.as_object()?;
        let text = |key: &str| info.get(key).and_then(Value::as_str);
        let number = |key: &str| info.get(key).and_then(Value::as_u64);
        let is_v6 = text("family") == Some("inet6");
        let (local, length) = (text("local")?, number("prefixlen")?);
        let is_of_link = is_v6 && text("scope") == Some("link");
        if is_of_link && (local.parse().ok() == of_mac(mac) || info.contains_key("stable-privacy")) {
            return None;
        }
        let mut entry = Self::new(Object::Address, is_v6, vec![]);
        match text("address") {
            Some(peer) => entry.words.extend([local.to_owned(), "peer".to_owned(), format!("{peer}/{length}")]),
            None => entry.words.push(format!("{local}/{length}")),
        }
        entry.add("dev", device);
        for (key, value) in info {
            let is_set = *value != Value::Bool(false);
            match key.as_str() {
                // Handled elsewhere, or transient.
                "family" | "local" | "address" | "prefixlen" | "preferred_life_time" => {}
                "dynamic" | "tentative" | "dadfailed" | "deprecated" | "optimistic" | "permanent" => {}
                "secondary" if !is_v6 => entry.is_secondary = is_set,
                "label" if value == device => {}
                "broadcast" => entry.add("brd", value.as_str()?),
                "scope" if value == "global" || is_of_link => {}
                "label" | "scope" => entry.add(key, value.as_str()?),
                "metric" => entry.add(key, &value.as_u64()?.to_string()),
                "protocol" if text(key).is_some_and(|name| name.starts_with("kernel")) => {}
                "protocol" => entry.add("proto", value.as_str()?),
                "valid_life_time" => entry.add_lifetimes(number(key), number("preferred_life_time")),
                "nodad" | "home" | "noprefixroute" | "mngtmpaddr" | "autojoin" if is_set => {
                    entry.words.push(key.clone());
                }
                _ if is_set => entry.mark(key),
                _ => {}
            }
        }
        if entry.value("label").is_some_and(|label| !label.starts_with(device)) {
            entry.mark("label of another interface");
        }
        Some(entry)
    }

    fn new(object: Object, is_v6: bool, words: Vec<String>) -> Self {
        Self { object, is_v6, words, is_secondary: false, unknown: None }
    }

    fn add(&mut self, word: &str, value: &str) {
        self.words.extend([word.to_owned(), value.to_owned()]);
    }

    fn add_lifetimes(&mut self, valid: Option<u64>, preferred: Option<u64>) {
        for (word, seconds) in [("valid_lft", valid), ("preferred_lft", preferred)] {
            if let Some(seconds) = seconds.filter(|seconds| *seconds != FOREVER) {
                self.add(word, &seconds.to_string());
            }
        }
    }

    fn drop_lifetimes(&mut self) {
        while let Some(at) = self.words.iter().position(|word| LIFETIMES.contains(&word.as_str())) {
            self.words.drain(at..self.words.len().min(at + 2));
        }
    }

    fn mark(&mut self, field: &str) {
        self.unknown.get_or_insert_with(|| field.to_owned());
    }

    /// The value of a field.
    pub(super) fn value(&self, field: &str) -> Option<&str> {
        let at = self.words.iter().position(|word| word == field)?;
        self.words.get(at + 1).map(String::as_str)
    }

    /// Whether it uses this interface, at least in part.
    pub(super) fn is_on(&self, device: &str) -> bool {
        self.words.windows(2).any(|pair| pair[0] == "dev" && pair[1] == device)
    }

    /// Whether the kernel makes it with an address, in the local table.
    pub(super) fn is_of_kernel(&self) -> bool {
        self.value("table") == Some("local") && self.value("proto") == Some("kernel")
    }

    /// An address of the privacy extensions (RFC 8981), which only the kernel can make.
    pub(super) fn is_temporary(&self) -> bool {
        self.object == Object::Address && self.unknown.as_deref() == Some("temporary")
    }

    /// Destination of a route, or address of a neighbour.
    pub(super) fn destination(&self) -> &str {
        let at = usize::from(self.words.first().is_some_and(|word| TYPES.contains(&word.as_str())));
        self.words.get(at).map_or("", String::as_str)
    }

    /// The same entry on another interface. There, an address with a lifetime becomes permanent, because its DHCP client would
    /// renew it on the old interface; except one that the kernel itself renews, by router advertisements.
    pub(super) fn renamed(&self, from: &str, to: &str) -> Self {
        let mut entry = self.clone();
        if from == to {
            return entry;
        }
        if self.object == Object::Address && !self.words.iter().any(|word| word == "mngtmpaddr") {
            entry.drop_lifetimes();
        }
        for at in 1..entry.words.len() {
            match (entry.words[at - 1].as_str(), entry.words[at].as_str()) {
                ("dev", device) if device == from => entry.words[at] = to.to_owned(),
                ("label", label) => {
                    if let Some(rest) = label.strip_prefix(from) {
                        entry.words[at] = format!("{to}{rest}");
                    }
                }
                _ => {}
            }
        }
        // IFNAMSIZ without the terminating zero (if.h).
        if entry.value("label").is_some_and(|label| label.len() > 15) {
            entry.mark("label, too long with the new name");
        }
        entry
    }

    /// The command with this verb, such as `add`.
    pub(super) fn command(&self, verb: &str) -> String {
        let (family, object) = (if self.is_v6 { "-6" } else { "-4" }, self.object());
        format!("ip {family} {object} {verb} {}", self.words.join(" "))
    }

    /// The command that removes it.
    pub(super) fn removal(&self) -> String {
        let mut entry = self.clone();
        match self.object {
            Object::Address => {
                let end = self.words.iter().position(|word| word == "dev").map_or(0, |at| at + 2);
                entry.words.truncate(end);
            }
            Object::Route => entry.drop_lifetimes(),
            Object::Neighbour => entry.words.retain(|word| word != "nud" && word != "permanent"),
        }
        entry.command("del")
    }

    fn object(&self) -> &'static str {
        match self.object {
            Object::Address => "addr",
            Object::Neighbour => "neigh",
            Object::Route => "route",
        }
    }

    /// A line for comparison and display. Lifetimes are reduced to whether they are finite.
    pub(super) fn line(&self) -> String {
        let mut line = self.object().to_owned();
        let mut passes = false;
        for word in &self.words {
            line = line + " " + if passes { "(some)" } else { word };
            passes = LIFETIMES.contains(&word.as_str());
        }
        if self.is_secondary { line + " secondary" } else { line }
    }

    /// The same without lifetimes, which may differ on another interface.
    pub(super) fn line_of_arrival(&self) -> String {
        let mut entry = self.clone();
        entry.drop_lifetimes();
        entry.line()
    }

    /// The network to which an address makes the kernel add a route.
    pub(super) fn prefix(&self) -> Option<(IpAddr, u8)> {
        if self.object != Object::Address || self.words.iter().any(|word| word == "noprefixroute") {
            return None;
        }
        let peer = self.value("peer");
        network(peer.unwrap_or(&self.words[0])).filter(|(_, length)| self.is_v6 || *length < 32 || peer.is_some())
    }

    /// The destination of a route as a network.
    pub(super) fn target(&self) -> Option<(IpAddr, u8)> {
        let text = self.destination();
        match text.parse() {
            Ok(address) => Some((address, if self.is_v6 { 128 } else { 32 })),
            Err(_) => network(text),
        }
    }
}

/// The link-local address derived from a MAC address (RFC 4291, appendix A).
fn of_mac(mac: &str) -> Option<Ipv6Addr> {
    let bytes: Vec<_> = mac.split(':').map(|byte| u8::from_str_radix(byte, 16)).collect::<Result<_, _>>().ok()?;
    let [a, b, c, d, e, f] = bytes.try_into().ok()?;
    Some(Ipv6Addr::from([0xfe, 0x80, 0, 0, 0, 0, 0, 0, a ^ 2, b, c, 0xff, 0xfe, d, e, f]))
}

/// The network of an address with prefix length: its first address, and the length.
pub(super) fn network(text: &str) -> Option<(IpAddr, u8)> {
    let (address, prefix) = text.split_once('/')?;
    let prefix: u8 = prefix.parse().ok()?;
    let first = match address.parse().ok()? {
        IpAddr::V4(v4) if prefix <= 32 => {
            let mask = u32::MAX.checked_shl(32 - u32::from(prefix)).unwrap_or(0);
            IpAddr::V4((u32::from(v4) & mask).into())
        }
        IpAddr::V6(v6) if prefix <= 128 => {
            let mask = u128::MAX.checked_shl(128 - u32::from(prefix)).unwrap_or(0);
            IpAddr::V6((u128::from(v6) & mask).into())
        }
        _ => return None,
    };
    Some((first, prefix))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn route(line: &str) -> Entry {
        Entry::route(line, line.contains("::")).expect("a route")
    }

    #[test]
    fn every_field_of_a_route_stays() {
        for (shown, taken) in [
            (
                "unicast default via 10.5.0.1 dev eth0 table main proto boot scope global onlink linkdown",
                "default via 10.5.0.1 dev eth0 onlink",
            ),
            (
                "unicast default table main proto static scope global \\\tnexthop via 10.5.0.1 dev eth0 weight 3 \\\tnexthop via inet6 fe80::1 dev eth2 weight 1 onlink ",
                "default proto static nexthop via 10.5.0.1 dev eth0 weight 3 nexthop via inet6 fe80::1 dev eth2 onlink",
            ),
            (
                "unicast 10.10.0.0/16 tos 0x10 dev eth0 table 100 proto boot scope link src 10.5.0.8 realms 3/4 metric 7 mtu lock 1400 initcwnd 20 features ecn rto_min lock 20ms congctl reno",
                "10.10.0.0/16 tos 0x10 dev eth0 table 100 scope link src 10.5.0.8 realms 3/4 metric 7 mtu lock 1400 initcwnd 20 features ecn rto_min 20ms congctl reno",
            ),
            (
                "local 10.99.0.0/16 dev eth0 table local proto boot scope host",
                "local 10.99.0.0/16 dev eth0 table local scope host",
            ),
        ] {
            let entry = Entry::route(shown, false).expect("a route");
            assert_eq!((entry.command("add"), &entry.unknown), (format!("ip -4 route add {taken}"), &None));
        }
        let v6 = route(
            "unicast 2001:db8:9::/48 from 2001:db8::/48 via fe80::1 dev eth0 table main proto ra scope global metric 77 expires 653sec pref high",
        );
        assert_eq!(
            v6.command("add"),
            "ip -6 route add 2001:db8:9::/48 from 2001:db8::/48 via fe80::1 dev eth0 proto ra metric 77 expires 653 pref high"
        );
        assert_eq!(v6.line(), route("unicast 2001:db8:9::/48 from 2001:db8::/48 via fe80::1 dev eth0 table main proto ra scope global metric 77 expires 12sec pref high").line());
    }

    #[test]
    fn an_unknown_field_is_marked() {
        for (line, field) in [
            ("unicast 10.12.0.0/16  encap ip id 5 src 0.0.0.0 dst 10.5.0.9 dev eth0 table main", "encap"),
            ("unicast 10.14.0.0/16 nhid 7 via 10.5.0.3 dev eth0 table main", "nhid"),
            ("unicast 10.14.0.0/16 via 10.5.0.3 dev eth0 features tcp_usec_ts", "features tcp_usec_ts"),
        ] {
            assert_eq!(Entry::route(line, false).expect("a route").unknown.as_deref(), Some(field));
        }
        assert_eq!(Entry::route("\tnh_info id 7 via 10.5.0.3 dev eth0", false), None);
        let address = |key: &str, value: Value| {
            let mut info = json!({"family": "inet6", "local": "2001:db8::7", "prefixlen": 64, "scope": "global"});
            info[key] = value;
            Entry::address("eth0", "02:00:00:00:00:01", &info).expect("an address").unknown
        };
        assert_eq!(address("new-flag", json!(true)).as_deref(), Some("new-flag"));
        assert_eq!(address("temporary", json!(true)).as_deref(), Some("temporary"));
        assert_eq!(address("new-flag", json!(false)), None);
        assert_eq!(
            Entry::neighbour("10.5.0.9 dev eth0 lladdr 02::1 managed").expect("one").unknown.as_deref(),
            Some("managed")
        );
    }

    #[test]
    fn every_field_of_an_address_stays() {
        let info = json!({"family": "inet", "local": "10.9.0.1", "address": "10.9.0.2", "prefixlen": 32, "metric": 55,
            "broadcast": "10.9.0.255", "scope": "site", "noprefixroute": true, "dynamic": true, "label": "eth0:a",
            "valid_life_time": 1000, "preferred_life_time": 500});
        let entry = Entry::address("eth0", "02:00:00:00:00:01", &info).expect("an address");
        assert_eq!(entry.unknown, None);
        let words = entry.command("add");
        for part in [
            "ip -4 addr add 10.9.0.1 peer 10.9.0.2/32 dev eth0",
            "brd 10.9.0.255",
            "scope site",
            "noprefixroute",
            "metric 55",
            "label eth0:a",
            "valid_lft 1000",
            "preferred_lft 500",
        ] {
            assert!(words.contains(part), "{part}: {words}");
        }
        assert_eq!(entry.removal(), "ip -4 addr del 10.9.0.1 peer 10.9.0.2/32 dev eth0");
        assert_eq!(entry.renamed("eth0", "br0").value("label"), Some("br0:a"));
        assert!(entry.renamed("eth0", "a-long-bridge0").unknown.is_some(), "a label has at most 15 bytes");
        let own = json!({"family": "inet6", "local": "fe80::1", "prefixlen": 64, "scope": "link"});
        let of_mac = json!({"family": "inet6", "local": "fe80::ff:fe00:1", "prefixlen": 64, "scope": "link"});
        let is_kept = |info| Entry::address("eth0", "02:00:00:00:00:01", info).is_some();
        assert!(is_kept(&own) && !is_kept(&of_mac), "every interface has its own by itself");
    }

    #[test]
    fn networks_and_addresses() {
        assert_eq!(network("192.168.77.1/24"), Some(("192.168.77.0".parse().expect("an address"), 24)));
        assert_eq!(network("fd00:1:2:3::9/64"), Some(("fd00:1:2:3::".parse().expect("an address"), 64)));
        assert_eq!(network("10.0.0.1/0"), Some(("0.0.0.0".parse().expect("an address"), 0)));
        for wrong in ["10.0.0.1", "10.0.0.1/33", "fd00::1/129", "x/8"] {
            assert_eq!(network(wrong), None, "{wrong}");
        }
    }
}
