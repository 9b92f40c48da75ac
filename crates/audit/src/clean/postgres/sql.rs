//! The statements. `:ids` stands for the keys of a batch.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::schema::OwnerKind;
use crate::time::put_xdb;

culprit_model::labels! {
    /// A table of an xDB, by its name in lower case.
    Role ("table") {
        /// Interactions.
        Interactions = "interactions",
        /// Facets of interactions.
        InteractionFacets = "interactionfacets",
        /// Contacts.
        Contacts = "contacts",
        /// Facets of contacts.
        ContactFacets = "contactfacets",
        /// Identifiers of contacts.
        ContactIdentifiers = "contactidentifiers",
        /// The index of these.
        ContactIdentifiersIndex = "contactidentifiersindex",
    }
}

impl Role {
    /// Columns that must be there, in lower case; the first one is the key.
    pub(crate) fn columns(self) -> &'static [&'static str] {
        match self {
            Self::Interactions => {
                &["interactionid", "contactid", "lastmodified", "concurrencytoken"]
            }
            Self::InteractionFacets => {
                &["interactionid", "facetkey", "lastmodified", "concurrencytoken"]
            }
            Self::Contacts => &["contactid", "lastmodified", "concurrencytoken"],
            Self::ContactFacets => &["contactid", "facetkey", "lastmodified", "concurrencytoken"],
            Self::ContactIdentifiers => &["contactid", "source", "identifier", "identifiertype"],
            Self::ContactIdentifiersIndex => &["contactid"],
        }
    }

    /// True for a table that some databases do not have.
    pub(crate) fn is_optional(self) -> bool {
        self == Self::ContactIdentifiersIndex
    }
}

/// A name as SQL has it.
pub(crate) fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// A table of the source, as it is named there.
#[derive(Debug, Clone)]
pub(crate) struct SourceTable {
    pub(crate) role: Role,
    pub(crate) schema: String,
    pub(crate) name: String,
    /// All columns that hold values of their own, in their order.
    pub(crate) columns: Vec<String>,
    /// Their types.
    pub(crate) types: Vec<String>,
}

impl SourceTable {
    /// Copies rows out as CSV, in the form in which an xDB's own export has them: all, or those that
    /// changed at a time or later.
    pub(crate) fn csv(&self, since_ms: Option<i64>) -> String {
        let column = |(name, ty): (&String, &String)| {
            let name = quoted(name);
            match ty.as_str() {
                "bytea" => format!("'0x' || encode({name}, 'hex') AS {name}"),
                ty if ty.starts_with("timestamp") => {
                    format!("to_char({name}, 'YYYY-MM-DD\"T\"HH24:MI:SS.US') || 'Z' AS {name}")
                }
                _ => name,
            }
        };
        let list: Vec<String> = self.columns.iter().zip(&self.types).map(column).collect();
        let (list, table) = (list.join(", "), self.full());
        let changed = self.columns.iter().find(|name| name.eq_ignore_ascii_case("lastmodified"));
        let condition = match (since_ms, changed) {
            (Some(ms), Some(column)) => {
                let mut time = Vec::new();
                put_xdb(&mut time, ms);
                let (column, time) = (quoted(column), String::from_utf8_lossy(&time).into_owned());
                format!(" WHERE {column} >= '{time}'")
            }
            _ => String::new(),
        };
        format!("COPY (SELECT {list} FROM {table}{condition}) TO STDOUT (FORMAT csv, HEADER true)")
    }

    /// Schema and name.
    pub(crate) fn full(&self) -> String {
        format!("{}.{}", quoted(&self.schema), quoted(&self.name))
    }

    /// A column by its name in lower case.
    fn column(&self, folded: &str) -> String {
        let found = self.columns.iter().find(|name| name.eq_ignore_ascii_case(folded));
        quoted(found.map_or(folded, String::as_str))
    }

    /// The key.
    pub(crate) fn key(&self) -> String {
        self.column(self.role.columns()[0])
    }

    /// All columns, separated by commas.
    pub(crate) fn list(&self) -> String {
        self.columns.iter().map(|name| quoted(name)).collect::<Vec<_>>().join(", ")
    }

    /// The key of a row as `COPY` writes it.
    pub(crate) fn key_of(&self, row: &str) -> String {
        let at = self.columns.iter().position(|name| quoted(name) == self.key());
        at.and_then(|at| row.split('\t').nth(at)).unwrap_or_default().to_owned()
    }

