//! The wireless side: PHY, MAC, buffers, and reception.

use evenair_config::PhySpec;
use evenair_medium::{Capture, RateControl, Reception};
use evenair_reader::{List, Metres, OrDefault, Problems, Written};
use evenair_units::{Dbm, Limit};
use evenair_wifi::{BitErrorRate, PathLoss, Phy, Position, Preamble, Standard, power};

use super::rates::Rates;
use crate::Radio;
use crate::layout::Layout;
use crate::profile::{Profile, Quirks};
use crate::ranges::{Coordinates, Distances, TxPowers};
use crate::raw::{LayoutRaw, RadioRaw, ScenarioRaw};
use crate::words::{AfterCollisionWord, CaptureThreshold, DecisionsWord, RateControlWord, Shape};

pub(super) fn check(raw: &ScenarioRaw, standard: Standard, problems: &mut Problems) -> (Radio, Rates) {
    let RadioRaw { short_retry_limit, long_retry_limit, ap_buffer, station_buffer, .. } = &raw.radio;
    let quirks = quirks(&raw.radio, problems);
    let (phy, rts_threshold) = phy_spec(&raw.radio, standard).check(standard, problems);
    let short = short_retry_limit.get_or(7, problems);
    let long = long_retry_limit.get_or(quirks.long_retry_limit, problems);
    let after_collision = raw.radio.after_collision.get_or(AfterCollisionWord(quirks.after_collision), problems);
    let ap_buffer = super::buffer(ap_buffer, Limit::Packets(100), problems);
    let station_buffer = super::buffer(station_buffer, Limit::Packets(1000), problems);
    let layout = raw.radio.layout.as_ref().and_then(|layout| check_layout(layout, problems));
    let ap_position = raw.radio.ap_position.as_ref().and_then(|list| position(list, problems));
    let tx_power = tx_power(&raw.radio.tx_power, problems).unwrap_or(power::USUAL_POWER);
    let carrier_sense = raw.radio.carrier_sense.get_or(power::CARRIER_SENSE, problems);
    let phy = decisions(of_standard(phy, &quirks), &raw.radio, problems);
    let rates = Rates::of(&raw.radio, &phy, problems);
    let aggregation = super::aggregation::check(&raw.radio, &phy, &quirks, problems);
    let protection = protection(&raw.radio, &phy, problems);
    let phy = windows(phy, &raw.radio, problems);
    let edca = super::edca::check(&raw.radio, &phy, &quirks, problems);
    let (back_off, idle_sense) = super::access::check(raw, &phy, problems);
    let radio = Radio {
        reception: Reception { width: rates.width(), ..reception(raw, &phy, &quirks, problems) },
        rate_control: rate_control(&raw.radio, &phy, &quirks, problems),
        phy,
        rts_threshold,
        protection,
        short_retry_limit: short.unwrap_or(7),
        long_retry_limit: long.unwrap_or(quirks.long_retry_limit),
        after_collision: after_collision.map_or(quirks.after_collision, |word| word.0),
        idle_before_ack: quirks.idle_before_ack,
        // The names in the queue's classes are resolved later.
        ap_queue: None,
        station_queue: None,
        ap_buffer,
        station_buffer,
        edca,
        back_off,
        idle_sense,
        hidden: Vec::new(),
        layout,
        ap_position: ap_position.unwrap_or_default(),
        tx_power,
        carrier_sense: carrier_sense.unwrap_or(power::CARRIER_SENSE),
        beacons: super::beacons::check(raw, problems),
        aggregation,
    };
    (radio, rates)
}

/// What the profile changes; the standard where it is wrong.
fn quirks(raw: &RadioRaw, problems: &mut Problems) -> Quirks {
    raw.profile.get_or(Profile::Standard, problems).unwrap_or(Profile::Standard).quirks()
}

/// The PHY as written, with the profile's basic rates if the file has none.
pub(super) fn phy_spec(raw: &RadioRaw, standard: Standard) -> PhySpec {
    let mut written = raw.phy_spec();
    if quirks(raw, &mut Problems::default()).lowest_basic_rate && written.basic_rates.is_none() {
        written.basic_rates = Some(List::of([format!("{} Mb/s", standard.mandatory_rates()[0])]));
    }
    written
}

/// Applies the profile's durations of 802.11n and later.
fn of_standard(phy: Phy, quirks: &Quirks) -> Phy {
    let is_ns3 = quirks.profile == Profile::Ns3 && !phy.standard().formats().is_empty();
    if is_ns3 { phy.with_ns3_durations() } else { phy }
}

/// Checks protection: only frames of 802.11g need it, and those after RTS have it.
fn protection(raw: &RadioRaw, phy: &Phy, problems: &mut Problems) -> Option<Preamble> {
    let written = raw.protection.as_ref()?;
    if phy.standard() != Standard::Dot11g {
        let what = format!("{} does not protect its frames from stations of 802.11b", phy.standard());
        problems.add(written.span(), what, "802.11g, or no such key");
    } else if raw.rts_threshold.is_some() {
        problems.add(written.span(), "frames are protected twice", "either this or rts_threshold");
    }
    written.get(problems)
}

