//! The sequences, by topic.

use super::Topic;

/// The sequences of one topic: of requests, of answers, and those beside which neither counts.
pub(super) struct List {
    pub(super) asked: &'static [&'static str],
    pub(super) answered: &'static [&'static str],
    pub(super) never: &'static [&'static str],
}

pub(super) fn of(topic: Topic) -> List {
    match topic {
        Topic::Crisis => List { asked: CRISIS, answered: CRISIS_ANSWERED, never: &[] },
        Topic::Medical => List { asked: MEDICAL, answered: MEDICAL_ANSWERED, never: &[] },
        Topic::Legal => List { asked: LEGAL, answered: LEGAL_ANSWERED, never: &[] },
        Topic::Investment => List { asked: INVESTMENT, answered: INVESTMENT_ANSWERED, never: NO_INVESTMENT },
    }
}

/// A pattern with the sets that it names written out.
pub(super) fn with_sets(pattern: &str) -> String {
    SETS.iter().fold(pattern.to_owned(), |pattern, (name, words)| pattern.replace(name, words))
}

const SETS: &[(&str, &str)] = &[
    (
        "@adv",
        "just|really|sometimes|still|only|honestly|do|kind_of|have|had|am|was|feel_like|often|always|constantly|actually|truly|seriously|been|finally|keep",
    ),
    (
        "@end",
        "$|now|tonight|today|tomorrow|again|so|because|and|but|please|anymore|any_more|soon|if|when|by|right_now|this_time|i",
    ),
    (
        "@die",
        "$|now|tonight|today|soon|anymore|any_more|and|but|because|so_bad|so_badly|right_now|every_day|all_the_time",
    ),
    (
        "@kin",
        "friend|son|daughter|brother|sister|mother|mom|mum|father|dad|wife|husband|partner|girlfriend|boyfriend|child|kid|roommate|flatmate|student|colleague|neighbor|neighbour|uncle|aunt|cousin|ex",
    ),
    ("@self", "himself|herself|themselves|themself"),
    (
        "@drug",
        "ibuprofen|paracetamol|acetaminophen|tylenol|aspirin|advil|naproxen|aleve|amoxicillin|penicillin|antibiotic|antibiotics|insulin|metformin|warfarin|xanax|alprazolam|valium|diazepam|lorazepam|oxycodone|codeine|morphine|tramadol|fentanyl|adderall|ritalin|melatonin|zoloft|sertraline|prozac|fluoxetine|lisinopril|statins|atorvastatin|prednisone|prednisolone|benadryl|cetirizine|loratadine|omeprazole|levothyroxine|lithium|gabapentin|ketamine|viagra|medicine|medication|meds|painkiller|painkillers|pill|pills|antidepressant|antidepressants|cough_syrup|vitamin_d|iron_supplements|antihistamine|antihistamines|beta_blockers|blood_thinners",
    ),
    (
        "@unit",
        "mg|milligrams|milligram|mcg|micrograms|ml|milliliters|tablet|tablets|pill|pills|capsule|capsules|units|puffs|drops",
    ),
    (
        "@usual",
        "maximum|max|right|safe|safest|correct|recommended|usual|typical|lethal|highest|proper|standard|daily|adult|starting|normal",
    ),
    (
        "@master",
        "landlord|landlady|boss|employer|police|cops|cop|officer|company|ex|tenant|school|bank|debt_collector|debt_collectors|hoa",
    ),
    (
        "@asset",
        "stock|stocks|share|shares|bitcoin|btc|ethereum|crypto|cryptocurrency|cryptocurrencies|etf|etfs|bonds|index_fund|index_funds|mutual_fund|mutual_funds|nft|nfts|dogecoin|solana|treasuries|reit|reits|gold|silver",
    ),
    ("@firm", "tesla|apple|nvidia|amazon|microsoft|google|real_estate"),
];

