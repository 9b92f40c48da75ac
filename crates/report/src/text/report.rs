//! One recording in one screen, and the five lines after `record`.

use std::path::Path;

use culprit_model::{LossSeverity, clean};

use super::findings::{Detail, findings_text};
use crate::digest::Digest;
use crate::layout::{Layout, Paint, bar, elide, shares, wrap};
use crate::runtimes::SeenRuntime;
use crate::thread_time::ThreadTime;
use crate::units::percent;
use crate::views::{Basis, Kind};
use crate::weighed::{LIMITS, Weighed};

/// Threads that one screen shows.
const MOST_THREADS: usize = 8;
/// Findings that one screen shows.
const MOST_FINDINGS: usize = 6;
/// Functions that one screen shows, and frames of a path.
const MOST_FUNCTIONS: usize = 8;
const MOST_FRAMES: usize = 6;
/// Cells of a thread's bar.
const BAR: usize = 28;

/// Which threads a report lists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ThreadList {
    /// How many at most; 0 for what a screen holds.
    pub most: usize,
    /// Idle ones, too.
    pub idle: bool,
}

/// The report: verdict, threads, findings, checks, losses, the configuration that the recording has kept in
/// words, if any, and what to type next.
#[must_use]
pub fn report_text(
    digest: &Digest,
    path: &Path,
    threads: ThreadList,
    kept: Option<&str>,
    layout: &Layout,
) -> String {
    let paint = layout.paint();
    let mut text = format!("{}\n", paint.faint(&clean(&digest.what())));
    text.push_str(&paint.strong(wrap(&clean(&digest.verdict()), layout.width(), "").trim_end()));
    text.push_str("\n\n");
    match &digest.tops.weighed {
        Some(weighed) => text.push_str(&weighed_text(digest, weighed, layout)),
        None => {
            text.push_str(&run_text(digest, layout));
            text.push_str(&threads_text(digest, threads, layout));
        }
    }
    let findings = &digest.report.findings;
    if digest.tops.weighed.is_none() || !findings.is_empty() {
        text.push_str(&section("Findings", paint));
        let shown = findings.len().min(MOST_FINDINGS);
        text.push_str(&findings_text(&findings[..shown], Detail::Titles, layout));
        if shown < findings.len() {
            text.push_str(&format!("    {} more\n", findings.len() - shown));
        }
    }
    text.push_str(&section("How far this can be trusted", paint));
    text.push_str(&checks_text(digest, paint));
    text.push_str(&losses_text(digest, layout));
    for seen in SeenRuntime::all(&digest.recording) {
        text.push_str(&wrap(&clean(&seen.line()), layout.width(), "  "));
    }
    if let Some(kept) = kept {
        text.push_str(&section("Configuration", paint));
        text.push_str(kept);
    }
    let rec = path.display();
    let next = format!(
        "Next: `culprit findings {rec}` shows causes and fixes. `culprit flame {rec}` shows where the \
         time went. `culprit report {rec} -o report.html` writes an HTML page."
    );
    text.push('\n');
    text.push_str(&paint.faint(&wrap(&next, layout.width(), "")));
    text
}

fn section(title: &str, paint: Paint) -> String {
    format!("\n{}\n", paint.heading(title))
}

/// Functions and paths by weight, and what cannot be said.
fn weighed_text(digest: &Digest, weighed: &Weighed, layout: &Layout) -> String {
    let paint = layout.paint();
    let mut text = format!(
        "{}  {}\n",
        paint.heading("Heaviest functions"),
        paint.faint("own share, share with callees")
    );
    let functions = digest.tops.functions.iter().filter(|function| function.kind == Kind::Function);
    for function in functions.take(MOST_FUNCTIONS) {
        let (own, total) = (percent(function.own_share), percent(function.total_share));
        let room = layout.width().saturating_sub(18);
        text.push_str(&format!("  {own:>6} {total:>6}  {}\n", elide(&clean(&function.name), room)));
    }
    text.push_str(&section("Heaviest paths", paint));
    for path in &weighed.paths {
        // The end of a path says more than its beginning.
        let frames = path.frames.iter().rev().take(MOST_FRAMES).map(String::as_str);
        let more = path.frames.len().saturating_sub(MOST_FRAMES);
        let more = if more > 0 { format!(" < {more} more") } else { String::new() };
        let line =
            format!("{:>6}  {}{more}", percent(path.share), frames.collect::<Vec<_>>().join(" < "));
        text.push_str(&wrap(&clean(&line), layout.width(), "  "));
    }
    text.push('\n');
    text.push_str(&wrap(LIMITS, layout.width(), ""));
    text
}

