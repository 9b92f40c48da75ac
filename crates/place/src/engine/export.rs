//! An image as its engine gives it out, read while it is sent.
//!
//! Images can be larger than memory, so nothing is kept but a few parts between the thread that speaks
//! with the engine and the reader. Dropping the reader ends the transfer.

use std::io::{self, Read};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use futures_util::StreamExt;

use super::client::{Client, is_missing, runtime, words};
use super::place::image_missing;
use crate::error::Result;
use crate::place::Settings;
use crate::spec::EngineKind;

/// Parts that the engine may be ahead of the reader; they are some 10 KiB each.
const AHEAD: usize = 64;

type Part = io::Result<Vec<u8>>;

/// A tar archive of an image: its description and one archive a layer.
#[derive(Debug)]
pub struct ImageExport {
    parts: Receiver<Part>,
    part: Vec<u8>,
    read: usize,
}

/// Asks an engine for an image.
///
/// # Errors
/// When the engine does not answer or has no such image.
pub fn export_image(engine: EngineKind, image: &str, settings: &Settings) -> Result<ImageExport> {
    let client = Client::connect(engine, settings)?;
    // The engine answers a wish for an image that is not there with an archive of none.
    match runtime()?.block_on(client.docker().inspect_image(image)) {
        Ok(_) => {}
        Err(reply) if is_missing(&reply) => return Err(image_missing(&client, image)),
        Err(reply) => return Err(client.error("inspect an image", &reply)),
    }
    let (sender, parts) = sync_channel(AHEAD);
    let image = image.to_owned();
    std::thread::spawn(move || send(&client, &image, &sender));
    Ok(ImageExport { parts, part: Vec::new(), read: 0 })
}

/// Hands on what the engine sends, until it ends, fails, or nobody reads any more.
fn send(client: &Client, image: &str, sender: &SyncSender<Part>) {
    let runtime = match runtime() {
        Ok(runtime) => runtime,
        Err(error) => {
            let _ = sender.send(Err(io::Error::other(error.to_string())));
            return;
        }
    };
    runtime.block_on(async {
        let mut parts = std::pin::pin!(client.docker().export_image(image));
        while let Some(part) = parts.next().await {
            let part = part.map(|part| part.to_vec());
            let part = part.map_err(|reply| io::Error::other(words(&reply)));
            let last = part.is_err();
            if sender.send(part).is_err() || last {
                break;
            }
        }
    });
}

impl Read for ImageExport {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        while self.read == self.part.len() {
            match self.parts.recv() {
                Ok(part) => (self.part, self.read) = (part?, 0),
                // The other end is gone: that was all.
                Err(_) => return Ok(0),
            }
        }
        let rest = &self.part[self.read..];
        let taken = rest.len().min(into.len());
        into[..taken].copy_from_slice(&rest[..taken]);
        self.read += taken;
        Ok(taken)
    }
}
