//! Questions that an Apache Spark answers, over Spark Connect: a user's own cluster, near the files.
//!
//! ```text
//! question -> parsed, refused if it would change anything      question.rs, as everywhere
//!          -> its tables: a view over their files, each with    tables.rs
//!             the types that the tables have here               dialect.rs
//!          -> the same for a slice of the files, which this     slice.rs
//!             machine computes as well; rows must be equal      compare.rs
//!          -> the text in the cluster's quotes                  dialect.rs
//!          -> rows as Arrow batches                             client.rs, answer.rs, proto.rs
//! ```
//!
//! What leaves this machine: names and paths of tables, questions. What comes back: rows of answers.

mod address;
mod answer;
mod client;
mod compare;
mod dialect;
mod proto;
mod slice;
mod tables;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::{Schema, SchemaRef};
use datafusion::arrow::ipc::reader::StreamReader;
use datafusion::error::DataFusionError;
use datafusion::execution::SendableRecordBatchStream;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use futures_util::{StreamExt as _, stream};

pub use address::SparkAddress;

use crate::dataset::TableFiles;
use crate::error::Error;
use crate::runtime::{Stop, Threads};
use answer::AnswerParts;
use client::Client;
use slice::Slice;
use tables::Registered;

/// How long the end of the sessions may take: they end by themselves, too.
const GOODBYE: Duration = Duration::from_secs(2);

/// An engine as the user names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Engine {
    /// Where it is.
    pub address: SparkAddress,
    /// Where it sees the folder of the tables; none when it is the same path there as here.
    pub path: Option<String>,
}

/// What was compared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checked {
    /// The engine.
    pub address: String,
    /// Its version.
    pub version: String,
    /// The slice.
    pub slice: String,
    /// Questions whose answers were equal.
    pub questions: usize,
    /// Rows of these answers.
    pub rows: usize,
}

/// A connection to an engine, for the tables of one folder.
#[derive(Debug, Clone)]
pub(crate) struct Cluster(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    client: Client,
    version: String,
    engine: Engine,
    folder: PathBuf,
    /// The slice for the comparison.
    slice: Slice,
    whole: Session,
    part: Session,
    checked: Mutex<(usize, usize)>,
    threads: Threads,
}

/// A session on the server: its views are seen by nobody else.
#[derive(Debug)]
struct Session {
    id: String,
    registered: Registered,
}

/// Which rows of the tables a question is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Extent {
    /// All.
    Whole,
    /// Those of the slice.
    Slice,
}

impl Cluster {
    /// Connects for the tables of a folder, and chooses the slice.
    ///
    /// # Errors
    /// When nobody answers, or the answer is not that of a server that can be used.
    pub(crate) fn connect(
        engine: Engine,
        folder: &Path,
        tables: &[TableFiles],
        stop: &Stop,
    ) -> Result<Self, Error> {
        let folder = std::path::absolute(folder).map_err(Error::Threads)?;
        let [first, second, third, random] = slice::random().map_err(Error::Threads)?;
        let session =
            |number| Session { id: session_id(number), registered: Registered::default() };
        let (whole, part) = (session([first, second]), session([third, second]));
        // All that this machine does meanwhile is to wait and to decode.
        let threads = Threads::start(1)?;
        let (address, id) = (engine.address.clone(), whole.id.clone());
        let connecting = async move { Client::connect(&address, &id).await };
        let (client, version) = threads.wait(stop, connecting)?;
        let slice = Slice::choose(tables, random);
        let checked = Mutex::default();
        let inner = Inner { client, version, engine, folder, slice, whole, part, checked, threads };
        Ok(Self(Arc::new(inner)))
    }

    /// The threads that wait for the engine.
    pub(crate) fn threads(&self) -> &Threads {
        &self.0.threads
    }

    /// The files of the slice.
    pub(crate) fn slice(&self) -> &[TableFiles] {
        &self.0.slice.tables
    }

    /// What was compared so far.
    pub(crate) fn checked(&self) -> Checked {
        let (questions, rows) = *self.0.checked.lock().unwrap_or_else(PoisonError::into_inner);
        Checked {
            address: self.0.engine.address.to_string(),
            version: self.0.version.clone(),
            slice: self.0.slice.name.clone(),
            questions,
            rows,
        }
    }

