//! `io_uring`: a thread keeps many requests in flight.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd as _;

use io_uring::{IoUring, opcode, types};

use super::file::Buffer;
use super::offsets::{Request, Requests};
use super::spec::Spec;
use super::window::{Pace, Times, Window};
use crate::inside::Clock;

/// A request in flight.
#[derive(Debug, Clone, Copy)]
struct Flight {
    request: Request,
    began: u64,
}

/// A ring with the memory that its requests point into.
struct Ring {
    ring: IoUring,
    file: types::Fd,
    buffer: Buffer,
    block: u32,
    batch: u32,
    flights: Vec<Option<Flight>>,
    free: Vec<usize>,
}

/// The load of one thread. The file outlives it, and so does every request: it returns, also with an
/// error, only when none is in flight.
///
/// # Errors
/// The kernel's.
pub(super) fn load(
    file: &File,
    spec: &Spec,
    requests: Requests,
    buffer: Buffer,
    times: Times,
) -> io::Result<Window> {
    let mut ring = Ring::new(file, spec, buffer)?;
    let result = ring.load(spec, requests, times);
    if let Err(error) = ring.drain() {
        // The kernel may still write to that memory: it is not given back.
        std::mem::forget(ring);
        return Err(error);
    }
    result
}

impl Ring {
    fn new(file: &File, spec: &Spec, buffer: Buffer) -> io::Result<Self> {
        let depth = spec.depth.next_power_of_two();
        // One thread submits and waits: completions need not interrupt it (Linux 6.1). Older kernels
        // refuse the flags.
        let mut quick = IoUring::builder();
        quick.setup_single_issuer().setup_defer_taskrun().setup_cqsize(2 * depth);
        let ring = match quick.build(depth) {
            Err(error) if error.raw_os_error() == Some(libc::EINVAL) => IoUring::new(depth)?,
            other => other?,
        };
        let slots = spec.depth as usize;
        Ok(Self {
            ring,
            file: types::Fd(file.as_raw_fd()),
            buffer,
            block: u32::try_from(spec.block).map_err(io::Error::other)?,
            batch: spec.batch.clamp(1, spec.depth),
            flights: vec![None; slots],
            free: (0..slots).rev().collect(),
        })
    }

    fn load(&mut self, spec: &Spec, mut requests: Requests, times: Times) -> io::Result<Window> {
        let (mut window, mut pace) = (Window::new(times), Pace::of(spec, times));
        let mut now = Clock::now();
        while !window.is_over(now) {
            self.fill(&mut requests, &mut pace, &mut window)?;
            self.wait(pace.map(|pace| pace.next()))?;
            now = Clock::now();
            self.reap(|flight| window.completed(flight.request.writes, flight.began, now))?;
        }
        Ok(window)
    }

    /// Puts requests where there is room and it is their time, and submits them one by one, or in the
    /// batches that were asked for: what is submitted together is also answered together, which
    /// makes fewer system calls and longer latencies.
    fn fill(
        &mut self,
        requests: &mut Requests,
        pace: &mut Option<Pace>,
        window: &mut Window,
    ) -> io::Result<()> {
        let mut put = 0;
        while let Some(slot) = self.free.last().copied() {
            let now = Clock::now();
            let began = match pace {
                Some(pace) if pace.next() > now => break,
                Some(pace) => {
                    let planned = pace.next();
                    pace.begun();
                    planned
                }
                None => now,
            };
            self.free.pop();
            self.put(slot, Flight { request: requests.next(), began })?;
            put += 1;
            if put == self.batch {
                put = 0;
                self.submit(window)?;
            }
        }
        if put > 0 { self.submit(window) } else { Ok(()) }
    }

    fn submit(&mut self, window: &mut Window) -> io::Result<()> {
        match self.ring.submit() {
            Err(error) if error.raw_os_error() != Some(libc::EINTR) => Err(error),
            _ => {
                window.submitted(self.pending());
                Ok(())
            }
        }
    }

    #[expect(unsafe_code, reason = "the kernel reads and writes memory that a request points to")]
    fn put(&mut self, slot: usize, flight: Flight) -> io::Result<()> {
        let at = slot * self.block as usize;
        let memory = self.buffer.bytes_mut()[at..at + self.block as usize].as_mut_ptr();
        let Flight { request, .. } = flight;
        let entry = if request.writes {
            opcode::Write::new(self.file, memory, self.block).offset(request.offset).build()
        } else {
            opcode::Read::new(self.file, memory, self.block).offset(request.offset).build()
        };
        // SAFETY: the file is open and the slot's memory is there until the request is answered:
        // both outlive the load, which drains the ring before it returns. No other request has this
        // slot meanwhile.
        unsafe { self.ring.submission().push(&entry.user_data(slot as u64)) }
            .map_err(io::Error::other)?;
        self.flights[slot] = Some(flight);
        Ok(())
    }

    /// Waits for a completion: where there is room, no longer than until the next planned request.
    fn wait(&self, next: Option<u64>) -> io::Result<()> {
        let submitter = self.ring.submitter();
        let entered = match next.filter(|_| !self.free.is_empty()) {
            None => submitter.submit_and_wait(1),
            Some(next) => {
                let left = next.saturating_sub(Clock::now());
                let time = types::Timespec::from(std::time::Duration::from_nanos(left));
                submitter.submit_with_args(1, &types::SubmitArgs::new().timespec(&time))
            }
        };
        match entered {
            Err(error) if matches!(error.raw_os_error(), Some(libc::ETIME | libc::EINTR)) => Ok(()),
            other => other.map(drop),
        }
    }

    /// Requests that the kernel has not answered.
    fn pending(&mut self) -> u64 {
        let in_flight = self.flights.len() - self.free.len();
        in_flight.saturating_sub(self.ring.completion().len()) as u64
    }

    /// Takes what is answered.
    fn reap(&mut self, mut completed: impl FnMut(Flight)) -> io::Result<()> {
        let mut failed = Ok(());
        for entry in self.ring.completion() {
            #[expect(clippy::cast_possible_truncation, reason = "a slot that was put there")]
            let slot = entry.user_data() as usize;
            let Some(flight) = self.flights[slot].take() else { continue };
            self.free.push(slot);
            match u32::try_from(entry.result()) {
                Ok(bytes) if bytes == self.block => completed(flight),
                Ok(_) => failed = Err(io::Error::from(io::ErrorKind::UnexpectedEof)),
                Err(_) => failed = Err(io::Error::from_raw_os_error(-entry.result())),
            }
        }
        failed
    }

    /// Waits until nothing is in flight.
    fn drain(&mut self) -> io::Result<()> {
        while self.free.len() < self.flights.len() {
            match self.ring.submit_and_wait(1) {
                Err(error) if error.raw_os_error() != Some(libc::EINTR) => return Err(error),
                _ => {}
            }
            // What fails now has failed before, or is of no interest any more.
            let _ = self.reap(|_| {});
        }
        Ok(())
    }
}
