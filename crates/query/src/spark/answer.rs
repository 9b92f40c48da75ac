//! The parts of an answer as they come, also when the connection ends in the middle.
//!
//! ```text
//! ExecutePlan      part 1, part 2, ... the connection ends
//! ReattachExecute  behind part 2: part 3, ..., "complete"
//! ReleaseExecute   the server need not keep the parts
//! ```
//!
//! A server closes long answers itself from time to time, and expects that the client comes back. One before
//! version 3.5 numbers no parts: there an answer ends with its connection.

use std::time::Duration;

use tonic::codec::Streaming;
use tonic::{Code, Status};

use super::client::{CallFailure, Client};
use super::proto::ExecutePlanResponse;
use crate::error::Error;

/// How often in a row the rest is asked for without a part that follows.
const ATTEMPTS: u32 = 5;
/// How long to wait before the second time; twice as long before each further one.
const PAUSE: Duration = Duration::from_millis(200);

/// An answer under way.
#[derive(Debug)]
pub(super) struct AnswerParts {
    client: Client,
    session: String,
    operation: String,
    parts: Streaming<ExecutePlanResponse>,
    /// The last part that was received; none without one, or where parts have no names.
    last: Option<String>,
    attempts: u32,
    done: bool,
}

impl AnswerParts {
    pub(super) fn new(
        client: Client,
        session: String,
        operation: String,
        parts: Streaming<ExecutePlanResponse>,
    ) -> Self {
        Self { client, session, operation, parts, last: None, attempts: 0, done: false }
    }

    /// The next part; none at the end.
    ///
    /// # Errors
    /// When the server fails, or its connection ends and the rest cannot be had.
    pub(super) async fn next(&mut self) -> Result<Option<ExecutePlanResponse>, Error> {
        while !self.done {
            match self.parts.message().await {
                Ok(Some(part)) => {
                    self.attempts = 0;
                    if !part.response_id.is_empty() {
                        self.last = Some(part.response_id.clone());
                    }
                    if part.result_complete.is_some() {
                        self.done = true;
                        self.client.release_answer(&self.session, &self.operation).await;
                    }
                    return Ok(Some(part));
                }
                Ok(None) if self.last.is_none() => self.done = true,
                Ok(None) => self.go_on(None).await?,
                Err(status) if is_lost(&status) => self.go_on(Some(status)).await?,
                Err(status) => return Err(self.client.failed(&status)),
            }
        }
        Ok(None)
    }

    /// Asks for the rest. `lost` is why it is not coming by itself.
    async fn go_on(&mut self, mut lost: Option<Status>) -> Result<(), Error> {
        while self.attempts < ATTEMPTS {
            if self.attempts > 0 {
                tokio::time::sleep(PAUSE * 2_u32.pow(self.attempts - 1)).await;
            }
            self.attempts += 1;
            let rest = self.client.reattach(&self.session, &self.operation, self.last.clone());
            match rest.await {
                Ok(parts) => {
                    self.parts = parts;
                    return Ok(());
                }
                Err(CallFailure::Status(status)) if is_lost(&status) => lost = Some(status),
                Err(CallFailure::Status(status)) => {
                    return Err(self.client.cut(lost.as_ref(), &status));
                }
                // Nobody listens: perhaps not yet again.
                Err(CallFailure::Error(error)) if self.attempts == ATTEMPTS => return Err(error),
                Err(CallFailure::Error(_)) => {}
            }
        }
        Err(self.client.cut(lost.as_ref(), &Status::unavailable("it ends again and again")))
    }
}

/// True when the connection is what failed.
fn is_lost(status: &Status) -> bool {
    use std::error::Error as _;
    let by_transport = matches!(status.code(), Code::Unknown | Code::Internal | Code::Cancelled);
    status.code() == Code::Unavailable || by_transport && status.source().is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_server_says_is_no_lost_connection() {
        assert!(is_lost(&Status::unavailable("gone")));
        assert!(!is_lost(&Status::internal("division by zero")));
        let broken = std::io::Error::from(std::io::ErrorKind::ConnectionReset);
        let mut status = Status::unknown("error reading a body from connection");
        status.set_source(std::sync::Arc::new(broken));
        assert!(is_lost(&status));
    }
}
