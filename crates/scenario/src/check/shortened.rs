//! A run that the command line makes shorter than its file (`--set duration="2 s"`).
//!
//! The file is checked with its own duration, so that its errors stay errors. Then everything beyond the end of the run is omitted,
//! and named: phases, events, starts of applications, and their published values.

use std::collections::BTreeSet;

use evenair_reader::{Problems, Written};
use evenair_units::Span;
use evenair_workload::Phase;

use crate::raw::ScenarioRaw;
use crate::{Action, Published, Quantity, Scenario, WarmUp};

/// Maximum duration of a run: a day.
const MAX_DURATION: Span = Span::from_secs(86_400);

/// Durations of a run.
#[derive(Clone, Copy)]
pub(super) struct Length {
    /// Duration of the run itself.
    pub run: Span,
    /// Duration with which the file is checked: its own, if the command line has set a shorter one.
    pub checked: Span,
}

impl Length {
    /// The durations of the file with this text.
    pub fn of(raw: &ScenarioRaw, text: &str, problems: &mut Problems) -> Self {
        let run = raw.duration.get(problems).unwrap_or(MAX_DURATION);
        // Values set on the command line are behind the text.
        let is_set = raw.duration.span().start > text.len();
        let own = if is_set { own_duration(raw, text) } else { None };
        Self { run, checked: own.map_or(run, |own| own.max(run)) }
    }
}

/// The duration in the text itself.
fn own_duration(raw: &ScenarioRaw, text: &str) -> Option<Span> {
    let table: toml::Table = text.parse().ok()?;
    let own: Written<Span, _> = raw.duration.with(table.get("duration")?.as_str()?);
    own.get_if(&mut Problems::default(), |&own| own <= MAX_DURATION, "")
}

/// Omits everything beyond the end of the run.
pub(super) fn cut(scenario: &mut Scenario, raw: &ScenarioRaw) {
    let end = scenario.duration;
    let is_beyond = |at: &Written<Span, _>| at.get(&mut Problems::default()).is_some_and(|at| at >= end);
    let events = (1..).zip(&raw.event).filter(|(_, event)| is_beyond(&event.at));
    let events: Vec<_> = events.map(|(number, _)| format!("event.{number}")).collect();
    // A station whose first event is a join is absent until then: joins stay, even beyond the end of the run.
    scenario.events.retain(|event| event.at < end || matches!(event.action, Action::Join(_)));

    let last = scenario.measure.phases.last().map(|phase| phase.name.clone());
    let (phases, shorter) = cut_phases(scenario);
    let silent = silence(scenario);
    let has_last = scenario.measure.phases.iter().any(|phase| Some(&phase.name) == last.as_ref());
    let gone = Gone { phases: &phases, apps: &silent, last: !has_last };
    let published = (1..).zip(&scenario.published).filter(|(_, published)| gone.has(published));
    let published: Vec<_> =
        published.map(|(n, one)| one.id.clone().unwrap_or_else(|| format!("published.{n}"))).collect();
    scenario.published.retain(|published| !gone.has(published));

    let silent: Vec<_> = silent.into_iter().collect();
    let kinds = [
        ("phases", phases),
        ("the end of phases", shorter),
        ("events", events),
        ("applications, which start later", silent),
        ("published values", published),
    ];
    let named = kinds.into_iter().filter(|(_, names)| !names.is_empty());
    scenario.left_out = named.map(|(kind, names)| format!("{kind}: {}", names.join(", "))).collect();
}

/// Cuts the phases; returns the names of those omitted, and of those that end earlier.
fn cut_phases(scenario: &mut Scenario) -> (Vec<String>, Vec<String>) {
    let (interval, warm_up) = (scenario.measure.interval, scenario.measure.warm_up);
    let end = interval * (scenario.duration / interval);
    let (mut gone, mut shorter) = (Vec::new(), Vec::new());
    for phase in &mut scenario.measure.phases {
        if phase.from >= end {
            gone.push(phase.name.clone());
        } else if phase.to > end {
            phase.to = end;
            shorter.push(phase.name.clone());
        }
    }
    scenario.measure.phases.retain(|phase| phase.from < end);
    if scenario.measure.phases.is_empty() {
        let from = match warm_up {
            WarmUp::Until(until) if until < end => until,
            WarmUp::Until(_) | WarmUp::Auto => Span::ZERO,
        };
        scenario.measure.phases.push(Phase { name: "all".into(), from, to: end });
    }
    (gone, shorter)
}

/// Makes the applications that start beyond the end of the run end there, too; returns their names. They stay in the list,
/// since queues and groups refer to them by index.
fn silence(scenario: &mut Scenario) -> BTreeSet<String> {
    let end = scenario.duration;
    let mut silent = BTreeSet::new();
    for app in &mut scenario.apps {
        if app.start >= end {
            app.stop.get_or_insert(app.start);
            silent.insert(app.name.clone());
        } else {
            app.stop = app.stop.filter(|&stop| stop <= end);
        }
    }
    silent
}

/// Omitted names, of which published values must be omitted, too.
struct Gone<'a> {
    phases: &'a [String],
    apps: &'a BTreeSet<String>,
    /// The last phase is omitted, to which values without a phase refer.
    last: bool,
}

impl Gone<'_> {
    fn has(&self, published: &Published) -> bool {
        let of_phase = |name: &str| self.phases.iter().any(|phase| phase == name);
        let mut phase = published.phase.as_deref();
        let mut app = None;
        match &published.what {
            Quantity::App(name) => app = Some(name.as_str()),
            Quantity::Measure(name) => {
                let after = |word: &str| name.split('.').skip_while(|part| *part != word).nth(1);
                (phase, app) = (phase.or_else(|| after("phase")), after("flow"));
            }
            _ => {}
        }
        let without_its_phase = phase.map_or(self.last && published.value.is_some(), of_phase);
        without_its_phase || app.is_some_and(|app| self.apps.contains(app))
    }
}
