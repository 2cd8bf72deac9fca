//! Bounds on the values that a template builds.
//!
//! Fuel pays for steps and strings, not for what a list stands for: `x + x` over and over, `[0] * 10**12` or
//! `[x, x]` over and over are cheap to build and endless to print, compare or flatten. So every container is measured,
//! as if written out, right after it was built.

use minijinja::value::ValueKind;
use minijinja::{Environment, Error, ErrorKind, State, Value};

/// Most values in a container, counted as often as they would be printed.
const MAX_VALUES: usize = 200_000;

/// Most bytes of text in a container, counted likewise.
const MAX_BYTES: usize = 8 * 1024 * 1024;

/// Deepest nesting; more would need a deeper native stack to drop, print or compare.
const MAX_DEPTH: usize = 200;

/// Checks a container that was just built. The name is none that a template can write.
pub(super) const CHECK_BUILT: &str = "[built]";

/// Checks a value that is about to become an attribute of a namespace.
pub(super) const CHECK_ATTRIBUTE: &str = "[attribute]";

pub(super) fn add_checks(environment: &mut Environment<'_>) {
    environment.add_function(CHECK_BUILT, |state: &State<'_, '_>, value: Value| {
        let size = measure(&value)?;
        state.consume_fuel(size.values / 8 + size.bytes / 1024)?;
        Ok::<_, Error>(value)
    });
    // A namespace prints all its attributes, and they can be many: each is paid for in full.
    environment.add_function(CHECK_ATTRIBUTE, |state: &State<'_, '_>, value: Value| {
        if is_namespace(&value) {
            return Err(too_large("a namespace cannot hold a namespace"));
        }
        let size = measure(&value)?;
        state.consume_fuel(size.values / 8 + size.bytes / 64)?;
        Ok::<_, Error>(value)
    });
}

/// What a value amounts to when it is written out.
#[derive(Default)]
pub(super) struct Size {
    values: u64,
    bytes: u64,
}

/// Measures without recursion, and no further than the bounds.
pub(super) fn measure(value: &Value) -> Result<Size, Error> {
    let mut pending = vec![(value.clone(), 0)];
    let (mut values, mut bytes) = (0, 0);
    while let Some((value, depth)) = pending.pop() {
        values += 1;
        bytes += value.as_str().map_or(0, str::len);
        let inside = match value.kind() {
            ValueKind::Seq | ValueKind::Iterable | ValueKind::Map => value.len().unwrap_or(0),
            _ => continue,
        };
        if values + pending.len() + inside > MAX_VALUES || bytes > MAX_BYTES {
            return Err(too_large("a value is too large"));
        }
        if depth > MAX_DEPTH {
            return Err(too_large("a value is nested too deeply"));
        }
        if depth > 0 && is_namespace(&value) {
            return Err(too_large("a list or mapping cannot hold a namespace"));
        }
        let is_map = value.kind() == ValueKind::Map;
        for item in value.try_iter()? {
            if is_map {
                pending.push((value.get_item(&item)?, depth + 1));
            }
            pending.push((item, depth + 1));
            if values + pending.len() > 2 * MAX_VALUES {
                return Err(too_large("a value is too large"));
            }
        }
    }
    if bytes > MAX_BYTES {
        return Err(too_large("a value is too large"));
    }
    Ok(Size { values: values as u64, bytes: bytes as u64 })
}

/// The one kind of value that can change, and so come to hold itself.
fn is_namespace(value: &Value) -> bool {
    value.as_object().is_some_and(|object| object.type_name().ends_with("Namespace"))
}

fn too_large(message: &'static str) -> Error {
    Error::new(ErrorKind::InvalidOperation, message)
}
