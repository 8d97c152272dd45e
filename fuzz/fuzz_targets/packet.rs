//! A frame from the wire or the air, and the packed form of what is known of a packet.
#![no_main]

use evenair_packet::{Port, codec, parse};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    for port in [Port::Wlan, Port::Wire] {
        let meta = parse(port, bytes);
        let mut packed = Vec::new();
        codec::encode(&meta, &mut packed);
        assert_eq!(codec::decode(&packed).expect("just packed"), (meta, packed.len()));
    }
    if let Ok((meta, used)) = codec::decode(bytes) {
        assert!(used <= bytes.len());
        let mut packed = Vec::new();
        codec::encode(&meta, &mut packed);
        assert_eq!(codec::decode(&packed).expect("just packed").0, meta);
    }
});