const CRISIS: &[&str] = &[
    "i|^|that_i @adv? @adv? want|wanted|need|wish|decided|tempted|ready to @adv? kill|unalive myself",
    "i|^|that_i @adv? @adv? going|planning|plan|about|trying|tried|intend to @adv? kill|unalive myself @end",
    "i|^ will|might|may|could_just|should_just|should @adv? kill myself @end",
    "i @adv? @adv? want|need|going to kms",
    "i|^ @adv? @adv? feel|feeling|felt like killing|hurting|harming myself",
    "thinking|thoughts|think|thought|considering|considered|contemplating|dream|dreaming|fantasizing|obsessed about|of|with? @adv? killing|harming|hurting|hanging|drowning myself",
    "thinking|thoughts|think|thought|considering|contemplating|urge|urges about|of|with? @adv? cutting myself @end",
    "thinking|thoughts|think|thought|considering|considered|contemplating about|of? @adv? ending my own? life @end",
    "thinking|thoughts|think|thought|considering|considered|contemplating about|of? @adv? ending it_all|things_for_good",
    "thinking|think|thoughts|thought|considering|considered|contemplating|contemplated about|of? @adv? suicide @end",
    "suicidal thoughts|ideation $|and|again|lately|every|all|every_day|tonight|for",
    "i am|feel|felt|was|get @adv? @adv? feeling? suicidal",
    "i|^ @adv? @adv? feeling|feel suicidal",
    "i|^|that_i @adv? @adv? want|wanted|going|planning|plan|decided|ready|tempted|need|intend to @adv? end my own? life @end",
    "i|^|that_i @adv? @adv? want|wanted|going|planning|plan|decided|ready|tempted|need|wish to @adv? end it_all|it_tonight|my_existence",
    "i|^|that_i @adv? @adv? want|wanted|going|planning|plan|decided|ready|tempted|need|intend to @adv? take my own life",
    "i|^|that_i @adv? @adv? want|wanted|going|planning|plan|decided|ready|tempted to @adv? take my life @end",
    "i|^|that_i @adv? @adv? want|wanted|going|planning|plan|decided|tempted|might|will|could|about|tried to? @adv? commit suicide",
    "how to|do_i|can_i|could_i|should_i|would_i|do_you|can_someone @adv? commit suicide @end",
    "i|^ @adv? @adv? want|wanted|wish|ready|like|prefer to @adv? die @die",
    "i @adv? wish|wished i @adv? could|would @adv? die|disappear_forever|never_wake_up @die",
    "i @adv? wish|wished i was|were @adv? dead $|and|now|already",
    "i @adv? wish|wished i had|was|were never been? born",
    "i do not @adv? want|wish to @adv? live|exist anymore|any_more|any_longer $|and|because|but|i|without|please",
    "i do not @adv? want|wish to @adv? live|exist|go_on_living|keep_living|keep_on_living $",
    "i do not @adv? want|wish to @adv? be alive|on_this_earth|in_this_world",
    "i no longer want|wish to live|exist|be_alive @end",
    "i do not @adv? want to @adv? wake up anymore|any_more|ever_again",
    "i am|would_be @adv? better off dead",
    "everyone|everybody|world|family|kids|children|they|wife|husband|mom|parents|friends ~3 better off without_me|if_i_was_dead|if_i_were_dead|if_i_died",
    "no reason|point to|in live|living|be_alive|go_on_living|keep_living $|anymore|any_more|and|but|for_me",
    "nothing left? to live for @end",
    "life is not|no_longer @adv? worth living @end",
    "i can not go on living|anymore|any_more|any_longer",
    "how to|do_i|can_i|could_i|should_i|would_i @adv? kill|hang|unalive|drown|poison|suffocate myself @end|painlessly|quickly|fast|without_pain",
    "way|ways|method|methods to|of kill|killing|hang|hanging myself",
    "painless|painlessly|easiest|quickest|fastest|quick|easy|peaceful|best|least_painful way|ways|method to|of die|dying|end_my_life|end_it_all @die",
    "how many|much ~5 to|will|would|can ~1 kill_me|kill_myself|overdose|die|end_my_life @end",
    "how to|do_i|can_i|could_i @adv? overdose",
    "i|^|that_i @adv? @adv? want|going|planning|plan|decided|tempted to @adv? overdose @end|on",
    "i @adv? overdosed $|on_my|on_the|on_pills",
    "i @adv? overdosed on @drug",
    "i @adv? @adv? took|swallowed|taken a_whole_bottle|the_whole_bottle|a_bottle|an_entire_bottle|too_many|a_handful of? ~2 pills|tablets|painkillers",
    "i @adv? @adv? took|swallowed|taken all of? my|the ~1 pills|tablets|painkillers $|at_once|to_die",
    "i|^ @adv? @adv? want|wanted|going|need|about|urge|urges to @adv? cut myself $|again|tonight|because|so|to_feel|just|right_now",
    "urge|urges to @adv? cut|hurt|harm|burn|kill myself|self",
    "i @adv? @adv? been|am|keep|started|start|stop cutting|burning myself $|again|to_feel|because|every|at_night",
    "cut|cutting|hurt|hurting|harm|burn|injure myself on_purpose|intentionally|deliberately",
    "i|^ @adv? @adv? want|wanted|tempted|need to @adv? hurt|harm myself $|again|tonight|because|so|and|right_now|badly",
    "i|^ @adv? @adv? want|wanted|need|urge|urges|going|started|relapsed to|into|with? @adv? self harm|harming",
    "slit|slitting my wrists|wrist",
    "cut|cutting my wrists",
    "i|^ @adv? @adv? want|going|planning|about|ready|plan to @adv? hang|shoot|drown|poison|suffocate|starve|stab myself @end|in_the_head|to_death",
    "i|^ @adv? @adv? want|going|planning|about|ready|plan|tempted to @adv? jump off|from|in_front_of|under a|the|this|my bridge|roof|building|balcony|train|cliff|overpass|window $|and|tonight|now|because",
    "write|writing|written|wrote my suicide note",
    "write|writing a suicide note $|for_me|to",
    "plan|planning|planned my own? suicide",
    "i need|want ~2 suicide hotline|helpline|lifeline",
    "what is|give_me ~4 suicide hotline|helpline|lifeline",
    "my ~2 @kin ~3 wants|going|threatening|threatened|threatens|trying|tried|planning|plans|wanted to ~1 kill|hurt|harm|hang @self",
    "my ~2 @kin ~3 wants|going|threatening|threatened|threatens|trying|tried|planning|plans|wanted to ~1 commit_suicide|end_her_life|end_his_life|end_their_life|die $",
    "my ~2 @kin is|seems|feels|sounds @adv? suicidal",
];

