//! Serialization of spans and sizes as integers, and of shared lists, in messages between
//! processes.

/// A [`evenair_units::Span`] as nanoseconds.
pub(crate) mod as_nanos {
    use evenair_units::Span;
    use serde::{Deserialize, Deserializer, Serializer};

    pub(crate) fn serialize<S: Serializer>(span: &Span, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u64(span.as_nanos())
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Span, D::Error> {
        u64::deserialize(deserializer).map(Span::from_nanos)
    }
}

/// [`evenair_units::Bytes`] as a number.
pub(crate) mod as_bytes {
    use evenair_units::Bytes;
    use serde::{Deserialize, Deserializer, Serializer};

    pub(crate) fn serialize<S: Serializer>(size: &Bytes, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u64(size.0)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Bytes, D::Error> {
        u64::deserialize(deserializer).map(Bytes)
    }
}

/// A shared list as a list.
pub(crate) mod as_list {
    use std::sync::Arc;

    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(crate) fn serialize<S: Serializer, T: Serialize>(list: &Arc<[T]>, serializer: S) -> Result<S::Ok, S::Error> {
        list.as_ref().serialize(serializer)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
        deserializer: D,
    ) -> Result<Arc<[T]>, D::Error> {
        Vec::deserialize(deserializer).map(Into::into)
    }
}
