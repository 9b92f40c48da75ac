//! The messages of Spark Connect that are used here, written by hand: no compiler of Protocol Buffers
//! is needed to build this crate.
//!
//! Names and field numbers are those of Apache Spark's published files
//! `sql/connect/common/src/main/protobuf/spark/connect/{base,relations,commands}.proto`, version 4.2,
//! and of `google/rpc/{status,error_details}.proto`. Published fields never change their numbers, and a
//! field that is not declared here is skipped when a message is read.

use std::collections::BTreeMap;

use prost::{Message, Oneof};

/// Who asks.
#[derive(Clone, PartialEq, Message)]
pub(super) struct UserContext {
    /// The user's name for the server; sessions belong to it.
    #[prost(string, tag = "1")]
    pub(super) user_id: String,
}

/// What is to be run.
#[derive(Clone, PartialEq, Message)]
pub(super) struct Plan {
    /// Rows, or an effect.
    #[prost(oneof = "PlanKind", tags = "1, 2")]
    pub(super) kind: Option<PlanKind>,
}

/// Rows, or an effect.
#[derive(Clone, PartialEq, Oneof)]
pub(super) enum PlanKind {
    /// Rows.
    #[prost(message, tag = "1")]
    Root(Relation),
    /// An effect.
    #[prost(message, tag = "2")]
    Command(Command),
}

/// Where rows come from.
#[derive(Clone, PartialEq, Message)]
pub(super) struct Relation {
    /// Files, or a question.
    #[prost(oneof = "RelationKind", tags = "2, 10")]
    pub(super) kind: Option<RelationKind>,
}

/// Files, or a question.
#[derive(Clone, PartialEq, Oneof)]
pub(super) enum RelationKind {
    /// Files.
    #[prost(message, tag = "2")]
    Read(Read),
    /// A question.
    #[prost(message, tag = "10")]
    Sql(Sql),
}

/// Rows that are read.
#[derive(Clone, PartialEq, Message)]
pub(super) struct Read {
    /// The files.
    #[prost(message, optional, tag = "2")]
    pub(super) data_source: Option<DataSource>,
}

/// Files of one format.
#[derive(Clone, PartialEq, Message)]
pub(super) struct DataSource {
    /// The format.
    #[prost(string, optional, tag = "1")]
    pub(super) format: Option<String>,
    /// Options of the reader.
    #[prost(btree_map = "string, string", tag = "3")]
    pub(super) options: BTreeMap<String, String>,
    /// The files.
    #[prost(string, repeated, tag = "4")]
    pub(super) paths: Vec<String>,
}

/// A question in SQL.
#[derive(Clone, PartialEq, Message)]
pub(super) struct Sql {
    /// Its text.
    #[prost(string, tag = "1")]
    pub(super) query: String,
}

/// An effect.
#[derive(Clone, PartialEq, Message)]
pub(super) struct Command {
    /// The one that is used.
    #[prost(message, optional, tag = "3")]
    pub(super) create_view: Option<CreateDataFrameView>,
}

/// A name for rows, within the session.
#[derive(Clone, PartialEq, Message)]
pub(super) struct CreateDataFrameView {
    /// The rows.
    #[prost(message, optional, tag = "1")]
    pub(super) input: Option<Relation>,
    /// The name.
    #[prost(string, tag = "2")]
    pub(super) name: String,
    /// True when other sessions see it.
    #[prost(bool, tag = "3")]
    pub(super) is_global: bool,
    /// True when it may replace another one.
    #[prost(bool, tag = "4")]
    pub(super) replace: bool,
}

/// Asks for a plan to be run.
#[derive(Clone, PartialEq, Message)]
pub(super) struct ExecutePlanRequest {
    /// The session.
    #[prost(string, tag = "1")]
    pub(super) session_id: String,
    /// The user.
    #[prost(message, optional, tag = "2")]
    pub(super) user_context: Option<UserContext>,
    /// The plan.
    #[prost(message, optional, tag = "3")]
    pub(super) plan: Option<Plan>,
    /// The program that asks.
    #[prost(string, optional, tag = "4")]
    pub(super) client_type: Option<String>,
    /// What the server may do besides.
    #[prost(message, repeated, tag = "5")]
    pub(super) request_options: Vec<RequestOption>,
    /// A name for the answer, of the form of a UUID.
    #[prost(string, optional, tag = "6")]
    pub(super) operation_id: Option<String>,
}

