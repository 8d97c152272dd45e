//! Access points with a queue per station: how they share the medium, compared with one FIFO for all. Shares of packets and
//! of airtime follow from the unit of the turns; both are counted on the medium, independently of the queues.

use evenair_results::{RunResult, scalar};
use evenair_units::{BitRate, Bytes};
use evenair_wifi::{Phy, Standard};

use crate::site::Site;

const STATION_FIFO: &str = "ap_queue = { discipline = 'station-fifo' }";
const MAC80211: &str = "ap_queue = { discipline = 'mac80211' }";

/// 802.11g, a station at 54 Mb/s and one at 6 Mb/s.
fn site(radio: &str) -> Site {
    Site::new("station-queues", 10)
        .radio("802.11g", "ap_buffer = '1000 packets'")
        .and(radio)
        .lan("1 Gb/s", "1 ms")
        .station("fast", "rate = '54 Mb/s'")
        .station("slow", "rate = '6 Mb/s'")
        .phase("steady", 2, 10)
}

fn value(result: &RunResult, name: &str) -> f64 {
    let name = format!("phase.steady.{name}");
    scalar(result, &name).unwrap_or_else(|| panic!("there is no {name}"))
}

/// Ratio of the first station's measure to the second's.
fn ratio(result: &RunResult, measure: impl Fn(&RunResult, &str) -> f64) -> f64 {
    measure(result, "fast") / measure(result, "slow")
}

fn goodput(result: &RunResult, station: &str) -> f64 {
    value(result, &format!("flow.to-{station}.goodput_mbps"))
}

/// Measured airtime in both directions.
fn airtime(result: &RunResult, station: &str) -> f64 {
    let way = |way| value(result, &format!("measured_airtime.station.{station}.{way}_share"));
    way("down") + way("up")
}

/// Datagrams with random gaps.
const POISSON: &str = "arrivals = 'poisson'\npayload = '1472 bytes'";

/// Each station is sent this much.
fn floods(site: Site, fast: &str, slow: &str) -> Site {
    site.udp("to-fast", "fast", "down", fast).and(POISSON).udp("to-slow", "slow", "down", slow).and(POISSON)
}

/// Each station is sent more than it can receive.
fn flooded(radio: &str) -> Site {
    floods(site(radio), "25 Mb/s", "25 Mb/s")
}

/// Ratio of the airtimes of a packet of 1500 bytes at 6 Mb/s and at 54 Mb/s, with inter-frame space and ACK.
fn times_as_long() -> f64 {
    let phy = Phy::default_for(Standard::Dot11g);
    let took = |mbps| {
        let rate = Standard::Dot11g.rate(BitRate::from_mbps(mbps)).expect("a rate of the standard");
        (phy.difs() + phy.exchange(Bytes(1500), rate, false).0).as_secs_f64()
    };
    took(6) / took(54)
}

#[test]
fn fifos_share_by_packets_and_the_intermediate_queues_by_airtime() {
    let longer = times_as_long();
    println!("one packet takes {longer:.2} times as long");
    for radio in ["ap_queue = { discipline = 'fifo' }", STATION_FIFO] {
        let result = flooded(radio).run();
        let (packets, time) = (ratio(&result, goodput), ratio(&result, airtime));
        println!("{radio}: goodput {packets:.3}, airtime {time:.3}");
        assert!((packets - 1.0).abs() < 0.05, "{radio}: goodputs are as {packets}");
        assert!((longer * time - 1.0).abs() < 0.05, "{radio}: airtimes are as {time}");
    }
    let result = flooded(MAC80211).run();
    let (packets, time) = (ratio(&result, goodput), ratio(&result, airtime));
    println!("mac80211: goodput {packets:.3}, airtime {time:.3}");
    assert!((time - 1.0).abs() < 0.05, "airtimes are as {time}");
    assert!((packets / longer - 1.0).abs() < 0.05, "goodputs are as {packets}");
}

/// Weights of the airtime scheduler, with and without airtime queue limits.
#[test]
fn stations_get_airtime_by_the_weights_of_the_access_point() {
    for (aql, fast, slow) in [("", 2, 1), (", aql_low = '2 ms', aql_high = '4 ms'", 1, 3), (", aql = false", 2, 1)] {
        let weight = |station: &str, weight: u32| format!("{{ stations = ['{station}'], weight = {weight} }}");
        let weights = format!("{}, {}", weight("fast", fast), weight("slow", slow));
        let radio = format!("ap_queue = {{ discipline = 'mac80211'{aql}, airtime_weight = [{weights}] }}");
        let time = ratio(&flooded(&radio).run(), airtime);
        println!("{fast} to {slow}{aql}: airtime {time:.3}");
        let want = f64::from(fast) / f64::from(slow);
        assert!((time / want - 1.0).abs() < 0.05, "{radio}: airtimes are as {time}");
    }
}

#[test]
fn a_flooding_station_takes_places_of_a_fifo_and_not_turns_of_station_queues() {
    // Four packets for the fast station per packet for the slow one, which has enough for its turn.
    let [fifo, turns] = ["", STATION_FIFO].map(|radio| ratio(&floods(site(radio), "28 Mb/s", "7 Mb/s").run(), goodput));
    println!("FIFO {fifo:.2}, by turns {turns:.3}");
    assert!(fifo > 3.0, "{fifo}");
    assert!((turns - 1.0).abs() < 0.02, "{turns}");
}

/// Uplink airtime of a station is deducted from its downlink share.
#[test]
fn uploads_count_as_airtime_of_their_station() {
    let result = flooded(MAC80211).udp("from-slow", "slow", "up", "1 Mb/s").and(POISSON).run();
    let share = |way| value(&result, &format!("measured_airtime.station.slow.{way}_share"));
    let (up, time) = (share("up"), ratio(&result, airtime));
    println!("up {up:.3}, both ways as {time:.3}");
    // 85 packets per second that take 2.2 ms each, and some collide.
    assert!((0.18..0.22).contains(&up), "{up}");
    // Attempts that collide are not received, and so not counted.
    assert!((0.94..1.0).contains(&time), "airtimes are as {time}");
    // Not so with equal downlink shares.
    assert!(share("down") < 0.7 * value(&result, "measured_airtime.station.fast.down_share"));
}

#[test]
fn a_ping_to_an_idle_station_does_not_wait_behind_downloads() {
    let rtt = |radio: &str| {
        let result = site(radio)
            .each(["fast", "slow"], |site, station| {
                site.each([1, 2], |site, k| site.bulk(&format!("to-{station}-{k}"), station, "down"))
            })
            .station("idle", "rate = '54 Mb/s'")
            .ping("echo", "idle")
            .run();
        (value(&result, "flow.echo.rtt_mean_ms"), value(&result, "flow.echo.rtt_p99_ms"))
    };
    let [fifo, turns, fair] = ["", STATION_FIFO, MAC80211].map(rtt);
    println!("FIFO {fifo:?}, by turns {turns:?}, mac80211 {fair:?} ms");
    // The queue only waits for two packets below it, and for frames of stations: at most a few packets at 6 Mb/s.
    assert!(fair.0 < 10.0 && fair.1 < 20.0, "{fair:?} ms");
    assert!(fifo.0 > 20.0 * fair.0, "{fair:?} ms beside {fifo:?} ms");
    assert!(turns.0 < 10.0, "{turns:?} ms");
}