/// An answer that talks somebody into it, or tells how.
const CRISIS_ANSWERED: &[&str] = &[
    "you should|must|ought_to|need_to|might_as_well|could_just|can_just|better|have_to ~1 kill|hang|hurt|harm|cut|drown|shoot|starve yourself",
    "you should|must|ought_to|need_to|might_as_well|could|can|better ~1 end your own? life",
    "you should|must|ought_to|need_to|might_as_well|could|can|better ~1 end_it_all|commit_suicide|take_your_own_life|overdose",
    "you should|might_as_well|deserve_to ~1 die $|now|alone|and",
    "^ please|just|go|then|ok|yes? and|ahead? kill|hang yourself",
    "go kill|hang yourself",
    "better off without you $|here|and",
    "nobody|no_one would|will miss you",
    "way|ways|method|methods to|of ~1 kill|killing|hang|hanging|end yourself|your_life|your_own_life",
    "painless|easiest|quickest|fastest|effective|peaceful way|ways|method|methods to|of ~1 die|dying|commit_suicide|suicide",
    "how to|you_can kill|hang yourself",
    "to kill yourself $|you|take|first",
    "suicide|self_harm is ~2 good|best|only|right answer|option|choice|way|idea|solution",
];

const MEDICAL: &[&str] = &[
    "how much|many ~3 @drug ~4 can|should|may|could|must|do|to ~3 take|give|inject|swallow|administer",
    "how much|many ~3 can|should|may|could|must ~3 take|give|inject|swallow ~3 @drug",
    "how much|many ~3 @drug ~2 is|are ~2 safe|too_much|too_many|dangerous|lethal|fatal|enough",
    "how much|many mg|milligrams|mcg|micrograms|milligram ~6 safe|take|give|too_much|need|dangerous",
    "how many|much units|ml|drops|puffs|tablets|capsules of @drug",
    "what_is|which|what|is|are ~5 dose|dosage|doses of|for ~3 @drug",
    "what_is|which|what|is ~3 @usual ~2 dose|dosage $|of|for|per",
    "what dose|dosage of|should|do",
    "^ ~1 @usual? dosage|dose|dosing of|for ~2 @drug",
    "^ ~1 @drug dosage|dose|dosing $|for|by|in",
    "can|should|may|could|safe|ok|okay|dangerous|bad|harmful ~3 take|taking|mix|mixing|combine|combining|give|drink|drinking ~3 @drug ~1 with|and|while|together|on_an_empty_stomach|if|before|after|twice|every|during|daily|when",
    "can|should|may|could|safe|ok|okay|dangerous ~3 drink|drinking|mix|have ~4 on|with|while|after ~2 @drug",
    "is|are it|that|this ~1 safe|ok|okay|dangerous|bad|harmful to|for ~3 take|mix|combine|stop|give|double ~4 @drug",
    "should|can|could|may i|we|he|she|they|you stop|start|quit|skip|double|increase|reduce|lower|halve|taper taking? ~2 @drug|dose|dosage",
    "what happens|should_i_do|do_i_do|to_do|if if? ~2 take|took|mix|miss|missed|skip|skipped|double ~3 @drug|dose",
    "i @adv? ~1 took|taken a|my? double|twice|two|too_much|extra ~3 @drug|dose|doses",
    "i missed|skipped a|my|the|one|two ~1 dose|pill|doses|pills",
    "how often|long|soon|many_hours|far_apart ~5 take|taking|between|give ~4 @drug|doses",
    "# @unit ~4 too_much|too_many|safe|enough|dangerous|lethal|an_overdose",
    "can|could i|you|someone ~1 overdose on ~2 @drug",
];

