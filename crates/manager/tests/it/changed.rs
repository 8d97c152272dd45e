//! Frames of any bytes through the whole packet path ([`crate::frames`]).

use evenair_units::{Rng, Streams};
use proptest::prelude::*;

use crate::conservation;
use crate::frames::{Tally, config, drive};

fn bytes(rng: &mut Rng, len: usize) -> Vec<u8> {
    (0..len).map(|_| rng.next_u64() as u8).collect()
}

#[test]
fn every_part_of_the_path_is_used() {
    let mut rng = Streams::new(1).stream("frames");
    let mut all = Tally::default();
    for which in 0..6 {
        for _ in 0..10 {
            let tally = drive(config(which), &bytes(&mut rng, 12_000));
            all.handed_in += tally.handed_in;
            all.dropped += tally.dropped;
            all.edited += tally.edited;
            all.segments += tally.segments;
            all.joined += tally.joined;
            all.most_held = all.most_held.max(tally.most_held);
        }
    }
    println!("{all:?}");
    assert!(all.handed_in > 20_000 && all.dropped > 100 && all.most_held > 50, "{all:?}");
    assert!(all.edited > 20 && all.segments > 1_000 && all.joined > all.segments / 4, "{all:?}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn whatever_the_frames_are_each_leaves_once_and_as_it_came(seed: u64, which: u8) {
        let bytes = bytes(&mut Streams::new(seed).stream("frames"), 3_000);
        drive(config(which), &bytes);
        drive(conservation::Session::new(seed).config(), &bytes);
    }
}
