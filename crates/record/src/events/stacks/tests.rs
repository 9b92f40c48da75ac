use super::*;

const CONTEXT_KERNEL: u64 = (-128_i64).cast_unsigned();
const SPACE: SpaceId = SpaceId(1);
const CHAIN: [u64; 5] = [CONTEXT_KERNEL, 900, CONTEXT_USER, 10, 30];

fn at(stack_pointer: u64) -> Variant {
    Variant { thread: 1, stack_pointer }
}

#[test]
fn the_same_chain_is_one_stack_per_space_thread_and_stack_pointer() {
    let mut stacks = RawStacks::default();
    let first = stacks.intern(SPACE, at(100), &CHAIN);
    assert_eq!(stacks.intern(SPACE, at(100), &CHAIN), first);
    assert_ne!(stacks.intern(SPACE, at(200), &CHAIN), first);
    assert_ne!(stacks.intern(SpaceId(2), at(100), &CHAIN), first);
    assert_eq!(stacks.chain(first), CHAIN);
    assert_eq!(stacks.take_new().count(), 3);
    assert_eq!(stacks.take_new().count(), 0);
}

#[test]
fn what_frame_pointers_find_outside_of_code_is_one_stack_that_a_dump_repairs() {
    let mut stacks = RawStacks::default();
    let is_caller = |word| word < 0x1_0000;
    let chain = |garbage: &[u64]| [&[CONTEXT_USER, 0x1000], garbage].concat();
    let first = stacks.intern_pointers(SPACE, at(100), &chain(&[0x7_0000, 0x2000]), is_caller);
    let second = stacks.intern_pointers(SPACE, at(100), &chain(&[0x8_0000]), is_caller);
    assert_eq!(first, second);
    assert_eq!(stacks.chain(first), chain(&[NOWHERE]));
    let elsewhere = stacks.intern_pointers(SPACE, at(100), &chain(&[0x2000]), is_caller);
    assert_ne!(elsewhere, first);
    stacks.learn(first, &whole(&[0x1000, 0x3000]));
    assert_eq!(stacks.repaired(second), Some(vec![CONTEXT_USER, 0x1000, 0x3000]));
}

#[test]
fn a_dump_restores_the_caller_that_frame_pointers_lose() {
    let mut stacks = RawStacks::default();
    let stack = stacks.intern(SPACE, at(100), &CHAIN);
    assert_eq!(stacks.repaired(stack), None);
    stacks.learn(stack, &whole(&[10, 20, 30]));
    stacks.learn(stack, &whole(&[10, 20, 30]));
    let expected = vec![CONTEXT_KERNEL, 900, CONTEXT_USER, 10, 20, 30];
    assert_eq!(stacks.repaired(stack), Some(expected));
}

#[test]
fn threads_that_wait_in_the_same_function_do_not_contradict_each_other() {
    let mut stacks = RawStacks::default();
    let mut exact_at = |stack_pointer| {
        let stack = stacks.intern(SPACE, at(stack_pointer), &CHAIN);
        [cut(&[10, 20]), whole(&[10, 20, 30])].map(|user| stacks.exact(stack, &user))
    };
    let ([first, whole_first], [second, whole_second]) = (exact_at(100), exact_at(200));
    assert_eq!(whole_first, whole_second);
    assert_ne!(first, second);
    stacks.learn(first, &whole(&[10, 20, 30]));
    stacks.learn(second, &whole(&[10, 20, 31]));
    let learnt = [first, second].map(|stack| stacks.repaired(stack));
    assert_eq!(learnt, [30, 31].map(|root| Some(join(&CHAIN[..2], &[10, 20, root]))));
}

#[test]
fn dumps_that_disagree_teach_nothing() {
    let mut stacks = RawStacks::default();
    let stack = stacks.intern(SPACE, at(100), &CHAIN);
    stacks.learn(stack, &whole(&[10, 20, 30]));
    stacks.learn(stack, &whole(&[10, 21, 30]));
    stacks.learn(stack, &whole(&[10, 20, 30]));
    assert_eq!(stacks.repaired(stack), None);
}

