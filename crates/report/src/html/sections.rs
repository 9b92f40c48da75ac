//! The sections about one recording: threads, flame graph, functions, evidence. With several
//! recordings each has its own tables, of which scripts show one at a time.
use culprit_model::{Cause, Label as _, Nanos};

use super::{Markup, table};
use crate::digest::Digest;
use crate::layout::shares;
use crate::palette::{cause_color, group_of};
use crate::runtimes::SeenRuntime;
use crate::thread_time::ThreadTime;
use crate::units::percent;
use crate::views::Kind;

/// Rows of the thread table; the strips show all of them.
const MOST_THREADS: usize = 40;
/// Rows of the function table.
const MOST_FUNCTIONS: usize = 60;

/// Recordings, each with its name.
pub type RecordingViews<'a> = [(String, &'a Digest)];

/// Calls `inside` once a recording, in a block that scripts can hide.
pub fn each_view(
    body: &mut Markup,
    views: &RecordingViews<'_>,
    inside: impl Fn(&mut Markup, &Digest),
) {
    for (index, (label, digest)) in views.iter().enumerate() {
        body.element("div", &[("data-view", &index.to_string())], |body| {
            if views.len() > 1 {
                body.leaf("p", &[("class", "more")], &format!("Recording: {label}"));
            }
            inside(body, digest);
        });
    }
}

/// Thread time: strips over time, and the same sums as a table.
pub(super) fn threads(body: &mut Markup, views: &RecordingViews<'_>) {
    body.element("section", &[("id", "threads")], |body| {
        body.leaf("h2", &[], "Where the threads' time went");
        body.leaf(
            "p",
            &[("class", "lead")],
            "Each row is one thread, coloured by cause. Pale colours: nothing waited for this \
             time. Drag to select a range; the flame graph then shows this range. Ctrl and the \
             wheel zoom. Escape goes back.",
        );
        body.fixed(concat!(
            "<div class=\"needs-script\" hidden><div class=\"tools\"><button id=\"whole\" hidden>whole recording</button>",
            "<button id=\"all-threads\" hidden></button><span class=\"status\" id=\"strips-status\"></span></div>",
            "<div class=\"canvas-host\" id=\"strips\"><canvas tabindex=\"0\" role=\"img\" ",
            "aria-label=\"Thread strips; the table below has the same sums\"></canvas></div>",
            "<p class=\"more\" id=\"merged\"></p></div>",
        ));
        legend(body, views);
        each_view(body, views, thread_table);
    });
}

fn legend(body: &mut Markup, views: &RecordingViews<'_>) {
    let used = |cause: &Cause| {
        let parts = views.iter().flat_map(|(_, digest)| &digest.threads).flat_map(|t| &t.parts);
        parts.into_iter().any(|(other, time)| other == cause && time.0 > 0)
    };
    body.element("ul", &[("class", "legend")], |list| {
        for cause in Cause::ALL.iter().filter(|cause| used(cause)) {
            list.element("li", &[], |item| {
                item.element("svg", &[("aria-hidden", "true")], |svg| {
                    let fill = cause_color(*cause).hex;
                    svg.empty("rect", &[("width", "10"), ("height", "10"), ("fill", fill)]);
                });
                item.text(cause.word());
            });
        }
    });
}

fn thread_table(body: &mut Markup, digest: &Digest) {
    let busy = digest.busy();
    let headings =
        ["process", "thread", "wall", "on CPU", "share of its lifetime by cause", "main causes"];
    table(body, "sortable", &headings, |rows| {
        for thread in busy.iter().take(MOST_THREADS) {
            thread_row(rows, thread);
        }
    });
    cut(body, busy.len(), MOST_THREADS, "threads");
    cut(body, digest.threads.len(), busy.len(), "idle threads");
}

fn thread_row(rows: &mut Markup, thread: &ThreadTime) {
    let cpu = thread.sum(|cause| group_of(cause) == group_of(Cause::CpuUser));
    rows.element("tr", &[], |row| {
        row.leaf("td", &[("class", "name")], &thread.process);
        row.leaf("td", &[("class", "name")], &thread.name);
        number(row, thread.wall);
        number(row, cpu);
        row.element("td", &[("data-sort", &cpu.share_of(thread.wall).to_string())], |cell| {
            stacked(cell, thread);
        });
        row.leaf("td", &[], &shares(&thread.parts, thread.wall, 3));
    });
}

/// A bar of a thread's causes.
fn stacked(cell: &mut Markup, thread: &ThreadTime) {
    let label = shares(&thread.parts, thread.wall, 6);
    let attributes = [
        ("class", "stack"),
        ("viewBox", "0 0 100 10"),
        ("preserveAspectRatio", "none"),
        ("role", "img"),
        ("aria-label", label.as_str()),
    ];
    cell.element("svg", &attributes, |svg| {
        let mut x = 0.0;
        for (cause, time) in &thread.parts {
            let width = 100.0 * time.share_of(thread.wall);
            let (from, long) = (format!("{x:.3}"), format!("{width:.3}"));
            let fill = cause_color(*cause).hex;
            let shape =
                [("x", from.as_str()), ("width", long.as_str()), ("height", "10"), ("fill", fill)];
            svg.element("rect", &shape, |rect| {
                rect.leaf(
                    "title",
                    &[],
                    &format!("{cause}: {time}, {}", percent(time.share_of(thread.wall))),
                );
            });
            x += width;
        }
    });
}

