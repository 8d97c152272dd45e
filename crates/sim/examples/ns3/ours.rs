//! Runs of our simulator.

use evenair_scenario::Scenario;

use super::case::{Case, Got};

/// One run: the results of each group.
pub fn run(case: &Case, seed: u32) -> Result<Vec<Got>, String> {
    let scenario = Scenario::parse(&case.scenario(seed), &case.name).map_err(|error| error.to_string())?;
    let result = evenair_sim::run(&scenario, |_| ()).map_err(|error| error.to_string())?;
    let phase = result.phases.first().ok_or("the scenario has a phase")?;
    let got = |name: &str| {
        // Application "up-app3" belongs to the group "up".
        let flows = phase.flows.iter().filter(|flow| flow.app.rsplit_once("-app").is_some_and(|(of, _)| of == name));
        let (ip, goodput) = flows.fold((0.0, 0.0), |(ip, good), flow| (ip + flow.ip_mbps, good + flow.goodput_mbps));
        Got { group: name.to_owned(), ip, goodput }
    };
    Ok(case.groups.iter().map(|group| got(group.name)).collect())
}
