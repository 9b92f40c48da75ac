//! How fio's engines reach their storage, and how that is done here.
//!
//! Which of them keep several requests in flight is what they do, not what `iodepth` asks for: of
//! `libaio` through the page cache the kernel carries out each request while it is submitted, and glibc's
//! `posixaio` those of one file one after the other.

use super::super::spec::{Cache, Engine, Spec};
use super::{Job, Line};
use crate::inside::Fault;

/// What stands between an engine's requests and their storage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Storage {
    /// A file, by the system calls that are used here.
    File,
    /// A device or a server without the page cache in between.
    Uncached(&'static str),
    /// A file or device, with the page cache as the job asks for it.
    As(&'static str),
    /// Memory that keeps its content, mapped.
    Memory,
}

/// Engines that read and write what is stored.
#[derive(Debug)]
struct Known {
    names: &'static [&'static str],
    /// Whether several requests of a thread are in flight.
    queues: bool,
    storage: Storage,
    /// Options that only they have.
    options: &'static [&'static str],
}

const NETWORK: Storage = Storage::Uncached(
    "reaches its storage over a network. Culprit sends the same requests to a file of the place, \
     past the page cache: the results contain no network and no server",
);
const DEVICE: Storage = Storage::Uncached(
    "talks to a device without a file system. Culprit sends the same requests to a file, past the \
     page cache",
);

const KNOWN: &[Known] = &[
    Known {
        names: &["psync", "sync", "pvsync", "pvsync2", "vsync", "mmap", "posixaio"],
        queues: false,
        storage: Storage::File,
        options: &[],
    },
    Known {
        names: &["io_uring", "libaio"],
        queues: true,
        storage: Storage::File,
        options: &["cmdprio_split", "cmdprio_hint"],
    },
    Known {
        names: &["splice"],
        queues: false,
        storage: Storage::As(
            "moves pages through a pipe. Culprit copies instead (`pread`, `pwrite`)",
        ),
        options: &[],
    },
    Known {
        names: &["libcufile"],
        queues: false,
        storage: Storage::As(
            "moves bytes to and from a graphics card. Culprit uses ordinary memory",
        ),
        options: &["cuda_io", "gpu_dev_ids"],
    },
    Known {
        names: &["io_uring_cmd", "xnvme", "libblkio"],
        queues: true,
        storage: DEVICE,
        options: &["cmd_type", "xnvme_async", "xnvme_sync", "xnvme_admin", "xnvme_dev_nsid"],
    },
    Known {
        names: &["sg", "libzbc", "mtd"],
        queues: false,
        storage: DEVICE,
        options: &["readfua", "writefua", "skip_bad"],
    },
    Known {
        names: &["libpmem", "dev-dax", "pmemblk"],
        queues: false,
        storage: Storage::Memory,
        options: &[],
    },
    Known {
        names: &["rbd", "rados", "nfs", "nbd", "libiscsi", "gfapi_async", "dfs", "ime_aio"],
        queues: true,
        storage: NETWORK,
        options: &[
            "busy_poll",
            "brick",
            "chunk_size",
            "clientname",
            "clustername",
            "conf",
            "cont",
            "nfs_url",
            "object_class",
            "pool",
            "rbdname",
            "svcl",
            "touch_objects",
            "uri",
            "volume",
        ],
    },
    Known {
        names: &["http", "gfapi", "libhdfs", "ime_psync", "ime_psyncv"],
        queues: false,
        storage: NETWORK,
        options: &[
            "brick",
            "chunk_size",
            "hdfs_use_direct",
            "hostname",
            "http_host",
            "http_mode",
            "http_pass",
            "http_s3_key",
            "http_s3_keyid",
            "http_s3_region",
            "http_s3_security_token",
            "http_s3_sse_customer_algorithm",
            "http_s3_sse_customer_key",
            "http_s3_storage_class",
            "http_swift_auth_token",
            "http_user",
            "http_verbose",
            "https",
            "namenode",
            "port",
            "single_instance",
            "volume",
        ],
    },
];

/// Engines that do something else than read and write: names, what, and the way out.
const REFUSED: &[(&[&str], &str, &str)] = &[
    (
        &["null", "cpp_null"],
        "does nothing with a request: it measures fio itself",
        "give an engine that reads and writes",
    ),
    (&["cpuio"], "computes and reads nothing", "`culprit bench cmd` times programs"),
    (&["exec"], "runs programs", "`culprit bench cmd` times them"),
    (
        &[
            "net",
            "netsplice",
            "rdma",
            "librpma_apm_client",
            "librpma_apm_server",
            "librpma_gpspm_client",
            "librpma_gpspm_server",
        ],
        "sends over a network and stores nothing",
        "`culprit bench net` measures a network connection",
    ),
    (
        &[
            "dircreate",
            "dirdelete",
            "dirstat",
            "filecreate",
            "filedelete",
            "filestat",
            "filexattr",
            "e4defrag",
            "falloc",
            "ftruncate",
        ],
        "creates, removes or inspects files and moves no data",
        "`culprit bench files` measures such operations",
    ),
    (
        &["windowsaio", "solarisaio"],
        "is an engine of another operating system",
        "set `ioengine` to io_uring or psync",
    ),
];

