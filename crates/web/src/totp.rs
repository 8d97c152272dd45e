//! Codes of authenticator apps: TOTP (RFC 6238) with HMAC-SHA-1, six digits and steps of 30 seconds, which all apps
//! support.

use hmac::{Hmac, Mac};
use sha1::Sha1;
use subtle::ConstantTimeEq;

use crate::secret::random;

/// Length of a step, in seconds (RFC 6238, section 5.2).
const STEP_S: u64 = 30;
/// Tolerance of clock differences, in steps either way (the same section recommends one).
const TOLERANCE: u64 = 1;
/// Number of codes: six digits.
const CODES: u32 = 1_000_000;
/// Length of a secret, in bytes: that of SHA-1's output (RFC 4226, section 4, R6).
const SECRET_BYTES: usize = 20;

/// The secret that server and app share.
pub(crate) type Secret = [u8; SECRET_BYTES];

/// A new secret.
pub(crate) fn new_secret() -> Secret {
    random()
}

/// The step of the code, if it is the current one or a neighbour, and later than the last used one.
pub(crate) fn step_of(secret: &Secret, code: &str, now_s: u64, last_step: u64) -> Option<u64> {
    let now = now_s / STEP_S;
    let steps = now.saturating_sub(TOLERANCE)..=now + TOLERANCE;
    // All steps are compared, so that the time does not reveal which one matched.
    let right = steps.filter(|step| {
        let expected = format!("{:06}", truncated(secret, *step) % CODES);
        bool::from(expected.as_bytes().ct_eq(code.as_bytes()))
    });
    right.collect::<Vec<_>>().into_iter().find(|step| *step > last_step)
}

/// The 31-bit value of a step (RFC 4226, section 5.3).
fn truncated(secret: &[u8], step: u64) -> u32 {
    let mut mac = Hmac::<Sha1>::new_from_slice(secret).expect("any length is allowed");
    mac.update(&step.to_be_bytes());
    let hash = mac.finalize().into_bytes();
    let offset = usize::from(hash[hash.len() - 1] & 0xf);
    let bytes = hash[offset..offset + 4].try_into().expect("four");
    u32::from_be_bytes(bytes) & 0x7fff_ffff
}

/// Bytes in base32 (RFC 4648, section 6), without padding.
pub(crate) fn base32(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 32] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
    let digit = |bits: u64, at: usize| char::from(DIGITS[(bits >> (35 - 5 * at)) as usize & 31]);
    let group = |part: &[u8]| {
        let mut padded = [0; 8];
        padded[3..3 + part.len()].copy_from_slice(part);
        let bits = u64::from_be_bytes(padded);
        let digits = (part.len() * 8).div_ceil(5);
        (0..digits).map(move |at| digit(bits, at)).collect::<String>()
    };
    bytes.chunks(5).map(group).collect()
}

/// The `otpauth` URI for the QR code of apps.
pub(crate) fn uri(secret: &Secret, account: &str) -> String {
    let secret = base32(secret);
    format!("otpauth://totp/Evenair:{account}?secret={secret}&issuer=Evenair&algorithm=SHA1&digits=6&period={STEP_S}")
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECRET: &Secret = b"12345678901234567890";

    /// RFC 6238, appendix B, the rows of SHA-1: eight digits.
    #[test]
    fn codes_are_those_of_the_rfc() {
        for (at, code) in [
            (59, 94_287_082),
            (1_111_111_109, 7_081_804),
            (1_111_111_111, 14_050_471),
            (1_234_567_890, 89_005_924),
            (2_000_000_000, 69_279_037),
            (20_000_000_000, 65_353_130),
        ] {
            assert_eq!(truncated(SECRET, at / STEP_S) % 100_000_000, code, "{at}");
            assert_eq!(step_of(SECRET, &format!("{:06}", code % CODES), at, 0), Some(at / STEP_S), "{at}");
        }
    }

    #[test]
    fn a_code_is_taken_one_step_early_or_late_and_once() {
        let (at, code) = (1_111_111_111, "050471");
        let step = at / STEP_S;
        for (now, is_taken) in [(at - 60, false), (at - 30, true), (at + 29, true), (at + 58, true), (at + 60, false)] {
            assert_eq!(step_of(SECRET, code, now, 0), is_taken.then_some(step), "{now}");
        }
        assert_eq!(step_of(SECRET, code, at, step), None, "it was used");
        assert_eq!(step_of(SECRET, code, at, step - 1), Some(step));
        for wrong in ["", "050472", "50471", "0504710", "05047١"] {
            assert_eq!(step_of(SECRET, wrong, at, 0), None, "{wrong}");
        }
    }

    /// RFC 4648, section 10, without padding.
    #[test]
    fn base32_is_that_of_the_rfc() {
        for (text, digits) in
            [("", ""), ("f", "MY"), ("fo", "MZXQ"), ("foo", "MZXW6"), ("foob", "MZXW6YQ"), ("foobar", "MZXW6YTBOI")]
        {
            assert_eq!(base32(text.as_bytes()), digits);
        }
        assert!(
            uri(SECRET, "anna").starts_with("otpauth://totp/Evenair:anna?secret=GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ&")
        );
    }
}
