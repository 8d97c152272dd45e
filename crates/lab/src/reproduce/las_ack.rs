//! LAS-ACK at the access point: Heusse, Urvoy-Keller, Duda, "An Experimental Comparison of Layer 2 and 3 Mechanisms for
//! Improving User Perceived Performance of 802.11 Wireless LANs", Institut Eurecom RR-08-220, 2008.
//!
//! A full queue drops the packet that would be served last, that of the connection with most service. If it dropped the
//! arriving packet instead, LAS-ACK would lose nearly as many echoes as FIFO, rather than none as published: a run in the row
//! of `las-loses-none` shows this.

use evenair_results::TransferRecord;
use evenair_workload::Direction;

use super::judge::{Bound, BoundCheck, Judge};
use super::runs::{Run, Runs, Variant, mean};
use super::{Experiment, experiment};

/// Every experiment of the source.
pub fn all() -> Vec<Experiment> {
    vec![
        experiment!(las01, "las-ack/las01-short-and-long-transfers.toml", false),
        experiment!(las02, "las-ack/las02-sizes-that-vary-little.toml", false),
    ]
}

/// Number of seeds. The authors' is not published; thirty make the intervals narrow.
const SEEDS: u64 = 30;
/// Number of seeds where the mean is close to its bound.
const MANY_SEEDS: u64 = 300;
/// Number of seeds with exponential sizes: with thirty the intervals of the losses, about a hundredth wide, are wider than the
/// distance of several means from what they are to be compared with.
const EXPONENTIAL_SEEDS: u64 = 120;
/// Access method, and the queues at the access point and at stations: LAS-ACK is used where packets wait.
const POLICIES: [(&str, [&str; 3]); 4] = [
    ("FIFO", ["dcf", "fifo", "fifo"]),
    ("LAS-ACK", ["dcf", "las-ack", "fifo"]),
    ("AAP FIFO", [ASYMMETRIC, "fifo", "fifo"]),
    ("AAP LAS-ACK", [ASYMMETRIC, "fifo", "las-ack"]),
];
const ASYMMETRIC: &str = "asymmetric";
/// Upper limit of tiny transfers, in bytes: twice the smallest.
const TINY_BYTES: u64 = 12 * 1460;
/// Lower limit of large transfers, in bytes: 95 % are smaller.
const LARGE_BYTES: u64 = 100 * 1460;

/// A mix of loads with a wired delay.
#[derive(Clone, Copy)]
struct Cell {
    mix: &'static str,
    delay_ms: u32,
}

const ASYM: &str = "asym";
const SYM: &str = "sym";
const MIXES: [&str; 2] = [ASYM, SYM];

impl Cell {
    /// The cell with the default delay.
    const fn near(mix: &'static str) -> Self {
        Self { mix, delay_ms: 20 }
    }

    /// Name in output.
    fn name(self) -> String {
        format!("{}, {} ms", self.mix, self.delay_ms)
    }

    /// Label of the cell's variant with a policy.
    fn with(self, policy: &str) -> String {
        format!("{policy}, {}", self.name())
    }

    /// The variants of all four policies.
    fn variants(self) -> impl Iterator<Item = Variant> {
        POLICIES.into_iter().map(move |(name, queues)| self.variant(name, queues))
    }

    fn variant(self, name: &str, [access, ap, station]: [&str; 3]) -> Variant {
        let variant = Variant::new(self.with(name))
            .set("radio.access", format!("\"{access}\""))
            .set("radio.ap_queue.discipline", format!("\"{ap}\""))
            .set("radio.station_queue.discipline", format!("\"{station}\""))
            .set("lan.delay", format!("\"{} ms\"", self.delay_ms))
            .seeds(SEEDS);
        // Idle Sense as its authors published it, which the source follows.
        let variant = if access == ASYMMETRIC { variant.set("radio.idle_adaptation", "\"aimd\"") } else { variant };
        if self.mix == SYM {
            return variant;
        }
        let loads = variant.set("flows.downloads.load", "\"7.3 Mb/s\"").set("flows.uploads.load", "\"2.433 Mb/s\"");
        loads.set("station.down.count", 3).set("station.up.count", 1)
    }
}

/// Proportion of echoes that were lost.
fn loss(run: &Run) -> f64 {
    run.measure("phase.all.flow.ping.loss_rate")
}

