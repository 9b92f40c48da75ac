//! Every fixture is read with and without its telling name, and damaged in every way.

mod hostile;
mod round_trip;
mod values;
