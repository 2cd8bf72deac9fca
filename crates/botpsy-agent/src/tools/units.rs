//! Units.

use serde_json::{Map, Value, json};

use super::args::{line, number as number_argument, problem};
use super::number::rounded;
use super::{BuiltIn, number, text, tool};
use crate::{Effect, Output, Plan, Role, ToolError, Undo, World};

pub(super) fn tools() -> Vec<BuiltIn> {
    vec![tool(
        "convert_units",
        "Converts a value from one unit to another.",
        (Effect::Read, Output::Service, Undo::None),
        vec![
            number("value", Role::Other, "The number."),
            text("from", Role::Other, "Its unit, e.g. miles."),
            text("to", Role::Other, "The unit that is wanted, e.g. km."),
        ],
        plan,
    )]
}

fn plan(arguments: &Map<String, Value>, _: World) -> Result<Plan, ToolError> {
    let value = number_argument(arguments, "value")?;
    let (from, to) = (unit(arguments, "from")?, unit(arguments, "to")?);
    if from.kind != to.kind {
        return Err(problem("to", &format!("{} is {}, but {} is {}", from.names[0], from.kind, to.names[0], to.kind)));
    }
    let converted = ((value * from.factor + from.offset) - to.offset) / to.factor;
    let bad = |why: String| problem("value", &why);
    let (value, converted) = (rounded(value).map_err(bad)?, shown(converted).map_err(bad)?);
    let (from, to) = (from.names[0], to.names[0]);
    Ok(Plan::Answer(json!({ "result": format!("{value} {from} = {converted} {to}"), "value": converted, "unit": to })))
}

/// Ten digits: factors are no better known than that, and floating point leaves its traces in the last ones.
fn shown(number: f64) -> Result<String, String> {
    rounded(format!("{number:.9e}").parse().unwrap_or(number))
}

/// A unit: so many of the base unit of its kind, after which the offset is added.
struct Unit {
    kind: &'static str,
    names: &'static [&'static str],
    factor: f64,
    offset: f64,
}

fn unit(arguments: &Map<String, Value>, name: &str) -> Result<Unit, ToolError> {
    let said = line(arguments, name)?;
    let said = said.trim().trim_end_matches('.');
    let small = said.to_lowercase().replace("metre", "meter").replace("litre", "liter").replace("°", "");
    let forms = [small.clone(), plural_to_singular(&small)];
    // `MB` and `Mb` differ by their letters only, so a name as it stands comes first.
    let is_exact = |unit: &&Known| unit.1.contains(&said);
    let is_named = |unit: &&Known| unit.1.iter().any(|name| forms.iter().any(|form| name.to_lowercase() == *form));
    let found = KNOWN.iter().find(is_exact).or_else(|| KNOWN.iter().find(is_named));
    let (kind, names, factor, offset) =
        *found.ok_or_else(|| problem(name, &format!("`{said}` is not a unit that is known here")))?;
    Ok(Unit { kind, names, factor, offset })
}

fn plural_to_singular(name: &str) -> String {
    match name {
        "feet" => "foot".to_owned(),
        "inches" => "inch".to_owned(),
        "hertz" | "celsius" => name.to_owned(),
        _ => name.split(' ').map(|word| word.strip_suffix('s').unwrap_or(word)).collect::<Vec<_>>().join(" "),
    }
}