/// What the server may do besides.
#[derive(Clone, PartialEq, Message)]
pub(super) struct RequestOption {
    /// About connections that end.
    #[prost(message, optional, tag = "1")]
    pub(super) reattach: Option<ReattachOptions>,
}

/// About connections that end.
#[derive(Clone, PartialEq, Message)]
pub(super) struct ReattachOptions {
    /// True when the answer goes on after its connection has ended.
    #[prost(bool, tag = "1")]
    pub(super) reattachable: bool,
}

/// Asks for the rest of an answer.
#[derive(Clone, PartialEq, Message)]
pub(super) struct ReattachExecuteRequest {
    /// The session.
    #[prost(string, tag = "1")]
    pub(super) session_id: String,
    /// The user.
    #[prost(message, optional, tag = "2")]
    pub(super) user_context: Option<UserContext>,
    /// The answer's name.
    #[prost(string, tag = "3")]
    pub(super) operation_id: String,
    /// The program that asks.
    #[prost(string, optional, tag = "4")]
    pub(super) client_type: Option<String>,
    /// The last part that was received; none when there was none.
    #[prost(string, optional, tag = "5")]
    pub(super) last_response_id: Option<String>,
}

/// Ends an answer: its parts need not be kept.
#[derive(Clone, PartialEq, Message)]
pub(super) struct ReleaseExecuteRequest {
    /// The session.
    #[prost(string, tag = "1")]
    pub(super) session_id: String,
    /// The user.
    #[prost(message, optional, tag = "2")]
    pub(super) user_context: Option<UserContext>,
    /// The answer's name.
    #[prost(string, tag = "3")]
    pub(super) operation_id: String,
    /// The program that asks.
    #[prost(string, optional, tag = "4")]
    pub(super) client_type: Option<String>,
    /// All of its parts.
    #[prost(message, optional, tag = "5")]
    pub(super) release_all: Option<Nothing>,
}

/// A part of an answer.
#[derive(Clone, PartialEq, Message)]
pub(super) struct ExecutePlanResponse {
    /// Rows, where the part has any.
    #[prost(message, optional, tag = "2")]
    pub(super) arrow_batch: Option<ArrowBatch>,
    /// The part's name; empty from a server that keeps no parts.
    #[prost(string, tag = "13")]
    pub(super) response_id: String,
    /// Says that no part follows.
    #[prost(message, optional, tag = "14")]
    pub(super) result_complete: Option<Nothing>,
}

/// Rows in Arrow's format for streams.
#[derive(Clone, PartialEq, Message)]
pub(super) struct ArrowBatch {
    /// How many rows.
    #[prost(int64, tag = "1")]
    pub(super) row_count: i64,
    /// A whole stream: schema, then batches.
    #[prost(bytes = "vec", tag = "2")]
    pub(super) data: Vec<u8>,
}

/// Asks about the server.
#[derive(Clone, PartialEq, Message)]
pub(super) struct AnalyzePlanRequest {
    /// The session.
    #[prost(string, tag = "1")]
    pub(super) session_id: String,
    /// The user.
    #[prost(message, optional, tag = "2")]
    pub(super) user_context: Option<UserContext>,
    /// The program that asks.
    #[prost(string, optional, tag = "3")]
    pub(super) client_type: Option<String>,
    /// Asks for the version.
    #[prost(message, optional, tag = "10")]
    pub(super) spark_version: Option<Nothing>,
}

/// A message without fields.
#[derive(Clone, PartialEq, Message)]
pub(super) struct Nothing {}

/// What the server says about itself.
#[derive(Clone, PartialEq, Message)]
pub(super) struct AnalyzePlanResponse {
    /// Its version.
    #[prost(message, optional, tag = "8")]
    pub(super) spark_version: Option<SparkVersion>,
}

/// A version.
#[derive(Clone, PartialEq, Message)]
pub(super) struct SparkVersion {
    /// Its text.
    #[prost(string, tag = "1")]
    pub(super) version: String,
}

/// Ends a session: what it runs is stopped, and its views are gone.
#[derive(Clone, PartialEq, Message)]
pub(super) struct ReleaseSessionRequest {
    /// The session.
    #[prost(string, tag = "1")]
    pub(super) session_id: String,
    /// The user.
    #[prost(message, optional, tag = "2")]
    pub(super) user_context: Option<UserContext>,
    /// The program that asks.
    #[prost(string, optional, tag = "3")]
    pub(super) client_type: Option<String>,
}

