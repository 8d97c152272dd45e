//! Enumerations with one word per value, in JSON, texts and metrics.

/// Declares an enumeration whose values are written as words. The word of a variant never changes: it is its value in JSON,
/// its text (`Display`, `FromStr`) and its label in metrics.
macro_rules! string_enum {
    ($(#[$meta:meta])* pub enum $name:ident { $($(#[$about:meta])* $variant:ident = $word:literal,)+ }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize,
            schemars::JsonSchema)]
        pub enum $name {
            $($(#[$about])* #[serde(rename = $word)] $variant,)+
        }

        impl $name {
            /// All values, in the order of the declaration.
            pub const ALL: &[Self] = &[$(Self::$variant),+];

            /// Its word.
            pub const fn word(self) -> &'static str {
                match self { $(Self::$variant => $word,)+ }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.word())
            }
        }

        impl std::str::FromStr for $name {
            type Err = String;

            fn from_str(text: &str) -> Result<Self, String> {
                let found = Self::ALL.iter().copied().find(|value| value.word() == text);
                found.ok_or_else(|| format!("{text:?} is none of {}", [$($word),+].join(", ")))
            }
        }
    };
}

pub(crate) use string_enum;

#[cfg(test)]
mod tests {
    use std::fmt::{Debug, Display};
    use std::str::FromStr;

    use serde::Serialize;
    use serde::de::DeserializeOwned;

    use crate::health::{Code, Level, SubjectKind};
    use crate::{Carrier, Codec, Direction, GuardState, Hop, Mode, ModeCommand, NameOrigin, ProbeState, RateSource};

    /// Checks that JSON, text and the word itself are equal, and are read back.
    fn same_everywhere<T>(all: &[T], words: &[&str])
    where
        T: Copy + Debug + Display + PartialEq + FromStr<Err = String> + Serialize + DeserializeOwned,
    {
        assert!(all.iter().map(ToString::to_string).eq(words.iter().copied()), "{all:?}");
        for (&value, word) in all.iter().zip(words) {
            assert_eq!(serde_json::to_value(value).expect("serialises"), *word);
            assert_eq!(serde_json::from_value::<T>((*word).into()).expect("reads"), value);
            assert_eq!(word.parse(), Ok(value));
        }
    }

    #[test]
    fn words_never_change() {
        // Users' scripts, dashboards and history files contain these.
        same_everywhere(Hop::ALL, &["wlan", "internet down", "internet up"]);
        same_everywhere(Mode::ALL, &["bypassed", "observing", "inserted", "draining"]);
        same_everywhere(ModeCommand::ALL, &["insert", "bypass", "observe"]);
        same_everywhere(Carrier::ALL, &["bridge", "box", "releasing", "nobody"]);
        same_everywhere(GuardState::ALL, &["watching", "loosened", "trying", "bypassed"]);
        same_everywhere(ProbeState::ALL, &["off", "idle", "used", "disbelieved"]);
        same_everywhere(RateSource::ALL, &["reported", "inferred", "unknown"]);
        same_everywhere(Direction::ALL, &["up", "down"]);
        same_everywhere(Codec::ALL, &["g711", "g729", "other"]);
        same_everywhere(NameOrigin::ALL, &["operator", "configuration", "telemetry"]);
        same_everywhere(Level::ALL, &["good", "watch", "bad"]);
        same_everywhere(SubjectKind::ALL, &["box", "domain", "access-point", "station", "source"]);
        for code in Code::ALL {
            same_everywhere(&[*code], &[code.word()]);
        }
    }

    #[test]
    fn an_unknown_word_is_an_error_with_the_known_ones() {
        let error = "lan".parse::<Hop>().expect_err("no hop");
        assert_eq!(error, "\"lan\" is none of wlan, internet down, internet up");
        assert!(serde_json::from_str::<Hop>("\"lan\"").is_err());
    }
}
