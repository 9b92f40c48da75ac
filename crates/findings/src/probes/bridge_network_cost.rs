//! `bridge-network-cost`: what the bridge between the host and a container costs by itself.
//!
//! Told by the probe `net`: the container's address on the bridge against the host's network, without
//! any proxy.

use culprit_model::{Finding, Severity};

use super::Told;
use super::measured::{Measured, MeasuredArm, length};
use crate::rule::{Group, RuleDoc, Specificity};

pub(crate) const DOC: RuleDoc = RuleDoc {
    id: "bridge-network-cost",
    group: Group::Network,
    specificity: Specificity::Mechanism,
    yields_to: &[],
    claim: "The container's bridge network adds time to each round trip and each new connection.",
    signature: "`culprit bench net` compares the container's address on the bridge with the same \
                container on the host's network, in the same rounds. Round trips, connections or \
                HTTP requests take longer over the bridge.",
    not_reported: &[],
    why: "A packet crosses a veth pair and a bridge. netfilter looks it up in the tables of \
          connections and of address translation, in both directions.",
    fix: &[
        "Run programs that exchange many messages in one network namespace: one pod, or \
         `docker run --network container:NAME`.",
        "Send fewer and larger messages.",
        "Keep connections open instead of making one for each request.",
        "Use the host's network, where isolation allows it: `docker run --network host`.",
    ],
    check: "culprit bench net --place host --place docker:IMAGE; the difference between the arms \
            `bridge` and `hostnet` is what a message saves without the bridge",
    thresholds: &[],
};

const METRICS: [&str; 3] = ["rtt_ns.p50", "connect_ns.p50", "http_ns.p50"];

pub(super) fn find(measured: &Measured<'_>) -> Vec<Finding> {
    let bridges = measured.candidates().filter(|arm| arm.variant == Some("bridge"));
    bridges.filter_map(|arm| told(measured, arm)).collect()
}

fn told(measured: &Measured<'_>, arm: &MeasuredArm<'_>) -> Option<Finding> {
    let direct = measured.sibling(arm, "hostnet")?;
    let title = format!("The bridge network of {} is slower than the host's network:", arm.place);
    let labels = [direct.label, arm.label];
    let told = Told { doc: &DOC, severity: Severity::Low, title, labels };
    told.finding(&measured.worse_by(arm, direct, &METRICS), |metric, difference| {
        format!("{} {}, +{}", metric.name, difference.times(), length(difference.more()))
    })
}

#[cfg(test)]
mod tests {
    use super::super::scene::{Arm, measured};
    use super::*;

    fn of(bridge: f64) -> Vec<String> {
        let arms = [
            Arm::host(&[("rtt_ns.p50", 13e3)]),
            Arm::engine(&[("rtt_ns.p50", 14e3)]).variant("hostnet"),
            Arm::engine(&[("rtt_ns.p50", bridge)]).variant("bridge"),
        ];
        measured("net", &arms, |measured| {
            find(measured).into_iter().map(|finding| finding.title).collect()
        })
    }

    #[test]
    fn the_bridge_is_told_against_the_hosts_network() {
        let title = &of(17e3)[0];
        let expected = "The bridge network of docker:x is slower than the host's network: \
                        rtt_ns.p50 x 1.2";
        assert!(title.starts_with(expected), "{title}");
        assert!(of(14.1e3).is_empty());
    }
}
