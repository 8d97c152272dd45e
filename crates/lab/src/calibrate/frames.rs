//! Messages between the two ends of a calibration: UDP datagrams with a fixed header, numbers in network byte order.
//!
//! - **Probe**, to the receiver: `EVN-CAL1`, session, sequence number; padded with zeros.
//! - **Report**, to the sender: `EVN-REP1`, session, count, and that many windows, newest last. Each report repeats the
//!   previous windows, since reports cross the saturated medium and some are lost.

/// A window: consecutive arrivals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Window {
    /// Its number in the session, from 0.
    pub(super) number: u64,
    /// Packets that arrived in it.
    pub(super) packets: u64,
    /// Packets sent since the last packet of the previous window, up to its own last.
    pub(super) sent: u64,
    /// Bytes of UDP payload that arrived in it.
    pub(super) bytes: u64,
    /// Time from the last arrival of the previous window to its own last, in nanoseconds.
    pub(super) lasted_ns: u64,
}

/// Header of a probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Probe {
    /// Chosen by the sender at random.
    pub(super) session: u64,
    /// Sequence number, from 0.
    pub(super) sequence: u64,
}

/// Maximum number of windows in a report.
pub(super) const REPORTED: usize = 16;
/// Length of a probe's header, in bytes: the shortest probe.
pub(super) const PROBE_HEAD: usize = 24;
/// Length of the longest report, in bytes.
pub(super) const REPORT_MAX: usize = 24 + REPORTED * WINDOW_LEN;

const PROBE: [u8; 8] = *b"EVN-CAL1";
const REPORT: [u8; 8] = *b"EVN-REP1";
const WINDOW_LEN: usize = 40;

impl Probe {
    pub(super) fn write(self, frame: &mut [u8]) {
        frame[..8].copy_from_slice(&PROBE);
        frame[8..16].copy_from_slice(&self.session.to_be_bytes());
        frame[16..PROBE_HEAD].copy_from_slice(&self.sequence.to_be_bytes());
    }

    pub(super) fn read(frame: &[u8]) -> Option<Self> {
        let [kind, session, sequence] = numbers(frame)?;
        (kind == u64::from_be_bytes(PROBE)).then_some(Self { session, sequence })
    }
}

/// A report of a session.
pub(super) fn write_report(session: u64, windows: &[Window]) -> Vec<u8> {
    let windows = &windows[windows.len().saturating_sub(REPORTED)..];
    let mut frame = Vec::with_capacity(REPORT_MAX);
    frame.extend(REPORT);
    frame.extend(session.to_be_bytes());
    frame.extend((windows.len() as u64).to_be_bytes());
    for window in windows {
        let Window { number, packets, sent, bytes, lasted_ns } = *window;
        [number, packets, sent, bytes, lasted_ns].iter().for_each(|field| frame.extend(field.to_be_bytes()));
    }
    frame
}

/// The windows of a report of this session; `None` if it is none.
pub(super) fn read_report(frame: &[u8], session: u64) -> Option<Vec<Window>> {
    let [kind, of, count] = numbers(frame)?;
    let windows = frame.get(24..)?;
    let sound = kind == u64::from_be_bytes(REPORT) && of == session && count <= REPORTED as u64;
    if !sound || windows.len() != count as usize * WINDOW_LEN {
        return None;
    }
    windows
        .chunks_exact(WINDOW_LEN)
        .map(|window| {
            let [number, packets, sent, bytes, lasted_ns] = numbers(window)?;
            let whole = packets > 0 && packets <= sent && lasted_ns > 0;
            whole.then_some(Window { number, packets, sent, bytes, lasted_ns })
        })
        .collect()
}

/// The first `N` eight-byte numbers.
fn numbers<const N: usize>(frame: &[u8]) -> Option<[u64; N]> {
    let mut all = [0; N];
    for (number, bytes) in all.iter_mut().zip(frame.get(..8 * N)?.chunks_exact(8)) {
        *number = u64::from_be_bytes(bytes.try_into().ok()?);
    }
    Some(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn window(number: u64) -> Window {
        Window { number, packets: 100, sent: 130, bytes: 102_400, lasted_ns: 250_000_000 }
    }

    #[test]
    fn reports_are_read_back() {
        let probe = Probe { session: 7, sequence: 1 << 40 };
        let mut frame = [0; 1024];
        probe.write(&mut frame);
        assert_eq!(Probe::read(&frame), Some(probe));
        let windows: Vec<_> = (0..20).map(window).collect();
        let report = write_report(7, &windows);
        assert_eq!(report.len(), REPORT_MAX);
        assert_eq!(read_report(&report, 7), Some(windows[4..].to_vec()), "the newest");
        assert_eq!(read_report(&write_report(7, &[]), 7), Some(Vec::new()));
    }

    #[test]
    fn other_datagrams_are_ignored() {
        let mut report = write_report(7, &[window(0), window(1)]);
        assert_eq!(read_report(&report, 8), None, "of another session");
        assert_eq!(Probe::read(&report), None);
        for len in 0..report.len() {
            assert_eq!(read_report(&report[..len], 7), None, "{len}");
        }
        report[23] = 200;
        assert_eq!(read_report(&report, 7), None, "more than there are");
        assert_eq!(Probe::read(b"EVN-CAL1"), None);
        let empty = Window { packets: 0, ..window(0) };
        assert_eq!(read_report(&write_report(7, &[empty]), 7), None, "a window without packets");
    }
}
