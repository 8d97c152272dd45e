//! HTB at Very Bad and out of range with one share: what its settings change, and what stays together.
//!
//! At both places a packet to the second station takes longer than its bucket needs to fill up again by a packet, so that the second
//! class owes about the same at the end of its turn, and so does the first one, which is served at its own pace. The packets that are
//! sent to the first for each one to the second should then be about as many at the one place as at the other.

use crate::published::{Discipline, Pair, TABLES};
use crate::report::{heads, line};
use crate::settings::{BEST_KBPS, Job, TODAY};
use crate::sweep::{Cell, Outcome, mean, run_all};
use crate::{Args, Failure};

const VERY_BAD: usize = 3;
const OUT: usize = 4;

/// The first station's goodput over what it leaves to the other, of which packets to the other are in proportion at one place.
fn odds(one: f64, saturation: f64) -> f64 {
    one / (1.0 - one / saturation)
}

/// Packets to the first for each one to the second, over those by DRR, out of range: all packets to the second take equally long.
fn at_out(one: f64, drr_one: f64, saturation: f64) -> f64 {
    odds(one, saturation) / odds(drr_one, saturation)
}

/// The same where a part of the second's packets arrives: DRR sends packets by the share, and so tells which part.
fn in_range([one, two]: Pair, [drr_one, drr_two]: Pair) -> f64 {
    (one / two) / (drr_one / drr_two)
}

/// What DRR gets here where HTB's own column puts the second station.
fn drr(table: usize, place: usize, args: Args) -> Result<Pair, Failure> {
    let job = |seed| Job {
        table: &TABLES[table],
        place,
        discipline: Discipline::Drr,
        setting: TODAY,
        seconds: args.seconds,
        seed,
        estimate_kbps: None,
        by: Discipline::Htb,
    };
    Ok(mean(&run_all(&(1..=args.seeds).map(job).collect::<Vec<_>>())?))
}

/// Both numbers and their quotient, as published and over the settings, which have the places by HTB's own columns.
pub fn markdown(outcomes: &[Outcome], args: Args) -> Result<String, Failure> {
    let mut text = "\n### Very Bad and out of range under HTB\n\n\
        Packets to the first station for each one to the second, over those by DRR: at Very Bad by the goodputs, of which DRR's tell which part of \
        the second's packets arrives, and out of range by what the first one leaves of the medium's time. Of the settings the middle 90 % are given.\n\n"
        .to_owned();
    heads(
        &mut text,
        "share | published: Very Bad | out of range | quotient | here: Very Bad | out of range | quotient",
    );
    for (table, known) in TABLES.iter().enumerate() {
        let [htb, theirs] = [Discipline::Htb, Discipline::Drr].map(|of| known.column(of));
        let very_bad = in_range(htb[VERY_BAD], theirs[VERY_BAD]);
        let out = at_out(htb[OUT][0], theirs[OUT][0], known.saturation());
        let ours = [drr(table, VERY_BAD, args)?, drr(table, OUT, args)?];
        let of = |outcome: &Outcome| {
            let at = |place| outcome.at(Cell { table, place, of: Discipline::Htb });
            [in_range(at(VERY_BAD), ours[0]), at_out(at(OUT)[0], ours[1][0], BEST_KBPS as f64)]
        };
        let all: Vec<[f64; 2]> = outcomes.iter().map(of).collect();
        let mut columns = vec![known.share.to_owned()];
        columns.extend([very_bad, out, very_bad / out].map(|x| format!("{x:.2}")));
        columns.push(middle(all.iter().map(|[very_bad, _]| *very_bad)));
        columns.push(middle(all.iter().map(|[_, out]| *out)));
        columns.push(middle(all.iter().map(|[very_bad, out]| very_bad / out)));
        line(&mut text, &columns);
    }
    Ok(text)
}

/// From the 5th to the 95th percentile.
fn middle(values: impl Iterator<Item = f64>) -> String {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    let last = values.len() - 1;
    format!("{:.2} to {:.2}", values[last * 5 / 100], values[last * 95 / 100])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn twice_the_packets_for_each_of_the_other_are_twice_as_many_at_both_places() {
        // A packet to the first takes 1 of time 1000, one to the second 4 there and 9 out of range; half of the second's arrive.
        let pair = |per_second: f64, takes: f64| {
            let rounds = 1000.0 / (per_second + takes);
            [per_second * rounds, 0.5 * rounds]
        };
        assert!((in_range(pair(2.0, 4.0), pair(1.0, 4.0)) - 2.0).abs() < 1e-9);
        assert!((at_out(pair(2.0, 9.0)[0], pair(1.0, 9.0)[0], 1000.0) - 2.0).abs() < 1e-9);
    }
}