type Known = (&'static str, &'static [&'static str], f64, f64);

const KNOWN: &[Known] = &[
    ("a length", &["m", "meter"], 1.0, 0.0),
    ("a length", &["km", "kilometer"], 1000.0, 0.0),
    ("a length", &["cm", "centimeter"], 0.01, 0.0),
    ("a length", &["mm", "millimeter"], 0.001, 0.0),
    ("a length", &["µm", "micrometer", "micron", "um"], 1e-6, 0.0),
    ("a length", &["mi", "mile"], 1609.344, 0.0),
    ("a length", &["yd", "yard"], 0.9144, 0.0),
    ("a length", &["ft", "foot", "'"], 0.3048, 0.0),
    ("a length", &["in", "inch", "\""], 0.0254, 0.0),
    ("a length", &["nmi", "nautical mile"], 1852.0, 0.0),
    ("a length", &["ly", "light year", "light-year"], 9.460_730_472_580_8e15, 0.0),
    ("a mass", &["kg", "kilogram", "kilo"], 1.0, 0.0),
    ("a mass", &["g", "gram"], 0.001, 0.0),
    ("a mass", &["mg", "milligram"], 1e-6, 0.0),
    ("a mass", &["t", "tonne", "metric ton"], 1000.0, 0.0),
    ("a mass", &["lb", "pound", "lbs"], 0.453_592_37, 0.0),
    ("a mass", &["oz", "ounce"], 0.028_349_523_125, 0.0),
    ("a mass", &["st", "stone"], 6.350_293_18, 0.0),
    ("a mass", &["short ton", "us ton"], 907.184_74, 0.0),
    ("a temperature", &["°C", "c", "celsius", "degree celsius", "centigrade"], 1.0, 273.15),
    ("a temperature", &["°F", "f", "fahrenheit", "degree fahrenheit"], 5.0 / 9.0, 459.67 * 5.0 / 9.0),
    ("a temperature", &["K", "kelvin"], 1.0, 0.0),
    ("a volume", &["l", "liter", "L"], 1.0, 0.0),
    ("a volume", &["ml", "milliliter"], 0.001, 0.0),
    ("a volume", &["cl", "centiliter"], 0.01, 0.0),
    ("a volume", &["dl", "deciliter"], 0.1, 0.0),
    ("a volume", &["m³", "m3", "cubic meter"], 1000.0, 0.0),
    ("a volume", &["cm³", "cm3", "cubic centimeter", "cc"], 0.001, 0.0),
    ("a volume", &["gal", "gallon", "us gallon"], 3.785_411_784, 0.0),
    ("a volume", &["qt", "quart"], 0.946_352_946, 0.0),
    ("a volume", &["pt", "pint", "us pint"], 0.473_176_473, 0.0),
    ("a volume", &["cup", "us cup"], 0.236_588_236_5, 0.0),
    ("a volume", &["fl oz", "fluid ounce", "floz"], 0.029_573_529_562_5, 0.0),
    ("a volume", &["tbsp", "tablespoon"], 0.014_786_764_781_25, 0.0),
    ("a volume", &["tsp", "teaspoon"], 0.004_928_921_593_75, 0.0),
    ("a volume", &["imperial gallon", "uk gallon"], 4.546_09, 0.0),
    ("a volume", &["imperial pint", "uk pint"], 0.568_261_25, 0.0),
    ("a speed", &["m/s", "meter per second", "mps"], 1.0, 0.0),
    ("a speed", &["km/h", "kmh", "kph", "kilometer per hour"], 1.0 / 3.6, 0.0),
    ("a speed", &["mph", "mile per hour", "mi/h"], 0.447_04, 0.0),
    ("a speed", &["kn", "knot", "kt"], 1852.0 / 3600.0, 0.0),
    ("a speed", &["ft/s", "foot per second"], 0.3048, 0.0),
    ("an area", &["m²", "m2", "square meter", "sqm"], 1.0, 0.0),
    ("an area", &["km²", "km2", "square kilometer"], 1e6, 0.0),
    ("an area", &["cm²", "cm2", "square centimeter"], 1e-4, 0.0),
    ("an area", &["ha", "hectare"], 1e4, 0.0),
    ("an area", &["acre", "ac"], 4_046.856_422_4, 0.0),
    ("an area", &["ft²", "ft2", "square foot", "sqft", "sq ft", "square feet"], 0.092_903_04, 0.0),
    ("an area", &["in²", "in2", "square inch", "square inches"], 0.000_645_16, 0.0),
    ("an area", &["mi²", "mi2", "square mile"], 2_589_988.110_336, 0.0),
    ("a length of time", &["s", "second", "sec"], 1.0, 0.0),
    ("a length of time", &["ms", "millisecond"], 0.001, 0.0),
    ("a length of time", &["min", "minute"], 60.0, 0.0),
    ("a length of time", &["h", "hour", "hr"], 3600.0, 0.0),
    ("a length of time", &["d", "day"], 86_400.0, 0.0),
    ("a length of time", &["week", "wk"], 604_800.0, 0.0),
    ("a length of time", &["year", "yr"], 31_557_600.0, 0.0),
    ("an amount of data", &["B", "byte"], 8.0, 0.0),
    ("an amount of data", &["bit"], 1.0, 0.0),
    ("an amount of data", &["kB", "kilobyte", "KB"], 8e3, 0.0),
    ("an amount of data", &["MB", "megabyte"], 8e6, 0.0),
    ("an amount of data", &["GB", "gigabyte"], 8e9, 0.0),
    ("an amount of data", &["TB", "terabyte"], 8e12, 0.0),
    ("an amount of data", &["KiB", "kibibyte"], 8.0 * 1024.0, 0.0),
    ("an amount of data", &["MiB", "mebibyte"], 8.0 * 1_048_576.0, 0.0),
    ("an amount of data", &["GiB", "gibibyte"], 8.0 * 1_073_741_824.0, 0.0),
    ("an amount of data", &["TiB", "tebibyte"], 8.0 * 1_099_511_627_776.0, 0.0),
    ("an amount of data", &["Mb", "Mbit", "megabit"], 1e6, 0.0),
    ("an amount of data", &["Gb", "Gbit", "gigabit"], 1e9, 0.0),
    ("an energy", &["J", "joule"], 1.0, 0.0),
    ("an energy", &["kJ", "kilojoule"], 1e3, 0.0),
    ("an energy", &["cal", "calorie"], 4.184, 0.0),
    ("an energy", &["kcal", "kilocalorie"], 4184.0, 0.0),
    ("an energy", &["Wh", "watt hour"], 3600.0, 0.0),
    ("an energy", &["kWh", "kilowatt hour"], 3.6e6, 0.0),
    ("an energy", &["BTU", "british thermal unit"], 1_055.055_852_62, 0.0),
    ("a power", &["W", "watt"], 1.0, 0.0),
    ("a power", &["kW", "kilowatt"], 1000.0, 0.0),
    ("a power", &["hp", "horsepower"], 745.699_871_582, 0.0),
    ("a power", &["PS", "metric horsepower"], 735.498_75, 0.0),
    ("a pressure", &["Pa", "pascal"], 1.0, 0.0),
    ("a pressure", &["hPa", "hectopascal", "mbar", "millibar"], 100.0, 0.0),
    ("a pressure", &["kPa", "kilopascal"], 1000.0, 0.0),
    ("a pressure", &["bar"], 1e5, 0.0),
    ("a pressure", &["atm", "atmosphere"], 101_325.0, 0.0),
    ("a pressure", &["psi"], 6_894.757_293_168, 0.0),
    ("a pressure", &["mmHg", "torr"], 133.322_387_415, 0.0),
    ("an angle", &["deg", "degree"], 1.0, 0.0),
    ("an angle", &["rad", "radian"], 180.0 / std::f64::consts::PI, 0.0),
];
