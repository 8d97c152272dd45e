use super::*;

fn rule(role: Role) -> Rule {
    Rule { role, watch: false, repeat_s: Some(3600), recovery: true, mute: vec![] }
}

fn reason(code: Code, id: &str) -> Reason {
    let subject = Subject { kind: SubjectKind::Station, id: id.into(), name: format!("name of {id}") };
    Reason { code, level: code.level(), subject, since_s: 90.0, sentence: format!("{id} starves"), ..Reason::default() }
}

/// Announcements of a receiver at a time, as event and code.
fn hear(known: &mut Known, rule: &Rule, now_s: u64, reasons: &[Reason]) -> Vec<(Event, String)> {
    let items = known.observe(rule, &Observed { now_s, reasons, is_muted: &|_| false });
    items.into_iter().map(|item| (item.event, item.code)).collect()
}

fn only(event: Event, code: &str) -> Vec<(Event, String)> {
    vec![(event, code.to_owned())]
}

#[test]
fn a_reason_and_its_recovery_are_announced_once() {
    let (mut known, rule, bad) = (Known::default(), rule(Role::Operate), [reason(Code::Starving, "a")]);
    assert_eq!(hear(&mut known, &rule, 100, &bad), only(Event::Raised, "starving"));
    for now_s in 101..200 {
        assert_eq!(hear(&mut known, &rule, now_s, &bad), []);
    }
    for now_s in 200..200 + HELD_S {
        assert_eq!(hear(&mut known, &rule, now_s, &[]), []);
    }
    assert_eq!(hear(&mut known, &rule, 200 + HELD_S, &[]), only(Event::Recovered, "starving"));
    assert_eq!(hear(&mut known, &rule, 1000, &[]), []);
    assert_eq!(hear(&mut known, &rule, 1001, &bad), only(Event::Raised, "starving"));
}

#[test]
fn a_restart_of_the_box_ends_no_reason() {
    let (mut known, rule, bad) = (Known::default(), rule(Role::Operate), [reason(Code::Starving, "a")]);
    assert_eq!(hear(&mut known, &rule, 100, &bad).len(), 1);
    // No line for an hour minus a second, then some without the reason.
    assert_eq!(hear(&mut known, &rule, 3690, &[]), []);
    assert_eq!(hear(&mut known, &rule, 3695, &bad), []);
    assert_eq!(hear(&mut known, &rule, 3700, &bad), only(Event::Repeated, "starving"));
}

#[test]
fn lasting_reasons_are_repeated_unless_disabled() {
    let (mut known, bad) = (Known::default(), [reason(Code::Starving, "a")]);
    let (hourly, never) = (rule(Role::Operate), Rule { repeat_s: None, ..rule(Role::Operate) });
    assert_eq!(hear(&mut known, &hourly, 100, &bad).len(), 1);
    assert_eq!(hear(&mut known, &hourly, 3699, &bad), []);
    assert_eq!(hear(&mut known, &hourly, 3700, &bad), only(Event::Repeated, "starving"));
    assert_eq!(hear(&mut known, &hourly, 3701, &bad), []);
    assert_eq!(hear(&mut known, &never, 1_000_000, &bad), []);
}

#[test]
fn reasons_that_become_bad_are_announced_again() {
    let (mut known, rule) = (Known::default(), Rule { watch: true, ..rule(Role::Operate) });
    let mut air = reason(Code::HoldsTheAir, "a");
    assert_eq!(hear(&mut known, &rule, 100, &[air.clone()]), only(Event::Raised, "holds-the-air"));
    air.level = Level::Bad;
    assert_eq!(hear(&mut known, &rule, 101, &[air.clone()]), only(Event::Raised, "holds-the-air"));
    air.level = Level::Watch;
    assert_eq!(hear(&mut known, &rule, 102, &[air]), []);
}

#[test]
fn roles_levels_and_mutes_choose() {
    let all = [reason(Code::NoFailOpen, ""), reason(Code::Starving, "a"), reason(Code::SlowLink, "b")];
    let codes = |rule: &Rule| -> Vec<String> {
        let heard = hear(&mut Known::default(), rule, 100, &all);
        heard.into_iter().map(|(_, code)| code).collect()
    };
    assert_eq!(codes(&rule(Role::Operate)), ["starving"]);
    assert_eq!(codes(&rule(Role::Admin)), ["no-fail-open", "starving"]);
    assert_eq!(codes(&Rule { watch: true, ..rule(Role::Admin) }), ["no-fail-open", "starving", "slow-link"]);
    assert_eq!(codes(&Rule { mute: vec![Code::Starving], ..rule(Role::Admin) }), ["no-fail-open"]);
    assert_eq!(codes(&rule(Role::View)), ["site"]);
}

#[test]
fn viewers_get_the_site_without_names() {
    let (mut known, rule) = (Known::default(), rule(Role::View));
    let bad = [reason(Code::Starving, "02:00:00:00:00:01"), reason(Code::CallQuality, "02:00:00:00:00:02")];
    let items = known.observe(&rule, &Observed { now_s: 100, reasons: &bad, is_muted: &|_| false });
    let text = serde_json::to_string(&items).expect("JSON");
    assert!(items.len() == 1 && text.contains("the network is bad") && !text.contains("02:00"), "{text}");
    // A different reason looks the same to them.
    assert_eq!(hear(&mut known, &rule, 101, &bad[1..]), []);
    assert_eq!(hear(&mut known, &rule, 200, &[]), []);
    assert_eq!(hear(&mut known, &rule, 200 + HELD_S, &[]), only(Event::Recovered, "site"));
}

#[test]
fn a_mute_delays_and_does_not_end() {
    let (mut known, rule, bad) = (Known::default(), rule(Role::Operate), [reason(Code::Starving, "a")]);
    let muted = |known: &mut Known, now_s| {
        known
            .observe(&rule, &Observed { now_s, reasons: &bad, is_muted: &|reason| reason.code == Code::Starving })
            .len()
    };
    assert_eq!(muted(&mut known, 100), 0);
    assert_eq!(hear(&mut known, &rule, 101, &bad), only(Event::Raised, "starving"));
    // Muted after its announcement: no repeat, no recovery; when the mute ends, the due repeat.
    assert_eq!(muted(&mut known, 10_000), 0);
    assert_eq!(hear(&mut known, &rule, 10_001, &bad), only(Event::Repeated, "starving"));
}

#[test]
fn announced_reasons_survive_a_restart_and_are_bounded() {
    let (mut known, rule) = (Known::default(), rule(Role::Operate));
    let many: Vec<_> = (0..2 * MOST).map(|n| reason(Code::Starving, &n.to_string())).collect();
    assert_eq!(hear(&mut known, &rule, 100, &many).len(), MOST);
    let text = serde_json::to_string(&known).expect("JSON");
    let mut again: Known = serde_json::from_str(&text).expect("reads");
    assert_eq!(again, known);
    assert_eq!(hear(&mut again, &rule, 101, &many[..MOST]), []);
    // Eight receivers and the queue fit into a megabyte.
    assert!(text.len() < 50_000, "{}", text.len());
}
