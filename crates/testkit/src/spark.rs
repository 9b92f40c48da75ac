//! Servers of Spark Connect on this machine, for one test each.
//!
//! Sail (PyPI `pysail`) starts at once and speaks the protocol of Apache Spark: the quick tests use it.
//! Apache Spark itself (PyPI `pyspark`, with a Java) starts in half a minute.

use std::fs::File;
use std::io::{BufRead as _, BufReader};
use std::net::{TcpListener, TcpStream};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};

use crate::python::venv;

/// Starts a server on a free port of this machine, prints the port, and ends when its input does: it cannot
/// outlive the test.
///
/// Sail asks the package `pyspark` for the version that it tells its clients, and for nothing else that the
/// tests ask: a module with that number stands in for 400 MB.
const SAIL: &str = "
import sys, types
sys.modules['pyspark'] = types.ModuleType('pyspark')
sys.modules['pyspark'].__version__ = '4.0.0'
from pysail.spark import SparkConnectServer
server = SparkConnectServer('127.0.0.1', 0)
server.start(background=True)
print(server.listening_address[1], flush=True)
sys.stdin.read()
";

/// The server of Apache Spark.
const SERVER: &str = "org.apache.spark.sql.connect.service.SparkConnectServer";
/// A Java on a busy machine takes so long at most.
const STARTS: Duration = Duration::from_secs(120);

/// A server that ends with the test.
#[derive(Debug)]
pub struct SparkServer {
    child: Child,
    /// Its port on 127.0.0.1.
    pub port: u16,
}

impl SparkServer {
    /// Sail.
    ///
    /// # Errors
    /// The reason where Python or the package cannot be had.
    pub fn sail() -> Result<Self, String> {
        let python = venv("python-sail", &["pysail"])?;
        let mut command = crate::program(python);
        command
            .args(["-c", SAIL])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        let mut child = command.spawn().map_err(|error| error.to_string())?;
        let mut line = String::new();
        let stdout = child.stdout.take().ok_or("it has no stdout")?;
        BufReader::new(stdout).read_line(&mut line).map_err(|error| error.to_string())?;
        let mut server = Self { child, port: 0 };
        server.port = line.trim().parse().map_err(|_| "pysail does not start".to_owned())?;
        Ok(server)
    }

    /// Its address as `--engine` takes it.
    #[must_use]
    pub fn address(&self) -> String {
        format!("sc://127.0.0.1:{}", self.port)
    }
}

