//! Every question runs, also on a store without rows, and gives the columns that it documents.

use culprit_audit::questions;
use culprit_query::Parameter;

use crate::rows::{Visit, empty, store};

/// A value for every parameter of any question.
pub(crate) fn parameters() -> Vec<(&'static str, Parameter)> {
    vec![
        ("first_key", Parameter::Part("i.ua_id")),
        ("second_key", Parameter::Part("n.network_hash")),
        ("group_by", Parameter::Part("i.ua_id, n.network_hash")),
        ("joined", Parameter::Part("LEFT JOIN addresses n ON n.address_id = i.address_id")),
        ("place_key", Parameter::Part("place_id")),
        ("chosen", Parameter::Ints(vec![1, 2])),
        ("robots", Parameter::Ints(vec![2])),
        ("by_contact", Parameter::Int(0)),
        (
            "offset",
            Parameter::Steps {
                column: "i.start_utc",
                below: vec![(1_774_746_000_000, 1)],
                last: 2,
            },
        ),
        ("keys", Parameter::Ints(vec![0, 1])),
        ("all_days", Parameter::Int(0)),
        ("from_ms", Parameter::Int(1_774_310_400_000)),
        ("to_ms", Parameter::Int(1_780_000_000_000)),
        ("labelled", Parameter::Int(0)),
        ("bucket_ms", Parameter::Float(86_400_000.0)),
        ("shift_ms", Parameter::Int(0)),
        ("cache_interactions", Parameter::Int(42)),
        ("cache_ms", Parameter::Int(2_592_000_000)),
        ("top", Parameter::Int(10)),
        ("facet_key", Parameter::Text("InteractionsCache".to_owned())),
        ("path", Parameter::Text("Referrers[]".to_owned())),
    ]
}

#[test]
fn every_question_gives_the_columns_that_it_documents() {
    let visits = [Visit::default(), Visit { agent: 2, contact: 2, ..Visit::default() }];
    for store in [store(&visits), empty()] {
        for question in questions() {
            let name = question.name;
            let answer = store.ask(name, &parameters()).unwrap_or_else(|e| panic!("{name}: {e}"));
            let documented: Vec<&str> = question.columns.iter().map(|c| c.name).collect();
            assert_eq!(answer.columns, documented, "{name}");
        }
    }
}
