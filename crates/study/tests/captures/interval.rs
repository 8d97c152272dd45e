//! Compares the interval of the number of backlogged nodes, inferred from captures, with the mean that the run
//! counted.

/// Tolerance: how far outside of the interval the run's mean may be, in nodes.
const OUTSIDE: f64 = 0.05;

#[test]
fn the_interval_holds_the_mean_of_the_run() {
    let mut wrong = Vec::new();
    for mix in crate::mixes::mixes() {
        let folder = tempfile::tempdir().unwrap();
        let (counted, inferred) = mix.run(1, folder.path());
        let (low, high) = inferred.mean_interval();
        let line = format!(
            "{:<30} counted {counted:.3}, interval {low:.3} to {high:.3}, {} of {} frames unresolved",
            mix.name, inferred.unresolved, inferred.frames
        );
        println!("{line}");
        let holds = low - OUTSIDE <= counted && counted <= high + OUTSIDE;
        if !holds || high - low > mix.widest {
            wrong.push(line);
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}
