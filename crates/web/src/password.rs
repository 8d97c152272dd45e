//! Password hashes: argon2id (RFC 9106).

use std::sync::{Arc, Mutex};
use std::time::Duration;

use argon2::{Algorithm, Argon2, Block, Params, Version};
use serde::{Deserialize, Serialize};
use subtle::ConstantTimeEq;
use tokio::sync::Semaphore;
use tokio::time::timeout;

use crate::secret::{from_hex, hex, random};

/// Minimum length of a password, in characters (OWASP requires 8, NIST SP 800-63B 15 without a second factor).
pub(crate) const SHORTEST: usize = 10;
/// Maximum length of a password, in bytes: longer than any passphrase.
pub(crate) const LONGEST: usize = 1024;
/// What is wrong with a new password, if anything.
pub(crate) fn fault(password: &str) -> Option<String> {
    match () {
        () if password.chars().count() < SHORTEST => Some(format!("A password has at least {SHORTEST} characters.")),
        () if password.len() > LONGEST => Some(format!("A password has at most {LONGEST} bytes.")),
        () => None,
    }
}

/// Concurrent hashes: each takes a core and [`PasswordCost::memory_kib`].
const AT_A_TIME: usize = 2;
/// Timeout of a waiting hash.
const PATIENCE: Duration = Duration::from_secs(5);
/// Largest memory and most passes of a stored hash: a file with more is damaged.
const MOST_MEMORY_KIB: u32 = 256 << 10;
const MOST_PASSES: u32 = 64;

/// Cost parameters of a hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PasswordCost {
    /// Memory, in KiB.
    memory_kib: u32,
    /// Number of passes over the memory.
    passes: u32,
    /// Number of lanes.
    lanes: u32,
}

impl PasswordCost {
    /// 19 MiB, two passes, one lane: the choice for small machines among OWASP's equivalent ones (Password Storage Cheat Sheet).
    /// RFC 9106's second recommendation needs 64 MiB, which two at a time would be half of the service's memory limit.
    pub const OWASP: Self = Self { memory_kib: 19 << 10, passes: 2, lanes: 1 };

    /// Minimal cost, for tests with many logins.
    #[doc(hidden)]
    pub const fn for_tests() -> Self {
        Self { memory_kib: 8, passes: 1, lanes: 1 }
    }

    fn params(self) -> Option<Params> {
        let Self { memory_kib, passes, lanes } = self;
        let in_bounds = memory_kib <= MOST_MEMORY_KIB && passes <= MOST_PASSES;
        in_bounds.then(|| Params::new(memory_kib, passes, lanes, Some(32)).ok()).flatten()
    }
}

/// The hash of a password, as stored in accounts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct PasswordHash {
    argon2id: PasswordCost,
    /// Salt of 16 bytes, in hexadecimal.
    salt: String,
    /// Hash of 32 bytes, in hexadecimal.
    hash: String,
}

impl PasswordHash {
    /// Whether it is a well-formed hash.
    pub(crate) fn is_whole(&self) -> bool {
        self.argon2id.params().is_some() && from_hex::<16>(&self.salt).is_some() && from_hex::<32>(&self.hash).is_some()
    }

    fn of(password: &str, cost: PasswordCost, memory: &mut Memory) -> Self {
        let salt = random();
        Self { argon2id: cost, salt: hex(&salt), hash: hex(&argon2id(password, salt, cost, memory)) }
    }

    fn matches(&self, password: &str, memory: &mut Memory) -> bool {
        let salt = from_hex(&self.salt).expect("checked when read");
        let hash: [u8; 32] = from_hex(&self.hash).expect("checked when read");
        argon2id(password, salt, self.argon2id, memory).ct_eq(&hash).into()
    }

    /// A hash that no password matches.
    fn dummy(cost: PasswordCost) -> Self {
        Self { argon2id: cost, salt: hex(&[0; 16]), hash: hex(&[0; 32]) }
    }
}

/// Working memory of a hash. It is reused: the allocator keeps memory of this size that one of many threads has freed with that
/// thread.
type Memory = Vec<Block>;

fn argon2id(password: &str, salt: [u8; 16], cost: PasswordCost, memory: &mut Memory) -> [u8; 32] {
    let params = cost.params().expect("checked when read");
    let mut hash = [0; 32];
    memory.resize(params.block_count(), Block::default());
    Argon2::new(Algorithm::Argon2id, Version::V0x13, params)
        .hash_password_into_with_memory(password.as_bytes(), &salt, &mut hash, &mut memory[..])
        .expect("the lengths are allowed");
    memory.fill(Block::default());
    hash
}

/// Too many hashes are being computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Busy;

impl Busy {
    /// Time to wait before the next attempt, in seconds.
    pub(crate) const RETRY_S: u64 = PATIENCE.as_secs();
}