fn total(run: &Run) -> f64 {
    run.phase("").total_ip_mbps
}

/// Completed transfers up to a size, of one direction or both.
fn completed(run: &Run, direction: Option<Direction>, most: u64) -> impl Iterator<Item = (&TransferRecord, f64)> {
    let records = run.result.transfers.records.iter();
    let wanted = records.filter(move |record| record.bytes <= most && direction.is_none_or(|d| d == record.direction));
    wanted.filter_map(|record| Some((record, record.took_s?)))
}

/// Mean response time, in seconds.
fn response(run: &Run, direction: Option<Direction>, most: u64) -> f64 {
    mean(&completed(run, direction, most).map(|(_, took)| took).collect::<Vec<_>>())
}

/// 90th minus 10th percentile of response times.
fn variability(run: &Run, most: u64) -> f64 {
    let mut times: Vec<f64> = completed(run, None, most).map(|(_, took)| took).collect();
    times.sort_by(f64::total_cmp);
    if times.is_empty() { f64::NAN } else { times[times.len() * 9 / 10] - times[times.len() / 10] }
}

/// Mean throughput of a connection, in Mb/s.
fn throughput(run: &Run, direction: Option<Direction>) -> f64 {
    let rates = completed(run, direction, u64::MAX).map(|(record, took)| record.bytes as f64 * 8.0 / took / 1e6);
    mean(&rates.collect::<Vec<_>>())
}

/// Mean throughput of an upload relative to that of a download.
fn split(run: &Run) -> f64 {
    throughput(run, Some(Direction::Up)) / throughput(run, Some(Direction::Down))
}

/// Mean response time without the largest transfers.
fn usual_response(run: &Run) -> f64 {
    response(run, None, LARGE_BYTES)
}

/// Proportion of large transfers among the completed ones.
fn large_part(run: &Run) -> f64 {
    let sizes: Vec<bool> = completed(run, None, u64::MAX).map(|(record, _)| record.bytes > LARGE_BYTES).collect();
    sizes.iter().filter(|&&large| large).count() as f64 / sizes.len() as f64
}

/// The cells of the tables of losses, in order.
const CELLS: [Cell; 4] =
    [Cell::near(ASYM), Cell { mix: ASYM, delay_ms: 150 }, Cell::near(SYM), Cell { mix: SYM, delay_ms: 150 }];

/// Within a factor of two or three percentage points, whichever is wider.
fn about(published: f64) -> Bound {
    Bound::Between((published / 2.0).min(published - 0.03), (published * 2.0).max(published + 0.03))
}

mod las01 {
    use super::*;

    const TAIL_DROP: &str = "LAS-ACK that drops what arrives";
    /// The source does not state its TCP. Reno is the default of ns-2's two-way TCP.
    const RENO: &str = "Reno's fast recovery";

    fn reno(mix: &str) -> String {
        format!("{RENO}, {mix}")
    }

    pub fn variants() -> Vec<Variant> {
        let tail_drop =
            Cell::near(SYM).variant(TAIL_DROP, POLICIES[1].1).set("radio.ap_queue.overflow", "\"tail-drop\"");
        let reno = MIXES.map(|mix| {
            let fifo = Cell::near(mix).variant("", POLICIES[0].1).set("tcp.fast_recovery", "reno");
            Variant { label: reno(mix), ..fifo }
        });
        let close = Cell::near(ASYM).with("AAP FIFO");
        let seeds = |variant: Variant| if variant.label == close { variant.seeds(MANY_SEEDS) } else { variant };
        CELLS.into_iter().flat_map(Cell::variants).map(seeds).chain([tail_drop]).chain(reno).collect()
    }