    /// The rows of a question about these tables as they come.
    ///
    /// # Errors
    /// When the engine cannot answer.
    pub(crate) async fn ask(
        &self,
        sql: &str,
        tables: &[TableFiles],
        extent: Extent,
    ) -> Result<SendableRecordBatchStream, Error> {
        let Inner { client, engine, folder, .. } = self.0.as_ref();
        let session = match extent {
            Extent::Whole => &self.0.whole,
            Extent::Slice => &self.0.part,
        };
        for table in tables {
            session.registered.add(client, &session.id, table, (folder, engine)).await?;
        }
        let parts = client.ask(&session.id, dialect::spark_text(sql)?).await?;
        rows(parts).await
    }

    /// Compares what both engines computed of the slice.
    ///
    /// # Errors
    /// When it differs.
    pub(crate) fn compare(
        &self,
        here: Vec<Vec<crate::Value>>,
        there: Vec<Vec<crate::Value>>,
    ) -> Result<(), Error> {
        let rows = here.len();
        if let Some((here, there)) = compare::difference(here, there) {
            let address = self.0.engine.address.to_string();
            return Err(Error::Differs { address, slice: self.0.slice.name.clone(), here, there });
        }
        let mut checked = self.0.checked.lock().unwrap_or_else(PoisonError::into_inner);
        *checked = (checked.0 + 1, checked.1 + rows);
        Ok(())
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        // A thread that serves the connection cannot wait for it.
        if tokio::runtime::Handle::try_current().is_ok() {
            return;
        }
        let (client, ids) = (self.client.clone(), [self.whole.id.clone(), self.part.id.clone()]);
        let goodbye = async move {
            for id in &ids {
                client.release(id).await;
            }
            Ok(())
        };
        let goodbye = async move { tokio::time::timeout(GOODBYE, goodbye).await.unwrap_or(Ok(())) };
        let _: Result<(), Error> = self.threads.wait(&Stop::default(), goodbye);
    }
}

/// A session's id has the form of a UUID of version 4.
fn session_id([high, low]: [u64; 2]) -> String {
    let high = high & !0xf000 | 0x4000;
    let low = low & !(3 << 62) | 1 << 63;
    format!(
        "{:08x}-{:04x}-{:04x}-{:04x}-{:012x}",
        high >> 32,
        high >> 16 & 0xffff,
        high & 0xffff,
        low >> 48,
        low & 0xffff_ffff_ffff
    )
}

/// Parts of an answer as batches. The first part tells the columns, also of an answer without rows.
async fn rows(mut parts: AnswerParts) -> Result<SendableRecordBatchStream, Error> {
    let (mut schema, mut first): (SchemaRef, _) = (Arc::new(Schema::empty()), Vec::new());
    while let Some(part) = parts.next().await? {
        if let Some(batch) = part.arrow_batch {
            (schema, first) = batches(&batch.data)?;
            break;
        }
    }
    let more = stream::unfold(parts, async |mut parts| {
        let batches = match parts.next().await {
            Ok(None) => return None,
            Ok(Some(part)) => match part.arrow_batch {
                Some(batch) => batches(&batch.data).map(|(_, batches)| batches),
                None => Ok(Vec::new()),
            },
            Err(error) => Err(error),
        };
        let batches = batches.map_err(|error| DataFusionError::External(Box::new(error)));
        Some((batches, parts))
    });
    let flat = |batches: Result<Vec<RecordBatch>, DataFusionError>| match batches {
        Ok(batches) => stream::iter(batches.into_iter().map(Ok).collect::<Vec<_>>()),
        Err(error) => stream::iter(vec![Err(error)]),
    };
    let all = stream::iter(first.into_iter().map(Ok)).chain(more.flat_map(flat));
    Ok(Box::pin(RecordBatchStreamAdapter::new(schema, all)))
}

/// The batches of one part, and their columns.
fn batches(data: &[u8]) -> Result<(SchemaRef, Vec<RecordBatch>), Error> {
    let failed = |error: datafusion::arrow::error::ArrowError| Error::Run {
        why: format!("the engine's rows cannot be read: {error}"),
    };
    let reader = StreamReader::try_new(data, None).map_err(failed)?;
    let schema = reader.schema();
    Ok((schema, reader.collect::<Result<_, _>>().map_err(failed)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn session_ids_are_uuids() {
        let id = session_id([u64::MAX, 0]);
        assert_eq!(id, "ffffffff-ffff-4fff-8000-000000000000");
        assert_ne!(session_id([1, 2]), session_id([1, 3]));
    }
}
