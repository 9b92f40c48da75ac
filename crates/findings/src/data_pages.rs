//! Pages of the findings about analytics data. `culprit audit` finds them; this program only
//! explains them, since it does not read such data itself.

use crate::rule::{Group, RuleDoc, Specificity};

/// What the pages have in common.
const PAGE: RuleDoc = RuleDoc {
    id: "",
    group: Group::Data,
    specificity: Specificity::Statement,
    yields_to: &[],
    claim: "",
    signature: "",
    not_reported: &[],
    why: "",
    fix: &[],
    check: "",
    thresholds: &[],
};

/// The pages of all findings about analytics data.
pub const DATA_PAGES: &[RuleDoc] = &[
    RuleDoc {
        id: "robots-in-reports",
        claim: "Robots make a visible part of the visits in reports.",
        signature: "`culprit audit robots` groups visits and adds up the weights of its signals: \
                    lists, page patterns, missing browser work, rhythm, network, stored verdict. \
                    Robots make 1 % of the visits or more.",
        not_reported: &[
            "servers that report events with an HTTP library",
            "user agents of the allow list",
            "groups whose verdict is unsure",
        ],
        why: "Reports count each robot's visit as a visitor with one page. Mean pages, conversion \
              and visits per place are wrong by that.",
        fix: &[
            "Exclude the certain groups in the reports.",
            "Add their user agents to the site's list of robots, exactly as they are stored.",
            "Stop them at the edge, before a visit is stored.",
        ],
        check: "culprit audit impact STORE",
        ..PAGE
    },
    RuleDoc {
        id: "blacklist-leak",
        claim: "The site's list of robots misses user agents that it means.",
        signature: "`culprit audit blacklist` finds a stored user agent that equals an entry after \
                    case, blanks and entities are made equal, and is not the same letter by letter.",
        not_reported: &["a user agent that another entry has exactly"],
        why: "The list is compared letter by letter. An entry in another case, with another blank \
              or with an entity excludes nobody.",
        fix: &[
            "Apply the patch that `culprit audit blacklist --patch` prints.",
            "Compare without case, if the program can.",
        ],
        check: "culprit audit blacklist STORE --list FILE",
        ..PAGE
    },
    RuleDoc {
        id: "contacts-without-interactions",
        claim: "Contacts are stored that never made a visit.",
        signature: "`culprit audit orphans` finds no interaction for 1 % of the contacts or more.",
        not_reported: &["contacts that only interactions name; they are counted as O2"],
        why: "A contact without interactions is in every count of contacts and in no report of \
              visits. It is stored, indexed and backed up.",
        fix: &[
            "Find out which import or clean-up leaves them behind.",
            "Delete those that are not known by name.",
        ],
        check: "culprit audit orphans STORE",
        ..PAGE
    },
    RuleDoc {
        id: "oversized-values",
        claim: "Stored values are far larger than what they say.",
        signature: "`culprit audit bloat` finds a text above 2 KiB, or one path whose texts are a \
                    fifth of all bytes of facets.",
        not_reported: &["numbers, objects and arrays", "texts of exactly 2 KiB"],
        why: "No limit holds the value back. Each copy is stored, sent and parsed again with every \
              visit of the contact.",
        fix: &[
            "Cut the value before it is stored, at the limit that `culprit audit cap` suggests.",
            "Store a referrer without its query.",
        ],
        check: "culprit audit bloat STORE",
        ..PAGE
    },
    RuleDoc {
        id: "visits-undercounted",
        claim: "A query over InteractionsCache misses contacts of the place.",
        signature: "`culprit audit visits` compares the contacts with an interaction at the place \
                    with those whose newest 42 interactions of 30 days show it. 1 % or more are \
                    missing.",
        not_reported: &["contacts whose place is unknown"],
        why: "The cache keeps 42 interactions of the last 30 days of a contact. Older and busier \
              contacts drop out, and visits from elsewhere are counted.",
        fix: &[
            "Count interactions by their own address instead of the contact's cache.",
            "Ask `culprit audit visits`, which does so.",
        ],
        check: "culprit audit visits STORE --place PLACE --explain",
        ..PAGE
    },
];
