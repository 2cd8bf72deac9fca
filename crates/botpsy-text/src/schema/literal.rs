//! A reader for Python's literal form of lists and dicts.

use std::iter::Peekable;
use std::str::Chars;

use serde_json::{Map, Value};

use super::{MAX_VALUE_DEPTH, number};

/// Reads a Python literal: dicts, lists, tuples, strings in either quotes, numbers, `True`, `False`, `None`; JSON's
/// `true`, `false` and `null` are read too, since models mix the two.
///
/// `None` when the text is not one literal, or nests deeper than [`MAX_VALUE_DEPTH`]. Keys that are not strings become
/// the strings that Python's `json.dumps` makes of them.
pub fn python_literal(text: &str) -> Option<Value> {
    let mut reader = Reader { chars: text.chars().peekable() };
    let value = reader.value(0)?;
    reader.skip_space();
    reader.chars.next().is_none().then_some(value)
}

struct Reader<'a> {
    chars: Peekable<Chars<'a>>,
}

impl Reader<'_> {
    fn value(&mut self, depth: usize) -> Option<Value> {
        self.skip_space();
        let first = *self.chars.peek()?;
        if matches!(first, '[' | '(' | '{') && depth == MAX_VALUE_DEPTH {
            return None;
        }
        match first {
            '[' => self.list(depth),
            '(' => self.tuple(depth),
            '{' => self.dict(depth),
            '\'' | '"' => self.string().map(Value::String),
            _ => self.word(),
        }
    }

    fn list(&mut self, depth: usize) -> Option<Value> {
        self.chars.next();
        self.items(']', depth).map(|(items, _)| Value::Array(items))
    }

    /// A tuple; brackets around one value without a comma are only brackets.
    fn tuple(&mut self, depth: usize) -> Option<Value> {
        self.chars.next();
        let (mut items, commas) = self.items(')', depth)?;
        if commas == 0 && items.len() == 1 { items.pop() } else { Some(Value::Array(items)) }
    }

    /// Values up to `close`, and how many commas stood among them.
    fn items(&mut self, close: char, depth: usize) -> Option<(Vec<Value>, usize)> {
        let mut items = Vec::new();
        let mut commas = 0;
        while !self.eat(close) {
            if items.len() > commas {
                return None;
            }
            items.push(self.value(depth + 1)?);
            commas += usize::from(self.eat(','));
        }
        Some((items, commas))
    }

    fn dict(&mut self, depth: usize) -> Option<Value> {
        self.chars.next();
        let mut members = Map::new();
        let mut comma = true;
        while !self.eat('}') {
            if !comma {
                return None;
            }
            let key = key_text(self.value(depth + 1)?)?;
            if !self.eat(':') {
                return None;
            }
            let value = self.value(depth + 1)?;
            members.insert(key, value);
            comma = self.eat(',');
        }
        Some(Value::Object(members))
    }

    fn string(&mut self) -> Option<String> {
        let quote = self.chars.next()?;
        let mut text = String::new();
        loop {
            match self.chars.next()? {
                '\\' => self.escape(&mut text)?,
                end if end == quote => return Some(text),
                other => text.push(other),
            }
        }
    }

    /// What follows a backslash. Like Python, an unknown escape stays as it is written.
    fn escape(&mut self, text: &mut String) -> Option<()> {
        let simple = match self.chars.next()? {
            '\n' => return Some(()),
            'n' => '\n',
            't' => '\t',
            'r' => '\r',
            'a' => '\u{7}',
            'b' => '\u{8}',
            'f' => '\u{c}',
            'v' => '\u{b}',
            same @ ('\\' | '\'' | '"' | '/') => same,
            'x' => char::from_u32(self.hex(2)?)?,
            'U' => char::from_u32(self.hex(8)?)?,
            'u' => self.utf16()?,
            digit @ '0'..='7' => self.octal(digit)?,
            other => {
                text.push('\\');
                other
            }
        };
        text.push(simple);
        Some(())
    }

    fn hex(&mut self, len: usize) -> Option<u32> {
        (0..len).try_fold(0, |code: u32, _| Some(code << 4 | self.chars.next()?.to_digit(16)?))
    }

    /// `\uXXXX`, or the two halves of a surrogate pair, as JSON writes it; a half alone is refused.
    fn utf16(&mut self) -> Option<char> {
        let first = self.hex(4)?;
        if !(0xD800..0xDC00).contains(&first) {
            return char::from_u32(first);
        }
        if self.chars.next()? != '\\' || self.chars.next()? != 'u' {
            return None;
        }
        let second = self.hex(4)?.checked_sub(0xDC00).filter(|low| *low < 0x400)?;
        char::from_u32(0x10000 + ((first - 0xD800) << 10) + second)
    }

    fn octal(&mut self, first: char) -> Option<char> {
        let mut code = first.to_digit(8)?;
        for _ in 0..2 {
            let Some(digit) = self.chars.peek().and_then(|next| next.to_digit(8)) else {
                break;
            };
            self.chars.next();
            code = code * 8 + digit;
        }
        char::from_u32(code)
    }

    /// A number or a name.
    fn word(&mut self) -> Option<Value> {
        let mut word = String::new();
        while let Some(next) = self.chars.next_if(|next| next.is_ascii_alphanumeric() || "+-.".contains(*next)) {
            word.push(next);
        }
        match word.as_str() {
            "True" | "true" => Some(Value::Bool(true)),
            "False" | "false" => Some(Value::Bool(false)),
            "None" | "null" => Some(Value::Null),
            // What is a number in JSON keeps its form, as it does in a JSON value; Python's other forms are read.
            number => match number.parse() {
                Ok(number) => Some(Value::Number(number)),
                Err(_) => number::read(number),
            },
        }
    }

    fn eat(&mut self, wanted: char) -> bool {
        self.skip_space();
        self.chars.next_if_eq(&wanted).is_some()
    }

    fn skip_space(&mut self) {
        while self.chars.next_if(|next| next.is_whitespace()).is_some() {}
    }
}

fn key_text(key: Value) -> Option<String> {
    match key {
        Value::String(text) => Some(text),
        Value::Array(_) | Value::Object(_) => None,
        scalar => Some(scalar.to_string()),
    }
}
