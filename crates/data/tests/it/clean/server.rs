//! A PostgreSQL server of a test's own, with an xDB that the generator has filled.

use std::os::unix::fs::{PermissionsExt as _, chown};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use culprit_testkit::{program, skip, wait_until};
use postgres::{Client, NoTls};
use tempfile::TempDir;

/// `nobody`: the server refuses to run as root.
const UNPRIVILEGED: u32 = 65_534;
/// Where Debian has the server's programs.
const VERSIONS: &str = "/usr/lib/postgresql";

/// The tables of an xDB.
const TABLES: &str = r#"
CREATE SCHEMA xdb_collection;
SET search_path = xdb_collection;
CREATE TABLE "Contacts" (
  "ContactId" uuid PRIMARY KEY, "LastModified" timestamp NOT NULL, "Created" timestamp NOT NULL,
  "ConcurrencyToken" uuid NOT NULL, "Percentile" float8 NOT NULL, "ShardKey" bytea NOT NULL);
CREATE TABLE "ContactFacets" (
  "ContactId" uuid, "FacetKey" varchar(50), "LastModified" timestamp NOT NULL,
  "ConcurrencyToken" uuid NOT NULL, "FacetData" text NOT NULL, "ShardKey" bytea NOT NULL,
  PRIMARY KEY ("ContactId", "FacetKey"));
CREATE TABLE "ContactIdentifiers" (
  "ContactId" uuid, "Source" varchar(50), "Identifier" varchar(250), "IdentifierHash" bytea,
  "IdentifierType" smallint NOT NULL, "ShardKey" bytea NOT NULL,
  PRIMARY KEY ("Source", "Identifier"));
CREATE TABLE "ContactIdentifiersIndex" (
  "IdentifierHash" bytea, "Source" varchar(50), "Identifier" varchar(250), "ContactId" uuid);
CREATE TABLE "Interactions" (
  "InteractionId" uuid PRIMARY KEY, "LastModified" timestamp NOT NULL, "Created" timestamp NOT NULL,
  "ConcurrencyToken" uuid NOT NULL, "ContactId" uuid NOT NULL, "StartDateTime" timestamp NOT NULL,
  "EndDateTime" timestamp NOT NULL, "Initiator" smallint NOT NULL, "DeviceProfileId" uuid,
  "ChannelId" uuid, "VenueId" uuid, "CampaignId" uuid, "Events" text NOT NULL, "UserAgent" text,
  "EngagementValue" int NOT NULL, "Percentile" float8 NOT NULL, "ShardKey" bytea NOT NULL);
CREATE INDEX ON "Interactions" ("ContactId");
CREATE TABLE "InteractionFacets" (
  "InteractionId" uuid REFERENCES "Interactions", "FacetKey" varchar(50), "ContactId" uuid NOT NULL,
  "LastModified" timestamp NOT NULL, "ConcurrencyToken" uuid NOT NULL, "FacetData" text NOT NULL,
  "ShardKey" bytea NOT NULL, PRIMARY KEY ("InteractionId", "FacetKey"));
"#;

/// The tables that the generator fills, owners first.
const FILLED: [&str; 5] =
    ["Contacts", "ContactFacets", "ContactIdentifiers", "Interactions", "InteractionFacets"];
/// All tables.
const ALL: [&str; 6] = [
    "Contacts",
    "ContactFacets",
    "ContactIdentifiers",
    "ContactIdentifiersIndex",
    "Interactions",
    "InteractionFacets",
];

/// A running server; it ends with the value.
pub(super) struct Server {
    folder: TempDir,
    child: Child,
}

