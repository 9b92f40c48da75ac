//! DataFusion, set up to read and to stay within bounds; its errors in our words.

use std::collections::BTreeSet;
use std::num::NonZeroUsize;
use std::sync::Arc;

use datafusion::catalog::view::ViewTable;
use datafusion::common::metadata::FieldMetadata;
use datafusion::common::{Column, DataFusionError, SchemaError};
use datafusion::execution::disk_manager::{DiskManagerBuilder, DiskManagerMode};
use datafusion::execution::memory_pool::{
    FairSpillPool, GreedyMemoryPool, MemoryPool, TrackConsumersPool,
};
use datafusion::execution::runtime_env::RuntimeEnvBuilder;
use datafusion::logical_expr::{LogicalPlan, LogicalPlanBuilder, col};
use datafusion::prelude::{SQLOptions, SessionConfig, SessionContext};
use datafusion::sql::parser::Statement;

use crate::error::Error;
use crate::near::near;
use crate::question::syntax;
use crate::schema::UNIT;
use crate::store::Limits;
use crate::views::{ViewColumn, view, view_columns};

/// How many consumers of memory an error names.
const NAMED: usize = 2;

/// An empty session that cannot write: no spilling to disk either, so that a question leaves
/// nothing behind.
///
/// # Errors
/// When DataFusion cannot be set up.
pub(crate) fn session(limits: &Limits) -> Result<SessionContext, Error> {
    let pool = TrackConsumersPool::new(GreedyMemoryPool::new(bytes(limits)), named());
    session_in(limits, Arc::new(pool), DiskManagerMode::Disabled)
}

/// How tables are joined.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Joins {
    /// One side is held in memory: quick.
    InMemory,
    /// Both sides are sorted, on the disk if they must.
    Sorted,
}

/// An empty session that sorts and groups on the disk what is larger than its memory.
///
/// # Errors
/// When DataFusion cannot be set up.
pub(crate) fn spilling_session(limits: &Limits, joins: Joins) -> Result<SessionContext, Error> {
    let pool = TrackConsumersPool::new(FairSpillPool::new(bytes(limits)), named());
    let session = session_in(limits, Arc::new(pool), DiskManagerMode::OsTmpDirectory)?;
    let state = session.state_ref();
    state.write().config_mut().options_mut().optimizer.prefer_hash_join = joins == Joins::InMemory;
    Ok(session)
}

fn bytes(limits: &Limits) -> usize {
    usize::try_from(limits.memory_bytes).unwrap_or(usize::MAX)
}

fn named() -> NonZeroUsize {
    NonZeroUsize::new(NAMED).unwrap_or(NonZeroUsize::MIN)
}

fn session_in(
    limits: &Limits,
    pool: Arc<dyn MemoryPool>,
    mode: DiskManagerMode,
) -> Result<SessionContext, Error> {
    let disk = DiskManagerBuilder::default().with_mode(mode);
    let runtime = RuntimeEnvBuilder::new()
        .with_memory_pool(pool)
        .with_disk_manager_builder(disk)
        .build_arc()
        .map_err(problem)?;
    let config = SessionConfig::new()
        .with_target_partitions(limits.threads.max(1))
        .with_information_schema(false);
    Ok(SessionContext::new_with_config_rt(config, runtime))
}

/// Makes a view known whose own tables and views are known.
///
/// # Errors
/// When it cannot be planned.
pub(crate) async fn add_view(session: &SessionContext, name: &str) -> Result<(), Error> {
    let Some((name, sql)) = view(name) else { return Ok(()) };
    let plan = session.state().create_logical_plan(sql).await.map_err(problem)?;
    let plan = with_units(plan, &view_columns(sql)).map_err(problem)?;
    let table = Arc::new(ViewTable::new(plan, Some(sql.to_owned())));
    session.register_table(name, table).map_err(problem)?;
    Ok(())
}

