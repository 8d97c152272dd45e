//! Stations hidden from each other by the file.

use evenair_scenario::{AirPlan, Scenario};

/// Stations `a1`, `a2`, `a3` (0 to 2), `b1`, `b2` (3 and 4) and `c` (5), each with an additional line.
fn scenario(a: &str, b: &str, c: &str) -> Result<Scenario, String> {
    let text = format!(
        "version = 1\nname = \"hidden\"\nduration = \"1 s\"\n[radio]\nstandard = \"802.11b\"\n\
         [[station]]\nname = \"a\"\ncount = 3\nrate = \"11 Mb/s\"\n{a}\n\
         [[station]]\nname = \"b\"\ncount = 2\nrate = \"11 Mb/s\"\n{b}\n\
         [[station]]\nname = \"c\"\nrate = \"11 Mb/s\"\n{c}\n\
         [[server]]\nname = \"server\"\n\
         [[ping]]\nname = \"ping\"\nstations = [\"a\"]\nserver = \"server\"\n"
    );
    Scenario::parse(&text, "hidden.toml").map_err(|error| error.to_string())
}

fn pairs(a: &str, b: &str, c: &str) -> Vec<(usize, usize)> {
    scenario(a, b, c).unwrap_or_else(|error| panic!("{error}")).radio.hidden
}

#[test]
fn groups_are_hidden_from_groups_and_it_is_mutual() {
    assert_eq!(pairs("", "", ""), []);
    let all = [(0, 3), (0, 4), (1, 3), (1, 4), (2, 3), (2, 4)];
    assert_eq!(pairs("hidden_from = [\"b\"]", "", ""), all);
    assert_eq!(pairs("", "hidden_from = [\"a\"]", ""), all);
    assert_eq!(pairs("hidden_from = [\"b\"]", "hidden_from = [\"a\"]", ""), all, "said twice");
    assert_eq!(pairs("", "", "hidden_from = [\"a2\", \"b\"]"), [(1, 5), (3, 5), (4, 5)]);
    let scenario = scenario("", "", "hidden_from = [\"a2\"]").unwrap();
    assert_eq!(AirPlan::new(&scenario).stations[5].hidden_from, [1]);
    assert_eq!(AirPlan::new(&scenario).stations[1].hidden_from, [5]);
}

#[test]
fn members_of_a_group_can_be_hidden_from_each_other() {
    assert_eq!(pairs("hidden_from = [\"a\"]", "", ""), [(0, 1), (0, 2), (1, 2)]);
    assert_eq!(pairs("hidden_from = [\"a1\"]", "", ""), [(0, 1), (0, 2)]);
}

#[test]
fn invalid_names_are_reported_with_their_position() {
    let error_of = |c: &str| scenario("", "", c).unwrap_err();
    let error = error_of("hidden_from = [\"c\"]");
    assert!(
        error.contains("hidden.toml:19:16: station.c.hidden_from.1: \"c\" is one station, and hears itself"),
        "{error}"
    );
    let error = error_of("hidden_from = [\"server\"]");
    assert!(error.contains("19:16: station.c.hidden_from.1: \"server\" is not a station"), "{error}");
    let error = error_of("hidden_from = [\"d\"]");
    assert!(error.contains("there is no station \"d\""), "{error}");
    assert!(error_of("hidden_from = []").contains("the list is empty"));
    assert!(error_of("hidden_from = [\"a\", \"a1\"]").contains("twice"));
}