impl Drop for SparkServer {
    fn drop(&mut self) {
        // It has ended already, or does now.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// An Apache Spark of a master, two workers and a server of Spark Connect, on loopback.
#[derive(Debug)]
pub struct SparkCluster {
    folder: PathBuf,
    /// Master, workers, server, each the first of a group of processes.
    members: Vec<Child>,
    /// The server's port.
    port: u16,
}

impl SparkCluster {
    /// Starts it; its files are in `folder`.
    ///
    /// # Errors
    /// The reason where Python, the package or a Java cannot be had.
    pub fn start(folder: &Path) -> Result<Self, String> {
        let python = venv("python-spark", &["pyspark[connect]"])?;
        let script = "import pyspark; print(pyspark.__path__[0])";
        let printed = printed(crate::program(&python).args(["-c", script]))?;
        let home = Path::new(printed.trim());
        let (folder, port) = (folder.to_owned(), free_port()?);
        let mut cluster = Self { folder, members: Vec::new(), port };
        let folder = cluster.folder.clone();
        let folder = folder.as_path();
        let master = free_port()?;
        let address = format!("spark://127.0.0.1:{master}");
        let port = master.to_string();
        let class = "org.apache.spark.deploy.master.Master";
        let options = ["--host", "127.0.0.1", "--port", &port, "--webui-port", "0"];
        cluster.run(home, folder, "spark-class", &[&[class], &options[..]].concat())?;
        wait_for(master)?;
        let class = "org.apache.spark.deploy.worker.Worker";
        for name in ["one", "two"] {
            let work = folder.join(name).display().to_string();
            let options = ["--host", "127.0.0.1", "--cores", "1", "--memory", "600m"];
            let rest = ["--webui-port", "0", "-d", &work, &address];
            cluster.run(home, folder, "spark-class", &[&[class], &options[..], &rest].concat())?;
        }
        let settings = [
            format!("spark.connect.grpc.binding.port={}", cluster.port),
            "spark.connect.grpc.binding.address=127.0.0.1".to_owned(),
            "spark.driver.host=127.0.0.1".to_owned(),
            "spark.ui.enabled=false".to_owned(),
            "spark.executor.memory=512m".to_owned(),
            "spark.executor.cores=1".to_owned(),
            "spark.sql.shuffle.partitions=4".to_owned(),
        ];
        let mut options = vec!["--master", &address, "--class", SERVER];
        settings.iter().for_each(|setting| options.extend(["--conf", setting]));
        cluster.run(home, folder, "spark-submit", &options)?;
        wait_for(cluster.port)?;
        Ok(cluster)
    }

    fn run(
        &mut self,
        home: &Path,
        folder: &Path,
        program: &str,
        options: &[&str],
    ) -> Result<(), String> {
        let mut command = crate::program(home.join("bin").join(program));
        command.args(options).current_dir(folder).stdin(Stdio::null()).process_group(0);
        command.env("SPARK_HOME", home).env("SPARK_LOCAL_IP", "127.0.0.1");
        command.env("SPARK_LOCAL_DIRS", folder);
        let log = || File::create(folder.join(format!("log-{}", self.members.len())));
        command.stdout(Stdio::null()).stderr(log().map_err(|error| error.to_string())?);
        self.members.push(command.spawn().map_err(|error| error.to_string())?);
        Ok(())
    }

    /// Its address as `--engine` takes it.
    #[must_use]
    pub fn address(&self) -> String {
        format!("sc://127.0.0.1:{}", self.port)
    }

    /// Tasks that executors of the worker that [`Self::end_worker`] ends have finished.
    #[must_use]
    pub fn tasks_of_first_worker(&self) -> usize {
        finished_tasks(&self.folder.join("one"))
    }

    /// The same of the other worker.
    #[must_use]
    pub fn tasks_of_second_worker(&self) -> usize {
        finished_tasks(&self.folder.join("two"))
    }

    /// Ends a worker and its executors at once, as a machine that fails does.
    pub fn end_worker(&mut self) {
        end(self.members.remove(1));
    }
}

impl Drop for SparkCluster {
    fn drop(&mut self) {
        self.members.drain(..).rev().for_each(end);
    }
}

/// Tasks that the logs of executors call finished: WORK/APPLICATION/EXECUTOR/stderr.
fn finished_tasks(work: &Path) -> usize {
    let below = |folder: &Path| -> Vec<PathBuf> {
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
        entries.map(|entry| entry.path()).collect()
    };
    let executors = below(work).into_iter().flat_map(|application| below(&application));
    let logs =
        executors.filter_map(|executor| std::fs::read_to_string(executor.join("stderr")).ok());
    logs.map(|log| log.matches("Finished task").count()).sum()
}

/// Ends a process with all that it started.
fn end(mut first: Child) {
    let group = i32::try_from(first.id()).ok().and_then(Pid::from_raw);
    // It has ended already, or does now.
    let _ = group.map(|group| kill_process_group(group, Signal::KILL));
    let _ = first.wait();
}

/// What a program printed.
fn printed(command: &mut Command) -> Result<String, String> {
    let output = command.output().map_err(|error| error.to_string())?;
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
        false => Err(String::from_utf8_lossy(&output.stderr).into_owned()),
    }
}

/// A port that nobody has now.
fn free_port() -> Result<u16, String> {
    let listener = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr());
    listener.map(|address| address.port()).map_err(|error| error.to_string())
}

/// Waits until somebody listens.
fn wait_for(port: u16) -> Result<(), String> {
    let begun = crate::now();
    while TcpStream::connect(("127.0.0.1", port)).is_err() {
        if begun.elapsed() > STARTS {
            return Err(format!("nobody listens on port {port}; the logs of Spark say why"));
        }
        std::thread::sleep(Duration::from_millis(200));
    }
    Ok(())
}
