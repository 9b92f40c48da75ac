//! A processed profile as its file has it: columns that point into one another.

use culprit_model::{Label as _, Metric};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::json::{self, Loose, Number, Str};

#[derive(Deserialize)]
pub(super) struct File<'a> {
    #[serde(borrow, default)]
    pub(super) meta: Loose<Meta<'a>>,
    #[serde(borrow, default)]
    pub(super) libs: Vec<Loose<Lib<'a>>>,
    #[serde(borrow, default)]
    pub(super) shared: Loose<Tables<'a>>,
    #[serde(borrow, default)]
    pub(super) threads: Vec<&'a RawValue>,
    /// Gecko only: profiles of further processes.
    #[serde(borrow, default)]
    pub(super) processes: Vec<&'a RawValue>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Meta<'a> {
    #[serde(default)]
    pub(super) start_time: Number,
    #[serde(borrow, default)]
    pub(super) sample_units: Loose<Units<'a>>,
    #[serde(borrow, default, rename = "culprit.metric")]
    pub(super) metric: Loose<Str<'a>>,
}

#[derive(Deserialize)]
pub(super) struct Units<'a> {
    #[serde(borrow, default, rename = "threadCPUDelta")]
    pub(super) cpu: Loose<Str<'a>>,
}

#[derive(Deserialize)]
pub(super) struct Lib<'a> {
    #[serde(borrow, default)]
    pub(super) name: Loose<Str<'a>>,
    #[serde(borrow, default)]
    pub(super) path: Loose<Str<'a>>,
    #[serde(borrow, default, rename = "codeId")]
    pub(super) code_id: Loose<Str<'a>>,
}

