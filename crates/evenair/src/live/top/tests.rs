//! The screen at two sizes, from a line of the feed, and the printed text.

use evenair_api::watch::{Line, Source};
use evenair_api::{FlowStatus, Json};
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::screen::draw;
use super::view::View;
use super::*;

/// A line with a starving station, an unknown one, a class and a call.
const LINE: &str = include_str!("tests/line.json");

fn view() -> View {
    let mut view = View::default();
    view.take(Ok(Line::from_json(LINE.as_bytes()).expect("a line of the feed")));
    view
}

/// The screen as text, without trailing spaces.
fn screen(view: &View, width: u16, height: u16) -> String {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).expect("a screen");
    terminal.draw(|frame| draw(frame, view)).expect("drawn");
    let cells = terminal.backend().buffer().content();
    let line = |row: &[ratatui::buffer::Cell]| row.iter().map(|cell| cell.symbol()).collect::<String>();
    cells.chunks(width.into()).map(|row| line(row).trim_end().to_owned() + "\n").collect()
}

fn press(view: &mut View, keys: &str) -> bool {
    let code = |letter| match letter {
        '\n' => KeyCode::Enter,
        '\x1b' => KeyCode::Esc,
        letter => KeyCode::Char(letter),
    };
    keys.chars().all(|letter| view.handle_key(KeyEvent::new(code(letter), KeyModifiers::NONE)))
}

/// The stations on the screen, in order.
fn names(view: &View) -> Vec<String> {
    let screen = screen(view, 80, 24);
    let rows = screen.lines().skip_while(|line| !line.starts_with("  name")).skip(1);
    let is_group = |line: &&str| line.contains(" domain ") || line.contains(" at ceiling ");
    let rows = rows.take_while(|line| !line.is_empty()).filter(|line| !is_group(line));
    let name = |line: &str| line.trim_start_matches(['>', '!', ' ']).split_whitespace().next().map(str::to_owned);
    rows.filter_map(name).collect()
}

#[test]
fn the_screen_fits_80_columns_and_24_lines() {
    assert_eq!(screen(&view(), 80, 24), include_str!("tests/80x24.txt"));
}

#[test]
fn a_wide_screen_has_more_columns() {
    assert_eq!(screen(&view(), 120, 40), include_str!("tests/120x40.txt"));
}

#[test]
fn a_station_has_all_its_legs_losses_and_flows() {
    let mut view = view();
    press(&mut view, "j\n");
    let flow = |low: &str| FlowStatus {
        low: low.into(),
        high: "[2001:db8:0:1:2:3:4:5]:51234".into(),
        released_bytes: 12_345_678,
        wlan_rtt_ms: Some(31.25),
        resent_down: 7,
        ..FlowStatus::default()
    };
    view.set_flows(Ok(vec![flow("10.0.0.7:443"), flow("[2001:db8:ffff:ffff:ffff:ffff:ffff:1]:443")]));
    assert_eq!(screen(&view, 80, 24), include_str!("tests/station.txt"));
    view.set_flows(Err("the box does not answer".into()));
    assert!(screen(&view, 80, 24).contains("flows are unknown: the box does not answer"));
    press(&mut view, "\x1b");
    assert!(screen(&view, 80, 24).contains(">!annes-laptop"), "the chosen one stays chosen");
}

#[test]
fn the_smallest_screens_do_not_stop_it() {
    for (width, height) in [(1, 1), (20, 4), (79, 7), (300, 5)] {
        let mut view = view();
        for keys in ["", "j\n", "\x1b?", "\x1b/x"] {
            press(&mut view, keys);
            let _ = screen(&view, width, height);
        }
    }
}

#[test]
fn a_search_is_by_name_or_address() {
    let mut view = view();
    assert_eq!(names(&view).len(), 4);
    press(&mut view, "/ANNE");
    assert_eq!(names(&view), ["annes-laptop"]);
    assert!(screen(&view, 80, 24).contains("search: ANNE_"));
    // While it is typed, letters are no commands.
    assert!(press(&mut view, "q"));
    assert!(names(&view).is_empty());
    press(&mut view, "\x1b/00:04\n");
    assert_eq!(names(&view), ["02:00:00:00:00:04"]);
    press(&mut view, "\x1b");
    assert_eq!(names(&view).len(), 4);
    assert!(!press(&mut view, "q"));
}

#[test]
fn keys_change_the_order_and_unknown_values_come_last() {
    let mut view = view();
    let last = "02:00:00:00:00:04";
    for (key, first) in
        [("u", "bens-phone"), ("a", "the-televisi\u{2026}"), ("l", "annes-laptop"), ("d", "the-televisi\u{2026}")]
    {
        press(&mut view, key);
        let names = names(&view);
        assert!(names[0].starts_with(first) && names[3] == last, "{key}: {names:?}");
    }
}

#[test]
fn a_rate_is_a_number_inferred_or_unknown() {
    let rate = |value, source| table::rate(evenair_api::watch::Value::new(value, source));
    assert_eq!(rate(54.0, Source::Reported), "54");
    assert_eq!(rate(54.0, Source::Inferred), "~54");
    let mut view = view();
    press(&mut view, "/00:04\n\n");
    let shown = screen(&view, 80, 24);
    assert!(shown.contains("rate unknown, signal - dBm"), "{shown}");
}

#[test]
fn the_chosen_station_is_on_the_screen_however_many_there_are() {
    let mut line = Line::from_json(LINE.as_bytes()).expect("a line of the feed");
    let stations = line.stations.as_mut().expect("there are some");
    let more = (0..100).map(|number| format!("02:00:00:00:01:{number:02x}"));
    stations.extend(more.map(|mac| evenair_api::watch::Station { mac, ..Default::default() }));
    let mut view = View::default();
    view.take(Ok(line));
    press(&mut view, &"j".repeat(200));
    assert!(screen(&view, 80, 24).contains("> 02:00:00:00:01:63"), "{}", screen(&view, 80, 24));
    press(&mut view, &"k".repeat(200));
    assert!(screen(&view, 80, 24).contains(">!the-"));
}

#[test]
fn a_box_that_is_away_is_said_in_the_first_line() {
    let mut view = view();
    view.take(Err("the box has ended the connection".into()));
    assert!(screen(&view, 80, 24).starts_with("NO DATA: the box has ended the connection"));
    view.take(Ok(Line::from_json(LINE.as_bytes()).expect("a line of the feed")));
    assert!(screen(&view, 80, 24).starts_with("health: bad"));
}

#[test]
fn help_fits_the_screen() {
    let mut view = view();
    press(&mut view, "?");
    let help = screen(&view, 80, 24);
    assert!(help.contains("a d u l ") && !help.contains('\u{2026}'), "{help}");
}

#[test]
fn printed_text_has_every_station_and_no_keys() {
    let lines = view().print(PRINTED_WIDTH);
    assert_eq!(lines.iter().filter(|line| line.contains("02:00:00:00:00:0")).count(), 4, "{lines:#?}");
    assert!(lines.iter().any(|line| line.starts_with(" !annes-laptop")), "{lines:#?}");
    assert!(lines.iter().all(|line| line.chars().count() <= PRINTED_WIDTH && !line.contains("q end")), "{lines:#?}");
}
