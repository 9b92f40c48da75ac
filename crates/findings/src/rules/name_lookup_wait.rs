//! `name-lookup-wait`: threads wait inside the functions that resolve names.

use culprit_model::{Nanos, ThreadId};

use crate::evidence::{Evidence, Family, Segment, SegmentId};
use crate::kernel_time;
use crate::rule::{COST, Claim, Group, PERCENT, Rule, RuleDoc, Site, Specificity, Threshold};
use crate::tally;

/// The rule.
pub(crate) struct NameLookupWait;

/// Length from which a lookup's wait was for a timeout and a resend, not for an answer.
const RESEND: Nanos = Nanos(900_000_000);

pub(crate) const DOC: RuleDoc = RuleDoc {
    id: "name-lookup-wait",
    group: Group::Waiting,
    specificity: Specificity::Mechanism,
    yields_to: &[],
    claim: "A thread waits while the address of a host, or another name, is looked up.",
    signature: "A thread on the critical path is blocked inside functions that resolve names: \
                `getaddrinfo`, the C library's resolver and name service modules, Go's resolver. \
                The recording does not show which server was asked, or for which name.",
    not_reported: &[],
    why: "A lookup asks servers over the network one after the other, for each search domain and \
          for both kinds of address. A server that does not answer costs 5 s before the next one \
          is asked. Containers often have a search list (`ndots:5`) that turns one name into ten \
          queries.",
    fix: &[
        "Keep connections and resolved addresses.",
        "Use names with a final dot, or set `options ndots:1` in `resolv.conf`.",
        "Remove servers that do not answer from `resolv.conf`.",
        "Run a cache on this machine: `systemd-resolved`, `nscd`, or a DNS cache beside the \
         containers.",
        "If parallel queries get lost, set `options single-request-reopen` or use TCP.",
    ],
    check: "culprit record -o fixed.culprit -- CMD; the cost of `name-lookup-wait` in `culprit \
            findings fixed.culprit` must be smaller than before",
    thresholds: &[Threshold {
        what: "length of a wait that was for a timeout, not for an answer",
        value: RESEND.0 as f64,
        unit: "ns",
        reason: "Servers answer within 0.2 s, distant ones too. Resolvers ask again after 5 s, or \
                 after 1 s if the timeout is set lower.",
        source: "resolv.conf(5): timeout, 5 s by default",
    }],
};

impl Rule for NameLookupWait {
    fn find(&self, evidence: &Evidence<'_>) -> Vec<Claim> {
        let segments = evidence.segments(|s, _| resolving(evidence, s).is_some());
        tally::by(evidence, &segments, |s| resolving(evidence, s))
            .into_iter()
            .map(|t| told(evidence, t.key, t.segments, t.total))
            .collect()
    }
}

/// The thread that waits for a name in a segment, itself or because another one works for it.
fn resolving(evidence: &Evidence<'_>, segment: &Segment) -> Option<ThreadId> {
    let own = evidence.of_segment(segment);
    let above = evidence.chain.links(segment).map(|link| evidence.interval(link.wait));
    let mut waits = own.cause.is_blocked().then_some(own).into_iter().chain(above);
    waits.find(|w| evidence.stacks.in_family(w.stack, Family::Resolver)).map(|w| w.thread)
}

fn told(
    evidence: &Evidence<'_>,
    waiter: ThreadId,
    segments: Vec<SegmentId>,
    total: Nanos,
) -> Claim {
    let waits = evidence.waits(&segments);
    let resends = waits.iter().filter(|w| evidence.interval(**w).duration >= RESEND).count();
    let caller = kernel_time::caller(evidence, &segments);
    let whole = evidence.chain.whole;
    let title = format!(
        "{} waits {COST} of {whole} ({PERCENT}) to resolve names, mostly from `{caller}`",
        evidence.recording.thread_name(waiter)
    );
    let mean = Nanos(total.0 / (waits.len() as u64).max(1));
    let here = if resends > 0 {
        format!(
            "{resends} of {} waits lasted as long as a resolver's timeout: a server does not \
             answer.",
            waits.len()
        )
    } else {
        String::new()
    };
    Claim::new(&DOC, title, segments)
        .share_of(whole)
        .at(Site::Entry)
        .saying(here, String::new())
        .fact("waits in the resolver", waits.len() as f64, "count")
        .fact("of these, as long as a timeout", resends as f64, "count")
        .time("mean length of a wait", mean)
}

#[cfg(test)]
mod tests {
    use crate::scene::{End, Scene, first, told};
    use culprit_model::{Cause, Recording};

    fn asking(resolver: &str) -> Recording {
        let mut scene = Scene::default();
        let main = scene.program("client", None, 0);
        let wait = format!("main;fetch;{resolver};libc.so.6!poll;k:do_syscall_64;k:do_sys_poll");
        scene.run(main, 10, Cause::CpuUser, "main;fetch");
        scene.wait(main, 5000, Cause::Poll, &wait, End::Timer);
        scene.wait(main, 20, Cause::Poll, &wait, End::Network);
        scene.run(main, 10, Cause::CpuUser, "main;fetch");
        scene.done()
    }

    #[test]
    fn a_server_that_does_not_answer_is_told_with_who_asked() {
        let resolvers = [
            "libc.so.6!getaddrinfo;libc.so.6!__res_context_send;libc.so.6!send_dg",
            "getaddrinfo;__res_msend_rc",
            "net.(*Resolver).lookupIPAddr;net.(*Resolver).exchange;internal/poll.(*FD).Read",
        ];
        for resolver in resolvers {
            let found = first(&asking(resolver), "name-lookup-wait").expect(resolver);
            assert_eq!(found.cost.0, 5_020_000_000);
            assert!(found.why.starts_with("1 of 2 waits lasted as long as a resolver's timeout"));
            assert_eq!(told(&asking(resolver))[0], "name-lookup-wait 5020");
        }
        let found = first(&asking(resolvers[0]), "name-lookup-wait").expect("found");
        assert_eq!(&*found.at[0].function, "fetch");
        let title = "client (100) waits 5.02 s of 5.04 s (100 %) to resolve names, mostly from \
                     `program!fetch`";
        assert_eq!(found.title, title);
    }

    #[test]
    fn other_waits_for_the_network_are_not() {
        assert!(first(&asking("receive"), "name-lookup-wait").is_none());
    }
}
