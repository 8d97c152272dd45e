//! Medium time that a station has used without paying, by the IP address of the sender.
//!
//! A station's address is easily forged, so flows pay only for packets from their own IP address: an attacker that uses a station's MAC
//! address with another IP address costs it only the medium time that is gone. Packets without an IP address are paid for by all flows.

use core::net::IpAddr;

use evenair_units::Span;

/// Largest debt; more is forgiven, so that a station regains its share soon after an excess.
const DEBT_LIMIT: Span = Span::from_millis(250);
/// Addresses with debts of their own, at most; a station has few that send without replies. A further one replaces that with the least
/// debt.
const MOST: usize = 4;

/// Debts of a station; see the module.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Debts {
    by_address: [(Option<IpAddr>, Span); MOST],
}

impl Debts {
    /// Adds a debt for packets from this address.
    pub(super) fn add(&mut self, address: Option<IpAddr>, airtime: Span) {
        let known = self.by_address.iter_mut().position(|(of, debt)| *of == address && *debt > Span::ZERO);
        let place = known.unwrap_or_else(|| {
            let least = self.by_address.iter().enumerate().min_by_key(|(_, (_, debt))| *debt);
            least.map_or(0, |(place, _)| place)
        });
        if known.is_none() {
            self.by_address[place] = (address, Span::ZERO);
        }
        let debt = &mut self.by_address[place].1;
        *debt = (*debt + airtime).min(DEBT_LIMIT);
    }

    /// Pays for a flow of this address, at most `most`. Returns the amount paid.
    pub(super) fn pay(&mut self, address: IpAddr, most: Span) -> Span {
        let mut paid = Span::ZERO;
        for (of, debt) in &mut self.by_address {
            if of.is_none_or(|of| of == address) {
                let now = (*debt).min(most.saturating_sub(paid));
                *debt = debt.saturating_sub(now);
                paid += now;
            }
        }
        paid
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(last: u8) -> IpAddr {
        IpAddr::from([10, 0, 0, last])
    }

    const MS: Span = Span::from_millis(1);

    #[test]
    fn an_address_pays_for_itself_and_for_packets_without_an_address() {
        let mut debts = Debts::default();
        debts.add(Some(address(1)), MS * 3);
        debts.add(Some(address(2)), MS * 5);
        debts.add(None, MS);
        assert_eq!(debts.pay(address(3), MS * 10), MS);
        assert_eq!(debts.pay(address(1), MS * 2), MS * 2);
        assert_eq!(debts.pay(address(1), MS * 2), MS);
        assert_eq!(debts.pay(address(1), MS * 2), Span::ZERO);
        assert_eq!(debts.pay(address(2), MS * 10), MS * 5);
    }

    #[test]
    fn debts_are_bounded() {
        let mut debts = Debts::default();
        debts.add(Some(address(1)), Span::from_secs(9));
        (2..200).for_each(|last| debts.add(Some(address(last)), MS));
        assert_eq!(debts.pay(address(1), Span::from_secs(9)), DEBT_LIMIT, "the largest stays");
        assert_eq!(debts.pay(address(199), Span::from_secs(9)), MS);
    }
}
