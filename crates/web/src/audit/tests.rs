//! The log in a temporary folder.

use std::os::unix::fs::PermissionsExt;

use super::reading::AuditPage;
use super::*;

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

fn entry(number: usize) -> AuditEntry {
    AuditEntry::request(Doer::anonymous(), IpAddr::from([192, 0, 2, 1]), "POST /x").with("number", number)
}

fn log() -> (tempfile::TempDir, Clock, Audit) {
    let folder = tempfile::tempdir().expect("a folder");
    let clock = Clock::new();
    let audit = Audit::of(&folder.path().join("state"), clock.clone());
    (folder, clock, audit)
}

fn numbers(page: &AuditPage) -> Vec<u64> {
    page.entries.iter().map(|entry| entry.values["number"].as_u64().expect("a number")).collect()
}

#[test]
fn pages_go_back_through_the_months() {
    let (_folder, clock, audit) = log();
    for number in 0..6 {
        audit.write(entry(number)).expect("written");
        clock.advance(DAY * 12);
    }
    assert!(audit.months().expect("readable").len() >= 2);
    for limit in 1..=6 {
        let (mut all, mut place) = (vec![], None);
        loop {
            let page = audit.page(limit, place.as_ref()).expect("readable");
            assert!(!page.entries.is_empty() && page.entries.len() <= limit);
            all.extend(numbers(&page));
            place = page.next;
            if place.is_none() {
                break;
            }
        }
        assert_eq!(all, [5, 4, 3, 2, 1, 0], "{limit} on a page");
    }
    let elsewhere = AuditPlace { month: "../../etc".into(), offset: 7 };
    assert!(audit.page(9, Some(&elsewhere)).expect("readable").entries.is_empty(), "a place is no path");
}

#[test]
fn long_lines_are_read_whole_and_a_page_has_a_mebibyte() {
    let (_folder, _, audit) = log();
    for number in 0..30 {
        audit.write(entry(number).with("long", "x".repeat(60_000))).expect("written");
    }
    let first = audit.page(100, None).expect("readable");
    assert_eq!(numbers(&first), (12..30).rev().collect::<Vec<_>>());
    let rest = audit.page(100, first.next.as_ref()).expect("readable");
    assert_eq!((numbers(&rest), rest.next), ((0..12).rev().collect(), None));
}

#[test]
fn a_month_is_kept_for_a_year_and_no_longer() {
    let (_folder, clock, audit) = log();
    audit.write(entry(1)).expect("written");
    let first = audit.months().expect("readable");
    clock.advance(DAY * 365);
    audit.write(entry(2)).expect("written");
    assert!(audit.months().expect("readable").contains(&first[0]), "its last line may be younger than a year");
    clock.advance(DAY * 33);
    audit.write(entry(3)).expect("written");
    assert!(!audit.months().expect("readable").contains(&first[0]));
    assert_eq!(numbers(&audit.page(9, None).expect("readable")), [3, 2]);
}

#[test]
fn a_line_that_was_cut_short_does_not_take_the_next_one_with_it() {
    let (_folder, _, audit) = log();
    audit.write(entry(1)).expect("written");
    let path = audit.path(&audit.months().expect("readable")[0]);
    assert_eq!(fs::metadata(&path).expect("there").permissions().mode() & 0o777, 0o600);
    let whole = fs::read(&path).expect("readable");
    fs::write(&path, [&whole[..], &whole[..whole.len() / 2]].concat()).expect("written");
    assert_eq!(numbers(&audit.page(9, None).expect("readable")), [1]);
    audit.write(entry(2)).expect("written");
    assert_eq!(numbers(&audit.page(9, None).expect("readable")), [2, 1]);
    assert!(fs::read(&path).expect("readable").starts_with(&whole), "nothing that was written is changed");
}

#[test]
fn failures_have_sixty_lines_a_minute_and_the_next_line_counts_the_others() {
    let (_folder, clock, audit) = log();
    for number in 0..70 {
        audit.note_failure(entry(number));
    }
    assert_eq!(audit.page(100, None).expect("readable").entries.len(), 60);
    audit.write(entry(70)).expect("written");
    assert_eq!(audit.page(1, None).expect("readable").entries[0].left_out, 10);
    clock.advance(Duration::from_secs(60));
    audit.note_failure(entry(71));
    let last = &audit.page(1, None).expect("readable").entries[0];
    assert_eq!((last.left_out, &last.values["number"]), (0, &71.into()));
}

#[test]
fn an_unwritable_log_is_an_error_before_any_change() {
    let folder = tempfile::tempdir().expect("a folder");
    let state = folder.path().join("state");
    fs::write(&state, "a file in place of the folder").expect("written");
    let error = Audit::of(&state, Clock::new()).check().expect_err("no folder");
    assert!(format!("{error:#}").contains("cannot write to the audit log in /"), "{error:#}");
}