fn decisions(phy: Phy, raw: &RadioRaw, problems: &mut Problems) -> Phy {
    let is_hard = raw.ofdm_decisions.get_or(DecisionsWord::Soft, problems) == Some(DecisionsWord::Hard);
    if is_hard && !matches!(phy.standard(), Standard::Dot11a | Standard::Dot11g) {
        let what = format!("receivers of {} have no hard decisions", phy.standard());
        problems.add(raw.ofdm_decisions.place(), what, "\"soft\", or 802.11a or 802.11g");
    }
    if is_hard { phy.with_hard_decisions() } else { phy }
}

fn windows(phy: Phy, raw: &RadioRaw, problems: &mut Problems) -> Phy {
    let min = raw.cw_min.get_or(phy.cw_min(), problems).unwrap_or(phy.cw_min());
    let max = raw.cw_max.get_or(phy.cw_max(), problems).unwrap_or(phy.cw_max());
    if max < min {
        let (span, key) = match &raw.cw_max {
            Some(written) => (written.span(), "cw_max"),
            None => (raw.cw_min.place(), "cw_min"),
        };
        problems.add(span, format!("cw_min {min} is above cw_max {max}"), format!("another {key}"));
    }
    phy.with_windows(min, max)
}

fn reception(raw: &ScenarioRaw, phy: &Phy, quirks: &Quirks, problems: &mut Problems) -> Reception {
    let radio = &raw.radio;
    let ber = radio.ber.get_or(0.0, problems);
    let exponent = radio.path_loss_exponent.get_or(3.0, problems);
    let has_places = radio.layout.is_some() || raw.station.iter().any(|station| station.position.is_some());
    let has_signals = has_places || raw.station.iter().any(|station| station.snr.is_some());
    let without = |span, problems: &mut Problems| {
        problems.add(span, "no signal is known", "[radio.layout], or position or snr of stations, beside it");
    };
    if let Some(written) = radio.path_loss_exponent.as_ref().filter(|_| !has_places) {
        without(written.span(), problems);
    }
    let capture = match &radio.capture_threshold {
        None => quirks.capture,
        Some(written) => match written.get(problems) {
            Some(CaptureThreshold::Above(threshold)) => {
                if !has_signals {
                    without(written.span(), problems);
                }
                Some(Capture { threshold, over: quirks.over })
            }
            Some(CaptureThreshold::Off) | None => None,
        },
    };
    // At most 8000, without rounding issues: the exponent has been checked.
    let permille = (exponent.unwrap_or(3.0) * 1e3).round() as u32;
    Reception {
        ber: BitErrorRate::new(ber.unwrap_or(0.0)).unwrap_or_default(),
        path_loss: has_places.then(|| PathLoss::new(phy.standard(), permille)),
        noise: has_signals,
        capture: capture.filter(|_| has_signals),
        ..Reception::default()
    }
}

fn rate_control(raw: &RadioRaw, phy: &Phy, quirks: &Quirks, problems: &mut Problems) -> RateControl {
    let Some(word) = raw.rate_control.get_or(RateControlWord::Fixed, problems) else { return RateControl::Fixed };
    let has_modes = !phy.standard().formats().is_empty();
    let is_for_modes = word == RateControlWord::MinstrelHt;
    if let Some(written) =
        raw.rate_control.as_ref().filter(|_| word != RateControlWord::Fixed && has_modes != is_for_modes)
    {
        let standard = phy.standard();
        if has_modes {
            problems.add(written.span(), format!("not for the modes of {standard}"), "\"fixed\" or \"minstrel-ht\"");
        } else {
            problems.add(written.span(), "for 802.11n, ac and ax alone", format!("\"minstrel\" with {standard}"));
        }
    }
    match word {
        RateControlWord::Fixed => RateControl::Fixed,
        RateControlWord::TwoFailures => RateControl::TwoFailures,
        RateControlWord::Arf => RateControl::Arf,
        RateControlWord::Aarf => RateControl::Aarf { most: quirks.aarf_most },
        RateControlWord::Minstrel => RateControl::Minstrel,
        RateControlWord::MinstrelHt => RateControl::MinstrelHt,
    }
}

fn check_layout(raw: &LayoutRaw, problems: &mut Problems) -> Option<Layout> {
    let shape = raw.shape.get(problems);
    let mut length = |written: &Option<Written<Metres, Distances>>, default: i64| {
        written.get_or(Metres(default), problems).map_or(default, |length| length.0)
    };
    let radius_mm = length(&raw.radius, 10_000);
    let spacing_mm = length(&raw.spacing, 1_000);
    let far = if shape == Some(Shape::Point) { 10_000 } else { 20_000 };
    let distance_mm = length(&raw.distance, far);
    Some(match shape? {
        Shape::Circle => Layout::Circle { radius_mm },
        Shape::Line => Layout::Line { spacing_mm },
        Shape::NearRandom => Layout::NearRandom { radius_mm },
        Shape::FarRandom => Layout::FarRandom { radius_mm, distance_mm },
        Shape::Point => Layout::Point { distance_mm },
    })
}

/// A position of two coordinates.
pub(super) fn position(list: &List<Metres, Coordinates>, problems: &mut Problems) -> Option<Position> {
    let values = list.get(problems)?;
    let [Metres(x_mm), Metres(y_mm)] = values[..] else {
        let span = list.items()[0].span();
        problems.add(span, format!("{} coordinates", values.len()), "two, such as [\"3 m\", \"-4.5 m\"]");
        return None;
    };
    Some(Position { x_mm, y_mm })
}

pub(super) fn tx_power(written: &Option<Written<Dbm, TxPowers>>, problems: &mut Problems) -> Option<Dbm> {
    written.as_ref()?.get(problems)
}
