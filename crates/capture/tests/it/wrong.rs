//! Truncated files are read up to the cut; malformed ones are refused with a message that names the
//! position.

use super::files::{self, Order, Packet};
use super::{Got, got, of_bytes};

/// The same packets in all formats.
fn forms() -> Vec<(&'static str, Vec<u8>)> {
    let packets = files::packets();
    let pcap = files::pcap(Order::Little, false, 1, &packets);
    let pcapng = files::pcapng(Order::Big, &packets);
    vec![("pcap.gz", files::gzipped(&pcap)), ("pcapng.gz", files::gzipped(&pcapng)), ("pcap", pcap), ("pcapng", pcapng)]
}

fn is_begin_of(part: &Got, whole: &Got) -> bool {
    whole.records.starts_with(&part.records)
}

#[test]
fn a_truncated_file_is_read_up_to_the_cut() {
    for (form, file) in forms() {
        let whole = got(&file);
        let (mut cuts, mut clean) = (0, 0);
        for end in file.len().saturating_sub(1024)..file.len() {
            match of_bytes(&file[..end]) {
                Ok(Some(part)) => {
                    assert!(is_begin_of(&part, &whole), "{form} of {end} bytes");
                    let packets = part.records.len();
                    match part.cut {
                        Some(cut) => {
                            let says =
                                format!("x.pcap: ends within packet {}; the {packets} before it are used", packets + 1);
                            assert_eq!(cut, says, "{form} of {end} bytes");
                            cuts += 1;
                        }
                        // A file that ends between two packets is valid.
                        None => clean += 1,
                    }
                }
                Ok(None) => assert!(end < 24, "{form} of {end} bytes is no capture"),
                Err(error) => {
                    let error = error.to_string();
                    let known = ["within its first packet", "before its first packet", "within its header"];
                    assert!(known.iter().any(|end| error.contains(end)), "{form} of {end} bytes: {error}");
                }
            }
        }
        // A truncated compressed file also lacks its end mark.
        assert!(clean <= if form.ends_with("gz") { 0 } else { 13 }, "{form}: {clean} cuts were not noticed");
        assert!(cuts > 100, "{form}: {cuts} cuts");
    }
}

#[test]
fn one_wrong_bit_is_never_a_panic_and_errors_say_where() {
    for (form, file) in forms() {
        let mut refused = 0;
        for at in 0..file.len() {
            for bit in 0..8 {
                let mut wrong = file.clone();
                wrong[at] ^= 1 << bit;
                if let Err(error) = of_bytes(&wrong) {
                    assert!(error.to_string().starts_with("x.pcap: "), "{form}, byte {at}: {error}");
                    refused += 1;
                }
            }
        }
        // In an uncompressed file most bytes are packet data, which may be anything.
        assert!(refused > file.len() / 20, "{form}: only {refused} were refused");
    }
}

/// The message with which a file is refused.
fn refused(file: &[u8]) -> String {
    match of_bytes(file) {
        Err(error) => error.to_string(),
        Ok(read) => panic!("{read:?} was read"),
    }
}

#[test]
fn errors_name_the_file_the_packet_and_what_is_wrong() {
    let (order, packets) = (Order::Little, files::packets());
    let head = [files::section(order), files::interface(order, 1, 0, &[])].concat();
    let second = |block: Vec<u8>| [&head[..], &files::enhanced(order, 0, 1, &packets[0]), &block].concat();
    let mut ends = files::enhanced(order, 0, 1, &packets[0]);
    let last = ends.len() - 4;
    ends[last] ^= 4;
    let mut claims = files::enhanced(order, 0, 1, &packets[0]);
    claims[20] = 0xf0;
    let tiny = Packet { ns: 0, bytes: Vec::new(), original_len: 5 };
    let version = [&order.u32(0x1a2b_3c4d)[..], &order.u16(2), &[0; 10]].concat();
    let cases = [
        (second(files::enhanced(order, 7, 1, &packets[0])), "x.pcap: at packet 2: interface 7 is not described"),
        (second(files::block(order, 6, &[0; 8])), "at packet 2: its block is shorter than its fields"),
        (second(ends), "at packet 2: a block whose length is"),
        (second(claims), "at packet 2: it claims to have 240 bytes, more than its block has"),
        (second(files::simple(order, &tiny)), "at packet 2: it should have 5 bytes, more than its block has"),
        (second(files::interface(order, 1, 0, &files::option(order, 9, &[25]))), "units of 10^-25 s"),
        (second(files::interface(order, 1, 0, &[9, 0, 40, 0])), "an option of 40 bytes"),
        (second(files::block(order, 0x0a0d_0d0a, &version)), "version 2 of pcapng; version 1 is read"),
        (second(vec![6, 0, 0, 0, 13, 0, 0, 0]), "a block of 13 bytes; allowed: multiples of 4"),
        (second(vec![6, 0, 0, 0, 0, 0, 0, 0x70]), "a block of 1879048192 bytes"),
        (files::section(order)[..20].to_vec(), "x.pcap: ends within its first packet"),
        (files::pcap(order, false, 1, &[])[..20].to_vec(), "x.pcap: ends within its header"),
        (vec![0x28, 0xb5, 0x2f, 0xfd, 0], "is compressed with zstd"),
        (vec![0x1f, 0x8b, 8], "ends before its first packet"),
    ];
    for (file, what) in cases {
        let error = refused(&file);
        assert!(error.contains(what), "{error}, not {what}");
    }
}

#[test]
fn a_packet_of_pcap_with_impossible_fields_is_refused() {
    let packets = files::packets();
    let file = files::pcap(Order::Little, false, 1, &packets);
    let second = 24 + 16 + packets[0].bytes.len();
    let changed = |at: usize, byte: u8| {
        let mut wrong = file.clone();
        wrong[second + at] = byte;
        refused(&wrong)
    };
    assert!(
        changed(7, 0x7f).contains("at packet 2: its time is so many seconds and 2130707666 us"),
        "{}",
        changed(7, 0x7f)
    );
    assert!(changed(11, 0x7f).contains("at packet 2: it claims to have 2130706475 bytes"), "{}", changed(11, 0x7f));
}

/// Supplies some bytes, then an error.
struct Failing(bool);

impl std::io::Read for Failing {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        if std::mem::replace(&mut self.0, true) {
            return Err(std::io::Error::other("the disk is gone"));
        }
        let file = files::pcap(Order::Little, false, 1, &files::packets()[..1]);
        buffer[..6].copy_from_slice(&file[..6]);
        Ok(6)
    }
}

#[test]
fn errors_of_the_system_are_passed_on() {
    let error = super::of_reader(Failing(false)).unwrap_err().to_string();
    assert_eq!(error, "x.pcap: the disk is gone");
    let nowhere = evenair_capture::open(std::path::Path::new("nowhere.pcap")).err().expect("no such file").to_string();
    assert!(nowhere.starts_with("nowhere.pcap: No such file"), "{nowhere}");
}