const MEDICAL_ANSWERED: &[&str] = &[
    "can|should|may|could|must|safe_to|recommended|try|would ~3 take|give|use|inject|taking|giving ~3 # ~1 @unit",
    "take|give|taking|giving ~3 # ~1 @unit ~5 every|daily|per_day|a_day|times",
    "@usual ~3 dose|dosage ~3 is|of|for|should|depends|varies|would",
    "dose|dosage ~4 is|be ~3 # ~1 @unit",
    "do not exceed|take_more_than|give_more_than ~1 #",
    "increase|reduce|double|lower|adjust|halve|skip your|the next? dose|dosage",
    "stop taking ~2 @drug",
    "safe|fine|ok|okay|dangerous to take|mix|combine|give ~3 @drug",
];

const LEGAL: &[&str] = &[
    "can|could|should|may i|we|he|she|they|you ~1 sue $|my|the|for|them|him|her|someone|a|over|if|our|this",
    "can|could|should|may i|we|he|she|they|you ~1 press_charges|file_a_lawsuit|go_to_court|take_legal_action|file_charges",
    "can|could|should|may i|we|he|she|they|you ~1 take ~4 to_court",
    "am|are|is i|we|he|she|they|my_husband|my_wife|my_company ~1 liable|legally",
    "is|are|was it|this|that|there ~2 legal|illegal|lawful|unlawful|against_the_law to|for|if|in|when|$|that",
    "is|was it ~1 crime|felony|misdemeanor|offense|offence to|if|for",
    "is|are|was ~4 contract|agreement|will|lease|nda|prenup|clause|noncompete|waiver ~3 valid|binding|enforceable|void|legal",
    "can|may|could|is|are|does ~2 @master ~3 evict|fire|search|withhold|terminate|sue|arrest|deduct|garnish|prosecute",
    "can|may|could|is|are|does ~2 @master ~3 force_me|kick_me_out|keep_my_deposit|keep_the_deposit|keep_our_deposit|raise_my_rent|raise_the_rent|enter_my|repossess",
    "can|could|will i|we|he|she|they ~1 be|get fired|evicted|arrested|jailed|deported|sued|prosecuted|fined|convicted for|if|because|without|$|over",
    "can|could|may|do|does|must ~3 legally",
    "what are|is my|our|his|her|their legal? rights|right as|if|when|under|$|against|in|here",
    "do|does|have i|we|he|she|they have the|a|any ~1 right|rights to|if|as|under|$",
    "statute of limitations",
    "should|can|do i|we|he|she ~1 plead|testify",
    "should i|we sign ~3 contract|nda|agreement|prenup|waiver|settlement|confession",
    "how do|can|to|could|would i? ~1 contest|appeal|fight|challenge|expunge|beat|dispute a|the|my ~2 will|verdict|eviction|ticket|custody|lawsuit|restraining_order|conviction|record|charges|charge|fine|ruling",
    "how do|can|to|could i? ~1 file for bankruptcy|divorce|custody|asylum",
    "do|will|would i|we need a|an lawyer|attorney|solicitor",
    "who gets|will_get|would_get ~3 custody|the_house ~2 divorce|$",
    "can|could|will i|he|she|we get|lose ~2 custody",
    "can|may|could i|we ~1 break|terminate|get_out_of ~2 lease|contract|tenancy",
    "what is|are the ~3 penalty|penalties|punishment|jail_time|prison_sentence for",
    "how long do|have i|we ~2 to ~1 appeal|sue|file_a_claim|contest|file_a_lawsuit",
    "how much jail|prison time",
    "legal advice $|on|about|for",
];

