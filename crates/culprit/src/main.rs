//! The `culprit` program: arguments to a plan, the plan to effects, effects to output.

fn main() {}
