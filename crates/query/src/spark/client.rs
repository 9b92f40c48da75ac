//! Calls to a server of Spark Connect, and their failures in our words.

use std::error::Error as _;
use std::time::Duration;

use prost::Message;
use tonic::codec::Streaming;
use tonic::codegen::http::uri::PathAndQuery;
use tonic::metadata::{AsciiMetadataKey, AsciiMetadataValue};
use tonic::transport::{Channel, ClientTlsConfig, Endpoint};
use tonic::{Code, Request, Status};
use tonic_prost::ProstCodec;

use super::address::SparkAddress;
use super::answer::AnswerParts;
use super::proto::{
    AnalyzePlanRequest, AnalyzePlanResponse, CreateDataFrameView, ErrorInfo, ExecutePlanRequest,
    ExecutePlanResponse, Nothing, Plan, PlanKind, ReattachExecuteRequest, ReattachOptions,
    Relation, RelationKind, ReleaseExecuteRequest, ReleaseSessionRequest, RequestOption, RpcStatus,
    Sql, UserContext,
};
use crate::error::Error;

/// The name of this program for the server's logs.
const CLIENT: &str = concat!("culprit/", env!("CARGO_PKG_VERSION"));
/// A server that takes longer to accept a connection is not there.
const CONNECT: Duration = Duration::from_secs(10);
/// A server that takes longer to say its version does not speak this protocol. A hosted cluster that has to
/// start first takes some minutes.
const FIRST_ANSWER: Duration = Duration::from_secs(300);
/// How long an idle connection may be silent before the system asks whether the other side is there.
const KEEP_ALIVE: Duration = Duration::from_secs(30);
/// Bytes of a part of an answer at most: what a server sends at most, unless it is set up otherwise.
const LARGEST_PART: usize = 128 << 20;
/// The first version with this protocol.
const OLDEST: (u32, u32) = (3, 4);

/// A call without an answer.
#[derive(Debug)]
pub(super) enum CallFailure {
    /// What the server, or the connection to it, said.
    Status(Status),
    /// It was not sent.
    Error(Error),
}

/// A connection.
#[derive(Debug, Clone)]
pub(super) struct Client {
    channel: Channel,
    address: SparkAddress,
}

impl Client {
    /// Connects and asks for the server's version.
    ///
    /// # Errors
    /// When nobody answers, or the answer is not that of a server that can be used.
    pub(super) async fn connect(
        address: &SparkAddress,
        session: &str,
    ) -> Result<(Self, String), Error> {
        let unreachable = |why: &dyn std::error::Error| Error::Unreachable {
            address: address.to_string(),
            why: innermost(why),
        };
        let mut endpoint = Endpoint::from_shared(address.uri())
            .and_then(|endpoint| endpoint.user_agent(CLIENT))
            .map_err(|error| unreachable(&error))?
            .connect_timeout(CONNECT)
            .tcp_keepalive(Some(KEEP_ALIVE));
        if address.tls {
            let tls = ClientTlsConfig::new().with_native_roots();
            endpoint = endpoint.tls_config(tls).map_err(|error| unreachable(&error))?;
        }
        let channel = endpoint.connect().await.map_err(|error| unreachable(&error))?;
        let client = Self { channel, address: address.clone() };
        let asked = tokio::time::timeout(FIRST_ANSWER, client.version(session)).await;
        let version = asked.unwrap_or_else(|_| {
            let seconds = FIRST_ANSWER.as_secs();
            Err(client.unusable(format!("it did not say its version within {seconds} s")))
        })?;
        if number(&version).is_none_or(|version| version < OLDEST) {
            let (major, minor) = OLDEST;
            let why = format!("it has version `{version}`; {major}.{minor} is the oldest");
            return Err(client.unusable(why));
        }
        Ok((client, version))
    }

    async fn version(&self, session: &str) -> Result<String, Error> {
        let request = AnalyzePlanRequest {
            session_id: session.to_owned(),
            user_context: self.user(),
            client_type: Some(CLIENT.to_owned()),
            spark_version: Some(Nothing {}),
        };
        let answer: AnalyzePlanResponse = self.call("AnalyzePlan", request).await?;
        Ok(answer.spark_version.unwrap_or_default().version)
    }

    /// Runs a question; its rows come in parts.
    ///
    /// # Errors
    /// When the server refuses it.
    pub(super) async fn ask(&self, session: &str, sql: String) -> Result<AnswerParts, Error> {
        let kind = RelationKind::Sql(Sql { query: sql });
        self.execute(session, PlanKind::Root(Relation { kind: Some(kind) })).await
    }

    /// Gives rows a name within the session.
    ///
    /// # Errors
    /// When the server refuses it.
    pub(super) async fn create_view(
        &self,
        session: &str,
        name: String,
        rows: RelationKind,
    ) -> Result<(), Error> {
        let view = CreateDataFrameView {
            input: Some(Relation { kind: Some(rows) }),
            name,
            is_global: false,
            replace: true,
        };
        let command = super::proto::Command { create_view: Some(view) };
        let mut parts = self.execute(session, PlanKind::Command(command)).await?;
        while parts.next().await?.is_some() {}
        Ok(())
    }

