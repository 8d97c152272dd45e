//! Names of users, for the authors of commands.

use std::path::Path;

use evenair_api::history::Author;

use evenair_boxfile::small_file::read_text;

const PASSWD: &str = "/etc/passwd";
/// Longest file that is read, in bytes: thousands of users. With a longer file no names are known.
const LONGEST_FILE: u64 = 1 << 20;

/// The user of this number as an author, with the name of the first line of /etc/passwd (passwd(5)) with that number. Users of other
/// databases, such as LDAP, have no name here.
pub(crate) fn author(uid: u32) -> Author {
    let name = read_text(Path::new(PASSWD), LONGEST_FILE).ok().and_then(|table| name_of(&table, uid));
    Author::User { uid, name }
}

fn name_of(table: &str, uid: u32) -> Option<String> {
    let name = |line: &str| {
        let mut fields = line.split(':');
        let (name, number) = (fields.next()?, fields.nth(1)?);
        (number.parse() == Ok(uid) && !name.is_empty()).then(|| name.to_owned())
    };
    table.lines().find_map(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_has_the_name_of_the_first_line_with_the_number() {
        let table =
            "root:x:0:0:root:/root:/bin/sh\nbroken\n:x:7:7::/:\nanne:x:1000:1000::/home/anne:\ntoo:x:1000:0::/:\n";
        let name = |uid| name_of(table, uid);
        assert_eq!((name(0).as_deref(), name(1000).as_deref()), (Some("root"), Some("anne")));
        assert_eq!((name(7), name(100)), (None, None));
    }
}