/// Computes and checks hashes, two at a time.
#[derive(Clone, Debug)]
pub(crate) struct Passwords {
    cost: PasswordCost,
    patience: Duration,
    places: Arc<Semaphore>,
    /// Memory of completed hashes, for reuse: one per concurrent hash.
    memories: Arc<Mutex<Vec<Memory>>>,
}

impl Passwords {
    pub(crate) fn new(cost: PasswordCost) -> Self {
        Self { cost, patience: PATIENCE, places: Arc::new(Semaphore::new(AT_A_TIME)), memories: Arc::default() }
    }

    /// The hash of a new password.
    pub(crate) async fn hash(&self, password: String) -> Result<PasswordHash, Busy> {
        let cost = self.cost;
        self.run(move |memory| PasswordHash::of(&password, cost, memory)).await
    }

    /// Whether the password has this hash. Without a hash (an unknown account) it takes the same time and is false.
    pub(crate) async fn matches(&self, password: String, hash: Option<PasswordHash>) -> Result<bool, Busy> {
        let cost = self.cost;
        self.run(move |memory| {
            let is_known = hash.is_some();
            hash.unwrap_or_else(|| PasswordHash::dummy(cost)).matches(&password, memory) && is_known
        })
        .await
    }

    /// The slot belongs to the computation, not to its client: a browser that disconnects does not free it.
    async fn run<T: Send + 'static>(&self, work: impl FnOnce(&mut Memory) -> T + Send + 'static) -> Result<T, Busy> {
        let place = timeout(self.patience, Arc::clone(&self.places).acquire_owned()).await.map_err(|_| Busy)?;
        let place = place.expect("it is never closed");
        let memories = Arc::clone(&self.memories);
        let work = tokio::task::spawn_blocking(move || {
            let mut memory = memories.lock().expect("unbroken").pop().unwrap_or_default();
            let result = work(&mut memory);
            memories.lock().expect("unbroken").push(memory);
            drop(place);
            result
        });
        Ok(work.await.expect("hashing does not panic"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 9106 has test vectors only with secret and associated data; this one is from the reference implementation's `test.c`.
    #[test]
    fn hashes_are_those_of_the_reference_implementation() {
        let params = Params::new(256, 2, 1, Some(32)).expect("allowed");
        let mut hash = [0; 32];
        let argon2 = Argon2::new(Algorithm::Argon2id, Version::V0x13, params);
        argon2.hash_password_into(b"password", b"somesalt", &mut hash).expect("allowed");
        assert_eq!(hex(&hash), "9dfeb910e80bad0311fee20f9c0e2b12c17987b4cac90c2ef54d5b3021c68bfe");
        // In memory that smaller and larger hashes have used.
        let (salt, mut memory) = ([7; 16], Memory::new());
        let costs = [8, 256, 64].map(|memory_kib| PasswordCost { memory_kib, ..PasswordCost::for_tests() });
        let again = costs.map(|cost| argon2id("password", salt, cost, &mut memory));
        assert_eq!(again, costs.map(|cost| argon2id("password", salt, cost, &mut Memory::new())));
    }

    #[test]
    fn the_cost_is_owasps_and_hashes_of_the_same_password_differ() {
        let memory = &mut Memory::new();
        let hash = PasswordHash::of("correct horse", PasswordCost::OWASP, memory);
        assert_eq!(hash.argon2id, PasswordCost { memory_kib: 19_456, passes: 2, lanes: 1 });
        assert!(hash.is_whole() && hash.matches("correct horse", memory) && !hash.matches("correct horsf", memory));
        assert_eq!(
            PasswordHash::dummy(PasswordCost::OWASP).argon2id,
            PasswordCost::OWASP,
            "an unknown account costs the same"
        );
        let (one, two) = (PasswordCost::for_tests(), PasswordCost::for_tests());
        assert_ne!(PasswordHash::of("correct horse", one, memory), PasswordHash::of("correct horse", two, memory));
    }

    #[tokio::test]
    async fn a_third_hash_waits_and_then_is_refused() {
        assert_eq!((PATIENCE, AT_A_TIME), (Duration::from_secs(5), 2));
        let patience = Duration::from_millis(50);
        let passwords = Passwords { patience, ..Passwords::new(PasswordCost::for_tests()) };
        let (go, wait) = std::sync::mpsc::channel::<()>();
        let wait = Arc::new(Mutex::new(wait));
        for _ in 0..2 {
            let (passwords, wait) = (passwords.clone(), Arc::clone(&wait));
            let (begun, begins) = tokio::sync::oneshot::channel();
            let held = tokio::spawn(async move {
                let hold = move |_: &mut Memory| {
                    _ = begun.send(());
                    wait.lock().expect("unbroken").recv()
                };
                passwords.run(hold).await
            });
            begins.await.expect("there is room for two");
            // The client disconnects; the computation continues.
            held.abort();
        }
        assert_eq!(passwords.matches("correct horse".into(), None).await, Err(Busy));
        for _ in 0..2 {
            go.send(()).expect("they wait");
        }
        assert_eq!(passwords.matches("correct horse".into(), None).await, Ok(false));
    }
}
