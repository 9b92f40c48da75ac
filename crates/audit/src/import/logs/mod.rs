//! Access logs: lines become requests, requests of one visitor become visits.
//!
//! ```text
//! combined, w3c, elb, json   one file a form of lines
//! request                    what each of them says of a request
//! sessions                   requests to visits
//! clients                    whether addresses can be those of clients
//! ```

mod clients;
mod combined;
mod elb;
mod json;
mod request;
mod sessions;
mod w3c;

pub(crate) use clients::{ClientsKind, UnusualClients};
pub(crate) use combined::read_combined;
pub(crate) use elb::read_elb;
pub(crate) use json::{JsonNames, read_json_log};
pub use request::LogField;
pub(crate) use request::{FieldSet, Requests};
pub(crate) use sessions::{Sessions, VISIT_ENDS_MS};
pub(crate) use w3c::{W3cRules, header_lines, read_w3c};
