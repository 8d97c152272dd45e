//! Medium time that a station has taken and none of its flows has paid for, by the address that it was sent from.
//!
//! A station's address is easily forged, and so its flows pay for what was sent from their own address alone: an attacker that
//! sends under a station's MAC address and another IP address costs it nothing but the medium that is gone. What names no
//! address is paid for by all flows.

use core::net::IpAddr;

use evenair_units::Span;

/// Debt beyond this is forgiven: who had too much may have its share again soon after.
const DEBT_LIMIT: Span = Span::from_millis(250);
/// Addresses with debts of their own; a station has few that send without answers. One more takes the place of the least debt.
const MOST: usize = 4;

/// See the module.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Debts {
    by_address: [(Option<IpAddr>, Span); MOST],
}

impl Debts {
    /// So much was sent from this address.
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

    /// A flow of this address pays at most so much: how much it pays.
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
    fn an_address_pays_for_itself_and_for_what_names_none() {
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
