//! What a page of a probe must show, and what must not break it.

use culprit_engine::stats::{Bands, Stop, compare_paired, noise_floor};
use culprit_model::Unit;
use culprit_place::PlaceSpec;
use culprit_probe::{
    Arm, ArmSamples, FloorRow, Gate, Histogram, ProbeComparison, Role, Sample, Stopped,
};

use super::*;
use crate::html::integrity;
use crate::testing::HOSTILE;

const WALL: Metric = Metric::lower("wall_ns", "a file", Unit::Nanos, Part::Headline);
const RATE: Metric = Metric::higher("per_s", "requests", Unit::BytesPerSecond, Part::Shown);
const DETAIL: Metric = Metric::lower("detail", "bytes beside", Unit::Bytes, Part::Detail);
const FACT: Metric = Metric::fact("seen", "share seen", Unit::Share);

fn arm(label: &str, role: Role) -> Arm {
    Arm {
        label: label.to_owned(),
        spec: PlaceSpec::HOST,
        asked: PlaceSpec::HOST,
        dir: format!("/data/{label}").into(),
        host_dir: None,
        location: "folder",
        role,
        variant: None,
    }
}

/// An arm whose rounds took these times; the rate is their inverse.
fn measured(label: &str, role: Role, walls: &[f64], latencies: bool) -> ArmSamples {
    let sample = |wall: &f64| {
        let rate = if *wall > 0.0 { 1e15 / wall } else { 0.0 };
        let sample = Sample::default().with(WALL.id, *wall).with(RATE.id, rate).with(FACT.id, 0.5);
        if !latencies {
            return Some(sample);
        }
        let mut seen = Histogram::default();
        (0..200_u32).for_each(|at| seen.record(whole(*wall) * u64::from(at * at) / 40_000));
        Some(sample.with_latencies("read", seen))
    };
    ArmSamples {
        arm: arm(label, role),
        samples: walls.iter().map(sample).collect(),
        facts: vec![format!("{label} is a place")],
        storage: None,
        problem: None,
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "small and positive")]
fn whole(value: f64) -> u64 {
    value as u64
}

fn times(arm: &ArmSamples, metric: &Metric) -> Vec<f64> {
    let turned = |value: f64| {
        if metric.better == Better::Higher && value > 0.0 { 1.0 / value } else { value }
    };
    arm.values(metric).into_iter().map(turned).collect()
}

fn turned_over(interval: Interval) -> Interval {
    Interval { low: 1.0 / interval.high, high: 1.0 / interval.low, ..interval }
}

/// The first arm is the baseline; each other is compared by its role.
fn answer(arms: Vec<ArmSamples>) -> Answer {
    let metrics = vec![WALL, RATE, DETAIL, FACT];
    let (mut comparisons, mut floors) = (Vec::new(), Vec::new());
    for (metric, of) in metrics.iter().enumerate().filter(|(_, metric)| metric.is_compared()) {
        let turned = of.better == Better::Higher;
        for (at, other) in arms.iter().enumerate().skip(1) {
            let (first, values) = (times(&arms[0], of), times(other, of));
            if other.arm.role == Role::Again {
                floors.extend(noise_floor(&first, &values).map(|floor| FloorRow { metric, floor }));
                continue;
            }
            let ratio = compare_paired(&first, &values, Bands { same: 0.05, different: 0.08 });
            comparisons.extend(ratio.map(|ratio| ProbeComparison {
                arm: at,
                metric,
                value: if turned { 1.0 / ratio.value } else { ratio.value },
                interval: if turned { turned_over(ratio.interval) } else { ratio.interval },
                verdict: ratio.verdict,
                rounds: ratio.rounds,
                more_rounds: ratio.more_rounds,
                bands: ratio.bands,
                p_in_family: ratio.p,
                difference: 0.0,
            }));
        }
    }
    let rounds = arms.first().map_or(0, |arm| arm.samples.len());
    Answer {
        probe: "files",
        workload: serde_json::Value::Null,
        words: vec!["100 files of 4 KiB".to_owned()],
        metrics,
        arms,
        comparisons,
        floors,
        headline: 0,
        rounds: u32::try_from(rounds).unwrap(),
        stopped: Stopped::By(Stop::Rounds),
        gate: Gate { contended: vec![1], disturbances: Vec::new() },
        environment: [("kernel".to_owned(), "6.1 <x>".to_owned())].into(),
    }
}

/// `rounds` times around `middle`, ns; other middles have other noise.
fn walls(middle: f64, rounds: u32) -> Vec<f64> {
    let mut noise = middle / 1e7;
    let mut next = || {
        noise = (noise * 997.0 + 0.618_034).fract();
        middle * (1.0 + noise / 5.0)
    };
    (0..rounds).map(|_| next()).collect()
}

fn usual() -> Answer {
    answer(vec![
        measured("host", Role::Baseline, &walls(1.1e6, 20), true),
        measured("host again", Role::Again, &walls(1.12e6, 20), true),
        measured("host in a cgroup", Role::HostInCgroup, &walls(1.15e6, 20), true),
        measured("docker:layer", Role::Candidate, &walls(2.9e6, 20), true),
        measured("docker:volume", Role::Candidate, &walls(1.13e6, 20), true),
    ])
}