    /// Locks the rows of a batch.
    pub(crate) fn lock(&self) -> String {
        let (table, key) = (self.full(), self.key());
        format!("SELECT 1 FROM {table} WHERE {key} = ANY(:ids) ORDER BY {key} FOR UPDATE")
    }

    /// Deletes rows and gives them whole.
    pub(crate) fn delete(&self) -> String {
        let (table, key, list) = (self.full(), self.key(), self.list());
        format!("COPY (DELETE FROM {table} WHERE {key} = ANY(:ids) RETURNING {list}) TO STDOUT")
    }

    /// The temporary table that archived rows are read into.
    pub(crate) fn staging(&self) -> String {
        let (table, list) = (self.full(), self.list());
        format!(
            "CREATE TEMP TABLE culprit_undo ON COMMIT DROP AS SELECT {list} FROM {table} WITH NO DATA"
        )
    }

    /// Inserts archived rows whose key is free, and gives them as they are then.
    pub(crate) fn insert(&self) -> String {
        let (table, list) = (self.full(), self.list());
        format!(
            "COPY (INSERT INTO {table} ({list}) OVERRIDING SYSTEM VALUE SELECT {list} FROM \
             pg_temp.culprit_undo ON CONFLICT DO NOTHING RETURNING {list}) TO STDOUT"
        )
    }
}

/// The tables of a source by role.
pub(crate) type SourceTables = BTreeMap<Role, SourceTable>;

/// What the source has for each key: its text, whether any row is there, the hash of its version,
/// when row and facets were changed last (ms), whether it is known by name, whether interactions
/// name it.
pub(crate) fn states(tables: &SourceTables, kind: OwnerKind) -> String {
    let (own, facets) = match kind {
        OwnerKind::Interaction => (Role::Interactions, Role::InteractionFacets),
        OwnerKind::Contact => (Role::Contacts, Role::ContactFacets),
    };
    let (Some(own), Some(facets)) = (tables.get(&own), tables.get(&facets)) else {
        return String::new();
    };
    let version = |row: &str, table: &SourceTable| {
        let (time, token) = (table.column("lastmodified"), table.column("concurrencytoken"));
        format!("coalesce({row}.{time}::text, '-') || '/' || coalesce({row}.{token}::text, '-')")
    };
    let ms = |row: &str, table: &SourceTable| {
        format!("floor(extract(epoch FROM {row}.{}) * 1000)::bigint", table.column("lastmodified"))
    };
    // Grouped once for all keys: a subquery a key would read a table without an index each time.
    let facet_key = facets.column("facetkey");
    let of_facets = format!(
        "(SELECT f.{key} AS id, string_agg(f.{facet_key}::text || '=' || {}, ',' ORDER BY \
         f.{facet_key}::text COLLATE \"C\") AS versions, max({}) AS latest FROM {} f WHERE f.{key} = \
         ANY(:ids) GROUP BY 1) f",
        version("f", facets),
        ms("f", facets),
        facets.full(),
        key = facets.key()
    );
    let mut parts = vec![version("o", own), "coalesce(f.versions, '-')".to_owned()];
    let mut present = format!("o.{} IS NOT NULL OR f.id IS NOT NULL", own.key());
    let (mut known, mut named) = ("false".to_owned(), "false".to_owned());
    let mut joins = format!("LEFT JOIN {of_facets} ON f.id = k.id");
    if let (OwnerKind::Contact, Some(ids), Some(visits)) =
        (kind, tables.get(&Role::ContactIdentifiers), tables.get(&Role::Interactions))
    {
        let (source, identifier, ty) =
            (ids.column("source"), ids.column("identifier"), ids.column("identifiertype"));
        let text = format!("md5(concat_ws('/', d.{source}, d.{identifier}, d.{ty}))");
        let _ = write!(
            joins,
            " LEFT JOIN (SELECT d.{key} AS id, string_agg({text}, ',' ORDER BY {text}) AS versions, \
             bool_or(d.{ty}::text IN ('1', 'Known')) AS known FROM {} d WHERE d.{key} = ANY(:ids) \
             GROUP BY 1) d ON d.id = k.id LEFT JOIN (SELECT DISTINCT v.{contact} AS id FROM {} v WHERE \
             v.{contact} = ANY(:ids)) v ON v.id = k.id",
            ids.full(),
            visits.full(),
            key = ids.key(),
            contact = visits.column("contactid")
        );
        parts.push("coalesce(d.versions, '-')".to_owned());
        present.push_str(" OR d.id IS NOT NULL");
        known = "coalesce(d.known, false)".to_owned();
        named = "v.id IS NOT NULL".to_owned();
    }
    format!(
        "SELECT k.id::text, ({present}), md5({}), {}, f.latest, {known}, {named} \
         FROM unnest(:ids) AS k(id) LEFT JOIN {} o ON o.{} = k.id {joins}",
        parts.join(" || '|' || "),
        ms("o", own),
        own.full(),
        own.key()
    )
}

