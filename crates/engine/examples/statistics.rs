//! Prints how often `culprit bench` finds what is there, and what is not, in simulated sessions: the
//! tables of docs/statistics.md.
#![expect(clippy::print_stdout, reason = "an example prints")]

#[path = "../tests/it/simulation.rs"]
mod simulation;

fn main() {
    println!("{}", simulation::tables().trim());
}
