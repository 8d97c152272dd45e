//! The table of all operations, and how each reads its data.

use std::sync::LazyLock;

use axum::http::StatusCode;
use evenair_api::watch::{Answer, Content, Event, History, Line, MOST_STATIONS, Request, Station};
use evenair_api::{FlowStatus, Json};
use evenair_reader::nearest;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Serialize;
use serde_json::Value;

use super::body::is_mac;
use super::commands;
use super::document;
use super::list::{Item, List, Now};
use super::operation::{Asked, Operation};
use super::own;
use super::parameter::{BASE, Cursor, PAGES, Parameter};
use super::problem::Problem;
use super::stored;
use crate::account::Role;
use crate::audit::{AuditEntry, AuditPlace};
use crate::feed::Range;
use crate::history::Series;
use crate::token::TokenEntry;

/// Parameters of a recent history.
const SPAN: &[Parameter] = &[Parameter::Span];

/// Parameters of the history endpoint.
const SERIES: &[Parameter] = &[
    Parameter::Span,
    Parameter::Measure,
    Parameter::Subject,
    Parameter::From,
    Parameter::To,
    Parameter::Every,
    Parameter::Busiest,
];

/// Parameters of the events.
const EVENTS: &[Parameter] = &[Parameter::Limit, Parameter::Cursor, Parameter::From, Parameter::To];

type Outcome<T> = Result<T, Problem>;

/// All operations.
#[rustfmt::skip]
pub(crate) fn operations() -> Vec<Operation> {
    let mut operations = vec![
        Operation::get("/health", "What is wrong with the network and the box",
            |asked| async move { now(&asked, |line| line.health) }),
        Operation::get("/totals", "The whole box",
            |asked| async move { now(&asked, |line| line.totals) }),
        Operation::get("/history", "The time before now, of the whole box; or a measure over any time", history_of_box)
            .with(SERIES),
        Operation::get("/domains", "Contention domains, by name",
            |asked| async move { list(&asked, |line| line.domains) }).with(PAGES),
        Operation::get("/domains/{domain}", "A contention domain",
            |asked| async move { item(&asked, "domain", |line| line.domains) }),
        Operation::get("/domains/{domain}/history", "The time before now, of a contention domain", history_of_domain)
            .with(SPAN),
        Operation::get("/access-points", "Access points, by name",
            |asked| async move { list(&asked, |line| line.access_points) }).with(PAGES),
        Operation::get("/access-points/{access_point}", "An access point",
            |asked| async move { item(&asked, "access_point", |line| line.access_points) }),
        Operation::get("/stations", "Stations, by MAC address: the 256 with the most airtime",
            |asked| async move { list(&asked, |line| line.stations) }).with(PAGES),
        Operation::get("/stations/{station}", "A station", station),
        Operation::get("/stations/{station}/flows", "Flows of a station: the 1000 last used", flows).with(PAGES),
        Operation::get("/stations/{station}/history", "The ten minutes before now, of a station", history_of_station),
        Operation::get("/classes", "Policy classes, by name, each with all below it",
            |asked| async move { list(&asked, |line| line.classes) }).with(PAGES),
        Operation::get("/calls", "Calls that go on, by station",
            |asked| async move { list(&asked, |line| line.calls) }).with(PAGES),
        Operation::get("/events", "The last 50 events, or the stored ones of a time, the oldest first", events).with(EVENTS),
        Operation::live("/live", "Live data: what the box says, each second"),
        Operation::get("/tokens", "Tokens of the API", tokens).with(PAGES).for_role(Role::Admin),
        Operation::get("/audit", "The audit log: logins, and what was changed, the newest first", audit).with(PAGES)
            .for_role(Role::Admin),
        Operation::get("/me", "Who asks: account or token, and role", |asked| async move { Ok(asked.shared.auth.doer(asked.access)) }),
        Operation::get("/openapi.json", "This document", |asked| async move { Ok(Document(document_below(&asked.shared.config.base_path))) }),
    ];
    operations.extend(own::operations());
    operations.extend(commands::operations());
    operations
}

