//! Settings of TCP.

use evenair_reader::{OrDefault, Problems, Written};
use evenair_units::{Bytes, Limit, Span};

use crate::raw::TcpRaw;
use crate::{FastRecovery, Stack, TcpSpec};

/// Segments of Ethernet: packets of 1500 bytes without the headers of IPv4 and TCP.
const USUAL_MSS: Bytes = Bytes(1460);

/// Defaults that depend on the stack.
struct Defaults {
    congestion_control: &'static str,
    buffer: Bytes,
    timestamps: bool,
}

impl Defaults {
    const fn of(stack: Stack) -> Self {
        match stack {
            Stack::Linux | Stack::Textbook => {
                Self { congestion_control: "cubic", buffer: Bytes(8_000_000), timestamps: true }
            }
            Stack::Ns3 => Self { congestion_control: "reno", buffer: Bytes(64 << 20), timestamps: false },
        }
    }
}

pub(super) fn check(raw: &TcpRaw, problems: &mut Problems) -> TcpSpec {
    let stack = raw.stack.get_or(Stack::Linux, problems).unwrap_or(Stack::Linux);
    let Defaults { congestion_control: algorithm, buffer, timestamps } = Defaults::of(stack);
    let mss = raw.mss.get_or(USUAL_MSS, problems).unwrap_or(USUAL_MSS);
    let fifth = Span::from_millis(200);
    TcpSpec {
        congestion_control: congestion_control(raw.congestion_control.as_ref(), problems)
            .unwrap_or_else(|| algorithm.to_owned()),
        rmem_max: raw.receive_buffer.get_or(buffer, problems).unwrap_or(buffer),
        wmem_max: raw.send_buffer.get_or(buffer, problems).unwrap_or(buffer),
        timestamps: raw.timestamps.get_or(timestamps, problems).unwrap_or(timestamps),
        sack: raw.sack.get_or(true, problems).unwrap_or(true),
        window_scaling: raw.window_scaling.get_or(true, problems).unwrap_or(true),
        ecn: raw.ecn.get_or(false, problems).unwrap_or(false),
        mss,
        window: window(raw, mss, problems),
        initial_window: raw.initial_window.get_or(10, problems).unwrap_or(10),
        delayed_ack: raw.delayed_ack.get_or(true, problems).unwrap_or(true),
        min_rto: raw.min_rto.get_or(fifth, problems).unwrap_or(fifth),
        stack,
        fast_recovery: fast_recovery(raw, problems),
    }
}

fn window(raw: &TcpRaw, mss: Bytes, problems: &mut Problems) -> Option<Bytes> {
    let most = Bytes(1 << 30);
    let bytes = |limit: Limit| match limit {
        Limit::Packets(packets) => mss.0.checked_mul(u64::from(packets)).map(Bytes),
        Limit::Bytes(size) => Some(size),
        Limit::Unlimited => None,
    };
    let fits = |&limit: &Limit| limit == Limit::Unlimited || bytes(limit).is_some_and(|w| (mss..=most).contains(&w));
    raw.window.as_ref()?.get_if(problems, fits, "one segment to 1 GiB, such as \"43 packets\"").and_then(bytes)
}

fn fast_recovery(raw: &TcpRaw, problems: &mut Problems) -> FastRecovery {
    raw.fast_recovery.get_or(FastRecovery::NewReno, problems).unwrap_or(FastRecovery::NewReno)
}

/// A congestion control's name, limited as in kernels: TCP_CA_NAME_MAX is 16 with the terminator.
pub(super) fn congestion_control(written: Option<&Written<String>>, problems: &mut Problems) -> Option<String> {
    let plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_';
    let fits = |name: &String| (1..=15).contains(&name.len()) && name.bytes().all(plain);
    written?.get_if(problems, fits, "the kernel's name of one, such as \"cubic\", \"reno\", \"bbr\"")
}