/// Counts keys of a batch whose row is gone.
pub(crate) fn gone(table: &SourceTable) -> String {
    format!(
        "SELECT count(*) FROM unnest(:ids) AS k(id) WHERE NOT EXISTS (SELECT 1 FROM {} o WHERE \
         o.{} = k.id)",
        table.full(),
        table.key()
    )
}

/// A statement with the keys of a batch.
pub(crate) fn with_ids<'a>(sql: &str, ids: impl Iterator<Item = &'a str>) -> String {
    let mut list = String::from("'{");
    for (at, id) in ids.enumerate() {
        if at > 0 {
            list.push(',');
        }
        // Keys are made of hexadecimal digits and hyphens by us; anything else would end the text.
        list.extend(id.chars().filter(|c| c.is_ascii_hexdigit() || *c == '-'));
    }
    list.push_str("}'::uuid[]");
    sql.replace(":ids", &list)
}

/// What `apply` and `undo` run for each batch, as files of the plan.
pub(crate) fn documents(
    schema: &str,
    tables: &BTreeMap<String, Vec<String>>,
) -> Vec<(&'static str, String)> {
    use culprit_model::Label as _;
    let table = |role: &Role| {
        let found = tables.iter().find(|(name, _)| name.eq_ignore_ascii_case(role.word()));
        found.map(|(name, columns)| SourceTable {
            role: *role,
            schema: schema.to_owned(),
            name: name.clone(),
            columns: columns.clone(),
            types: Vec::new(),
        })
    };
    let all: SourceTables =
        Role::ALL.iter().filter_map(|role| Some((*role, table(role)?))).collect();
    let kinds = [
        ("forward/1-interactions.sql", "undo/2-interactions.sql", OwnerKind::Interaction),
        ("forward/2-contacts.sql", "undo/1-contacts.sql", OwnerKind::Contact),
    ];
    let mut files = Vec::new();
    for (forward_name, undo_name, kind) in kinds {
        let roles: Vec<&SourceTable> =
            super::roles(kind).iter().filter_map(|role| all.get(role)).collect();
        let mut forward = String::from(
            "-- One batch. `:ids` are its keys. A key whose state is not the planned one is skipped;\n\
             -- the deletes get the other keys. The deleted rows are in the archive, on the disk,\n\
             -- before COMMIT.\nBEGIN;\n",
        );
        let mut undo = String::from("-- One batch. COPY reads its archived rows.\nBEGIN;\n");
        for table in roles.iter().rev() {
            let _ = writeln!(forward, "{};", table.lock());
        }
        let _ = writeln!(forward, "{};", states(&all, kind));
        for table in &roles {
            let _ = writeln!(forward, "{};", table.delete());
        }
        for table in roles.iter().rev() {
            let _ = writeln!(undo, "{};", table.staging());
            let _ = writeln!(undo, "COPY pg_temp.culprit_undo ({}) FROM STDIN;", table.list());
            let _ = writeln!(undo, "{};", table.insert());
            let _ = writeln!(undo, "DROP TABLE pg_temp.culprit_undo;");
        }
        forward.push_str("COMMIT;\n");
        undo.push_str("COMMIT;\n");
        files.push((forward_name, forward));
        files.push((undo_name, undo));
    }
    files
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_keys_cannot_leave_their_quotes() {
        assert_eq!(quoted("a\"b"), "\"a\"\"b\"");
        let sql = with_ids("x = ANY(:ids)", ["ab-1", "'); DROP"].into_iter());
        assert_eq!(sql, "x = ANY('{ab-1,D}'::uuid[])");
    }
}
