//! Opening and closing.

use evenair_sim::tcp::segment::SynOptions;
use evenair_sim::tcp::{CloseReason, Config, Event, LossRecovery, State};
use evenair_units::{Bytes, Instant, Span};

use crate::net::{Fate, Net, Side};

fn secs(at: Instant) -> f64 {
    at.saturating_since(Instant::ZERO).as_secs_f64()
}

#[test]
fn three_segments_open_and_agree_on_options() {
    let mut net = Net::new(&Config::linux());
    net.run_for(Span::from_secs(1));
    let flags: Vec<_> = net.sent.iter().map(|(at, side, s)| (secs(*at), *side, s.flags.syn, s.flags.ack)).collect();
    assert_eq!(flags, [(0.0, Side::A, true, false), (0.05, Side::B, true, true), (0.1, Side::A, false, true)]);
    let options = SynOptions { mss: 1460, window_shift: Some(7), sack_permitted: true };
    assert_eq!((net.sent[0].2.syn, net.sent[1].2.syn), (Some(options), Some(options)));
    assert_eq!(net.sent[0].2.window, 65_535, "a SYN's window is not scaled");
    assert_eq!(u64::from(net.sent[2].2.window) << 7, 6 << 20);
    assert_eq!((net.a().state(), net.b().state()), (State::Established, State::Established));
    assert_eq!((net.a().srtt(), net.b().srtt()), (Some(Span::from_millis(100)), Some(Span::from_millis(100))));
    assert_eq!(net.a().segment_payload(), Bytes(1448));
    assert_eq!((&net.events[0][..], &net.events[1][..]), (&[Event::Established][..], &[Event::Established][..]));
}

#[test]
fn options_count_only_where_both_ends_have_them() {
    let plain = Config {
        timestamps: false,
        window_scaling: false,
        recovery: LossRecovery::NewReno,
        mss: 1000,
        ..Config::rfc()
    };
    let mut net = Net::with(&Config::linux(), &plain);
    net.run_for(Span::from_secs(1));
    assert_eq!(net.sent[1].2.syn, Some(SynOptions { mss: 1000, window_shift: None, sack_permitted: false }));
    assert!(net.sent[2].2.timestamps.is_none());
    assert_eq!(net.sent[2].2.window, 65_535);
    assert_eq!(net.a().segment_payload(), Bytes(1000));
}

#[test]
fn a_lost_syn_is_sent_again_after_1_3_7_15_seconds_and_given_up() {
    let config = Config { syn_retries: 4, ..Config::rfc() };
    let mut net = Net::new(&config).fate(Side::A, |_| Fate::Drop);
    net.run_for(Span::from_secs(100));
    let times: Vec<_> = net.sent.iter().map(|(at, _, _)| secs(*at)).collect();
    assert_eq!(times, [0.0, 1.0, 3.0, 7.0, 15.0]);
    assert_eq!(net.events[0], [Event::Closed(CloseReason::TimedOut)]);
    assert_eq!(net.a().poll_deadline(), None);
    assert_eq!((net.a().stats().timeouts, net.a().stats().retransmissions), (5, 4));
}

#[test]
fn a_lost_answer_and_a_lost_third_segment_are_repaired() {
    let mut nth = 0;
    let mut net = Net::new(&Config::rfc()).fate(Side::B, move |_| {
        nth += 1;
        if nth == 1 { Fate::Drop } else { Fate::Deliver }
    });
    net.run_for(Span::from_secs(3));
    assert_eq!((net.a().state(), net.b().state()), (State::Established, State::Established));

    let mut nth = 0;
    let mut net = Net::new(&Config::rfc()).fate(Side::A, move |_| {
        nth += 1;
        if nth == 2 { Fate::Drop } else { Fate::Deliver }
    });
    net.run_for(Span::from_millis(500));
    assert_eq!((net.a().state(), net.b().state()), (State::Established, State::SynReceived));
    net.run_for(Span::from_secs(1));
    assert_eq!(net.b().state(), State::Established);
}

#[test]
fn the_initial_window_is_one_segment_after_a_second_lost_syn() {
    let first_flight = |lost: u32| {
        let mut nth = 0;
        let mut net = Net::new(&Config::rfc()).fate(Side::A, move |segment| {
            nth += u32::from(segment.flags.syn);
            if segment.flags.syn && nth <= lost { Fate::Drop } else { Fate::Deliver }
        });
        net.a().write(Bytes(100_000));
        net.run_while(Span::from_secs(20), |net| net.received_by_b() == 0);
        net.data_from_a().count()
    };
    assert_eq!((first_flight(0), first_flight(1), first_flight(2)), (10, 10, 1));
}

#[test]
fn both_ends_close_in_either_order() {
    for late in [false, true] {
        let mut net = Net::new(&Config::rfc());
        net.a().write(Bytes(5_000));
        net.b().write(Bytes(3_000));
        net.a().close();
        if !late {
            net.b().close();
        }
        net.run_for(Span::from_secs(2));
        if late {
            assert_eq!((net.a().state(), net.b().state()), (State::FinWait2, State::CloseWait));
            net.b().close();
        }
        net.run_for(Span::from_secs(300));
        assert_eq!((net.a().state(), net.b().state()), (State::Closed, State::Closed));
        for (events, bytes) in net.events.iter().zip([3_000, 5_000]) {
            assert_eq!(events.last(), Some(&Event::Closed(CloseReason::Normal)));
            assert!(events.contains(&Event::PeerFinished) && events.contains(&Event::Drained));
            let received = |e: &Event| if let Event::Received(n) = e { n.0 } else { 0 };
            assert_eq!(events.iter().map(received).sum::<u64>(), bytes);
        }
        assert_eq!(net.a().poll_deadline(), None);
    }
}

#[test]
fn a_lost_fin_is_sent_again() {
    let mut lost = false;
    let mut net = Net::new(&Config::rfc()).fate(Side::A, move |segment| {
        if segment.flags.fin && !std::mem::replace(&mut lost, true) { Fate::Drop } else { Fate::Deliver }
    });
    net.a().write(Bytes(2_000));
    net.a().close();
    net.run_for(Span::from_secs(5));
    assert_eq!((net.a().state(), net.b().state()), (State::FinWait2, State::CloseWait));
    assert_eq!(net.received_by_b(), 2_000);
}

#[test]
fn an_abort_resets_the_other_end() {
    let mut net = Net::new(&Config::rfc());
    net.a().write_endlessly();
    net.run_for(Span::from_secs(1));
    net.a().abort();
    net.run_for(Span::from_secs(1));
    assert_eq!((net.a().state(), net.b().state()), (State::Closed, State::Closed));
    assert_eq!(net.events[1].last(), Some(&Event::Closed(CloseReason::Reset)));
}

#[test]
fn an_endless_writer_that_closes_sends_no_more_data() {
    let mut net = Net::new(&Config::rfc());
    net.a().write_endlessly();
    net.run_for(Span::from_secs(1));
    net.a().close();
    net.run_for(Span::from_secs(5));
    assert_eq!((net.a().state(), net.b().state()), (State::FinWait2, State::CloseWait));
}
