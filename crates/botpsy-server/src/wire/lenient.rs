//! Reading that forgives what clients write: `null` for nothing, `64.0` for 64, one string for a list of one.

use serde::de::{Deserialize, Deserializer, Error};
use serde_json::Number;

/// A whole number, written 64 or 64.0.
pub(super) fn whole<'de, D: Deserializer<'de>, T: TryFrom<i128>>(from: D) -> Result<Option<T>, D::Error> {
    let Some(number) = Option::<Number>::deserialize(from)? else { return Ok(None) };
    let value = number
        .as_i128()
        .or_else(|| number.as_f64().filter(|x| x.fract() == 0.0 && x.abs() < 9e15).map(|x| x as i128))
        .ok_or_else(|| D::Error::custom(format!("expected a whole number, found {number}")))?;
    T::try_from(value).map(Some).map_err(|_| D::Error::custom(format!("{number} is out of range")))
}

/// A number, which must be finite as `f32`.
pub(super) fn real<'de, D: Deserializer<'de>>(from: D) -> Result<Option<f32>, D::Error> {
    let Some(number) = Option::<Number>::deserialize(from)? else { return Ok(None) };
    let value = number.as_f64().map(|x| x as f32).filter(|x| x.is_finite());
    value.map(Some).ok_or_else(|| D::Error::custom(format!("{number} is out of range")))
}

/// One string or a list of them.
pub(super) fn strings<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<String>, D::Error> {
    #[derive(serde::Deserialize)]
    #[serde(untagged, expecting = "expected a string or a list of strings")]
    enum Strings {
        None(()),
        One(String),
        Many(Vec<String>),
    }
    Ok(match Strings::deserialize(from)? {
        Strings::None(()) => Vec::new(),
        Strings::One(text) => vec![text],
        Strings::Many(texts) => texts,
    })
}
