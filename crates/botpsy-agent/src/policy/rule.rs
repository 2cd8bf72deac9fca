//! The rules that are built in, by name.

/// Makes the enum, the list of all, and the names from one table.
macro_rules! rules {
    ($($(#[$doc:meta])* $name:ident = $id:literal,)*) => {
        /// A rule that is built in. What it says stands in its name; `botpsy policy explain` prints it.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[non_exhaustive]
        pub enum Rule { $($(#[$doc])* $name,)* }

        impl Rule {
            /// Every rule that can be left out to see what it is for.
            pub const ALL: &[Rule] = &[$(Rule::$name,)*];

            /// Its name in logs and explanations.
            pub fn id(self) -> &'static str {
                match self { $(Rule::$name => $id,)* }
            }
        }
    };
}

rules! {
    /// The tool was not offered.
    UnknownTool = "unknown-tool",
    /// The tool is not what was approved.
    ChangedTool = "changed-tool",
    /// The arguments do not fit the schema.
    Arguments = "arguments",
    /// A web address leads into this computer or its network.
    PrivateHost = "private-host",
    /// A web address is not http or https.
    UrlScheme = "url-scheme",
    /// A web address that no result holds carries private text.
    PrivateUrl = "private-url",
    /// A path leads to keys, passwords or cookies.
    SecretPath = "secret-path",
    /// A path climbs out of its folder.
    PathEscape = "path-escape",
    /// An argument holds a registered secret.
    RegisteredSecret = "registered-secret",
    /// An amount is not positive.
    AmountSign = "amount-sign",
    /// Too many calls in one turn.
    CallBudget = "call-budget",
    /// Too many side effects in one turn.
    SideEffectBudget = "side-effect-budget",
    /// Too many questions in one turn.
    PromptBudget = "prompt-budget",
    /// The owner refused too often in this turn.
    Refusals = "refusals",
    /// A turn about medicines, the law or investments moves no money and changes no health record.
    Topic = "topic",
    /// The same call with the same result, again and again.
    Loop = "loop",
    /// Too much time in tools in one turn.
    TimeBudget = "time-budget",
    /// Too much text from tools in one turn.
    ResultBudget = "result-budget",
    /// More money than the day may cost.
    MoneyCeiling = "money-ceiling",
    /// A credential that the owner did not name.
    ForeignCredential = "foreign-credential",
    /// Not what the turn is about, after foreign text came in.
    Scope = "scope",
    /// Money, credentials, the physical world, health records and code are never silent.
    NeverSilent = "never-silent",
    /// Who may see or be what is never silent.
    Access = "access",
    /// What was removed cannot be brought back, or foreign text came in.
    Removal = "removal",
    /// What cannot be taken back is asked about.
    NoUndo = "no-undo",
    /// Whom it reaches does not come from the owner.
    Destination = "destination",
    /// An address mixes scripts that look alike.
    LookAlike = "look-alike",
    /// A web address is not one that the owner wrote.
    ForeignUrl = "foreign-url",
    /// An amount is not one that the owner wrote.
    Amount = "amount",
    /// A time is not one that the owner said.
    Time = "time",
    /// The thing that it is about was not named by the owner.
    Object = "object",
    /// The words are not the owner's.
    Words = "words",
    /// A path is not in an allowed folder, or not named by the owner.
    Path = "path",
    /// Nothing in the call comes from the owner.
    NothingNamed = "nothing-named",
    /// A search holds words that are not the owner's.
    Query = "query",
    /// A text that leaves holds a link or an address that the owner did not write.
    ForeignLink = "foreign-link",
    /// A text that leaves holds what looks like a secret.
    SecretText = "secret-text",
    /// A file that leaves was not named by the owner.
    Attachment = "attachment",
    /// The profile `strict` asks about all but reading.
    Strict = "strict",
    /// The owner asked a question or said what is not to happen: nothing is changed silently.
    NoOrder = "no-order",
    /// A demonstration model changes nothing unasked.
    Demonstration = "demonstration",
    /// Nobody is there to ask.
    NobodyThere = "nobody-there",
}
