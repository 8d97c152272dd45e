//! Capabilities of a process, from its status file (proc(5), capabilities(7)).

/// Capability to lock memory beyond the limit.
pub const CAP_IPC_LOCK: u32 = 14;

/// Whether the effective set in this status has a capability; `None` if the status has no such set.
pub fn is_effective(status: &str, capability: u32) -> Option<bool> {
    let set = status.lines().find_map(|line| line.strip_prefix("CapEff:"))?;
    u64::from_str_radix(set.trim(), 16).ok().map(|set| set >> capability & 1 == 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_effective_set_counts() {
        let status = |set: &str| format!("Name:\tx\nCapPrm:\t000001ffffffffff\nCapEff:\t{set}\nSeccomp:\t0\n");
        assert_eq!(is_effective(&status("000001ffffffffff"), CAP_IPC_LOCK), Some(true));
        assert_eq!(is_effective(&status("0000000000004000"), CAP_IPC_LOCK), Some(true));
        assert_eq!(is_effective(&status("000001ffffffbfff"), CAP_IPC_LOCK), Some(false));
        assert_eq!(is_effective("Name:\tx\n", CAP_IPC_LOCK), None);
    }
}
