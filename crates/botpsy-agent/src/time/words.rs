//! The words that times are written with.

use jiff::civil::Weekday;

/// How long a unit is: months, days or seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unit {
    Second,
    Minute,
    Hour,
    Day,
    Week,
    Fortnight,
    Month,
    Year,
}

/// A part of the day. The hours are those of the table in the module's description.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    Morning,
    Lunchtime,
    Afternoon,
    Evening,
    Night,
}

impl Part {
    /// From this hour to that one.
    pub(super) fn hours(self) -> (i8, i8) {
        match self {
            Part::Morning => (6, 12),
            Part::Lunchtime => (12, 14),
            Part::Afternoon => (12, 18),
            Part::Evening => (18, 22),
            Part::Night => (18, 24),
        }
    }
}

pub(super) fn weekday(word: &str) -> Option<Weekday> {
    Some(match word {
        "monday" | "mon" => Weekday::Monday,
        "tuesday" | "tue" | "tues" => Weekday::Tuesday,
        "wednesday" | "wed" | "weds" => Weekday::Wednesday,
        "thursday" | "thu" | "thur" | "thurs" => Weekday::Thursday,
        "friday" | "fri" => Weekday::Friday,
        "saturday" | "sat" => Weekday::Saturday,
        "sunday" | "sun" => Weekday::Sunday,
        _ => return None,
    })
}

/// `mondays`, which is every Monday.
pub(super) fn weekdays(word: &str) -> Option<Weekday> {
    word.strip_suffix('s').filter(|word| word.ends_with("day")).and_then(weekday)
}

/// Days whose short names are English words too.
pub(super) const DOUBTFUL_DAYS: [&str; 3] = ["sat", "sun", "wed"];

pub(super) fn month(word: &str) -> Option<i8> {
    Some(match word {
        "january" | "jan" => 1,
        "february" | "feb" => 2,
        "march" | "mar" => 3,
        "april" | "apr" => 4,
        "may" => 5,
        "june" | "jun" => 6,
        "july" | "jul" => 7,
        "august" | "aug" => 8,
        "september" | "sep" | "sept" => 9,
        "october" | "oct" => 10,
        "november" | "nov" => 11,
        "december" | "dec" => 12,
        _ => return None,
    })
}

/// Months that cannot be taken for names, verbs or the start of another word.
pub(super) const PLAIN_MONTHS: [&str; 7] =
    ["january", "february", "july", "september", "october", "november", "december"];

/// Months that are verbs.
pub(super) const VERB_MONTHS: [&str; 3] = ["march", "may", "mar"];

pub(super) fn unit(word: &str) -> Option<Unit> {
    Some(match word {
        "second" | "seconds" | "sec" | "secs" => Unit::Second,
        "minute" | "minutes" | "min" | "mins" => Unit::Minute,
        "hour" | "hours" | "hr" | "hrs" | "h" => Unit::Hour,
        "day" | "days" => Unit::Day,
        "week" | "weeks" | "wk" | "wks" => Unit::Week,
        "fortnight" | "fortnights" => Unit::Fortnight,
        "month" | "months" => Unit::Month,
        "year" | "years" | "yr" | "yrs" => Unit::Year,
        _ => return None,
    })
}

/// Units of one letter, which are read only right behind a number: `5m`.
pub(super) fn letter_unit(word: &str) -> Option<Unit> {
    Some(match word {
        "s" => Unit::Second,
        "m" => Unit::Minute,
        "d" => Unit::Day,
        "w" => Unit::Week,
        _ => return None,
    })
}

pub(super) fn part(word: &str) -> Option<Part> {
    Some(match word {
        "morning" => Part::Morning,
        "lunchtime" => Part::Lunchtime,
        "afternoon" => Part::Afternoon,
        "evening" => Part::Evening,
        "night" => Part::Night,
        _ => return None,
    })
}

/// `mornings`, which is every morning.
pub(super) fn parts(word: &str) -> Option<Part> {
    word.strip_suffix('s').and_then(part)
}

/// Zero to nineteen.
pub(super) fn small_number(word: &str) -> Option<u32> {
    const WORDS: [&str; 20] = [
        "zero",
        "one",
        "two",
        "three",
        "four",
        "five",
        "six",
        "seven",
        "eight",
        "nine",
        "ten",
        "eleven",
        "twelve",
        "thirteen",
        "fourteen",
        "fifteen",
        "sixteen",
        "seventeen",
        "eighteen",
        "nineteen",
    ];
    WORDS.iter().position(|known| *known == word).and_then(|at| u32::try_from(at).ok())
}

