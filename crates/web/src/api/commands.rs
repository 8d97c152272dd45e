//! Operations that change the box: each is a request to its control socket.

use axum::http::{Method, StatusCode};
use evenair_api::{NameOrigin, NamedStation, Request, Response, StationName, Status};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

use super::body::{MAC, is_mac};
use super::list::{Item, List};
use super::operation::{Asked, Operation};
use super::parameter::PAGES;
use super::problem::{InputError, Problem};
use crate::account::Role;
use crate::control::NotDone;

/// Names per request: with 64 characters of four bytes each they are 40 kB, and a request to the control socket has at most 64 KiB.
const NAMES_OF_REQUEST: usize = 128;

type Done = Result<(), Problem>;

/// All operations of the control socket.
#[rustfmt::skip]
pub(crate) fn operations() -> Vec<Operation> {
    let admin = |operation: Operation| operation.for_role(Role::Admin);
    vec![
        Operation::act(Method::POST, "/insert", "Start to manage the traffic; `/observe` or `/bypass` undoes it",
            |asked| command(asked, Request::Insert)),
        Operation::act(Method::POST, "/observe", "Measure and change nothing; `/insert` undoes it",
            |asked| command(asked, Request::Observe { force: false })),
        Operation::act(Method::POST, "/bypass", "Step aside, so that the bridge carries the traffic; `/insert` undoes it",
            |asked| command(asked, Request::Bypass { force: false })),
        admin(Operation::act(Method::POST, "/shutdown", "Step aside and end the box, which only the machine's service manager starts again",
            |asked| command(asked, Request::Shutdown { force: false }))),
        admin(Operation::change(Method::POST, "/reload", "Read the box's configuration file again", reload)),
        Operation::get("/status", "The whole status, with the 1000 last used TCP connections", status),
        Operation::get("/names", "Names of stations but those of DHCP, by MAC address", names).with(PAGES),
        Operation::change(Method::POST, "/names", "Name many stations, all or none; names of others stay", import_names),
        Operation::change(Method::PUT, "/stations/{station}/name", "Name a station", name),
        Operation::act(Method::DELETE, "/stations/{station}/name", "Take away the operator's name of a station", |asked| async move {
            station(&asked, |mac| Request::Name { mac, name: None }).await
        }),
        Operation::change(Method::PUT, "/stations/{station}/rate", "Set the PHY rate of a station", set_rate),
        Operation::act(Method::DELETE, "/stations/{station}/rate", "Report that a station has left", |asked| async move {
            station(&asked, |mac| Request::SetRate { mac, rate_mbps: None, mode: None }).await
        }),
        Operation::change(Method::PUT, "/stations/{station}/access-point", "Report at which access point a station is", at),
        Operation::act(Method::DELETE, "/stations/{station}/access-point", "Report that its access point is not known", |asked| async move {
            station(&asked, |mac| Request::At { mac, access_point: None }).await
        }),
        Operation::change(Method::PUT, "/stations/{station}/group", "Put a station into a group of yours, for classes", group),
        Operation::act(Method::DELETE, "/stations/{station}/group", "Take a station out of its group", |asked| async move {
            station(&asked, |mac| Request::Group { mac, group: None }).await
        }),
        Operation::change(Method::PUT, "/stations/{station}/network", "Report in which network (SSID) a station is", network),
        Operation::act(Method::DELETE, "/stations/{station}/network", "Report that its network is not known", |asked| async move {
            station(&asked, |mac| Request::Network { mac, ssid: None }).await
        }),
        Operation::change(Method::POST, "/losses", "Report what an access point has lost on the way to its stations", losses),
    ]
}

/// A MAC address.
#[derive(Debug, Deserialize)]
#[serde(transparent)]
struct Mac(String);

impl JsonSchema for Mac {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Mac".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "pattern": MAC })
    }
}

/// How to read the configuration.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Reload {
    /// Only say whether it would be taken.
    #[serde(default)]
    check: bool,
}

/// A name of a station.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct NewName {
    /// The name, without control characters and invisible ones.
    #[schemars(length(min = 1, max = 64))]
    name: String,
}

/// A station and its name.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct OneName {
    /// MAC address of the station.
    mac: Mac,
    /// The name, without control characters and invisible ones.
    #[schemars(length(min = 1, max = 64))]
    name: String,
}

/// Names of stations.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Names {
    /// Each station at most once.
    #[schemars(length(min = 1))]
    names: Vec<OneName>,
}