    async fn execute(&self, session: &str, plan: PlanKind) -> Result<AnswerParts, Error> {
        let [first, second, ..] = super::slice::random().map_err(Error::Threads)?;
        let operation = super::session_id([first, second]);
        let option = RequestOption { reattach: Some(ReattachOptions { reattachable: true }) };
        let request = ExecutePlanRequest {
            session_id: session.to_owned(),
            user_context: self.user(),
            plan: Some(Plan { kind: Some(plan) }),
            client_type: Some(CLIENT.to_owned()),
            request_options: vec![option],
            operation_id: Some(operation.clone()),
        };
        let parts = self.stream("ExecutePlan", request).await.map_err(|failure| match failure {
            CallFailure::Status(status) => self.failed(&status),
            CallFailure::Error(error) => error,
        })?;
        Ok(AnswerParts::new(self.clone(), session.to_owned(), operation, parts))
    }

    /// Asks for the parts of an answer behind the last one that was received.
    pub(super) async fn reattach(
        &self,
        session: &str,
        operation: &str,
        last: Option<String>,
    ) -> Result<Streaming<ExecutePlanResponse>, CallFailure> {
        let request = ReattachExecuteRequest {
            session_id: session.to_owned(),
            user_context: self.user(),
            operation_id: operation.to_owned(),
            client_type: Some(CLIENT.to_owned()),
            last_response_id: last,
        };
        self.stream("ReattachExecute", request).await
    }

    /// Says that all of an answer was received. That it has ended already changes nothing.
    pub(super) async fn release_answer(&self, session: &str, operation: &str) {
        let request = ReleaseExecuteRequest {
            session_id: session.to_owned(),
            user_context: self.user(),
            operation_id: operation.to_owned(),
            client_type: Some(CLIENT.to_owned()),
            release_all: Some(Nothing {}),
        };
        let _: Result<Nothing, Error> = self.call("ReleaseExecute", request).await;
    }

    async fn stream<Q: Message + Send + Sync + 'static>(
        &self,
        name: &'static str,
        request: Q,
    ) -> Result<Streaming<ExecutePlanResponse>, CallFailure> {
        let mut grpc = self.grpc().await.map_err(CallFailure::Error)?;
        let codec = ProstCodec::<Q, ExecutePlanResponse>::default();
        let request = self.request(request).map_err(CallFailure::Error)?;
        let answer = grpc.server_streaming(request, path(name), codec).await;
        answer.map(tonic::Response::into_inner).map_err(CallFailure::Status)
    }

    /// Ends a session. That it has ended already, or that nobody answers, changes nothing.
    pub(super) async fn release(&self, session: &str) {
        let request = ReleaseSessionRequest {
            session_id: session.to_owned(),
            user_context: self.user(),
            client_type: Some(CLIENT.to_owned()),
        };
        let _: Result<Nothing, Error> = self.call("ReleaseSession", request).await;
    }

    async fn call<Q, A>(&self, name: &'static str, request: Q) -> Result<A, Error>
    where
        Q: Message + Send + Sync + 'static,
        A: Message + Default + Send + Sync + 'static,
    {
        let mut grpc = self.grpc().await?;
        let codec = ProstCodec::<Q, A>::default();
        let answer = grpc.unary(self.request(request)?, path(name), codec).await;
        answer.map(tonic::Response::into_inner).map_err(|status| self.failed(&status))
    }

    async fn grpc(&self) -> Result<tonic::client::Grpc<Channel>, Error> {
        let grpc = tonic::client::Grpc::new(self.channel.clone());
        let mut grpc = grpc.max_decoding_message_size(LARGEST_PART);
        grpc.ready().await.map_err(|error| Error::Unreachable {
            address: self.address.to_string(),
            why: innermost(&error),
        })?;
        Ok(grpc)
    }

    fn user(&self) -> Option<UserContext> {
        Some(UserContext { user_id: self.address.user.clone() })
    }

    /// A request with token and headers.
    fn request<M>(&self, message: M) -> Result<Request<M>, Error> {
        let mut request = Request::new(message);
        let token = self.address.token.iter();
        let token = token.map(|token| ("authorization".to_owned(), format!("Bearer {token}")));
        for (name, value) in token.chain(self.address.headers.iter().cloned()) {
            let wrong = || Error::Address { why: format!("`{name}` cannot be sent as a header") };
            let key = AsciiMetadataKey::from_bytes(name.as_bytes()).map_err(|_| wrong())?;
            let mut value = AsciiMetadataValue::try_from(value.as_str()).map_err(|_| wrong())?;
            value.set_sensitive(true);
            request.metadata_mut().insert(key, value);
        }
        Ok(request)
    }

    fn unusable(&self, why: String) -> Error {
        Error::NoSparkConnect { address: self.address.to_string(), why }
    }

    /// An answer that ended in the middle and cannot go on, in our words.
    pub(super) fn cut(&self, lost: Option<&Status>, refused: &Status) -> Error {
        let ended = lost.map_or_else(
            || "it ended".to_owned(),
            |status| status.source().map_or_else(|| first_line(status.message()), innermost),
        );
        let why = format!(
            "the connection ended in the middle of an answer ({ended}), and the rest cannot be had: {}",
            first_line(refused.message())
        );
        Error::Unreachable { address: self.address.to_string(), why }
    }

    /// A failed call in our words.
    pub(super) fn failed(&self, status: &Status) -> Error {
        let address = self.address.to_string();
        let why = first_line(status.message());
        let cause = || status.source().map_or_else(|| why.clone(), innermost);
        match status.code() {
            Code::Unavailable => Error::Unreachable { address, why: cause() },
            Code::Unauthenticated | Code::PermissionDenied => Error::EngineRefused { address, why },
            Code::Unimplemented => self.unusable(why),
            _ if lacks_module(&why) => Error::EngineLacks { address, why },
            // What is no HTTP/2, or no gRPC in it.
            Code::Unknown | Code::Internal if status.source().is_some() => self.unusable(cause()),
            _ => Error::EngineFailed { address, why, is_input: is_input(status) },
        }
    }
}

