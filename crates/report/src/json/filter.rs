//! A filter as other programs give it: the fields of [`Filter`], each with its default.

use culprit_engine::calls::Preset;
use culprit_model::{Drill, Filter, Metric, Root, Time, UnknownLabel};
use serde::{Deserialize, Serialize};

/// The fields of a filter; a missing one is its default, and the metric is run time.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct FilterJson {
    metric: Option<String>,
    /// ns since the recording's start.
    from: Option<u64>,
    to: Option<u64>,
    process: String,
    thread: String,
    activity: String,
    root: Option<String>,
    group: String,
    fold: String,
    fold_pct: Option<f64>,
    include: String,
    exclude: String,
    presets: Vec<String>,
    own: String,
    erase_ids: bool,
    drill: Option<DrillJson>,
    flat: bool,
    limit: Option<usize>,
}

/// A named choice of groups and folds.
#[derive(Debug, Serialize)]
pub struct PresetJson {
    name: String,
    meaning: String,
    group: String,
    fold: String,
    fold_pct: Option<f64>,
}

impl From<Preset> for PresetJson {
    fn from(preset: Preset) -> Self {
        let Preset { name, meaning, group, fold, fold_pct } = preset;
        Self { name, meaning, group, fold, fold_pct }
    }
}

/// Which node a view is narrowed to, and to which of its samples.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum DrillJson {
    Through(String),
    At(String),
}

impl TryFrom<FilterJson> for Filter {
    type Error = UnknownLabel;

    fn try_from(json: FilterJson) -> Result<Self, UnknownLabel> {
        let metric = json.metric.filter(|word| !word.is_empty());
        let root = json.root.filter(|word| !word.is_empty());
        Ok(Self {
            metric: metric.map_or(Ok(Metric::Run), |word| word.parse())?,
            from: json.from.map(Time),
            to: json.to.map(Time),
            process: json.process,
            thread: json.thread,
            activity: json.activity,
            root: root.map_or(Ok(Root::default()), |word| word.parse())?,
            group: json.group,
            fold: json.fold,
            fold_pct: json.fold_pct,
            include: json.include,
            exclude: json.exclude,
            presets: json.presets,
            own: json.own,
            erase_ids: json.erase_ids,
            drill: match json.drill {
                None => Drill::No,
                Some(DrillJson::Through(name)) => Drill::Through(name),
                Some(DrillJson::At(name)) => Drill::At(name),
            },
            flat: json.flat,
            limit: json.limit,
        })
    }
}

impl From<&Filter> for FilterJson {
    fn from(filter: &Filter) -> Self {
        Self {
            metric: Some(filter.metric.to_string()),
            from: filter.from.map(|time| time.0),
            to: filter.to.map(|time| time.0),
            process: filter.process.clone(),
            thread: filter.thread.clone(),
            activity: filter.activity.clone(),
            root: Some(filter.root.to_string()),
            group: filter.group.clone(),
            fold: filter.fold.clone(),
            fold_pct: filter.fold_pct,
            include: filter.include.clone(),
            exclude: filter.exclude.clone(),
            presets: filter.presets.clone(),
            own: filter.own.clone(),
            erase_ids: filter.erase_ids,
            drill: match &filter.drill {
                Drill::No => None,
                Drill::Through(name) => Some(DrillJson::Through(name.clone())),
                Drill::At(name) => Some(DrillJson::At(name.clone())),
            },
            flat: filter.flat,
            limit: filter.limit,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::filters::run_filter;

    fn filter(json: &str) -> Result<Filter, String> {
        let json: FilterJson = serde_json::from_str(json).map_err(|error| error.to_string())?;
        Filter::try_from(json).map_err(|error| error.to_string())
    }

    #[test]
    fn missing_fields_are_those_of_a_filter_that_keeps_all() {
        assert_eq!(filter("{}"), Ok(run_filter()));
        let given = r#"{"metric":"blocked.lock","from":5,"thread":"worker","fold_pct":1.5,
            "drill":{"at":"app!main"},"root":"activities"}"#;
        let wanted = Filter {
            metric: Metric::Lock,
            from: Some(Time(5)),
            thread: "worker".to_owned(),
            fold_pct: Some(1.5),
            drill: Drill::At("app!main".to_owned()),
            root: Root::Activities,
            ..Filter::default()
        };
        assert_eq!(filter(given), Ok(wanted.clone()));
        assert_eq!(Filter::try_from(FilterJson::from(&wanted)), Ok(wanted));
    }

    #[test]
    fn what_is_no_field_or_word_is_refused() {
        assert!(filter(r#"{"colour":"red"}"#).unwrap_err().contains("colour"));
        assert!(filter(r#"{"metric":"speed"}"#).unwrap_err().contains("unknown metric `speed`"));
        assert!(filter(r#"{"from":-1}"#).is_err());
    }
}
