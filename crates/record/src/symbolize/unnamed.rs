//! How much of a recording stands at addresses that nothing names.
//!
//! ```text
//! stack, leaf first                   where the thread was       what it is
//! [kernel]!futex_wait  [jit]!?  main  code without a map         addresses-unknown
//! work  ?  main                       work, and then nowhere     stacks-truncated
//! ```
//!
//! A single such stack among thousands says nothing to anybody: chains of frame pointers end in
//! garbage now and then. So rows are counted, when all repairs are made, and told from a share on.

use culprit_model::{Loss, LossKind, ModuleId, Recording, StackId};

use crate::symbolize::resolve::UNKNOWN;

/// Told from this share of the rows with stacks on, as findings are listed from 1 % on: below it
/// nothing that is listed can hide.
const SHARE: u64 = 100;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verdict {
    Named,
    /// The thread itself was where nothing is known.
    Nowhere,
    /// Its callers cannot be known.
    Cut,
}

/// The rows of the loss table; `is_generated` tells the modules of code without a file.
pub(crate) fn losses(recording: &Recording, is_generated: &dyn Fn(ModuleId) -> bool) -> Vec<Loss> {
    let mut verdicts = vec![None; recording.stacks.len()];
    let (mut all, mut nowhere, mut cut) = (0, 0, 0);
    let of_switches = recording.switches.iter().filter_map(|row| row.stack);
    for stack in of_switches.chain(recording.samples.iter().filter_map(|row| row.stack)) {
        let judged =
            verdicts[stack.index()].get_or_insert_with(|| verdict(recording, stack, is_generated));
        all += 1;
        match judged {
            Verdict::Named => {}
            Verdict::Nowhere => nowhere += 1,
            Verdict::Cut => cut += 1,
        }
    }
    let row = |kind, count: u64, what: &str| {
        (count > 0 && count.saturating_mul(SHARE) >= all).then(|| Loss {
            kind,
            count,
            from: None,
            to: None,
            detail: format!("{what} in {count} of {all} stacks").into(),
        })
    };
    [
        row(LossKind::AddressesUnknown, nowhere, "code without a known name"),
        row(LossKind::StacksTruncated, cut, "frame pointers that lead to no caller"),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn verdict(
    recording: &Recording,
    stack: StackId,
    is_generated: &dyn Fn(ModuleId) -> bool,
) -> Verdict {
    let in_kernel = |module: Option<ModuleId>| {
        module.is_some_and(|id| {
            let path = &recording.module(id).path;
            path.starts_with('[') && path.as_str() != culprit_symbols::VDSO_NAME
        })
    };
    let frames = recording.stack(stack).map(|id| recording.frame(id));
    let mut user = frames.skip_while(|frame| in_kernel(frame.module));
    let unnamed = |frame: &culprit_model::Frame| {
        frame.function.as_str() == UNKNOWN && frame.module.is_none_or(is_generated)
    };
    match user.next() {
        Some(leaf) if unnamed(leaf) => Verdict::Nowhere,
        Some(_) if user.any(|frame| frame.module.is_none()) => Verdict::Cut,
        _ => Verdict::Named,
    }
}

#[cfg(test)]
mod tests {
    use culprit_model::{Frame, Module, Sample, SampleKind, Stack, ThreadId, Time};

    use super::*;

    /// A recording with a number of samples of each stack; stacks are given root first, `?` is code
    /// of no module.
    fn sampled(stacks: &[(&[&str], usize)]) -> Recording {
        let mut recording = Recording::default();
        for (name, path) in
            [("app", "/app"), ("[kernel]", "[kernel]"), ("[jit]", "/tmp/perf-1.map")]
        {
            recording.modules.push(Module {
                name: name.into(),
                path: path.into(),
                build_id: None,
                symbols: true,
                lines: false,
            });
        }
        for (names, samples) in stacks {
            let mut parent = None;
            for name in *names {
                let (module, function) = name.split_once('!').unwrap_or(("", name));
                let module = recording.modules.iter().position(|row| row.name.as_str() == module);
                let frame = culprit_model::FrameId::from_index(recording.frames.len());
                recording.frames.push(Frame {
                    module: module.map(ModuleId::from_index),
                    function: function.into(),
                    address: None,
                    file: None,
                    line: None,
                    inlined: false,
                    instruction: None,
                    guessed: None,
                });
                recording.stacks.push(Stack { parent, frame });
                parent = Some(StackId::from_index(recording.stacks.len() - 1));
            }
            let row = Sample {
                time: Time(0),
                thread: ThreadId(0),
                kind: SampleKind::User,
                cpu: 0,
                stack: parent,
            };
            recording.samples.extend(std::iter::repeat_n(row, *samples));
        }
        recording
    }

    fn told(stacks: &[(&[&str], usize)]) -> Vec<(LossKind, u64)> {
        let losses = losses(&sampled(stacks), &|module| module == ModuleId(2));
        losses.iter().map(|loss| (loss.kind, loss.count)).collect()
    }

    #[test]
    fn code_without_names_is_told_from_a_share_on() {
        let named: (&[&str], usize) = (&["app!main", "app!work", "[kernel]!read"], 995);
        assert_eq!(told(&[named, (&["app!main", "[jit]!?"], 5)]), []);
        assert_eq!(
            told(&[named, (&["app!main", "[jit]!?", "[kernel]!read"], 50)]),
            [(LossKind::AddressesUnknown, 50)]
        );
        assert_eq!(told(&[named, (&["app!main", "?"], 50)]), [(LossKind::AddressesUnknown, 50)]);
    }

    #[test]
    fn callers_that_lead_nowhere_are_another_matter() {
        let named: (&[&str], usize) = (&["app!main", "app!work"], 995);
        assert_eq!(told(&[named, (&["?", "app!work"], 5)]), []);
        assert_eq!(told(&[named, (&["?", "app!work"], 50)]), [(LossKind::StacksTruncated, 50)]);
        assert_eq!(told(&[(&["[kernel]!ret_from_fork"], 9)]), []);
    }
}