/// The flame graph; its numbers stand in the function table.
pub(super) fn flame(body: &mut Markup) {
    body.element("section", &[("id", "flame-section"), ("class", "needs-script"), ("hidden", "")], |body| {
        body.leaf("h2", &[], "Flame graph");
        body.leaf(
            "p",
            &[("class", "lead")],
            "Callers are on top. Width is time. The last box of a stack is the cause. A stronger \
             colour means a larger share of the main cause. Click to zoom, use the arrow keys to \
             move, Escape to zoom out.",
        );
        body.fixed("<p class=\"more\" id=\"flame-of\"></p>");
        body.fixed(concat!(
            "<div class=\"tools\"><label>time <select id=\"metric\"><option value=\"table\">as in the table</option>",
            "<option value=\"wall\">all threads</option>",
            "<option value=\"cpu\">on a CPU</option><option value=\"blocked\">blocked</option>",
            "<option value=\"runnable\">ready, not running</option></select></label>",
            "<label>threads <select id=\"apart\"><option value=\"id\">each</option>",
            "<option value=\"name\">by name</option><option value=\"none\">together</option></select></label>",
            "<label>colour <select id=\"colour\"><option value=\"cause\">by cause</option>",
            "<option value=\"module\">by module</option></select></label>",
            "<input type=\"search\" id=\"search\" placeholder=\"Search functions\" aria-label=\"Search functions\">",
            "<button id=\"reset\">zoom out</button><span class=\"status\" id=\"flame-status\" role=\"status\"></span></div>",
            "<div class=\"canvas-host\" id=\"flame\"><canvas tabindex=\"0\" role=\"img\" ",
            "aria-label=\"Flame graph; the function table below has the same times\"></canvas></div>",
        ));
    });
}

/// Functions by own and total time.
pub(super) fn functions(body: &mut Markup, views: &RecordingViews<'_>) {
    body.element("section", &[("id", "functions")], |body| {
        body.leaf("h2", &[], "Functions");
        body.leaf(
            "p",
            &[("class", "lead")],
            "Own time excludes called functions; total time includes them. Time off a CPU is own \
             time of the function that called the kernel.",
        );
        each_view(body, views, |body, digest| {
            body.leaf(
                "p",
                &[("class", "more")],
                &format!("Shares are of the {}.", digest.tops.heading),
            );
            let headings = ["function", "own", "own share", "total", "total share"];
            table(body, "sortable", &headings, |rows| {
                for row in digest
                    .tops
                    .functions
                    .iter()
                    .filter(|row| row.kind == Kind::Function)
                    .take(MOST_FUNCTIONS)
                {
                    rows.element("tr", &[], |cells| {
                        cells.element("td", &[("class", "name")], |cell| {
                            cell.leaf("code", &[], &row.name);
                        });
                        number(cells, Nanos(row.own));
                        share(cells, row.own_share);
                        number(cells, Nanos(row.total));
                        share(cells, row.total_share);
                    });
                }
            });
            let functions =
                digest.tops.functions.iter().filter(|row| row.kind == Kind::Function).count();
            cut(body, functions, MOST_FUNCTIONS, "functions");
        });
    });
}

/// How far the recording can be trusted: accounting against the kernel's, and losses.
pub(super) fn evidence(body: &mut Markup, views: &RecordingViews<'_>) {
    body.element("section", &[("id", "evidence")], |body| {
        body.leaf("h2", &[], "How far this can be trusted");
        each_view(body, views, |body, digest| {
            table(body, "", &["check", "measured", "expected", "difference"], |rows| {
                for check in digest.checks() {
                    rows.element("tr", &[], |row| {
                        row.leaf("td", &[], check.what);
                        row.leaf("td", &[("class", "num")], &check.ours.to_string());
                        row.leaf("td", &[("class", "num")], &check.theirs.to_string());
                        let class = if check.fine { "num good" } else { "num bad" };
                        row.leaf("td", &[("class", class)], &check.difference());
                    });
                }
            });
            losses(body, digest);
            for seen in SeenRuntime::all(&digest.recording) {
                body.leaf("p", &[("class", "more")], &seen.line());
            }
        });
    });
}

fn losses(body: &mut Markup, digest: &Digest) {
    let lines = &digest.losses;
    if lines.is_empty() {
        body.leaf("p", &[("class", "more")], "Nothing was lost, cut or guessed.");
        return;
    }
    table(body, "", &["lost", "severity", "count", "details", "what to do"], |rows| {
        for line in lines {
            rows.element("tr", &[], |row| {
                row.element("td", &[], |cell| cell.leaf("code", &[], &line.id));
                row.leaf("td", &[], &line.severity.to_string());
                row.leaf("td", &[("class", "num")], &line.count.to_string());
                row.leaf("td", &[("class", "name")], &line.detail);
                row.leaf("td", &[], &line.advice);
            });
        }
    });
}

fn number(row: &mut Markup, time: Nanos) {
    row.leaf("td", &[("class", "num"), ("data-sort", &time.0.to_string())], &time.to_string());
}

fn share(row: &mut Markup, share: f64) {
    row.leaf("td", &[("class", "num"), ("data-sort", &share.to_string())], &percent(share));
}

fn cut(body: &mut Markup, all: usize, shown: usize, what: &'static str) {
    if all > shown {
        body.leaf(
            "p",
            &[("class", "more")],
            &format!("{} more {what} are not listed.", all - shown),
        );
    }
}