/// Twenty to ninety.
pub(super) fn tens(word: &str) -> Option<u32> {
    const WORDS: [&str; 8] = ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"];
    let at = WORDS.iter().position(|known| *known == word)?;
    u32::try_from(at).ok().map(|at| (at + 2) * 10)
}

/// First to nineteenth, then twentieth and thirtieth.
pub(super) fn ordinal(word: &str) -> Option<u32> {
    const WORDS: [&str; 19] = [
        "first",
        "second",
        "third",
        "fourth",
        "fifth",
        "sixth",
        "seventh",
        "eighth",
        "ninth",
        "tenth",
        "eleventh",
        "twelfth",
        "thirteenth",
        "fourteenth",
        "fifteenth",
        "sixteenth",
        "seventeenth",
        "eighteenth",
        "nineteenth",
    ];
    match word {
        "twentieth" => Some(20),
        "thirtieth" => Some(30),
        _ => WORDS.iter().position(|known| *known == word).and_then(|at| u32::try_from(at + 1).ok()),
    }
}

/// Words after which a bare number is a clock time in running text.
pub(super) const LEADS: [&str; 12] =
    ["at", "to", "until", "till", "til", "by", "from", "before", "after", "around", "past", "@"];

/// Words that may follow a bare number that is a clock time: `at 4 please`, but not `at 4 shops`.
pub(super) const FOLLOWERS: [&str; 72] = [
    "a",
    "again",
    "am",
    "an",
    "and",
    "as",
    "at",
    "because",
    "but",
    "by",
    "during",
    "each",
    "every",
    "exactly",
    "for",
    "friday",
    "from",
    "he",
    "her",
    "here",
    "i",
    "if",
    "in",
    "instead",
    "is",
    "it",
    "let",
    "like",
    "local",
    "me",
    "mon",
    "monday",
    "my",
    "next",
    "not",
    "now",
    "on",
    "only",
    "or",
    "our",
    "please",
    "rather",
    "remind",
    "saturday",
    "sharp",
    "she",
    "since",
    "so",
    "sunday",
    "than",
    "thanks",
    "that",
    "the",
    "then",
    "there",
    "they",
    "this",
    "thursday",
    "to",
    "today",
    "tomorrow",
    "tonight",
    "tuesday",
    "until",
    "utc",
    "was",
    "we",
    "wednesday",
    "when",
    "will",
    "with",
    "you",
];

/// Words for times in other languages. They are asked about: what stands beside one is not understood.
const FOREIGN: &str = " heute morgen abend gestern mittag mittags mitternacht nachmittag nachmittags vormittag vormittags \
abends morgens nachts nacht uhr montag dienstag mittwoch donnerstag freitag samstag sonntag woche wochen monat \
stunde stunden minuten tage januar februar märz juni juli oktober dezember viertel nächste nächsten nächster übermorgen \
vorgestern jeden jede jeder demain midi minuit matin soir semaine heure heures lundi mardi mercredi jeudi vendredi samedi \
dimanche janvier février avril juin juillet août septembre octobre novembre décembre prochain prochaine hoy mañana ayer \
mediodía medianoche tarde noche lunes martes miércoles jueves viernes sábado domingo semana enero febrero marzo abril mayo \
junio julio agosto septiembre octubre noviembre diciembre próximo próxima horas oggi domani ieri mezzogiorno mezzanotte \
mattina pomeriggio sera lunedì martedì mercoledì giovedì venerdì sabato domenica settimana gennaio febbraio aprile maggio \
giugno luglio ottobre dicembre prossimo prossima hoje amanhã ontem segunda terça quarta quinta sexta manhã noite janeiro \
fevereiro março maio junho julho setembro outubro novembro dezembro vandaag gisteren maandag dinsdag woensdag donderdag \
vrijdag zaterdag zondag ochtend middag avond uur volgende dziś jutro wczoraj idag imorgon igår ikväll måndag tisdag onsdag \
torsdag fredag lördag söndag klockan kl klo um à às alle kello tänään huomenna bugün yarın dün saat ";

/// Whether a word is one of another language for a time. Names such as Müller count for nothing.
pub(super) fn is_foreign(word: &str) -> bool {
    let known = FOREIGN.contains(&format!(" {word} "));
    // Other alphabets do not stand in English sentences.
    known || word.chars().any(|c| c > '\u{24F}')
}
