//! What is left to do with everything that was learnt, once the last event is handled.

use culprit_model::{LossKind, Nanos, StackId};
use culprit_recording::{Error as WriteError, SpoolWriter};

use crate::enrich::dotnet::Answer;
use crate::enrich::poller::{Polled, Reading};
use crate::events::handle::Handler;
use crate::events::stacks::RawStack;
use crate::probes::Toll;
use crate::symbolize::resolve::{Code, Resolver};

/// Why a runtime that writes at its end has no names, although it may also be read while it lives.
const NAMES_AT_EXIT: &str = "Culprit did not read its methods: that works for HotSpot of JDK 11 to 25 on \
                             x86-64. It wrote no map of its methods: JDK 17 and newer write one when \
                             they end by themselves, not when they are killed";

/// Why a runtime's names were not read.
const ENDED_EARLY: &str = "it ended before the recorder could open the folder of its function names: \
                           it ran for some milliseconds only, or the machine was busy";

/// Why a map of names was not read.
const EARLIER_MAP: &str = "was not used: an earlier process with the same number wrote it";

/// What the worker leaves behind.
pub(crate) struct Remains {
    /// All that was learnt.
    pub(crate) handler: Handler,
    /// Names and stacks.
    pub(crate) resolver: Resolver,
    /// Why writing failed, if it did.
    pub(crate) failure: Option<WriteError>,
    /// The file that was written.
    pub(crate) spool: SpoolWriter,
}

impl Remains {
    /// Names what is still open: repairs that dumps taught, and generated code.
    pub(crate) fn settle(&mut self) {
        let handler = &mut self.handler;
        let kept: Vec<RawStack> = handler.raw.kept().collect();
        let mut code = Code {
            modules: &mut handler.modules,
            managed: &mut handler.managed,
            bytecodes: &handler.bytecodes,
            spaces: &handler.spaces,
            ledger: &mut handler.ledger,
        };
        self.resolver.repair(&kept, &handler.raw, &mut code);
        self.resolver.name_generated(&mut code);
        let silent = handler.modules.silent_runtimes().into_iter().map(|who| (who, NAMES_AT_EXIT));
        let ended = handler.modules.ended_early().into_iter().map(|who| (who, ENDED_EARLY));
        for ((pid, runtime), why) in silent.chain(ended) {
            if handler.managed.was_told_of(pid) {
                continue;
            }
            let subject = format!("{} in process {pid}", runtime.name);
            handler.ledger.once(LossKind::AddressesUnknown, &subject, why);
        }
        for (pid, map) in handler.modules.earlier_maps() {
            let (subject, why) = (format!("process {pid}"), format!("{map} {EARLIER_MAP}"));
            handler.ledger.once(LossKind::AddressesUnknown, &subject, &why);
        }
        handler.accounts.apply(handler.tracker.threads_mut());
    }

    /// Takes over where running processes have written their names because they were asked.
    pub(crate) fn take_folders(&mut self, answers: Vec<Answer>) {
        for answer in answers {
            answer.end();
            match answer.names {
                Ok(folder) => self.handler.modules.deliver_folders(vec![Ok(folder)]),
                Err(why) => {
                    let ledger = &mut self.handler.ledger;
                    ledger.once(LossKind::AddressesUnknown, &answer.subject, &why);
                }
            }
        }
    }

    /// Takes in what was answered after the last record.
    pub(crate) fn take_answers(&mut self, readings: Vec<Reading>) {
        for Reading { at, what } in readings {
            let time = self.handler.time(at);
            match what {
                Polled::Managed { pid, news } => self.handler.managed.tell(pid, news, time),
                Polled::NeverRead(why) => {
                    self.handler.ledger.at(LossKind::InterpreterFramesMissing, &why, 1, time);
                }
                _ => {}
            }
        }
    }

    /// Removes the files that runtimes have written because of us. They have been read.
    pub(crate) fn remove_runtime_files(&self, start: u64) {
        self.handler.modules.remove_written(start);
    }

    /// Says what the hits of probes have cost the recorded programs, as measured on this machine.
    pub(crate) fn tell_toll(&mut self, what: &str, toll: Toll) {
        let hits = self.handler.hits.with_lost(self.handler.hits_lost);
        let sum = toll.of(hits);
        let (hits, each) = (hits.sum(), Nanos(sum.0 / hits.sum().max(1)));
        let words = format!("{what} added about {sum} of CPU time, {each} per hit");
        self.handler.ledger.whole(LossKind::ProbesCost, &words, hits);
    }

    /// Bytes that parsed programs hold.
    pub(crate) fn image_bytes(&self) -> usize {
        self.handler.modules.memory_bytes()
    }

    /// The row that stands for a row once everything is learnt.
    pub(crate) fn stack(&self, row: Option<StackId>) -> Option<StackId> {
        row.map(|row| self.resolver.repaired(row))
    }
}