fn known(engine: &str) -> Option<&'static Known> {
    KNOWN.iter().find(|known| known.names.contains(&engine))
}

impl Job {
    /// Chooses the engine.
    ///
    /// # Errors
    /// When it does something else than read and write what is stored.
    pub(super) fn choose_engine(&mut self, line: Line<'_>) -> Result<(), Fault> {
        if known(line.value).is_none() {
            return Err(refused(line));
        }
        self.engine = Some((line.value.to_owned(), line.number));
        Ok(())
    }

    /// Why an option of the job's engine has no effect; none of others.
    pub(super) fn of_engine(&self, line: Line<'_>) -> Option<&'static str> {
        let known = known(&self.engine.as_ref()?.0)?;
        let write = line.option == "sg_write_mode" && line.value == "write";
        (write || known.options.contains(&line.option))
            .then_some("it is about storage that Culprit does not use")
    }

    /// Engine, depth and cache.
    pub(super) fn path(&mut self, spec: &mut Spec) -> Result<(), Fault> {
        let asked = self.engine.take();
        let name = asked.as_ref().map_or("psync", |(name, _)| name.as_str());
        let line = Line {
            number: asked.as_ref().map_or(0, |(_, number)| *number),
            option: "ioengine",
            value: name,
        };
        let known = known(name).ok_or_else(|| refused(line))?;
        match known.storage {
            Storage::File => {}
            Storage::As(what) => self.note(format!("`{name}` {what}")),
            Storage::Uncached(what) => {
                self.note(format!("`{name}` {what}"));
                self.direct = true;
            }
            Storage::Memory => {
                self.note(format!(
                    "for `{name}` memory itself is the storage. Culprit copies the same bytes to \
                     and from mapped pages of a file"
                ));
                (self.direct, self.through) = (false, false);
            }
        }
        spec.cache = match (self.direct, self.through) {
            (false, false) => Cache::Cached,
            (false, true) => Cache::WriteThrough,
            (true, false) => Cache::Direct,
            (true, true) => Cache::DirectWriteThrough,
        };
        let queues = known.queues && (name != "libaio" || self.direct);
        if self.depth > 1 && !queues {
            self.one_at_a_time(asked.is_some().then_some(line))?;
        } else if self.depth > 1 && name != "io_uring" {
            self.note(format!("Culprit uses io_uring instead of `{name}`"));
        }
        spec.depth = if queues { self.depth } else { 1 };
        spec.engine = match name {
            "mmap" | "libpmem" | "dev-dax" | "pmemblk" => Engine::Mmap,
            _ if spec.depth > 1 => Engine::IoUring,
            _ => Engine::Psync,
        };
        self.dropping(spec);
        Ok(())
    }

    /// Why `iodepth` has no effect.
    fn one_at_a_time(&mut self, asked: Option<Line<'_>>) -> Result<(), Fault> {
        let why = match asked {
            None => "no `ioengine`: psync, `iodepth` has no effect".to_owned(),
            Some(line) if line.value == "vsync" && !self.random => {
                return Err(line.fault(
                    "joins adjacent requests, which Culprit cannot do",
                    "remove `iodepth`, or give a larger `bs`",
                ));
            }
            Some(Line { value, .. }) => {
                let waits = match value {
                    "libaio" => "without `direct=1` waits for each request while it is submitted",
                    "posixaio" => "does the requests of one file one after the other",
                    _ => "waits for each request",
                };
                format!("`{value}` {waits}: `iodepth` has no effect, also in fio")
            }
        };
        self.note(why);
        Ok(())
    }

    fn dropping(&mut self, spec: &mut Spec) {
        if spec.cache.is_direct() {
            return;
        }
        spec.drop_cache = self.invalidate && !self.pre_read;
        if self.pre_read {
            self.note(
                "`pre_read` reads the file before the job; Culprit does not drop the file from \
                 the page cache, which still holds it if it fits",
            );
        } else if spec.drop_cache {
            self.note(
                "fio drops the file from the page cache before a job unless `invalidate=0` is \
                 set; Culprit drops it before each round",
            );
        }
        self.note("no `direct=1`: everything goes through the page cache");
    }
}

fn refused(line: Line<'_>) -> Fault {
    match REFUSED.iter().find(|(names, ..)| names.contains(&line.value)) {
        Some((_, what, hint)) => line.fault(what, hint),
        None => line.fault(
            "is not supported",
            "set `ioengine` to io_uring, libaio, psync or mmap if the workload allows it",
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_engine_is_known_or_refused_once() {
        let known = KNOWN.iter().flat_map(|known| known.names);
        let mut names: Vec<_> =
            known.chain(REFUSED.iter().flat_map(|(names, ..)| *names)).collect();
        names.sort_unstable();
        let all = names.len();
        names.dedup();
        assert_eq!(names.len(), all);
    }
}