/// The plan with each column's unit, which sums and products have lost.
fn with_units(plan: LogicalPlan, columns: &[ViewColumn]) -> Result<LogicalPlan, DataFusionError> {
    let unit = |name: &str| columns.iter().find(|column| column.name == name).map(|c| c.unit);
    let names: Vec<String> = plan.schema().fields().iter().map(|f| f.name().clone()).collect();
    let named = names.into_iter().map(|name| {
        let unit = unit(&name).filter(|unit| !unit.is_empty());
        let metadata =
            unit.map(|unit| FieldMetadata::new([(UNIT.to_owned(), unit.to_owned())].into()));
        col(Column::new_unqualified(name.clone())).alias_with_metadata(name, metadata)
    });
    LogicalPlanBuilder::from(plan).project(named)?.build()
}

/// A question's plan; one that does more than read is refused.
///
/// # Errors
/// When it makes no sense for the tables, or changes something.
pub(crate) async fn plan(
    session: &SessionContext,
    text: &str,
    statement: Statement,
) -> Result<LogicalPlan, Error> {
    let plan = session.state().statement_to_plan(statement).await;
    let plan = plan.map_err(|error| match error.find_root() {
        DataFusionError::SQL(..) => syntax(text, &error),
        _ => problem(error),
    })?;
    let reads =
        SQLOptions::new().with_allow_ddl(false).with_allow_dml(false).with_allow_statements(false);
    let changes =
        |_| Error::Changes { what: text.split_whitespace().take(2).collect::<Vec<_>>().join(" ") };
    reads.verify_plan(&plan).map_err(changes)?;
    Ok(plan)
}

/// An error of DataFusion in our words; the limit of memory is not known here.
pub(crate) fn problem(error: DataFusionError) -> Error {
    let error = match error {
        // It was one of ours before.
        DataFusionError::External(error) => match error.downcast::<Error>() {
            Ok(ours) => return *ours,
            Err(error) => DataFusionError::External(error),
        },
        error => error,
    };
    match error.find_root() {
        DataFusionError::ResourcesExhausted(why) => {
            Error::Memory { limit_mib: 0, who: consumers(why) }
        }
        DataFusionError::SchemaError(error, _) => match error.as_ref() {
            SchemaError::FieldNotFound { field, valid_fields } => column(field, valid_fields),
            other => Error::Plan { why: other.to_string() },
        },
        DataFusionError::Plan(why) | DataFusionError::NotImplemented(why) => {
            Error::Plan { why: first_line(why) }
        }
        DataFusionError::Execution(why) => Error::Run { why: first_line(why) },
        // Several readers share it: it cannot be taken out.
        DataFusionError::External(error)
            if let Some(Error::Damaged { path, why }) = error.downcast_ref() =>
        {
            Error::Damaged { path: path.clone(), why: why.clone() }
        }
        DataFusionError::ArrowError(error, _) => Error::Run { why: first_line(&error.to_string()) },
        other => Error::Run { why: first_line(&other.strip_backtrace()) },
    }
}

/// The error of a question that may take this much memory.
pub(crate) fn within(limits: &Limits, error: Error) -> Error {
    match error {
        Error::Memory { who, .. } => Error::Memory { limit_mib: limits.memory_bytes >> 20, who },
        other => other,
    }
}

fn column(field: &Column, valid: &[Column]) -> Error {
    let table = field.relation.as_ref().map(ToString::to_string);
    let known: Vec<String> = valid
        .iter()
        .filter(|valid| table.is_none() || valid.relation == field.relation)
        .map(|valid| valid.name.clone())
        .collect();
    let near = near(&field.name, known.iter().map(String::as_str));
    // Without a name before the column, it can only be of the one table that is asked.
    let all: BTreeSet<String> =
        valid.iter().filter_map(|valid| valid.relation.as_ref()).map(ToString::to_string).collect();
    let only = all.first().filter(|_| all.len() == 1).cloned();
    let table = table.or(only);
    Error::UnknownColumn { name: field.name.clone(), table, near }
}

/// DataFusion's words for what has run out name its consumers; the rest is about its insides.
fn consumers(why: &str) -> String {
    let asked = why.split("Failed to allocate additional ").nth(1).and_then(|rest| {
        let (size, rest) = rest.split_once(" for ")?;
        let who = rest.split([' ', '[', '#']).next()?;
        Some(format!("{who} wanted {size} more"))
    });
    asked.unwrap_or_else(|| first_line(why))
}

fn first_line(text: &str) -> String {
    text.lines().next().unwrap_or_default().trim_end_matches('.').to_owned()
}