/// The details of a failure, `google.rpc.Status`.
#[derive(Clone, PartialEq, Message)]
pub(super) struct RpcStatus {
    /// Messages of several types.
    #[prost(message, repeated, tag = "3")]
    pub(super) details: Vec<AnyMessage>,
}

/// A message of a named type.
#[derive(Clone, PartialEq, Message)]
pub(super) struct AnyMessage {
    /// Its type.
    #[prost(string, tag = "1")]
    pub(super) type_url: String,
    /// Its bytes.
    #[prost(bytes = "vec", tag = "2")]
    pub(super) value: Vec<u8>,
}

/// Why a call failed, `google.rpc.ErrorInfo`.
#[derive(Clone, PartialEq, Message)]
pub(super) struct ErrorInfo {
    /// The class of the error.
    #[prost(string, tag = "1")]
    pub(super) reason: String,
    /// Among others the state as SQL has it.
    #[prost(btree_map = "string, string", tag = "3")]
    pub(super) metadata: BTreeMap<String, String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(kind: PlanKind) -> ExecutePlanRequest {
        ExecutePlanRequest {
            session_id: "s".to_owned(),
            user_context: None,
            plan: Some(Plan { kind: Some(kind) }),
            client_type: None,
            request_options: Vec::new(),
            operation_id: None,
        }
    }

    /// What Spark's own Python client sends about connections that end.
    #[test]
    fn an_answer_that_goes_on_has_the_published_field_numbers() {
        let option = RequestOption { reattach: Some(ReattachOptions { reattachable: true }) };
        let request = ExecutePlanRequest {
            session_id: "s".to_owned(),
            request_options: vec![option],
            operation_id: Some("o".to_owned()),
            ..ExecutePlanRequest::default()
        };
        assert_eq!(request.encode_to_vec(), b"\x0a\x01s\x2a\x04\x0a\x02\x08\x01\x32\x01o");
        let rest = ReattachExecuteRequest {
            session_id: "s".to_owned(),
            operation_id: "o".to_owned(),
            last_response_id: Some("r".to_owned()),
            ..ReattachExecuteRequest::default()
        };
        assert_eq!(rest.encode_to_vec(), b"\x0a\x01s\x1a\x01o\x2a\x01r");
        let end = ReleaseExecuteRequest {
            session_id: "s".to_owned(),
            operation_id: "o".to_owned(),
            release_all: Some(Nothing {}),
            ..ReleaseExecuteRequest::default()
        };
        assert_eq!(end.encode_to_vec(), b"\x0a\x01s\x1a\x01o\x2a\x00");
    }

    /// The same for `spark.read.parquet("/x").createOrReplaceTempView("v")`.
    #[test]
    fn a_view_has_the_published_field_numbers() {
        let source = DataSource {
            format: Some("parquet".to_owned()),
            options: BTreeMap::new(),
            paths: vec!["/x".to_owned()],
        };
        let read = RelationKind::Read(Read { data_source: Some(source) });
        let view = CreateDataFrameView {
            input: Some(Relation { kind: Some(read) }),
            name: "v".to_owned(),
            is_global: false,
            replace: true,
        };
        let request = request(PlanKind::Command(Command { create_view: Some(view) }));
        let expected = b"\x0a\x01s\x1a\x1c\x12\x1a\x1a\x18\x0a\x11\x12\x0f\x12\x0d\x0a\x07parquet\
            \"\x02/x\x12\x01v \x01";
        assert_eq!(request.encode_to_vec(), expected);
    }

    /// The bytes that Spark's own Python client writes for `spark.sql("SELECT 1")`: field 3 of the
    /// request is a plan, its field 1 a relation, whose field 10 is SQL.
    #[test]
    fn a_request_has_the_published_field_numbers() {
        let sql = RelationKind::Sql(Sql { query: "SELECT 1".to_owned() });
        let request = ExecutePlanRequest {
            user_context: Some(UserContext { user_id: "u".to_owned() }),
            client_type: Some("c".to_owned()),
            ..request(PlanKind::Root(Relation { kind: Some(sql) }))
        };
        let expected = b"\x0a\x01s\x12\x03\x0a\x01u\x1a\x0e\x0a\x0cR\x0a\x0a\x08SELECT 1\x22\x01c";
        assert_eq!(request.encode_to_vec(), expected);
    }
}
