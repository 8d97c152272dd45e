//! A tree of classes with rates and ceilings (HTB), in any of its tables.

use std::ops::Range;

use evenair_reader::{OrDefault, Problems, Written, ranges};
use evenair_sched::HtbClass;
use evenair_units::{BitRate, Bytes};

/// Maximum number of classes in a tree: each is visited when a mode changes above it.
const MAX_CLASSES: usize = 256;
/// Maximum number of levels, as in the kernel.
const MAX_DEPTH: usize = 8;

ranges! {
    /// Rates and ceilings of classes.
    pub ClassRates: BitRate = "1 kb/s to 100 Gb/s";
    /// Bursts and quanta of classes: up to a second at 8 Gb/s.
    pub ClassSizes: Bytes = "1 byte to 1 GB";
    /// Priorities of leaves, as in the kernel (TC_HTB_NUMPRIO).
    pub Priorities: u32 = "0 to 7";
}

/// The keys of one class, without those that assign packets.
pub(crate) struct ClassKeys<'a> {
    pub name: &'a Written<String>,
    pub parent: &'a Option<Written<String>>,
    pub rate: &'a Written<BitRate, ClassRates>,
    pub ceil: &'a Option<Written<BitRate, ClassRates>>,
    pub burst: &'a Option<Written<Bytes, ClassSizes>>,
    pub cburst: &'a Option<Written<Bytes, ClassSizes>>,
    pub quantum: &'a Option<Written<Bytes, ClassSizes>>,
    pub priority: &'a Option<Written<u32, Priorities>>,
}

/// A valid tree.
#[derive(Clone)]
pub struct Tree {
    /// Parents before their children.
    pub classes: Vec<HtbClass>,
    /// Class of packets that belong to no other leaf.
    pub default: usize,
}

impl Tree {
    /// Whether a class has no children, and so has packets.
    pub fn is_leaf(&self, class: usize) -> bool {
        is_leaf(&self.classes, class)
    }
}

fn is_leaf(classes: &[HtbClass], class: usize) -> bool {
    classes.iter().all(|other| other.parent != Some(class))
}

/// The tree of these classes, in order. `place`: position of errors of an empty tree.
pub(crate) fn check(
    written: &[ClassKeys<'_>],
    default: &Option<Written<String>>,
    place: Range<usize>,
    problems: &mut Problems,
) -> Option<Tree> {
    if written.is_empty() || written.len() > MAX_CLASSES {
        let what = format!("a tree of {} classes", written.len());
        problems.add(place, what, format!("1 to {MAX_CLASSES} classes, each with a name and a rate"));
        return None;
    }
    let mut names: Vec<String> = Vec::new();
    let mut depths: Vec<usize> = Vec::new();
    let mut classes = Vec::new();
    for keys in written {
        let called = evenair_reader::name(keys.name, problems);
        let (parent, depth) = match parent(keys.parent, &names, problems) {
            Ok(parent) => (parent, parent.map_or(1, |parent| depths[parent] + 1)),
            Err(()) => (None, 1),
        };
        if depth > MAX_DEPTH {
            let span = keys.parent.place();
            problems.add(span, format!("class {} is too deep", keys.name), format!("up to {MAX_DEPTH} levels"));
        }
        let called = called.unwrap_or_default();
        if names.contains(&called) {
            problems.add(keys.name.span(), format!("a class named {} is there already", keys.name), "another name");
        }
        names.push(called);
        depths.push(depth);
        classes.push(class(keys, parent, problems));
    }
    let classes: Vec<HtbClass> = classes.into_iter().collect::<Option<_>>()?;
    let default = match default {
        None => (0..classes.len()).rfind(|&class| is_leaf(&classes, class))?,
        Some(written) => {
            let name = written.get(problems)?;
            let found = names.iter().position(|known| *known == name).filter(|&class| is_leaf(&classes, class));
            if found.is_none() {
                problems.add(written.span(), format!("{written} is no leaf of the tree"), "a class without children");
            }
            found?
        }
    };
    Some(Tree { classes, default })
}

fn parent(written: &Option<Written<String>>, names: &[String], problems: &mut Problems) -> Result<Option<usize>, ()> {
    let Some(written) = written else { return Ok(None) };
    let name = written.get(problems).ok_or(())?;
    let found = names.iter().position(|known| *known == name);
    if found.is_none() {
        problems.add(written.span(), format!("{written} is no class above this one"), "parents before their children");
    }
    found.map(Some).ok_or(())
}

fn class(keys: &ClassKeys<'_>, parent: Option<usize>, problems: &mut Problems) -> Option<HtbClass> {
    let rate = keys.rate.get(problems)?;
    let ceil =
        keys.ceil.get_or_if(rate, problems, |ceil| *ceil >= rate, "no less than the class's rate, and up to 100 Gb/s");
    let usual = HtbClass::new(rate);
    let burst = keys.burst.get_or(usual.burst, problems);
    let cburst = keys.cburst.get_or(usual.cburst, problems);
    let quantum = keys.quantum.get_or(usual.quantum, problems);
    let priority = keys.priority.get_or(0, problems);
    Some(HtbClass {
        parent,
        rate,
        ceil: ceil?,
        burst: burst?,
        cburst: cburst?,
        quantum: quantum?,
        priority: priority? as u8,
    })
}