/// A PHY rate: one of the two members.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("minProperties" = 1, "maxProperties" = 1))]
struct Rate {
    /// In Mb/s, of a standard without MCS.
    #[serde(default)]
    #[schemars(with = "f64", range(min = 0, max = 10_000))]
    rate_mbps: Option<f64>,
    /// A mode of 802.11n or later: "HE MCS 7, 80 MHz, 2 streams, GI 0.8 us".
    #[serde(default)]
    #[schemars(with = "String", length(min = 1, max = 64))]
    mode: Option<String>,
}

/// Where a station is.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct At {
    /// A name of the access point, or the address of its radio (BSSID).
    #[schemars(length(min = 1, max = 32))]
    access_point: String,
}

/// A group of the operator's.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Group {
    /// Its name.
    #[schemars(length(min = 1, max = 32))]
    group: String,
}

/// A network.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Network {
    /// Its name.
    #[schemars(length(min = 1, max = 32))]
    ssid: String,
}

/// Packets that an access point has lost.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct LossReport {
    /// Any MAC address that names the access point.
    access_point: Mac,
    /// The total since whenever, from a counter such as `ifOutDiscards`.
    total: u64,
}

/// A station with a name.
#[derive(Debug, Serialize, JsonSchema)]
struct Named {
    /// MAC address of the station.
    mac: String,
    /// Its name.
    name: String,
    /// Where the name comes from.
    origin: NameOrigin,
}

impl Item for Named {
    fn key(&self) -> String {
        self.mac.clone()
    }
}

impl From<NotDone> for Problem {
    fn from(why: NotDone) -> Self {
        match why {
            NotDone::Forbidden(why) => Self::new(StatusCode::FORBIDDEN, why),
            NotDone::Away(why) => Self::new(StatusCode::BAD_GATEWAY, why),
            NotDone::Refused(why) => Self::new(StatusCode::CONFLICT, format!("the box refuses: {why}")),
        }
    }
}

async fn ask(asked: &Asked, request: Request) -> Result<Response, Problem> {
    Ok(asked.shared.control.ask(&[request]).await?)
}

async fn command(asked: Asked, request: Request) -> Done {
    ask(&asked, request).await.map(drop)
}

/// Sends a request about the path's station.
async fn station(asked: &Asked, request: impl FnOnce(String) -> Request) -> Done {
    let mac = asked.variable("station").to_lowercase();
    if !is_mac(&mac) {
        let wrong = format!("{mac:?} is no MAC address, such as 02:00:00:00:00:01");
        return Err(Problem::of_input(vec![InputError::new("station", wrong)]));
    }
    ask(asked, request(mac)).await.map(drop)
}

async fn reload(asked: Asked, Reload { check }: Reload) -> Done {
    command(asked, Request::Reconfigure { file: None, check }).await
}

async fn name(asked: Asked, NewName { name }: NewName) -> Done {
    station(&asked, |mac| Request::Name { mac, name: Some(name) }).await
}

async fn set_rate(asked: Asked, Rate { rate_mbps, mode }: Rate) -> Done {
    station(&asked, |mac| Request::SetRate { mac, rate_mbps, mode }).await
}

async fn at(asked: Asked, At { access_point }: At) -> Done {
    station(&asked, |mac| Request::At { mac, access_point: Some(access_point) }).await
}

async fn group(asked: Asked, Group { group }: Group) -> Done {
    station(&asked, |mac| Request::Group { mac, group: Some(group) }).await
}

async fn network(asked: Asked, Network { ssid }: Network) -> Done {
    station(&asked, |mac| Request::Network { mac, ssid: Some(ssid) }).await
}

async fn losses(asked: Asked, LossReport { access_point: Mac(access_point), total }: LossReport) -> Done {
    command(asked, Request::Losses { access_point, total }).await
}

async fn import_names(asked: Asked, Names { names }: Names) -> Done {
    let total = names.len();
    let names: Vec<_> = names.into_iter().map(|OneName { mac, name }| StationName { mac: mac.0, name }).collect();
    let parts = names.chunks(NAMES_OF_REQUEST).enumerate();
    let request = |(part, names): (usize, &[StationName])| Request::ImportNames {
        at: part * NAMES_OF_REQUEST,
        total,
        names: names.to_vec(),
    };
    let requests: Vec<_> = parts.map(request).collect();
    asked.shared.control.ask(&requests).await?;
    Ok(())
}

async fn status(asked: Asked) -> Result<Status, Problem> {
    let status = ask(&asked, Request::Status).await?.status;
    status.map(|status| *status).ok_or_else(|| NotDone::Away("the box answered without a status".into()).into())
}

async fn names(asked: Asked) -> Result<List<Named>, Problem> {
    let names = ask(&asked, Request::Names).await?.names.unwrap_or_default();
    let named = |NamedStation { mac, name, origin }| Named { mac, name, origin };
    Ok(List::page(names.into_iter().map(named).collect(), &asked.query))
}