/// What the run's time is, and how it passed.
fn run_text(digest: &Digest, layout: &Layout) -> String {
    let mut text = Basis::line(&digest.tops.heading, layout);
    if let Some((parts, whole)) = digest.tops.run.as_ref().filter(|(parts, _)| !parts.is_empty()) {
        let bar = bar(parts, *whole, BAR, layout.paint());
        text.push_str(&format!("  {bar} {}\n", shares(parts, *whole, 5)));
    }
    text.push('\n');
    text
}

fn threads_text(digest: &Digest, list: ThreadList, layout: &Layout) -> String {
    let paint = layout.paint();
    let count = digest.threads.len();
    let mut text = format!(
        "{}  {}\n",
        paint.heading("Where the threads' time went"),
        paint.faint(&format!("{count} {}", if count == 1 { "thread" } else { "threads" }))
    );
    let most = if list.most == 0 { MOST_THREADS } else { list.most };
    let listed = if list.idle { digest.threads.iter().collect() } else { digest.busy() };
    for thread in listed.iter().take(most) {
        text.push_str(&thread_line(thread, layout));
    }
    if listed.len() > most {
        let more = listed.len() - most;
        text.push_str(&format!("    {more} more threads; `--limit N` shows them\n"));
    }
    if let Some(idle) = idle_threads(count - listed.len()) {
        text.push_str(&format!("    {idle}; `--idle` shows them\n"));
    }
    text
}

/// `7 idle threads`; none of none.
fn idle_threads(count: usize) -> Option<String> {
    match count {
        0 => None,
        1 => Some("1 idle thread".to_owned()),
        count => Some(format!("{count} idle threads")),
    }
}

/// Name, life, bar and words.
fn thread_line(thread: &ThreadTime, layout: &Layout) -> String {
    const NAME: usize = 28;
    let bare = |name: &str| name.split(" (").next().unwrap_or(name).to_owned();
    // The process is named only where the thread's own name does not say it.
    let name = if bare(&thread.process) == bare(&thread.name) {
        thread.name.clone()
    } else {
        format!("{}/{}", bare(&thread.process), thread.name)
    };
    let name = clean(&name).into_owned();
    let room = layout.width().saturating_sub(NAME + 12 + BAR + 4);
    let words = fitting_shares(thread, room);
    format!(
        "  {:<NAME$} {:>8}  {} {}\n",
        elide(&name, NAME),
        thread.wall.to_string(),
        bar(&thread.parts, thread.wall, BAR, layout.paint()),
        words,
    )
}

/// As many of a thread's largest causes as have room, at least one.
fn fitting_shares(thread: &ThreadTime, room: usize) -> String {
    let words = |most| shares(&thread.parts, thread.wall, most);
    (2..=5).rev().map(words).find(|words| words.chars().count() <= room).unwrap_or_else(|| words(1))
}

fn checks_text(digest: &Digest, paint: Paint) -> String {
    let mut text = String::new();
    for check in digest.checks() {
        let mark = if check.fine { paint.good("ok ") } else { paint.bad("off") };
        text.push_str(&format!(
            "  {mark} {:<51} {:>8} and {:>8}, difference {}\n",
            check.what,
            check.ours.to_string(),
            check.theirs.to_string(),
            check.difference()
        ));
    }
    let (checked, threads) = (digest.accounting.checked, digest.accounting.threads.len());
    if checked == 0 {
        text.push_str("  --  not checked: the recorder did not read the kernel's schedstat\n");
    } else if checked < threads {
        let rows = digest.recording.intervals.iter().filter(|row| row.cause.is_cpu());
        let all = rows.map(|row| row.duration).sum();
        let share = percent(digest.accounting.cpu.ours.share_of(all));
        text.push_str(&format!(
            "      schedstat was read for {checked} of {threads} threads, which have {share} of the CPU time\n"
        ));
    }
    let meta = &digest.recording.meta;
    let later = match meta.later_frequency {
        0 => String::new(),
        later => format!(", later {later} Hz"),
    };
    text.push_str(&format!(
        "      access level `{}`, {} Hz{later}, the recorder used {} of CPU time\n",
        meta.rung, meta.frequency, meta.recorder_cpu
    ));
    for reason in &meta.degraded {
        text.push_str(&format!("      {}\n", clean(reason)));
    }
    text
}