/// The tables that stand in each thread, or once for all.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Tables<'a> {
    #[serde(borrow, default)]
    pub(super) string_array: Option<Vec<Loose<Str<'a>>>>,
    #[serde(default)]
    pub(super) stack_table: Option<Stacks>,
    #[serde(default)]
    pub(super) frame_table: Option<Frames>,
    #[serde(default)]
    pub(super) func_table: Option<Functions>,
    #[serde(default)]
    pub(super) resource_table: Option<Resources>,
    #[serde(default)]
    pub(super) sources: Option<Sources>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Stacks {
    pub(super) frame: Vec<Number>,
    /// Until version 65.
    #[serde(default)]
    pub(super) prefix: Option<Vec<Number>>,
    /// Since version 66: how far back the caller stands, 0 for none.
    #[serde(default)]
    pub(super) prefix_offset: Option<Vec<Number>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Frames {
    pub(super) func: Vec<Number>,
    #[serde(default)]
    pub(super) line: Vec<Number>,
    /// Since version 70; until 69 the function's resource has it.
    #[serde(default)]
    pub(super) lib: Option<Vec<Number>>,
    /// Since version 71: which columns have a value.
    #[serde(default)]
    pub(super) flags: Option<Vec<Number>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Functions {
    pub(super) name: Vec<Number>,
    /// Until version 74.
    #[serde(default, rename = "isJS")]
    pub(super) is_js: Vec<Loose<bool>>,
    #[serde(default)]
    pub(super) resource: Vec<Number>,
    /// Until version 57: a text.
    #[serde(default)]
    pub(super) file_name: Option<Vec<Number>>,
    /// Since version 58: a row of the sources.
    #[serde(default)]
    pub(super) source: Vec<Number>,
    /// Since version 75: which columns have a value.
    #[serde(default)]
    pub(super) flags: Option<Vec<Number>>,
}

#[derive(Deserialize)]
pub(super) struct Resources {
    #[serde(default)]
    pub(super) lib: Vec<Number>,
}

#[derive(Deserialize)]
pub(super) struct Sources {
    #[serde(default)]
    pub(super) filename: Vec<Number>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Thread<'a> {
    #[serde(borrow, default)]
    pub(super) name: Loose<Str<'a>>,
    #[serde(borrow, default)]
    pub(super) process_name: Loose<Str<'a>>,
    #[serde(borrow, default)]
    pub(super) pid: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(super) tid: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(super) samples: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(super) string_array: Option<Vec<Loose<Str<'a>>>>,
    /// Gecko's name for it.
    #[serde(borrow, default)]
    pub(super) string_table: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(super) stack_table: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(super) frame_table: Option<&'a RawValue>,
    #[serde(default)]
    pub(super) func_table: Option<Functions>,
    #[serde(default)]
    pub(super) resource_table: Option<Resources>,
    #[serde(default)]
    markers: Loose<Length>,
    #[serde(default)]
    js_allocations: Loose<Length>,
    #[serde(default)]
    native_allocations: Loose<Length>,
}

/// A table of which only the length is looked at.
#[derive(Deserialize)]
struct Length {
    #[serde(default)]
    length: Number,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Samples<'a> {
    #[serde(default)]
    pub(super) stack: Vec<Number>,
    #[serde(default)]
    pub(super) time: Option<Vec<Number>>,
    #[serde(default)]
    pub(super) time_deltas: Option<Vec<Number>>,
    #[serde(default)]
    pub(super) weight: Option<Vec<Number>>,
    #[serde(borrow, default)]
    pub(super) weight_type: Loose<Str<'a>>,
    #[serde(default, rename = "threadCPUDelta")]
    pub(super) cpu: Option<Vec<Number>>,
}

impl<'a> File<'a> {
    /// The profile and, in the gecko form, those of further processes.
    pub(super) fn parts(self) -> Vec<Self> {
        let parts = self.processes.iter().filter_map(|raw| serde_json::from_str(raw.get()).ok());
        let mut parts: Vec<Self> = parts.collect();
        parts.insert(0, self);
        parts
    }

    /// When it started, ns since 1970.
    pub(super) fn started(&self) -> Option<i128> {
        self.meta.get()?.start_time.scaled(6)
    }

    /// What weights count, in a profile that we wrote.
    pub(super) fn metric(&self) -> Option<Metric> {
        Metric::from_word(self.meta.get()?.metric.text())
    }

    /// The power of ten from its CPU times to nanoseconds; none where they are no times.
    pub(super) fn cpu_power(&self) -> Option<i32> {
        json::time_unit(self.meta.get()?.sample_units.get()?.cpu.text())
    }
}

impl<'a> Thread<'a> {
    /// The samples of a processed profile.
    pub(super) fn samples(&self) -> Option<Samples<'a>> {
        serde_json::from_str(self.samples?.get()).ok()
    }

    /// Its own tables, as far as they are of the processed form.
    pub(super) fn tables(&mut self) -> Tables<'a> {
        fn table<'a, T: Deserialize<'a>>(raw: Option<&'a RawValue>) -> Option<T> {
            serde_json::from_str(raw?.get()).ok()
        }
        Tables {
            string_array: self.string_array.take(),
            stack_table: table(self.stack_table),
            frame_table: table(self.frame_table),
            func_table: self.func_table.take(),
            resource_table: self.resource_table.take(),
            sources: None,
        }
    }

    /// How many rows of it are of no kind that is read.
    pub(super) fn left_out(&self) -> u64 {
        let tables = [&self.markers, &self.js_allocations, &self.native_allocations];
        let lengths = tables.into_iter().filter_map(|table| table.get()?.length.index());
        lengths.map(|length| length as u64).fold(0, u64::saturating_add)
    }
}

impl Samples<'_> {
    /// The time of each sample, ns: told, or added up from differences before rounding.
    pub(super) fn times(&self) -> Vec<Option<i128>> {
        /// Digits kept below a nanosecond while adding up.
        const FINE: i32 = 6;
        if let Some(times) = &self.time {
            return times.iter().map(|time| time.scaled(6)).collect();
        }
        let mut now = 0_i128;
        let deltas = self.time_deltas.iter().flatten();
        deltas
            .map(|delta| {
                now = now.checked_add(delta.scaled(6 + FINE)?)?;
                let unit = 10_i128.pow(FINE.unsigned_abs());
                Some(now.saturating_add(unit / 2).div_euclid(unit))
            })
            .collect()
    }

    /// The weight of a sample; none where every sample counts once.
    pub(super) fn weight(&self, at: usize) -> Option<Number> {
        self.weight.as_ref().map(|weights| weights.get(at).copied().unwrap_or_default())
    }

    /// The CPU time since the sample before, in the file's unit.
    pub(super) fn cpu(&self, at: usize) -> Option<Number> {
        self.cpu.as_ref()?.get(at).copied()
    }
}
