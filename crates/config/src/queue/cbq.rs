//! Further parameters of CBQ classes.

use evenair_reader::{Count, OrDefault, Problems};
use evenair_sched::{CbqClass, CbqConfig, Config, HtbClass, Sharing};
use evenair_units::Bytes;

use super::tree::Tree;
use super::{QueueRaw, SharingWord};

/// Bytes per leaf that all leaves together send in a round: an Ethernet frame (`allot` in the examples of `tc`).
const ALLOTMENT: u64 = 1514;
/// Maximum burst in the examples of `tc`, in packets.
const MAX_BURST: Count = Count(20);

/// The tree with the parameters of CBQ.
pub(super) fn check(raw: &QueueRaw, tree: Tree, leaf: Box<Config>, problems: &mut Problems) -> Option<CbqConfig> {
    let leaves = (0..tree.classes.len()).filter(|&class| tree.is_leaf(class)).map(|class| &tree.classes[class]);
    let (count, rates) =
        leaves.fold((0, 0), |(count, rates), class| (count + 1, rates + u128::from(class.rate.as_bps())));
    let written = raw.class.iter().zip(&tree.classes);
    let classes = written.map(|(raw, class)| {
        let link = root(&tree.classes, class).rate;
        let burst = raw.max_burst.get_or(MAX_BURST, problems)?;
        let extra_delay = raw
            .min_burst
            .get_optional(problems)?
            .map(|burst| CbqConfig::extra_delay(link, class.rate, burst.0, CbqConfig::GAIN));
        let min_idle = raw.min_idle.get_optional(problems)?;
        let share = u128::from(ALLOTMENT * count) * u128::from(class.rate.as_bps()) / rates.max(1);
        let usual = Bytes(u64::try_from(share).unwrap_or(u64::MAX).max(1));
        Some(CbqClass {
            parent: class.parent,
            rate: class.rate,
            quantum: if raw.quantum.is_some() { class.quantum } else { usual },
            priority: class.priority,
            borrows: raw.borrows.get_or(true, problems)?,
            isolated: raw.isolated.get_or(false, problems)?,
            max_idle: CbqConfig::max_idle(link, class.rate, burst.0, CbqConfig::GAIN),
            min_idle,
            extra_delay,
        })
    });
    let classes = classes.collect::<Option<_>>()?;
    let sharing = raw.sharing.get_or(SharingWord(Sharing::TopLevel), problems)?.0;
    Some(CbqConfig { classes, default: tree.default, leaf, gain: CbqConfig::GAIN, sharing })
}

fn root<'a>(classes: &'a [HtbClass], class: &'a HtbClass) -> &'a HtbClass {
    class.parent.map_or(class, |parent| root(classes, &classes[parent]))
}
