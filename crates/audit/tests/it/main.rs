//! Tests of the analytics store as its users see it.

mod questions;
mod robots;
mod support;
mod visits;
