//! `stack_paths`: every stack written out, a row a frame.
//!
//! A recording keeps its stacks as a prefix tree, a row a node. Written out they are as many rows
//! as all stacks have frames together, mostly millions, so the rows are made when they are asked
//! for and never held: the tree's columns are all that is in memory.

use std::sync::Arc;

use culprit_model::{FrameId, Row as _, Stack, StackId, table};
use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::catalog::streaming::StreamingTable;
use datafusion::error::Result;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::streaming::PartitionStream;

use crate::columns::Batches;
use crate::schema::arrow_schema;

/// Rows that are made at once.
const BATCH: usize = 8192;

table! {
    /// A frame of a stack: one row for each of its frames, the leaf first.
    StackPath in "stack_paths" {
        /// The whole stack.
        stack: StackId,
        /// How many frames stand between this one and the root: 0 for the root-most frame.
        depth: u32,
        /// How many frames stand between this one and the leaf: 0 for where the stack ends.
        height: u32,
        /// The stack that ends here: this frame and its callers.
        node: StackId,
        /// The frame.
        frame: FrameId,
    }
}

/// The stacks of one recording, to be written out.
#[derive(Debug)]
pub(crate) struct PathsOf {
    batches: Batches,
    recording: u16,
    stacks: Vec<Stack>,
    /// For each stack how many frames are below its own.
    depths: Vec<u32>,
}

impl PathsOf {
    /// Of a recording's stacks, whose parents stand before their children.
    pub(crate) fn new(batches: Batches, recording: u16, stacks: Vec<Stack>) -> Self {
        let mut depths: Vec<u32> = Vec::with_capacity(stacks.len());
        for stack in &stacks {
            let below = stack.parent.and_then(|parent| depths.get(parent.index()));
            depths.push(below.map_or(0, |depth| depth.saturating_add(1)));
        }
        Self { batches, recording, stacks, depths }
    }

    /// Bytes that it takes.
    pub(crate) fn bytes(&self) -> usize {
        self.stacks.len() * (size_of::<Stack>() + size_of::<u32>())
    }

    /// The rows of one stack from `node` on towards the root.
    fn step(&self, stack: StackId, node: StackId) -> Option<(StackPath, Option<StackId>)> {
        let at = self.stacks.get(node.index())?;
        let depth = self.depths[node.index()];
        let height = self.depths[stack.index()].saturating_sub(depth);
        Some((StackPath { stack, depth, height, node, frame: at.frame }, at.parent))
    }
}

/// Where the writing out of a recording's stacks stands.
struct Writer {
    of: Arc<PathsOf>,
    stack: usize,
    node: Option<StackId>,
}

impl Iterator for Writer {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        let mut rows = Vec::with_capacity(BATCH);
        while rows.len() < BATCH && self.stack < self.of.stacks.len() {
            let stack = StackId::from_index(self.stack);
            let node = self.node.unwrap_or(stack);
            let (row, parent) = self.of.step(stack, node)?;
            rows.push(row);
            self.node = parent;
            self.stack += usize::from(parent.is_none());
        }
        (!rows.is_empty()).then(|| self.of.batches.batch(self.of.recording, 0, &rows))
    }
}

/// One recording's rows as DataFusion asks for them.
#[derive(Debug)]
struct Part(Arc<PathsOf>);

impl PartitionStream for Part {
    fn schema(&self) -> &SchemaRef {
        self.0.batches.schema()
    }

    fn execute(&self, _: Arc<TaskContext>) -> SendableRecordBatchStream {
        let writer = Writer { of: self.0.clone(), stack: 0, node: None };
        let rows = futures_util::stream::iter(writer);
        Box::pin(RecordBatchStreamAdapter::new(self.schema().clone(), rows))
    }
}

/// The table of some recordings' stacks.
pub(crate) fn stream(parts: Vec<PathsOf>) -> Result<StreamingTable> {
    let parts = parts.into_iter().map(|part| Arc::new(Part(Arc::new(part))) as Arc<_>).collect();
    StreamingTable::try_new(arrow_schema(&StackPath::TABLE), parts)
}