fn losses_text(digest: &Digest, layout: &Layout) -> String {
    /// As wide as a severity in its column.
    const INDENT: &str = "         ";
    let losses = &digest.losses;
    if losses.is_empty() {
        return "      nothing was lost, cut or guessed\n".to_owned();
    }
    let paint = layout.paint();
    let mut text = String::new();
    for line in losses {
        let word = format!("{:<6}", line.severity.to_string());
        let word =
            if line.severity >= LossSeverity::Loss { paint.bad(&word) } else { paint.faint(&word) };
        let detail =
            if line.detail.is_empty() { String::new() } else { format!(" ({})", line.detail) };
        let head = format!("{} {}{detail}", line.count, line.id);
        // The whole reason: what is cut may be the part that helps.
        let head = wrap(&clean(&head), layout.width(), INDENT);
        text.push_str(&format!("  {word} {}", head.trim_start()));
        if line.severity >= LossSeverity::Notice {
            text.push_str(&wrap(&line.advice, layout.width(), INDENT));
        }
    }
    text
}

/// What `record` says on stderr when it is done: where time went, what was lost, what is next.
#[must_use]
pub fn summary_text(digest: &Digest, path: &Path, paint: Paint) -> String {
    const NAMED: usize = 3;
    let threads = digest.threads.len();
    let mut text = format!(
        "{}: {} in {}, {threads} threads\n",
        paint.strong(&path.display().to_string()),
        digest.recording.meta.wall,
        digest.recording.meta.place
    );
    let busy = digest.busy();
    for thread in busy.iter().take(NAMED) {
        let words = shares(&thread.parts, thread.wall, 4);
        text.push_str(&format!(
            "  {:<24} {:>8}  {words}\n",
            clean(&thread.name),
            thread.wall.to_string()
        ));
    }
    if let Some(idle) = idle_threads(threads - busy.len()) {
        text.push_str(&format!("  {idle}\n"));
    }
    let culprit = digest.report.findings.iter().find(|finding| finding.cost.0 > 0);
    if let Some(finding) = culprit {
        let line = format!("{} ({}): {}", finding.id, percent(finding.share), finding.title);
        text.push_str(&format!("  {}\n", clean(&line)));
    }
    let lost = digest.losses.iter().filter(|line| line.severity >= LossSeverity::Loss);
    let lost: Vec<String> = lost.map(|line| format!("{} {}", line.count, line.id)).collect();
    if !lost.is_empty() {
        text.push_str(&format!("  {} {}\n", paint.bad("lost:"), lost.join(", ")));
    }
    text.push_str(&paint.faint(&format!("  next: culprit report {}", path.display())));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn how_much_was_checked_against_the_kernel_is_said() {
        let mut recording = crate::testing::recording();
        let thread = &mut recording.threads[0];
        (thread.sched_from, thread.sched_to) =
            (Some(thread.start), thread.end.or(Some(thread.start)));
        (thread.sched_cpu, thread.sched_wait) =
            (Some(culprit_model::Nanos(60_000_000)), Some(culprit_model::Nanos(0)));
        let filter = culprit_model::Filter::default();
        let digest = crate::digest::digest_of(recording, &filter);
        let text = checks_text(&digest, Paint::new(false));
        assert!(text.contains("schedstat was read for 1 of 2 threads, which have "), "{text}");
        assert!(!text.contains(" of    "), "no sum is a part of the other: {text}");
    }

    #[test]
    fn the_reason_of_a_loss_is_told_to_its_end() {
        let reason =
            format!("JVM in process 7: {}the end", "it wrote no map of its methods, ".repeat(9));
        let mut recording = crate::testing::recording();
        recording.losses.push(culprit_model::Loss {
            kind: culprit_model::LossKind::AddressesUnknown,
            count: 1,
            from: None,
            to: None,
            detail: reason.as_str().into(),
        });
        let filter = culprit_model::Filter::default();
        let digest = crate::digest::digest_of(recording, &filter);
        let layout = Layout::plain(100);
        let text = losses_text(&digest, &layout);
        assert!(text.lines().all(|line| line.chars().count() <= layout.width()), "{text}");
        let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        let expected = format!("notice 1 addresses-unknown ({reason})");
        assert!(words(&text).starts_with(&expected), "{text}");
    }
}
