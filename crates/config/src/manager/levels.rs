//! The levels of the policy, and the classes of stations.

use evenair_manager::{ClassId, Level, Policy};
use evenair_reader::{OrDefault, Problems};

use super::class::{self, ApplicationSpec, ClassSpec};
use super::{Fairness, LevelKind, ManagerSpec};

impl ManagerSpec {
    pub(super) fn policy(&self, problems: &mut Problems) -> Option<Policy> {
        let up = self.up_weight.get_or(1, problems);
        let down = self.down_weight.get_or(1, problems);
        let other = self.other_weight.get_or(1, problems);
        let fairness = self.station_fairness.get_or(Fairness::Airtime, problems);
        let kinds = self.level_kinds(problems);
        let classes = other.and_then(|other| self.class_level(other, problems));
        let applications = other.and_then(|other| class::applications(&self.application, other, problems));

        let (up, down, fairness, classes, applications) = (up?, down?, fairness?, classes?, applications?);
        let level = |kind| match kind {
            LevelKind::Direction => Level::Direction { up, down },
            LevelKind::Class => classes.clone(),
            LevelKind::Application => applications.clone(),
            LevelKind::Station => Level::Station { time_fair: fairness == Fairness::Airtime },
            LevelKind::Host => Level::Host,
            LevelKind::Flow => Level::Flow,
        };
        Some(Policy { levels: kinds?.into_iter().map(level).collect(), names: self.class_names() })
    }

    fn level_kinds(&self, problems: &mut Problems) -> Option<Vec<LevelKind>> {
        let kinds = match &self.levels {
            Some(list) => {
                let kinds = list.get(problems)?;
                for (i, item) in list.items().iter().enumerate() {
                    if kinds[..i].contains(&kinds[i]) {
                        problems.add(item.span(), format!("{item} is named twice"), "each level at most once");
                        return None;
                    }
                }
                kinds
            }
            None => {
                let class = Some(LevelKind::Class).filter(|_| !self.class.is_empty() && self.queue.is_none());
                let application = Some(LevelKind::Application).filter(|_| !self.application.is_empty());
                let levels = [LevelKind::Station, LevelKind::Direction].into_iter();
                class.into_iter().chain(levels).chain(application).chain([LevelKind::Flow]).collect()
            }
        };
        let is_late = kinds.iter().skip(1).any(|kind| *kind == LevelKind::Class) && self.has_tree();
        if let Some(levels) = self.levels.as_ref().filter(|_| is_late) {
            let what = "classes with parents, rules, minimums or ceilings are above all else";
            problems.add(levels.span(), what, "\"class\" as the first of the levels");
            return None;
        }
        let unused = |_: &&ApplicationSpec| !kinds.contains(&LevelKind::Application);
        if let Some(application) = self.application.first().filter(unused) {
            let what = "there are applications, but levels has no \"application\"";
            problems.add(
                application.name.span(),
                what,
                "levels = [\"station\", \"application\", \"flow\"], for instance",
            );
        }
        let unused = |_: &&ClassSpec| !kinds.contains(&LevelKind::Class) && self.queue.is_none();
        if let Some(class) = self.class.first().filter(unused) {
            let what = "there are classes, but levels has no \"class\"";
            problems.add(class.name.span(), what, "levels = [\"class\", \"station\", \"flow\"], for instance");
        }
        Some(kinds)
    }

    /// Names of the classes, in the order of their numbers.
    fn class_names(&self) -> Vec<String> {
        let mut problems = Problems::default();
        self.class.iter().map(|class| class.name.get(&mut problems).unwrap_or_default()).collect()
    }

    /// Whether the classes form a tree.
    fn has_tree(&self) -> bool {
        self.class.iter().any(ClassSpec::is_of_a_tree)
    }

    fn class_level(&self, other: u32, problems: &mut Problems) -> Option<Level> {
        let weights = self.classes(problems)?;
        match self.has_tree() {
            true => class::tree(&self.class, other, problems),
            false => Some(Level::Class { weights, other }),
        }
    }

    fn classes(&self, problems: &mut Problems) -> Option<Vec<(ClassId, u32)>> {
        let mut weights = Vec::new();
        for (i, class) in self.class.iter().enumerate() {
            let name = class.name.get(problems)?;
            if self.class[..i].iter().any(|earlier| earlier.name == class.name) {
                let what = format!("a class named \"{name}\" is there already");
                problems.add(class.name.span(), what, "another name");
                return None;
            }
            let Ok(id) = u8::try_from(i) else {
                problems.add(class.name.span(), "too many classes", "256 at most");
                return None;
            };
            weights.push((ClassId(id), class.weight.get_or(1, problems)?));
        }
        Some(weights)
    }
}