#[test]
fn frames_that_never_come_back_belong_to_the_switches_before() {
    let mut stacks = RawStacks::default();
    let before = stacks.intern(SPACE, at(100), &CHAIN);
    stacks.learn_from_now_on(before, &whole(&[10, 20, 30]));
    assert_eq!(stacks.intern(SPACE, at(100), &CHAIN), before);
    stacks.learn_from_now_on(before, &whole(&[10, 21, 30]));
    let after = stacks.intern(SPACE, at(100), &CHAIN);
    assert_ne!(after, before);
    let user = |stacks: &RawStacks, stack| {
        stacks.repaired(stack).map(|chain: Vec<u64>| split(&chain).1.to_vec())
    };
    assert_eq!(user(&stacks, before), Some(vec![10, 20, 30]));
    assert_eq!(user(&stacks, after), Some(vec![10, 21, 30]));
    stacks.learn_from_now_on(after, &whole(&[10, 20, 30]));
    assert_eq!((user(&stacks, before), user(&stacks, after)), (None, None), "they take turns");
    assert_eq!(stacks.intern(SPACE, at(100), &CHAIN), after);
    stacks.forget(&[before, after]);
    assert_ne!(stacks.intern(SPACE, at(100), &CHAIN), after);
}

#[test]
fn a_variant_whose_frames_are_never_the_same_has_none() {
    let mut stacks = RawStacks::default();
    for caller in 20..40 {
        let stack = stacks.intern(SPACE, at(100), &CHAIN);
        stacks.learn_from_now_on(stack, &whole(&[10, caller, 30]));
    }
    let all: Vec<RawStack> = stacks.kept().collect();
    assert_eq!(all.len(), MOST_GENERATIONS);
    assert!(all.iter().all(|stack| stacks.repaired(*stack).is_none()));
}

#[test]
fn dumps_that_disagree_teach_what_they_have_in_common_where_frame_pointers_lead_to_nothing() {
    let mut stacks = RawStacks::default();
    let chain = [&CHAIN[..4], &[0x7_0000]].concat();
    let stack = stacks.intern_pointers(SPACE, at(100), &chain, |word| word < 100);
    let taught = |stacks: &mut RawStacks, dump: &[u64]| {
        stacks.learn(stack, &whole(dump));
        stacks.repaired(stack).map(|chain| split(&chain).1.to_vec())
    };
    assert_eq!(taught(&mut stacks, &[10, 20, 30, 40]), Some(vec![10, 20, 30, 40]));
    assert_eq!(taught(&mut stacks, &[10, 21, 30, 40]), Some(vec![10, NOWHERE, 30, 40]));
    assert_eq!(taught(&mut stacks, &[10, 22, 23, 41, 40]), Some(vec![10, NOWHERE, 40]));
    assert_eq!(taught(&mut stacks, &[10, 40]), Some(vec![10, NOWHERE, 40]));
}

fn whole(chain: &[u64]) -> UnwoundFrames {
    UnwoundFrames { chain: chain.to_vec(), reach: Reach::Root }
}

fn cut(chain: &[u64]) -> UnwoundFrames {
    UnwoundFrames { reach: Reach::CopyEnd, ..whole(chain) }
}

#[test]
fn a_dump_that_ends_early_goes_on_by_frame_pointers() {
    // Where both pass the last frame.
    assert_eq!(cut(&[10, 20, 30]).with(&[10, 30, 40, 50]), Some(cut(&[10, 20, 30, 40, 50])));
    // A function that calls itself.
    assert_eq!(cut(&[10, 20, 30, 30]).with(&[10, 30, 30, 30]), Some(cut(&[10, 20, 30, 30, 30])));
    // Where they do not meet, the longer one is right, and frame pointers are known already.
    assert_eq!(cut(&[10, 20, 30]).with(&[10, 77]), Some(cut(&[10, 20, 30])));
    assert_eq!(cut(&[10, 20]).with(&[10, 30, 40]), None);
    assert_eq!(whole(&[10, 20]).with(&[10, 30, 40]), Some(whole(&[10, 20])));
}

#[test]
fn of_two_dumps_the_one_that_reaches_further_teaches() {
    let (short, long, root) = (cut(&[10, 20]), cut(&[10, 20, 30]), whole(&[10, 20, 31]));
    for [first, second] in [[&short, &long], [&long, &root]] {
        for order in [[first, second], [second, first]] {
            let mut stacks = RawStacks::default();
            let stack = stacks.intern(SPACE, at(100), &CHAIN);
            order.iter().for_each(|unwound| stacks.learn(stack, unwound));
            assert_eq!(stacks.repaired(stack), Some(join(&CHAIN[..2], &second.chain)));
        }
    }
}

#[test]
fn a_forgotten_stack_keeps_its_row_and_is_not_found_again() {
    let mut stacks = RawStacks::default();
    let stack = stacks.intern(SPACE, at(100), &CHAIN);
    stacks.set_row(stack, Some(StackId(7)));
    stacks.forget(&[stack]);
    assert_eq!(stacks.row(stack), Some(StackId(7)));
    assert_eq!(stacks.kept().count(), 0);
    assert_ne!(stacks.intern(SPACE, at(100), &CHAIN), stack);
}
