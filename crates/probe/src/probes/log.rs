//! `log`: what a line costs that a program prints, and what the engine's log driver adds.
//!
//! What a container prints goes through a pipe to the engine, which writes it to where its log driver
//! says (Docker's default, `json-file`: one JSON object a line) and to whoever is attached. When the
//! engine is slower than the program, the pipe is full and the program waits in write(2). Lines are
//! printed by the measuring program itself, one write each, and dropped at our end.

use std::io::Write as _;

use culprit_model::Unit;
use culprit_place::{LogDriver, PlaceSpec};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::arm::{Arm, Location, Role};
use crate::error::Result;
use crate::inside::{Fault, Here, Meter, NOISE, Task};
use crate::metric::{Metric, Part};
use crate::probe::{Asked, Probe, standard_arms};
use crate::sample::Sample;
use crate::stand::{ProbeRound, Stand};

/// What is measured.
#[derive(Debug, Clone, Copy)]
pub struct Log {
    /// Lines a round.
    pub lines: u32,
    /// Bytes of a line, its end included.
    pub bytes: u32,
}

impl Default for Log {
    fn default() -> Self {
        Self { lines: 100_000, bytes: 40 }
    }
}

const LINE: Metric = Metric::lower("line_ns", "a line", Unit::Nanos, Part::Headline);
const LINE_CPU: Metric = Metric::lower("line_cpu_ns", "a line, CPU", Unit::Nanos, Part::Shown);
const WAITS: Metric =
    Metric::lower("waits_per_1000_lines", "waits in 1000 lines", Unit::Count, Part::Detail);

impl Probe for Log {
    fn id(&self) -> &'static str {
        "log"
    }

    fn metrics(&self) -> Vec<Metric> {
        vec![LINE, LINE_CPU, WAITS]
    }

    fn workload(&self) -> Value {
        json!({"lines": self.lines, "line_bytes": self.bytes})
    }

    fn words(&self) -> Vec<String> {
        vec![format!(
            "{} lines of {} bytes to standard output, one write per line, read by Culprit; wall \
             time and CPU time of a line",
            self.lines, self.bytes
        )]
    }

    /// Storage plays no part; an engine's place comes once more with each other log driver.
    fn arms(&self, asked: &Asked) -> Result<Vec<Arm>> {
        let asked = Asked { at: vec![Location::Layer(None)], ..asked.clone() };
        let with = |arm: Arm| {
            let others = [(LogDriver::None, "log-none"), (LogDriver::Local, "log-local")];
            let others = others.map(|(driver, variant)| logged(&arm, driver, variant));
            std::iter::once(arm).chain(others.into_iter().flatten()).collect::<Vec<_>>()
        };
        Ok(standard_arms(&asked).into_iter().flat_map(with).collect())
    }

    fn measure(&self, stand: &mut Stand<'_>, _: ProbeRound) -> Result<Sample> {
        let lines = f64::from(self.lines.max(1));
        let told = stand.ask(&Lines { lines: self.lines, bytes: self.bytes })?;
        Ok(Sample::default()
            .with(LINE.id, told.wall_ns as f64 / lines)
            .with(LINE_CPU.id, told.cpu_ns as f64 / lines)
            .with(WAITS.id, told.waits as f64 / lines * 1000.0))
    }
}

fn logged(arm: &Arm, driver: LogDriver, variant: &'static str) -> Option<Arm> {
    let PlaceSpec::Engine { engine, image, options } = &arm.spec else { return None };
    if options.log.is_some() || arm.role != Role::Candidate {
        return None;
    }
    let mut options = options.clone();
    options.log = Some(driver);
    let spec = PlaceSpec::Engine { engine: *engine, image: image.clone(), options };
    let label = format!("{} log={driver}", arm.label);
    Some(Arm { label, spec, variant: Some(variant), ..arm.clone() })
}

/// One round in the place.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Lines {
    lines: u32,
    bytes: u32,
}

/// What all lines took.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Told {
    wall_ns: u64,
    cpu_ns: u64,
    waits: u64,
}

impl Task for Lines {
    const NAME: &'static str = "log";
    type Output = Told;

    fn run(self, here: &mut Here) -> std::result::Result<Told, Fault> {
        let mut line = vec![NOISE; self.bytes.max(2) as usize - 1];
        line.push(b'\n');
        let mut out = std::io::stdout().lock();
        let meter = Meter::start();
        for number in 0..self.lines {
            if number % 1000 == 0 && here.stopped() {
                break;
            }
            // A line at its end is what standard output flushes at, so this is one write.
            out.write_all(&line).map_err(|error| Fault::new(format!("cannot print: {error}")))?;
        }
        let used = meter.stop();
        Ok(Told { wall_ns: used.wall_ns, cpu_ns: used.cpu_ns, waits: used.voluntary_switches })
    }
}
