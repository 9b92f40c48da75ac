//! What a recording file promises, tested through the public API.

mod round_trip;
mod sample;