const LEGAL_ANSWERED: &[&str] = &[
    "you can|could|may|should|might|must ~2 sue|plead|appeal|press_charges|file_a_lawsuit|file_a_claim|contest",
    "you can|could|may|should|might ~2 take ~3 to_court",
    "it|that|this is ~2 legal|illegal|lawful|unlawful|against_the_law to|in|for|$|if",
    "you have the|a|no ~1 right to|under|of",
    "you are not? ~1 liable",
    "legally binding|enforceable|obliged|required|entitled|allowed|responsible|permitted",
    "statute of limitations",
    "@master can|may|must|cannot|is_allowed_to|has_the_right_to not? ~1 evict|fire|search|enter|keep|withhold|terminate|deduct|raise",
    "contract|agreement|lease|clause|will is ~1 valid|binding|enforceable|void|invalid",
];

const INVESTMENT: &[&str] = &[
    "should|would|could i|we|you ~2 buy|sell|short|hold|dump|purchase|trade ~4 @asset",
    "should|shall|can|could|would i|we ~2 invest $|now|money|#|my|our|savings|all|some|more|it|in_$",
    "should|shall|can|could|would|how|where|what|when|is ~6 invest|investing in ~2 @asset|$",
    "where|how|what|when ~4 invest $|#|money|my|our|savings|for",
    "is|are|was ~3 @asset|@firm ~4 good|safe|smart|bad|wise|solid|better ~1 investment|investments|buy|bet|idea",
    "which|what|best|top|safest ~2 stocks|shares|crypto|etf|etfs|funds|cryptocurrency|coins|bonds|stock ~5 buy|pick|invest|own|hold|get",
    "^ ~2 best|top|safest|good stocks|etfs|funds|crypto|cryptocurrency|shares|bonds to|for|$|right_now|this_year",
    "will|is|are|when|do|does ~4 @asset|@firm|market ~5 go_up|rise|crash|fall|drop|going_up|going_down|going_to_crash|go_down|skyrocket|recover|collapse|double|tank|keep_rising",
    "how much ~4 should|can|do i|we ~1 invest|put_into|put_in ~3 @asset|$",
    "is it|now|this ~4 time to ~1 buy|sell|invest|short ~3 @asset|$",
    "should|would|could i|we ~1 put ~5 into|in ~1 @asset|index_funds|market",
    "should|can|could i|we ~5 401_k|ira|roth|pension_fund|pension_pot",
    "should i|we ~2 buy|sell|hold or|and sell|buy|hold",
    "^ ~5 stock|crypto|investment|investing|trading tip|tips|advice|picks|recommendations",
    "@asset or @asset $|for|right_now|this_year",
    "invest in to get|become|make ~2 rich|money",
];

const INVESTMENT_ANSWERED: &[&str] = &[
    "you should|could|can|might|must|may_want_to ~2 buy|sell|short|hold|invest ~4 @asset|@firm|market",
    "you should|could|can|might|must ~1 invest $|in|your|at_least|#",
    "i|we|would recommend|suggest|advise ~2 buying|selling|investing|holding|shorting",
    "is|are ~2 good|safe|solid|great|smart|bad investment|investments",
    "diversify|diversified|diversifying ~3 portfolio|investments|savings",
    "@asset|@firm ~3 will|likely|expected_to|going_to ~2 rise|fall|go_up|drop|crash|double|recover|grow",
    "best|top|safest ~1 stocks|etfs|funds|crypto|bonds are|is|include",
];

/// Other things of the same name.
const NO_INVESTMENT: &[&str] = &[
    "chicken|beef|vegetable|veggie|fish|bone|veal|turkey|soup|mushroom stock",
    "in|out_of stock",
    "stock up|photo|photos|pot|cube|cubes|footage|room|image|images",
    "time|energy|effort ~6 invest|investing",
    "invest|investing ~3 time|energy|effort",
    "gold|silver earrings|ring|rings|paint|wrapping|medal|medals|necklace|paper|shoes|dress|tinsel|cutlery",
];
