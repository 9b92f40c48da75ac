//! Where a SQL Server is, and how to get in.

use tiberius::{AuthMethod, Config};

use crate::clean::CleanError;

/// How an address is written.
const FORMS: &str = "write it as `sqlserver://USER@HOST:PORT/DATABASE`, or as a connection string \
                     such as `Server=HOST,PORT;Database=DATABASE;User Id=USER`";

/// A database of a SQL Server.
#[derive(Clone)]
pub struct SqlServerDsn {
    pub(super) config: Config,
}

/// Without the password.
impl std::fmt::Debug for SqlServerDsn {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("SqlServerDsn").field(&self.server()).finish()
    }
}

impl SqlServerDsn {
    /// Reads `sqlserver://USER@HOST:PORT/DATABASE` or a connection string as ADO.NET has it. The
    /// password of the text is used if `password` is none.
    ///
    /// # Errors
    /// When it is neither; the message does not repeat the text.
    pub fn parse(text: &str, password: Option<&str>) -> Result<Self, CleanError> {
        let url = ["sqlserver://", "mssql://"].iter().find_map(|scheme| text.strip_prefix(scheme));
        let config = match url {
            Some(rest) => from_url(rest, password),
            None => from_string(text, password),
        };
        let mut config = config.ok_or_else(|| {
            CleanError::Options(format!("the address of the database cannot be read: {FORMS}"))
        })?;
        config.application_name("culprit");
        // Replicas that only answer questions are enough.
        config.readonly(true);
        // A table takes as long as it takes; a dead connection is noticed by the system.
        config.command_timeout(None);
        // Half of a surrogate pair in a stored text is no reason to lose its row.
        config.lossy_utf16_decoding(true);
        Ok(Self { config })
    }

    /// Host and port.
    #[must_use]
    pub fn server(&self) -> String {
        self.config.get_addr()
    }
}

fn from_url(rest: &str, password: Option<&str>) -> Option<Config> {
    let (access, path) = rest.split_once('/')?;
    let (user, host) = access.rsplit_once('@')?;
    let (user, stored) = user.split_once(':').map_or((user, ""), |(user, word)| (user, word));
    let (user, stored, database) = (decoded(user)?, decoded(stored)?, decoded(path)?);
    if user.is_empty() || database.is_empty() || database.contains(['?', '/']) {
        return None;
    }
    let mut config = Config::new();
    match host.strip_prefix('[').and_then(|host| host.split_once(']')) {
        Some((host, port)) => {
            config.host(host);
            if let Some(port) = port.strip_prefix(':') {
                config.port(port.parse().ok()?);
            }
        }
        None => {
            let (host, port) = host.split_once(':').map_or((host, None), |(h, p)| (h, Some(p)));
            config.host(Some(host).filter(|host| !host.is_empty())?);
            if let Some(port) = port {
                config.port(port.parse().ok()?);
            }
        }
    }
    config.database(database);
    config.authentication(AuthMethod::sql_server(user, password.unwrap_or(&stored)));
    Some(config)
}

fn from_string(text: &str, password: Option<&str>) -> Option<Config> {
    // What is no connection string has no server.
    let keys = ["server", "data source", "database", "initial catalog"];
    let lower = text.to_ascii_lowercase();
    let names = |key: &str| {
        lower
            .split(';')
            .any(|pair| pair.split_once('=').is_some_and(|(name, _)| name.trim() == key))
    };
    if !(names(keys[0]) || names(keys[1])) || !(names(keys[2]) || names(keys[3])) {
        return None;
    }
    let mut text = text.to_owned();
    if let Some(password) = password {
        // The last value of a key counts.
        let quoted = password.replace('"', "\"\"");
        text.push_str(&format!(";Password=\"{quoted}\""));
    }
    Config::from_ado_string(&text).ok()
}

/// A part of a URL without its percent signs.
fn decoded(text: &str) -> Option<String> {
    let bytes = text.as_bytes();
    let (mut out, mut at) = (Vec::with_capacity(bytes.len()), 0);
    while let Some(byte) = bytes.get(at) {
        if *byte == b'%' {
            let digits = text.get(at + 1..at + 3)?;
            out.push(u8::from_str_radix(digits, 16).ok()?);
            at += 3;
        } else {
            out.push(*byte);
            at += 1;
        }
    }
    String::from_utf8(out).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_a_url_or_a_connection_string() {
        let server = |text| SqlServerDsn::parse(text, None).unwrap().server();
        assert_eq!(server("sqlserver://reader@db.example/Shard0"), "db.example:1433");
        assert_eq!(server("mssql://DOM%5Creader:p%40ss@db:1444/xDB%20one"), "db:1444");
        assert_eq!(server("sqlserver://reader@[::1]:1444/x"), "::1:1444");
        assert_eq!(server("Data Source=db;Initial Catalog=Shard0;User ID=a;Password=b"), "db:1433");
        assert_eq!(
            server("Server=tcp:db,1500; Database=x; User Id=a; Password=\"b;c\""),
            "db:1500"
        );
    }

    #[test]
    fn what_is_no_address_is_not_repeated() {
        for text in [
            "sqlserver://reader:s3cret@db:port/x",
            "sqlserver://reader:s3cret@db",
            "sqlserver://:s3cret@db/x",
            "sqlserver://reader:s3cret@db/x?encrypt=true",
            "sqlserver://reader:s3cret%4@db/x",
            "Server=db;Password=s3cret",
            "Server=db;Database=x;User Id=a;Password='s3cret",
            "s3cret",
        ] {
            let error = SqlServerDsn::parse(text, None).unwrap_err().to_string();
            assert!(error.contains("sqlserver://USER@HOST"), "{error}");
            assert!(!error.contains("s3cret"), "{error}");
        }
        let dsn = SqlServerDsn::parse("sqlserver://reader:s3cret@db/x", None).unwrap();
        assert_eq!(format!("{dsn:?}"), "SqlServerDsn(\"db:1433\")");
    }
}
