//! Metadata values and how a reader asks for them.

/// One metadata value with the type that the file gives it.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs, reason = "the names are the types")]
pub enum GgufValue {
    U8(u8),
    I8(i8),
    U16(u16),
    I16(i16),
    U32(u32),
    I32(i32),
    F32(f32),
    Bool(bool),
    String(String),
    Array(GgufArray),
    U64(u64),
    I64(i64),
    F64(f64),
}

/// An array of scalars or strings. Arrays of arrays are refused.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs, reason = "the names are the types")]
pub enum GgufArray {
    U8(Vec<u8>),
    I8(Vec<i8>),
    U16(Vec<u16>),
    I16(Vec<i16>),
    U32(Vec<u32>),
    I32(Vec<i32>),
    F32(Vec<f32>),
    Bool(Vec<bool>),
    String(StringArray),
    U64(Vec<u64>),
    I64(Vec<i64>),
    F64(Vec<f64>),
}

/// Many strings in one buffer: a vocabulary of 250,000 tokens is two allocations.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct StringArray {
    text: String,
    ends: Vec<usize>,
}

impl StringArray {
    /// Number of strings.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// True if there are none.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// String `i`, if there is one.
    pub fn get(&self, i: usize) -> Option<&str> {
        let end = *self.ends.get(i)?;
        let start = if i == 0 { 0 } else { self.ends[i - 1] };
        Some(&self.text[start..end])
    }

    /// The strings in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &str> {
        (0..self.len()).map(|i| self.get(i).expect("i is below len"))
    }

    /// Appends a string.
    pub fn push(&mut self, string: &str) {
        self.text.push_str(string);
        self.ends.push(self.text.len());
    }

    /// Bytes of all strings together.
    pub fn text_len(&self) -> usize {
        self.text.len()
    }
}

impl<S: AsRef<str>> FromIterator<S> for StringArray {
    fn from_iter<I: IntoIterator<Item = S>>(strings: I) -> Self {
        let mut array = Self::default();
        strings.into_iter().for_each(|string| array.push(string.as_ref()));
        array
    }
}

impl GgufValue {
    /// The type and, for scalars, the value: what an error message shows.
    pub(crate) fn describe(&self) -> String {
        match self {
            Self::U8(x) => format!("u8 {x}"),
            Self::I8(x) => format!("i8 {x}"),
            Self::U16(x) => format!("u16 {x}"),
            Self::I16(x) => format!("i16 {x}"),
            Self::U32(x) => format!("u32 {x}"),
            Self::I32(x) => format!("i32 {x}"),
            Self::F32(x) => format!("f32 {x}"),
            Self::Bool(x) => format!("bool {x}"),
            Self::String(text) => format!("a string of {} bytes", text.len()),
            Self::Array(array) => format!("an array of {} {}", array.len(), array.item_name()),
            Self::U64(x) => format!("u64 {x}"),
            Self::I64(x) => format!("i64 {x}"),
            Self::F64(x) => format!("f64 {x}"),
        }
    }

    fn integer(&self) -> Option<i128> {
        Some(match *self {
            Self::U8(x) => x.into(),
            Self::I8(x) => x.into(),
            Self::U16(x) => x.into(),
            Self::I16(x) => x.into(),
            Self::U32(x) => x.into(),
            Self::I32(x) => x.into(),
            Self::U64(x) => x.into(),
            Self::I64(x) => x.into(),
            Self::F32(_) | Self::F64(_) | Self::Bool(_) | Self::String(_) | Self::Array(_) => return None,
        })
    }
}

impl GgufArray {
    /// Number of items.
    pub fn len(&self) -> usize {
        match self {
            Self::U8(items) => items.len(),
            Self::I8(items) => items.len(),
            Self::U16(items) => items.len(),
            Self::I16(items) => items.len(),
            Self::U32(items) => items.len(),
            Self::I32(items) => items.len(),
            Self::F32(items) => items.len(),
            Self::Bool(items) => items.len(),
            Self::String(items) => items.len(),
            Self::U64(items) => items.len(),
            Self::I64(items) => items.len(),
            Self::F64(items) => items.len(),
        }
    }

