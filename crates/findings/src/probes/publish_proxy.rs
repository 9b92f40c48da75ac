//! `publish-proxy`: a published port is served by a process that copies every byte.
//!
//! Told by the probe `net`: the way through the published port against the host's network, and the CPU
//! time of the process between.

use culprit_model::{Finding, Severity};

use super::Told;
use super::measured::{Measured, MeasuredArm, length};
use crate::rule::{Group, RuleDoc, Specificity, fact};

pub(crate) const DOC: RuleDoc = RuleDoc {
    id: "publish-proxy",
    group: Group::Network,
    specificity: Specificity::Mechanism,
    yields_to: &[],
    claim: "Connections to a published port go through a user-space proxy that copies every byte.",
    signature: "`culprit bench net` compares a container's published port with the host's \
                network, in the same rounds. Round trips or connections take longer through the \
                port, and the engine's proxy process uses CPU time meanwhile.",
    not_reported: &["a published port that the kernel forwards, without a proxy process"],
    why: "The kernel's rule that forwards a published port leaves out loopback (127.0.0.0/8). A \
          client on the same machine talks to `docker-proxy`, which opens a second connection into \
          the container. Each message costs two more process switches, and each byte costs CPU \
          time.",
    fix: &[
        "Let clients on the same machine use the container's own address, or a network of \
         containers that both share (`--network NAME`).",
        "Run the container on the host's network: `docker run --network host`.",
        "Switch the proxy off in Docker's `daemon.json` (`userland-proxy: false`), so that the \
         kernel forwards loopback, too.",
    ],
    check: "culprit bench net --place host --place docker:IMAGE; without the proxy this finding \
            must be gone",
    thresholds: &[],
};

/// What a way through the proxy makes longer.
const METRICS: [&str; 2] = ["rtt_ns.p50", "connect_ns.p50"];

/// The proxy's CPU time for each of them. Without a process on the way the kernel forwards, which is no
/// matter of a proxy.
fn proxy_cpu(arm: &MeasuredArm<'_>, id: &str) -> Option<f64> {
    let of = match id {
        "rtt_ns.p50" => "proxy_cpu_ns_per_trip",
        _ => "proxy_cpu_ns_per_connect",
    };
    arm.median(of).filter(|cpu| *cpu > 0.0)
}

pub(super) fn find(measured: &Measured<'_>) -> Vec<Finding> {
    let published = measured.candidates().filter(|arm| arm.variant == Some("published"));
    published.filter_map(|arm| told(measured, arm)).collect()
}

fn told(measured: &Measured<'_>, arm: &MeasuredArm<'_>) -> Option<Finding> {
    let direct = measured.sibling(arm, "hostnet").or_else(|| measured.arms.first())?;
    let mut longer = measured.worse_by(arm, direct, &METRICS);
    longer.retain(|(metric, _)| proxy_cpu(arm, metric.id).is_some());
    let title = format!("The published port of {} goes through a proxy:", arm.place);
    let labels = [direct.label, arm.label];
    let told = Told { doc: &DOC, severity: Severity::Medium, title, labels };
    let mut finding = told.finding(&longer, |metric, difference| {
        let (times, more) = (difference.times(), length(difference.more()));
        let cpu = length(proxy_cpu(arm, metric.id).unwrap_or_default());
        format!("{} {times}, +{more}, {cpu} of CPU time in the proxy", metric.name)
    })?;
    finding.evidence.extend(longer.iter().filter_map(|(metric, _)| {
        let cpu = proxy_cpu(arm, metric.id)?;
        Some(fact(format!("{}, CPU time of the proxy", metric.name), cpu, "ns"))
    }));
    Some(finding)
}

#[cfg(test)]
mod tests {
    use super::super::scene::{Arm, measured};
    use super::*;

    fn of(cpu: f64, rtt: f64) -> Vec<String> {
        let values = |rtt: f64, cpu: f64| [("rtt_ns.p50", rtt), ("proxy_cpu_ns_per_trip", cpu)];
        let arms = [
            Arm::host(&values(13e3, 0.0)),
            Arm::engine(&values(14e3, 0.0)).variant("hostnet"),
            Arm::engine(&values(rtt, cpu)).variant("published"),
        ];
        measured("net", &arms, |measured| {
            find(measured).into_iter().map(|finding| finding.title).collect()
        })
    }

    #[test]
    fn a_slower_way_with_a_busy_proxy_is_told() {
        let told = of(20e3, 55e3);
        assert!(
            told[0].contains("rtt_ns.p50 x 3.9") && told[0].contains("CPU time in"),
            "{told:?}"
        );
    }

    #[test]
    fn no_proxy_or_no_difference_is_no_finding() {
        assert!(of(0.0, 55e3).is_empty() && of(20e3, 14.1e3).is_empty());
    }
}
