//! Captures of the air and of the access point's wire.
#![no_main]

use evenair_study::backlog::infer;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: (&[u8], &[u8])| {
    let folder = std::env::temp_dir().join(format!("evenair-fuzz-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let paths = [folder.join("air.pcap"), folder.join("wire.pcap")];
    std::fs::write(&paths[0], input.0).expect("written");
    std::fs::write(&paths[1], input.1).expect("written");
    if let Ok(inferred) = infer(&paths[0], &paths[1]) {
        assert!(inferred.unresolved <= inferred.frames && inferred.lost <= inferred.frames);
    }
});