/// Numbers in the attributes of shapes.
fn places(page: &str) -> impl Iterator<Item = f64> {
    let names = ["x1", "x2", "y1", "y2", "x", "y", "cx", "cy", "width", "height"];
    names.into_iter().flat_map(move |name| {
        let parts: Vec<&str> = page.split(&format!(" {name}=\"")).skip(1).collect();
        parts.into_iter().filter_map(|part| part.split('"').next()?.parse().ok())
    })
}

fn is_sound(answer: &Answer) -> String {
    let page = probe_page(answer, &MeasuredFindings::default());
    // Written out, so that a place's name that has it would be found too.
    for word in ["NaN", "\"inf", "\"-inf"] {
        assert!(!page.contains(word), "{word}");
    }
    assert!(places(&page).all(|place| (0.0..=1200.0).contains(&place)));
    assert_eq!(page.matches("<svg").count(), page.matches("</svg>").count());
    page
}

#[test]
fn there_is_a_point_for_every_sample_of_every_metric_that_is_shown() {
    let page = is_sound(&usual());
    assert_eq!(page.matches("class=\"point ").count(), 5 * 20 * 2, "two metrics are shown");
    assert_eq!(page.matches("<figure>").count(), 2);
    for text in ["slower", "noise floor", "Probe files", "Work: 100 files", "bytes beside"] {
        assert!(page.contains(text), "{text}");
    }
    assert!(page.contains("6.1 &lt;x&gt;"));
    let pictures = page.matches("role=\"img\"").count();
    assert_eq!(pictures, 2 * 2 + 2, "panels, rounds, latencies");
    assert_eq!(
        page.matches("aria-label=").count(),
        pictures + 1,
        "each has a label, as has the nav"
    );
}

#[test]
fn a_hostile_name_adds_no_element() {
    let page = |label: &str| {
        is_sound(&answer(vec![
            measured(label, Role::Baseline, &walls(1e6, 6), true),
            measured(label, Role::Candidate, &walls(3e6, 6), true),
        ]))
    };
    let (hostile, plain) = (page(HOSTILE), page("plain"));
    for tag in ["<script", "</script", "<img", "<style", "<section", "<svg"] {
        assert_eq!(hostile.matches(tag).count(), plain.matches(tag).count(), "{tag}");
    }
    assert!(!hostile.contains('\u{1b}'));
    assert!(hostile.contains("&lt;/script&gt;&lt;img onerror=alert(1)&gt;"));
}

#[test]
fn the_policy_names_the_style_and_nothing_is_loaded() {
    let page = probe_page(&usual(), &MeasuredFindings::default());
    let style = page.split("<style>").nth(1).and_then(|rest| rest.split("</style>").next());
    assert!(page.contains(&integrity(style.unwrap())));
    for word in ["http://", "https://", "src=", "@import", "url(", "<script", "style=\""] {
        assert!(!page.contains(word), "{word}");
    }
}

#[test]
fn odd_answers_have_a_page_too() {
    let baseline = |walls: &[f64]| measured("host", Role::Baseline, walls, false);
    let candidate = |walls: &[f64]| measured("box", Role::Candidate, walls, true);
    // One arm; one round; equal values; zeros; a wide spread; an arm that failed; nothing at all.
    let _one = is_sound(&answer(vec![baseline(&walls(1e6, 8))]));
    let _round = is_sound(&answer(vec![baseline(&[1e6]), candidate(&[1e6])]));
    let _equal = is_sound(&answer(vec![baseline(&[5.0; 9]), candidate(&[5.0; 9])]));
    let _zeros = is_sound(&answer(vec![baseline(&[0.0; 9]), candidate(&[0.0; 9])]));
    let _wide = is_sound(&answer(vec![baseline(&[1.0, 0.0, 1e12]), candidate(&[1e12, 3.0, 0.0])]));
    let mut failed = answer(vec![baseline(&walls(1e6, 4)), candidate(&[])]);
    failed.arms[1].samples = vec![None, None];
    failed.arms[1].problem = Some("the place <is> gone".to_owned());
    assert!(is_sound(&failed).contains("the place &lt;is&gt; gone"));
    let nothing = is_sound(&answer(Vec::new()));
    assert!(!nothing.contains("id=\"latency\"") && !nothing.contains("id=\"rounds\""));
}

#[test]
fn ratios_of_rates_to_themselves_are_turned_over() {
    let mut answer = usual();
    let (value, interval) = floor_ratio(&answer, 0).unwrap();
    answer.metrics[0].better = Better::Higher;
    let (turned, other) = floor_ratio(&answer, 0).unwrap();
    assert!((value * turned - 1.0).abs() < 1e-9 && (interval.low * other.high - 1.0).abs() < 1e-9);
    assert!(other.low <= turned && turned <= other.high);
}