    /// True if there are no items.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn item_name(&self) -> &'static str {
        match self {
            Self::U8(_) => "u8",
            Self::I8(_) => "i8",
            Self::U16(_) => "u16",
            Self::I16(_) => "i16",
            Self::U32(_) => "u32",
            Self::I32(_) => "i32",
            Self::F32(_) => "f32",
            Self::Bool(_) => "bool",
            Self::String(_) => "strings",
            Self::U64(_) => "u64",
            Self::I64(_) => "i64",
            Self::F64(_) => "f64",
        }
    }
}

/// A type that metadata can be asked for.
///
/// Integers are taken from any integer type that holds them, since writers differ in the widths they choose.
pub trait FromGguf<'a>: Sized {
    /// What an error message says was expected.
    const EXPECTED: &'static str;
    /// The value, if it is of this type and in its range.
    fn from_gguf(value: &'a GgufValue) -> Option<Self>;
}

macro_rules! integer {
    ($($int:ty),*) => {$(
        impl FromGguf<'_> for $int {
            const EXPECTED: &'static str = stringify!($int);
            fn from_gguf(value: &GgufValue) -> Option<Self> {
                value.integer()?.try_into().ok()
            }
        }
    )*};
}
integer!(u32, i32, u64, i64, usize);

impl FromGguf<'_> for f32 {
    const EXPECTED: &'static str = "f32";
    fn from_gguf(value: &GgufValue) -> Option<Self> {
        match *value {
            GgufValue::F32(x) => Some(x),
            GgufValue::F64(x) => Some(x as Self),
            _ => None,
        }
    }
}

impl FromGguf<'_> for bool {
    const EXPECTED: &'static str = "bool";
    fn from_gguf(value: &GgufValue) -> Option<Self> {
        if let GgufValue::Bool(x) = *value { Some(x) } else { None }
    }
}

impl<'a> FromGguf<'a> for &'a str {
    const EXPECTED: &'static str = "a string";
    fn from_gguf(value: &'a GgufValue) -> Option<Self> {
        if let GgufValue::String(text) = value { Some(text) } else { None }
    }
}

impl<'a> FromGguf<'a> for &'a GgufArray {
    const EXPECTED: &'static str = "an array";
    fn from_gguf(value: &'a GgufValue) -> Option<Self> {
        if let GgufValue::Array(array) = value { Some(array) } else { None }
    }
}

impl<'a> FromGguf<'a> for &'a StringArray {
    const EXPECTED: &'static str = "an array of strings";
    fn from_gguf(value: &'a GgufValue) -> Option<Self> {
        if let GgufValue::Array(GgufArray::String(strings)) = value { Some(strings) } else { None }
    }
}

impl<'a> FromGguf<'a> for &'a [bool] {
    const EXPECTED: &'static str = "an array of bool";
    fn from_gguf(value: &'a GgufValue) -> Option<Self> {
        if let GgufValue::Array(GgufArray::Bool(items)) = value { Some(items) } else { None }
    }
}

impl<'a> FromGguf<'a> for &'a [f32] {
    const EXPECTED: &'static str = "an array of f32";
    fn from_gguf(value: &'a GgufValue) -> Option<Self> {
        if let GgufValue::Array(GgufArray::F32(items)) = value { Some(items) } else { None }
    }
}

impl FromGguf<'_> for Vec<i32> {
    const EXPECTED: &'static str = "an array of integers";
    fn from_gguf(value: &GgufValue) -> Option<Self> {
        fn convert<T: Copy + TryInto<i32>>(items: &[T]) -> Option<Vec<i32>> {
            items.iter().map(|&x| x.try_into().ok()).collect()
        }
        let GgufValue::Array(array) = value else { return None };
        match array {
            GgufArray::U8(items) => convert(items),
            GgufArray::I8(items) => convert(items),
            GgufArray::U16(items) => convert(items),
            GgufArray::I16(items) => convert(items),
            GgufArray::U32(items) => convert(items),
            GgufArray::I32(items) => Some(items.clone()),
            GgufArray::U64(items) => convert(items),
            GgufArray::I64(items) => convert(items),
            GgufArray::F32(_) | GgufArray::F64(_) | GgufArray::Bool(_) | GgufArray::String(_) => None,
        }
    }
}