/// True when an engine in Python lacks a package. Some say so with the class of a wrong question.
fn lacks_module(why: &str) -> bool {
    why.contains("ModuleNotFoundError: ")
}

/// True when the question is what is wrong: its text, its names, its values.
///
/// The state of an error has the classes of the SQL standard: 42 is syntax and names, 22 data, 0A a
/// feature that is not there. An engine that gives none names the class of its error in brackets.
fn is_input(status: &Status) -> bool {
    let details = RpcStatus::decode(status.details()).unwrap_or_default().details;
    let info = details.iter().find(|detail| detail.type_url.ends_with("google.rpc.ErrorInfo"));
    let info = info.and_then(|detail| ErrorInfo::decode(detail.value.as_slice()).ok());
    let info = info.unwrap_or_default();
    match info.metadata.get("sqlState") {
        Some(state) => ["42", "22", "0A"].iter().any(|class| state.starts_with(class)),
        None => {
            let classes = [
                "AnalysisException",
                "ParseException",
                "ArithmeticException",
                "IllegalArgumentException",
            ];
            status.code() == Code::InvalidArgument
                || classes.iter().any(|class| info.reason.ends_with(class))
        }
    }
}

fn path(name: &'static str) -> PathAndQuery {
    match name {
        "ExecutePlan" => {
            PathAndQuery::from_static("/spark.connect.SparkConnectService/ExecutePlan")
        }
        "AnalyzePlan" => {
            PathAndQuery::from_static("/spark.connect.SparkConnectService/AnalyzePlan")
        }
        "ReattachExecute" => {
            PathAndQuery::from_static("/spark.connect.SparkConnectService/ReattachExecute")
        }
        "ReleaseExecute" => {
            PathAndQuery::from_static("/spark.connect.SparkConnectService/ReleaseExecute")
        }
        _ => PathAndQuery::from_static("/spark.connect.SparkConnectService/ReleaseSession"),
    }
}

/// `4.1.0` and `3.5.1-amzn-0` as numbers.
fn number(version: &str) -> Option<(u32, u32)> {
    let mut parts = version.split(['.', '-']);
    Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
}

/// What the system said; what stands above it repeats it with fewer words.
fn innermost(error: &dyn std::error::Error) -> String {
    let mut innermost = error;
    while let Some(source) = innermost.source() {
        innermost = source;
    }
    innermost.to_string()
}

/// Stack traces of the server's language follow after the first line.
fn first_line(text: &str) -> String {
    text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_engine_without_a_package_is_what_is_wrong() {
        // A channel is made in a runtime, also one that nobody uses.
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let _inside = runtime.enter();
        let address = SparkAddress::parse("sc://127.0.0.1:1").unwrap();
        let channel = Endpoint::from_static("http://127.0.0.1:1").connect_lazy();
        let client = Client { channel, address };
        let failed = |why: &str| client.failed(&Status::invalid_argument(why));
        // What Sail says without `pyspark-client`.
        let error = failed(
            "invalid argument: failed to get PySpark version: ModuleNotFoundError: No module named \
             'pyspark'",
        );
        assert!(error.is_refusal() && error.to_string().ends_with("'pyspark'"), "{error}");
        assert!(error.hints().join(" ").contains("pip install pysail pyspark-client"), "{error}");
        assert!(!failed("cannot resolve `shards`").is_refusal());
    }

    #[test]
    fn versions_are_numbers() {
        assert_eq!(number("4.1.0"), Some((4, 1)));
        assert_eq!(number("3.5-databricks"), Some((3, 5)));
        assert!(number("3.3.2").unwrap() < OLDEST && number("").is_none());
    }
}
