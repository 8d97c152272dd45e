//! The frames of an access, RTS, CTS, DATA and ACK, for the watch. The shared-channel engine knows them when the
//! access begins.

use evenair_units::{Instant, Span};
use evenair_wifi::{Phy, PhyRate};

use super::access::{Access, Outcome};
use crate::attempt::Attempt;
use crate::frame::{NodeId, To};
use crate::nodes::Nodes;
use crate::watch::{Kind, Transmission, TxStatus, Watch};

/// Records all frames of an access that begins.
pub(super) fn watch<F>(watch: &mut Watch, at: Instant, access: &Access, phy: &Phy, nodes: &Nodes<F>) {
    let Access { node, edcaf, attempt, outcome, .. } = *access;
    let Attempt { to, rate, data, answer, .. } = attempt;
    let (sifs, control) = (phy.sifs(), phy.control_rate(rate));
    let (rts, cts) = (phy.rts(rate), phy.cts(rate));
    let from = NodeId(node);
    let mut at = at;
    let spoiled = match outcome {
        Outcome::Collided => TxStatus::Overlapped,
        Outcome::Received | Outcome::Unconfirmed => TxStatus::Received,
        Outcome::Lost | Outcome::Unanswered => TxStatus::Lost,
    };
    if attempt.rts {
        let control = phy.reservation_rate(rate);
        let kind = nodes.kind_of(edcaf, &attempt, true);
        let reserves = sifs + cts + sifs + data + answer;
        let through = !matches!(outcome, Outcome::Collided | Outcome::Unanswered);
        watch.frame(
            Transmission { at, lasts: rts, from, to, kind, rate: control, reserves },
            match through {
                true => TxStatus::Received,
                false => spoiled,
            },
        );
        let To::Node(receiver) = to else { return };
        if !through {
            return;
        }
        at = at + rts + sifs;
        let reserves = sifs + data + answer;
        let cts_frame = Transmission {
            at,
            lasts: cts,
            from: receiver,
            to: To::Node(from),
            kind: Kind::Cts,
            rate: control,
            reserves,
        };
        watch.frame(cts_frame, TxStatus::Received);
        at = at + cts + sifs;
    }
    let kind = nodes.kind_of(edcaf, &attempt, false);
    watch.frame(Transmission { at, lasts: data, from, to, kind, rate, reserves: answer }, spoiled);
    if let (To::Node(receiver), true) = (to, outcome.delivers()) {
        at = at + data + sifs;
        let status = if outcome == Outcome::Received { TxStatus::Received } else { TxStatus::Lost };
        let (to, reserves) = (To::Node(from), Span::ZERO);
        let (lasts, kind) = (Span::from_nanos(answer.as_nanos() - sifs.as_nanos()), attempt.answer_kind());
        watch.frame(Transmission { at, lasts, from: receiver, to, kind, rate: control, reserves }, status);
    }
}

/// The CF-End frame that follows an access which ended at `at`, with DATA at this rate.
pub(super) fn cf_end(at: Instant, node: u32, rate: PhyRate, phy: &Phy) -> Transmission {
    Transmission {
        at: at + phy.sifs(),
        lasts: phy.cf_end(rate),
        from: NodeId(node),
        to: To::Broadcast,
        kind: Kind::CfEnd,
        rate: phy.cf_end_rate(rate),
        reserves: Span::ZERO,
    }
}
