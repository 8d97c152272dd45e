//! A frame from the wire or the air, the packed form of what is known of a packet, and changes of it.
#![no_main]

use evenair_packet::{Edits, PacketMeta, Port, parse};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    for port in [Port::Wlan, Port::Wire] {
        let meta = parse(port, bytes);
        let mut packed = Vec::new();
        minicbor::encode(&meta, &mut packed).expect("a vector takes any bytes");
        let mut decoder = minicbor::Decoder::new(&packed);
        assert_eq!(decoder.decode::<PacketMeta>().expect("just packed"), meta);
        assert_eq!(decoder.position(), packed.len());
    }
    let mut edited = bytes.to_vec();
    Edits { window: Some(1), ..Edits::NONE }.apply(&mut edited);
    if edited != bytes {
        let window = |frame: &[u8]| parse(Port::Wlan, frame).tcp().map(|tcp| tcp.window);
        assert!(window(bytes).is_some() && window(&edited) == Some(1));
    }
    if let Ok(meta) = minicbor::decode::<PacketMeta>(bytes) {
        let mut packed = Vec::new();
        minicbor::encode(&meta, &mut packed).expect("a vector takes any bytes");
        assert_eq!(minicbor::decode::<PacketMeta>(&packed).expect("just packed"), meta);
    }
});