    pub fn judge(runs: &Runs, judge: &mut Judge<'_>) {
        for (cell, published) in CELLS.into_iter().zip([0.06, 0.09, 0.14, 0.09_f64]) {
            let (fifo, las) = (cell.with("FIFO"), cell.with("LAS-ACK"));
            let (Cell { mix, delay_ms }, name) = (cell, cell.name());
            let id = format!("fifo-{mix}-{delay_ms}");
            judge.finding(&id, "part lost:", runs.mean(&fifo, loss), about(published));
            let what = format!("{name}: part lost:");
            judge.finding("las-loses-none", &what, runs.mean(&las, loss), Bound::AtMost(0.03));
            let fewer = runs.mean_of_both(&las, &fifo, |las, fifo| loss(las) - loss(fifo));
            judge.finding("las-loses-none", &format!("{name}: more than with FIFO:"), fewer, Bound::AtMost(0.0));
            for (policy, _) in &POLICIES[1..] {
                let other = cell.with(policy);
                let ratio = runs.mean_of_both(&other, &fifo, |other, fifo| total(other) / total(fifo));
                judge.finding("total", &format!("{name}: {policy} over FIFO:"), ratio, Bound::Between(0.9, 1.1));
            }
            let ratio = runs.mean_of_both(&las, &fifo, |las, fifo| throughput(las, None) / throughput(fifo, None));
            let (id, bound) = match delay_ms {
                20 => ("twice", Bound::Between(1.5, 3.0)),
                _ => ("best", Bound::AtLeast(1.0)),
            };
            judge.finding(id, &format!("{mix}: ratio:"), ratio, bound);
        }
        let of_asym = Bound::Between(0.03, 0.12);
        judge.finding_if("fifo-asym-20", RENO, BoundCheck::new("part lost:", runs.mean(&reno(ASYM), loss), of_asym));
        times(runs, judge);
        asymmetric_access_point(runs, judge);
        let near = Cell::near(SYM);
        let what = format!("{}: part lost:", near.name());
        let lost = runs.mean(&near.with(TAIL_DROP), loss);
        judge.finding_if("las-loses-none", "what arrives dropped", BoundCheck::new(&what, lost, Bound::AtMost(0.03)));
        let (fifo, las) = (near.with("FIFO"), near.with("LAS-ACK"));
        let more = runs.mean_of_both(&las, &fifo, |las, fifo| large_part(las) - large_part(fifo));
        judge.finding("cdf", "transfers above 100 segments, LAS-ACK less FIFO:", more, Bound::Between(-0.01, 0.01));
        judge.finding("split", "up over down with FIFO:", runs.mean(&fifo, split), Bound::AtLeast(1.2));
        judge.finding("split", "up over down with LAS-ACK:", runs.mean(&las, split), Bound::Between(0.8, 1.25));
    }

    /// Findings of the authors on their access point.
    fn asymmetric_access_point(runs: &Runs, judge: &mut Judge<'_>) {
        let published = [[0.0, 0.02, 0.0, 0.01], [0.01, 0.01, 0.0, 0.0]];
        for ((policy, id), cells) in
            [("AAP FIFO", "aap-fifo"), ("AAP LAS-ACK", "aap-las-ack")].into_iter().zip(published)
        {
            for (cell, part) in CELLS.into_iter().zip(cells) {
                let (aap, fifo, at) = (cell.with(policy), cell.with("FIFO"), cell.name());
                judge.finding(id, &format!("{at}: part lost:"), runs.mean(&aap, loss), Bound::AtMost(part + 0.03));
                let more = runs.mean_of_both(&aap, &fifo, |aap, fifo| loss(aap) - loss(fifo));
                judge.finding(id, &format!("{at}: more than with DCF:"), more, Bound::AtMost(0.0));
            }
        }
        for mix in MIXES {
            let of = |policy: &str| Cell::near(mix).with(policy);
            let ratio = |a: &Run, b: &Run| usual_response(a) / usual_response(b);
            let over = |first: &str, second: &str| runs.mean_of_both(&of(first), &of(second), ratio);
            let (las, aap, fifo) = ("LAS-ACK", "AAP LAS-ACK", "AAP FIFO");
            judge.finding("between", &format!("{mix}: times over LAS-ACK's:"), over(aap, las), Bound::AtLeast(1.0));
            judge.finding("between", &format!("{mix}: times over AAP FIFO's:"), over(aap, fifo), Bound::AtMost(1.0));
        }
        let split = runs.mean(&Cell::near(SYM).with("AAP FIFO"), split);
        judge.finding("favours-downloads", "up over down with FIFO:", split, Bound::AtMost(0.9));
    }