/// The OpenAPI document of all operations.
pub(crate) static DOCUMENT: LazyLock<Value> = LazyLock::new(|| document::of(BASE, &operations()));

/// The document of a page below a base path.
fn document_below(base: &str) -> Value {
    let mut document = DOCUMENT.clone();
    if !base.is_empty() {
        document["servers"][0]["url"] = base.into();
    }
    document
}

/// An OpenAPI document.
#[derive(Serialize)]
struct Document(Value);

impl JsonSchema for Document {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Document".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "An OpenAPI document.",
            "type": "object",
            "properties": {
                "openapi": { "type": "string", "pattern": "^3\\.1\\." },
                "info": { "type": "object" },
                "paths": { "type": "object" },
            },
            "required": ["openapi", "info", "paths"],
            "additionalProperties": true,
        })
    }
}

/// What the box has in memory, or a series of the stored history.
#[derive(Serialize, JsonSchema)]
#[serde(untagged)]
enum HistoryOrSeries {
    /// The time before now.
    History(History),
    /// A measure over a time.
    Series(Series),
}

/// The line of the last second.
fn line(asked: &Asked) -> Outcome<Line> {
    asked.shared.feed.line().map_err(Problem::away)
}

/// A part of the line; empty if the box does not support the part.
fn now<T: Default>(asked: &Asked, part: fn(Line) -> Option<T>) -> Outcome<Now<T>> {
    let line = line(asked)?;
    Ok(Now { at: line.at, what: part(line).unwrap_or_default() })
}

/// A page of a part that is a list.
fn list<T: Item>(asked: &Asked, part: fn(Line) -> Option<Vec<T>>) -> Outcome<Now<List<T>>> {
    let Now { at, what } = now(asked, part)?;
    Ok(Now { at, what: List::page(what, &asked.query) })
}

/// The item whose key is this path variable.
fn item<T: Item>(asked: &Asked, variable: &str, part: fn(Line) -> Option<Vec<T>>) -> Outcome<Now<T>> {
    let Now { at, what: items } = now(asked, part)?;
    let wanted = asked.variable(variable);
    let keys: Vec<_> = items.iter().map(Item::key).collect();
    let Some(what) = items.into_iter().find(|item| item.key() == wanted) else {
        let near = nearest(wanted, keys.iter().map(String::as_str), 1);
        return Err(Problem::missing(&variable.replace('_', " "), wanted, near.first().copied()));
    };
    Ok(Now { at, what })
}

/// The problem of an unknown station: names the nearest by address or name.
fn no_station(wanted: &str, stations: &[Station]) -> Problem {
    let words = stations.iter().flat_map(|station| [Some(&*station.mac), station.name.as_deref()]).flatten();
    let near = nearest(wanted, words, 1).first().copied();
    let is_near = |station: &&Station| near == Some(&*station.mac) || near == station.name.as_deref();
    let near = stations.iter().find(is_near).map(|station| &*station.mac);
    Problem::missing("station of that MAC address:", wanted, near)
}

async fn station(asked: Asked) -> Outcome<Now<Station>> {
    let Now { at, what: stations } = now(&asked, |line| line.stations)?;
    let wanted = asked.variable("station").to_lowercase();
    match stations.iter().position(|station| station.mac == wanted) {
        Some(index) => Ok(Now { at, what: stations.into_iter().nth(index).expect("it is there") }),
        None => Err(no_station(&wanted, &stations)),
    }
}

/// The MAC address of the path's station. A station that the line omits may still be known to the
/// box.
fn mac(asked: &Asked) -> Outcome<String> {
    let stations = line(asked)?.stations.unwrap_or_default();
    let wanted = asked.variable("station").to_lowercase();
    let may_be_left_out = stations.len() >= MOST_STATIONS && is_mac(&wanted);
    let is_known = may_be_left_out || stations.iter().any(|station| station.mac == wanted);
    if is_known { Ok(wanted) } else { Err(no_station(&wanted, &stations)) }
}

