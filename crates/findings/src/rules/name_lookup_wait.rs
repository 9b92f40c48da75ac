//! `name-lookup-wait`: waits inside the functions that resolve names.

use culprit_model::{Nanos, ThreadId};

use crate::evidence::{Evidence, Family, Segment, SegmentId};
use crate::kernel_time;
use crate::rule::{COST, Claim, Group, Rule, RuleDoc, Site, Specificity, Threshold};
use crate::tally;

/// The rule.
pub(crate) struct NameLookupWait;

/// A wait of a look-up from which it was for a resend, not for an answer.
const RESEND: Nanos = Nanos(900_000_000);

pub(crate) const DOC: RuleDoc = RuleDoc {
    id: "name-lookup-wait",
    group: Group::Waiting,
    specificity: Specificity::Mechanism,
    claim: "A thread waits for the address of a host, or for another name, to be looked up.",
    signature: "Blocked inside the functions that resolve names (getaddrinfo, the resolver, the name \
                service's modules, Go's resolver), on the measured thing's path. Which server was \
                asked for which name is not recorded.",
    why: "A look-up asks servers over the network, one after the other, for each search domain and for \
          both kinds of address; one that does not answer costs 5 s before the next is asked. \
          Containers often have a search list (ndots:5) that turns one name into ten questions.",
    fix: "Keep connections and addresses, use names with a final dot or ndots:1, remove dead servers \
          from resolv.conf, run a cache on this machine (systemd-resolved, nscd, a DNS cache beside the \
          containers); for lost parallel questions `options single-request-reopen` or TCP.",
    check: "culprit record -o fixed.culprit -- CMD; waits under getaddrinfo in `culprit callees \
            fixed.culprit --metric blocked` must shrink",
    thresholds: &[Threshold {
        what: "one wait that was for a timeout, not for an answer",
        value: RESEND.0 as f64,
        unit: "ns",
        reason: "Servers answer within 0.2 s, also distant ones; resolvers ask again after 5 s, or \
                 after 1 s where the interval is set lower.",
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
    let title = format!(
        "{} waits {COST} for names to be looked up, most from `{caller}`",
        evidence.recording.thread_name(waiter)
    );
    let mean = Nanos(total.0 / (waits.len() as u64).max(1));
    let here = if resends > 0 {
        format!("{resends} of the waits took a resolver's timeout: a server does not answer.")
    } else {
        String::new()
    };
    Claim::new(&DOC, title, segments)
        .at(Site::Entry)
        .saying(here, String::new())
        .fact("waits in the resolver", waits.len() as f64, "count")
        .fact("of these as long as a timeout", resends as f64, "count")
        .time("time of one (mean)", mean)
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
            assert!(found.why.starts_with("1 of the waits took a resolver's timeout"));
            assert_eq!(told(&asking(resolver))[0], "name-lookup-wait 5020");
        }
        let found = first(&asking(resolvers[0]), "name-lookup-wait").expect("found");
        assert_eq!(&*found.at[0].function, "fetch");
    }

    #[test]
    fn other_waits_for_the_network_are_not() {
        assert!(first(&asking("receive"), "name-lookup-wait").is_none());
    }
}