    fn times(runs: &Runs, judge: &mut Judge<'_>) {
        for mix in MIXES {
            let (fifo, las) = (Cell::near(mix).with("FIFO"), Cell::near(mix).with("LAS-ACK"));
            // Over both directions, since the source speaks of tiny transfers in general before it says that downloads are
            // worse.
            let tiny = |run: &Run| response(run, None, TINY_BYTES);
            let of = |run: &Run, direction| response(run, Some(direction), TINY_BYTES);
            let worse = |run: &Run| of(run, Direction::Down) / of(run, Direction::Up);
            let said = format!("{mix}: mean up to 12 segments, s:");
            judge.finding("slow-tiny", &said, runs.mean(&fifo, tiny), Bound::Between(1.0, 2.0));
            judge.finding_if(
                "slow-tiny",
                RENO,
                BoundCheck::new(&said, runs.mean(&reno(mix), tiny), Bound::Between(1.0, 2.0)),
            );
            let spread = runs.mean(&fifo, |run| variability(run, TINY_BYTES) / tiny(run));
            judge.finding(
                "slow-tiny",
                &format!("{mix}: 90th less 10th percentile, over it:"),
                spread,
                Bound::AtLeast(1.0),
            );
            let over = format!("{mix}: downloads over uploads:");
            judge.finding("slow-tiny", &over, runs.mean(&fifo, worse), Bound::AtLeast(1.2));
            judge.finding_if(
                "slow-tiny",
                RENO,
                BoundCheck::new(&over, runs.mean(&reno(mix), worse), Bound::AtLeast(1.2)),
            );
            let said = format!("{mix}: mean up to 100 segments, s:");
            judge.finding("quick", &said, runs.mean(&las, usual_response), Bound::AtMost(1.0));
            let spread = |las: &Run, fifo: &Run| variability(las, LARGE_BYTES) / variability(fifo, LARGE_BYTES);
            let spread = runs.mean_of_both(&las, &fifo, spread);
            judge.finding("quick", &format!("{mix}: variability over FIFO's:"), spread, Bound::AtMost(0.5));
        }
    }
}

mod las02 {
    use super::*;

    pub fn variants() -> Vec<Variant> {
        CELLS.into_iter().flat_map(Cell::variants).map(|variant| variant.seeds(EXPONENTIAL_SEEDS)).collect()
    }

    pub fn judge(runs: &Runs, judge: &mut Judge<'_>) {
        for mix in MIXES {
            let (fifo, las) = (Cell::near(mix).with("FIFO"), Cell::near(mix).with("LAS-ACK"));
            let said = |what: &str| format!("{mix}, {what}");
            judge.finding("more-loss", &said("FIFO, echoes lost:"), runs.mean(&fifo, loss), Bound::AtLeast(0.25));
            judge.finding("more-loss", &said("LAS-ACK, echoes lost:"), runs.mean(&las, loss), Bound::AtMost(0.05));
            let all = |run: &Run| response(run, None, u64::MAX);
            let ratio = runs.mean_of_both(&las, &fifo, |las, fifo| all(las) / all(fifo));
            judge.finding("wins", &said("response time over FIFO's:"), ratio, Bound::AtMost(0.8));
            let ratio = runs.mean_of_both(&las, &fifo, |las, fifo| large_part(las) / large_part(fifo));
            let what = said("part above 100 segments, over FIFO's:");
            judge.finding("starve", &what, ratio, Bound::AtMost(0.9));
        }
        table(runs, judge);
    }

    /// Losses of each cell, by the rules of las01.
    fn table(runs: &Runs, judge: &mut Judge<'_>) {
        for (cell, published) in CELLS.into_iter().zip([0.25, 0.26, 0.31, 0.29]) {
            let id = format!("fifo-{}-{}", cell.mix, cell.delay_ms);
            judge.finding(&id, "part lost:", runs.mean(&cell.with("FIFO"), loss), about(published));
        }
        let rows = [
            ("las-ack", "LAS-ACK", [0.0, 0.02, 0.0, 0.0]),
            ("aap-fifo", "AAP FIFO", [0.02, 0.04, 0.0, 0.02]),
            ("aap-las-ack", "AAP LAS-ACK", [0.01, 0.03, 0.0, 0.02]),
        ];
        for (id, policy, cells) in rows {
            for (cell, part) in CELLS.into_iter().zip(cells) {
                let (other, fifo, at) = (cell.with(policy), cell.with("FIFO"), cell.name());
                judge.finding(id, &format!("{at}: part lost:"), runs.mean(&other, loss), Bound::AtMost(part + 0.03));
                let more = runs.mean_of_both(&other, &fifo, |other, fifo| loss(other) - loss(fifo));
                judge.finding(id, &format!("{at}: more than with FIFO:"), more, Bound::AtMost(0.0));
            }
        }
    }
}