/// The box's response to a request for one line.
async fn ask(asked: &Asked, request: Request) -> Outcome<Content> {
    let line = asked.shared.feed.ask(&request).await.map_err(Problem::away)?;
    match Answer::from_json(line.as_bytes()) {
        Ok(Answer { content: Content::Error(why), .. }) => Err(Problem::away(format!("the box refuses: {why}"))),
        Ok(Answer { content, .. }) => Ok(content),
        Err(error) => Err(Problem::away(format!("not an answer of the feed: {error}"))),
    }
}

async fn history(asked: &Asked, domain: Option<String>, station: Option<String>) -> Outcome<History> {
    let history = asked.query.span.unwrap_or(Range::TenMinutes).word().into();
    match ask(asked, Request::History { history, domain, station }).await? {
        Content::History(history) => Ok(history),
        other => Err(Problem::away(format!("not a history: {other:?}"))),
    }
}

async fn history_of_box(asked: Asked) -> Outcome<HistoryOrSeries> {
    match asked.query.question()? {
        Some(question) => {
            stored::series(asked.shared.config.state.clone(), question).await.map(HistoryOrSeries::Series)
        }
        None => history(&asked, None, None).await.map(HistoryOrSeries::History),
    }
}

async fn history_of_domain(asked: Asked) -> Outcome<History> {
    let domain = item(&asked, "domain", |line| line.domains)?.what;
    history(&asked, Some(domain.name), None).await
}

async fn history_of_station(asked: Asked) -> Outcome<History> {
    let mac = mac(&asked)?;
    history(&asked, None, Some(mac)).await
}

async fn flows(asked: Asked) -> Outcome<List<FlowStatus>> {
    let flows_of = mac(&asked)?;
    match ask(&asked, Request::FlowsOf { flows_of }).await? {
        Content::Flows(flows) => Ok(List::page(flows, &asked.query)),
        other => Err(Problem::away(format!("no flows: {other:?}"))),
    }
}

async fn events(asked: Asked) -> Outcome<List<Event>> {
    if let Some(events) = stored::events(asked.shared.config.state.clone(), &asked.query).await? {
        return Ok(List::page(events, &asked.query));
    }
    line(&asked)?;
    Ok(List::page(asked.shared.feed.events(), &asked.query))
}

/// A page of the audit log, the newest entry first.
#[derive(Serialize, JsonSchema)]
struct AuditLog {
    /// The entries of this page.
    items: Vec<AuditEntry>,
    /// The parameter `cursor` of the next page; absent on the last one.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
}

async fn audit(asked: Asked) -> Outcome<AuditLog> {
    let place = |Cursor { key: month, number }| AuditPlace { month, offset: number as u64 };
    let before = asked.query.cursor.map(place);
    let page = asked.shared.audit.page(asked.query.limit, before.as_ref()).map_err(|error| {
        eprintln!("the audit log cannot be read: {error:#}");
        Problem::new(StatusCode::INTERNAL_SERVER_ERROR, "the audit log cannot be read; the log of evenair-web says why")
    })?;
    let next = page.next.map(|AuditPlace { month, offset }| Cursor { key: month, number: offset as usize }.to_string());
    Ok(AuditLog { items: page.entries, next })
}

async fn tokens(asked: Asked) -> Outcome<List<TokenEntry>> {
    let tokens = asked.shared.auth.tokens().map_err(|error| {
        eprintln!("tokens cannot be listed: {error:#}");
        Problem::new(
            StatusCode::INTERNAL_SERVER_ERROR,
            "a token's file is damaged; `evenair web token list` says which",
        )
    })?;
    Ok(List::page(tokens, &asked.query))
}
