//! The interval of the number of backlogged nodes, from captures, against the number that the run itself has counted.

/// By how much the mean of the run may be outside of the interval.
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
