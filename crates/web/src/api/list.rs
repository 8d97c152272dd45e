//! Paginated lists, and values with the time of their measurement.

use evenair_api::watch::{AccessPoint, Class, Domain, Event, Station};
use evenair_api::{CallStatus, FlowStatus};
use schemars::JsonSchema;
use serde::Serialize;

use super::parameter::{Cursor, Query};
use crate::token::TokenEntry;

/// Something as it was in the last second.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "{T}Now")]
pub(crate) struct Now<T> {
    /// When it was measured, in seconds since 1970, UTC.
    pub at: f64,
    /// What was measured.
    #[serde(flatten)]
    pub what: T,
}

/// A page of a list, in the order of its items' keys.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "{T}List")]
pub(crate) struct List<T> {
    /// The items of this page.
    pub items: Vec<T>,
    /// How many items there are on all pages.
    pub total: usize,
    /// The parameter `cursor` of the next page; absent on the last one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// An item of a list.
pub(crate) trait Item: Serialize + JsonSchema {
    /// Its key, which does not change.
    fn key(&self) -> String;
}

impl Item for Domain {
    fn key(&self) -> String {
        self.name.clone()
    }
}

impl Item for AccessPoint {
    fn key(&self) -> String {
        self.name.clone()
    }
}

impl Item for Station {
    fn key(&self) -> String {
        self.mac.clone()
    }
}

impl Item for Class {
    fn key(&self) -> String {
        self.name.clone()
    }
}

impl Item for CallStatus {
    fn key(&self) -> String {
        format!("{} {}", self.station, self.peer)
    }
}

impl Item for FlowStatus {
    fn key(&self) -> String {
        let [vlan, inner] = [self.vlan, self.inner_vlan].map(Option::unwrap_or_default);
        format!("{} {} {vlan} {inner}", self.low, self.high)
    }
}

impl Item for Event {
    fn key(&self) -> String {
        format!("{:020.6} {} {}", self.at, self.event, self.text)
    }
}

impl Item for TokenEntry {
    fn key(&self) -> String {
        self.id.clone()
    }
}

impl<T: Item> List<T> {
    /// The requested page of these items.
    pub(crate) fn page(items: Vec<T>, query: &Query) -> Self {
        let total = items.len();
        let mut keyed: Vec<_> = items.into_iter().map(|item| (Cursor { key: item.key(), number: 0 }, item)).collect();
        keyed.sort_by(|(a, _), (b, _)| a.cmp(b));
        for index in 1..keyed.len() {
            if keyed[index].0.key == keyed[index - 1].0.key {
                keyed[index].0.number = keyed[index - 1].0.number + 1;
            }
        }
        keyed.retain(|(place, _)| query.cursor.as_ref().is_none_or(|cursor| place > cursor));
        let has_more = keyed.len() > query.limit;
        keyed.truncate(query.limit);
        let next = keyed.last().filter(|_| has_more).map(|(place, _)| place.to_string());
        Self { items: keyed.into_iter().map(|(_, item)| item).collect(), total, next }
    }
}
