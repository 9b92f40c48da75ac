//! A table in Parquet files as DataFusion asks for it.
//!
//! Each part of a scan reads its files one after the other, only the columns that the question
//! needs, with the bounded reader of recordings. One file's columns are in memory at a time, and
//! count towards the limit.

use std::sync::Arc;

use async_trait::async_trait;
use culprit_model::Column;
use datafusion::arrow::array::{RecordBatch, RecordBatchOptions};
use datafusion::arrow::datatypes::{Field, Schema, SchemaRef};
use datafusion::catalog::{Session, TableProvider};
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryReservation};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::logical_expr::{Expr, TableType};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::streaming::{PartitionStream, StreamingTableExec};
use futures_util::stream;

use crate::columns::{WideNumbers, stored_array, stored_type};
use crate::dataset::{TableFile, TableFiles};
use crate::error::Error;

/// Rows that are handed on at once.
const BATCH: usize = 8192;

/// A table in files.
#[derive(Debug)]
pub(crate) struct FilesTable {
    table: TableFiles,
    schema: SchemaRef,
    parts: usize,
    wide: WideNumbers,
}

impl FilesTable {
    /// A table whose files `parts` threads read.
    pub(crate) fn new(table: TableFiles, parts: usize, wide: WideNumbers) -> Self {
        let schema = stored_schema(table.table.columns, wide);
        Self { table, schema, parts: parts.max(1), wide }
    }
}

#[async_trait]
impl TableProvider for FilesTable {
    fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    async fn scan(
        &self,
        _: &dyn Session,
        projection: Option<&Vec<usize>>,
        _: &[Expr],
        limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let all: Vec<usize> = (0..self.table.table.columns.len()).collect();
        let wanted = projection.unwrap_or(&all);
        let columns: Vec<Column> = wanted.iter().map(|at| self.table.table.columns[*at]).collect();
        let columns: Arc<[Column]> = columns.into();
        let schema = stored_schema(&columns, self.wide);
        let parts = self.table.files.len().clamp(1, self.parts);
        let part = |first: usize| {
            Arc::new(Part {
                table: self.table.table.name,
                columns: columns.clone(),
                schema: schema.clone(),
                wide: self.wide,
                files: self.table.files.iter().skip(first).step_by(parts).cloned().collect(),
            }) as Arc<dyn PartitionStream>
        };
        let parts = (0..parts).map(part).collect();
        Ok(Arc::new(StreamingTableExec::try_new(schema, parts, None, None, false, limit)?))
    }
}

/// The schema of some columns.
pub(crate) fn stored_schema(columns: &[Column], wide: WideNumbers) -> SchemaRef {
    let field =
        |column: &Column| Field::new(column.name, stored_type(column, wide), column.nullable);
    Arc::new(Schema::new(columns.iter().map(field).collect::<Vec<_>>()))
}

/// Files that one thread reads.
#[derive(Debug)]
struct Part {
    table: &'static str,
    columns: Arc<[Column]>,
    schema: SchemaRef,
    wide: WideNumbers,
    files: Arc<[TableFile]>,
}

impl PartitionStream for Part {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn execute(&self, context: Arc<TaskContext>) -> SendableRecordBatchStream {
        let memory = MemoryConsumer::new(format!("reading `{}`", self.table))
            .register(context.memory_pool());
        let batches = Batches {
            columns: self.columns.clone(),
            schema: self.schema.clone(),
            wide: self.wide,
            files: self.files.clone(),
            next: 0,
            open: None,
            memory,
        };
        Box::pin(RecordBatchStreamAdapter::new(self.schema.clone(), stream::iter(batches)))
    }
}

/// The rows of some files, batch by batch.
struct Batches {
    columns: Arc<[Column]>,
    schema: SchemaRef,
    wide: WideNumbers,
    files: Arc<[TableFile]>,
    next: usize,
    /// The rows of the open file, and how many of them were handed on.
    open: Option<(RecordBatch, usize)>,
    memory: MemoryReservation,
}

impl Iterator for Batches {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some((rows, done)) = &mut self.open
                && *done < rows.num_rows()
            {
                let count = BATCH.min(rows.num_rows() - *done);
                let batch = rows.slice(*done, count);
                *done += count;
                return Some(Ok(batch));
            }
            self.open = None;
            let file = self.files.get(self.next)?.clone();
            self.next += 1;
            match self.read(&file) {
                Ok(rows) => self.open = Some((rows, 0)),
                Err(error) => {
                    // Nothing after an error.
                    self.next = self.files.len();
                    return Some(Err(error));
                }
            }
        }
    }
}

impl Batches {
    fn read(&self, file: &TableFile) -> Result<RecordBatch> {
        let path = &file.path;
        let failed = |error: std::io::Error| {
            DataFusionError::Execution(format!("cannot read `{}`: {error}", path.display()))
        };
        let damaged = |why: String| {
            DataFusionError::External(Box::new(Error::Damaged { path: path.clone(), why }))
        };
        self.memory.free();
        let size = std::fs::metadata(path).map_err(failed)?.len();
        self.memory.try_grow(usize::try_from(size).unwrap_or(usize::MAX))?;
        let bytes = std::fs::read(path).map_err(failed)?;
        // A flipped bit is another number more often than an error of the format.
        if !file.may_be(&bytes) {
            return Err(damaged("its bytes are not those that were written".to_owned()));
        }
        let read = culprit_recording::read_columns(&self.columns, &bytes).map_err(damaged)?;
        let columns = self.columns.iter().zip(read.columns);
        let arrays = columns.map(|(column, data)| stored_array(column, data, self.wide));
        let arrays = arrays.collect::<Result<_>>()?;
        let options = RecordBatchOptions::new().with_row_count(Some(read.rows));
        let batch = RecordBatch::try_new_with_options(self.schema.clone(), arrays, &options)?;
        drop(bytes);
        self.memory.try_resize(batch.get_array_memory_size())?;
        Ok(batch)
    }
}