impl Server {
    /// Starts a server, or says why the test is skipped.
    pub(super) fn start(test: &str) -> Option<Self> {
        let Some(programs) = programs() else {
            skip(test, "PostgreSQL (Debian package `postgresql`)");
            return None;
        };
        if !rustix::process::geteuid().is_root() {
            skip(test, "root, to start the server as another user");
            return None;
        }
        let folder = tempfile::tempdir().unwrap();
        std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
        let data = folder.path().join("data");
        std::fs::create_dir(&data).unwrap();
        chown(&data, Some(UNPRIVILEGED), Some(UNPRIVILEGED)).unwrap();
        let made = as_nobody(&programs.join("initdb"))
            .args([
                "--no-sync",
                "--auth=trust",
                "--username=culprit",
                "--locale=C",
                "-E",
                "UTF8",
                "-D",
            ])
            .arg(&data)
            .output()
            .unwrap();
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        let child = as_nobody(&programs.join("postgres"))
            .arg("-D")
            .arg(&data)
            .arg("-k")
            .arg(&data)
            // The tests kill clients, never the server: what it writes need not reach the disk.
            .args(["-c", "listen_addresses=", "-c", "fsync=off", "-c", "shared_buffers=16MB"])
            .args(["-c", "autovacuum=off"])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let server = Self { folder, child };
        let ready = || Client::connect(&server.dsn("postgres"), NoTls).is_ok();
        wait_until("the server answers", ready);
        Some(server)
    }

    /// The address of a database.
    pub(super) fn dsn(&self, database: &str) -> String {
        let socket = self.folder.path().join("data");
        format!("host={} user=culprit dbname={database}", socket.display())
    }

    /// Makes a database with the tables of an xDB and the rows of these folders of CSV files.
    pub(super) fn xdb(&self, name: &str, folders: &[PathBuf]) -> Client {
        let mut client = Client::connect(&self.dsn("postgres"), NoTls).unwrap();
        client.batch_execute(&format!("CREATE DATABASE {name}")).unwrap();
        let mut client = Client::connect(&self.dsn(name), NoTls).unwrap();
        // Into tables of the same transaction, rows are only appended: their order stays the files'.
        client.batch_execute("BEGIN").unwrap();
        client.batch_execute(TABLES).unwrap();
        for table in FILLED {
            for folder in folders {
                fill(&mut client, table, &folder.join(format!("{table}.csv")));
            }
        }
        let index = r#"INSERT INTO "ContactIdentifiersIndex" SELECT "IdentifierHash", "Source",
            "Identifier", "ContactId" FROM "ContactIdentifiers""#;
        client.batch_execute(index).unwrap();
        client.batch_execute("COMMIT").unwrap();
        client
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // SIGINT is PostgreSQL's fast shutdown.
        let pid = rustix::process::Pid::from_child(&self.child);
        let _ = rustix::process::kill_process(pid, rustix::process::Signal::INT);
        let _ = self.child.wait();
    }
}

/// The folder of the newest server's programs.
fn programs() -> Option<PathBuf> {
    let versions = std::fs::read_dir(VERSIONS).ok()?;
    let mut found: Vec<PathBuf> = versions
        .filter_map(|entry| Some(entry.ok()?.path().join("bin")))
        .filter(|bin| bin.join("initdb").is_file())
        .collect();
    found.sort();
    found.pop()
}

fn as_nobody(path: &Path) -> Command {
    let mut command = program("setpriv");
    let id = UNPRIVILEGED.to_string();
    command.args(["--reuid", &id, "--regid", &id, "--clear-groups"]).arg(path);
    command.current_dir("/").stdin(Stdio::null());
    command
}

/// Reads a CSV file into a table, in the order of its rows.
fn fill(client: &mut Client, table: &str, file: &Path) {
    use std::io::Write as _;
    // SQL Server and PostgreSQL write bytes differently.
    let text = std::fs::read_to_string(file).unwrap().replace(",0x", ",\\x");
    let header = text.lines().next().unwrap();
    let names: Vec<String> = header.split(',').map(|name| format!("\"{name}\"")).collect();
    let sql = format!(
        "COPY xdb_collection.\"{table}\" ({}) FROM STDIN (FORMAT csv, HEADER true)",
        names.join(", ")
    );
    let mut writer = client.copy_in(&sql).unwrap();
    writer.write_all(text.as_bytes()).unwrap();
    writer.finish().unwrap();
}

/// A digest of all rows of each table.
pub(super) fn digests(client: &mut Client) -> Vec<(String, i64, String)> {
    let of = |table: &&str| {
        let sql = format!(
            "SELECT count(*), coalesce(md5(string_agg(t::text, E'\\n' ORDER BY t::text)), '') \
             FROM xdb_collection.\"{table}\" t"
        );
        let row = client.query_one(&sql, &[]).unwrap();
        ((*table).to_owned(), row.get(0), row.get(1))
    };
    ALL.iter().map(of).collect()
}
