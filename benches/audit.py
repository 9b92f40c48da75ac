#!/usr/bin/env python3
"""What an analytics store costs and saves: imports and questions beside DuckDB on the raw JSON.

    benches/audit.py CULPRIT_DATA [--interactions N] [--rounds N] [--folder DIR] [--only import|questions]
    benches/audit.py CULPRIT_DATA --only memory --interactions 20000000

Makes a sample, imports it as xDB JSON and as an access log, and asks the store and the JSON the same questions,
in turn. CPU seconds (user and system) and the most memory of each process count, because machines are shared.
DuckDB is a package of PyPI; without it, only the store is measured. `--only memory` imports many short rows: what
an import keeps in memory depends on how many visits and contacts there are, not on their size.
"""

import argparse
import importlib.util
import json
import os
import shutil
import statistics
import sys
import tempfile

from measured import measured

# Tables of the export, where every value is a text, or of the store. Prints the CPU seconds of the question alone.
PEER = r"""
import duckdb, glob, json, resource, sys
raw, store, where, sql = sys.argv[1:]
db = duckdb.connect()
db.execute("SET enable_progress_bar = false")
columns = {
    "Interactions": ["InteractionId", "ContactId", "StartDateTime", "UserAgent", "Events", "ShardKey"],
    "InteractionFacets": ["InteractionId", "FacetKey", "FacetData"],
    "Contacts": ["ContactId", "ShardKey"],
    "ContactFacets": ["ContactId", "FacetKey", "FacetData"],
}
if where == "raw":
    for table, names in columns.items():
        typed = ", ".join(f"{name}: 'VARCHAR'" for name in names)
        db.execute(f"CREATE VIEW {table} AS SELECT * FROM read_json('{raw}/**/{table}.ndjson', "
                   f"format = 'newline_delimited', columns = {{{typed}}}, maximum_object_size = 268435456)")
else:
    for table in ["interactions", "long_values", "places", "terms", "rollup_agents", "rollup_contacts", "rollup_facets"]:
        files = glob.glob(f"{store}/{table}/**/*.parquet", recursive=True)
        db.execute(f"CREATE VIEW {table} AS SELECT * FROM read_parquet({files!r}, hive_partitioning = false)")
cpu = lambda: sum(resource.getrusage(resource.RUSAGE_SELF)[:2])
before = cpu()
db.execute(sql).fetchall()
print(cpu() - before)
"""

# What an import makes, as far as DuckDB can make it of the same JSON in one statement a table: the columns of the
# store, without keys instead of GUIDs, versions, sums by path and by day, and without a look at long values.
PEER_IMPORT = r'''
import duckdb, os, resource, sys
raw, out = sys.argv[1:]
os.makedirs(out, exist_ok=True)
db = duckdb.connect()
db.execute("SET enable_progress_bar = false")
columns = {
    "Interactions": ["InteractionId", "LastModified", "ContactId", "StartDateTime", "EndDateTime", "Initiator",
                     "DeviceProfileId", "ChannelId", "CampaignId", "UserAgent", "EngagementValue", "Events", "ShardKey"],
    "InteractionFacets": ["InteractionId", "FacetKey", "LastModified", "FacetData", "ShardKey"],
    "Contacts": ["ContactId", "LastModified", "Created", "ConcurrencyToken", "ShardKey"],
    "ContactFacets": ["ContactId", "FacetKey", "LastModified", "FacetData", "ShardKey"],
    "ContactIdentifiers": ["ContactId", "IdentifierType", "ShardKey"],
}
for table, names in columns.items():
    typed = ", ".join(f"{name}: 'VARCHAR'" for name in names)
    db.execute(f"CREATE VIEW {table} AS SELECT * FROM read_json('{raw}/**/{table}.ndjson', "
               f"format = 'newline_delimited', columns = {{{typed}}}, maximum_object_size = 268435456)")
facets = lambda kind: (
    f"SELECT {kind}Id::UUID, FacetKey, LastModified::TIMESTAMP, ShardKey, length(FacetData), strlen(FacetData), "
    f"json_valid(FacetData) FROM {kind}Facets")
tables = {
    "interactions": """SELECT InteractionId::UUID, ContactId::UUID, LastModified::TIMESTAMP, StartDateTime::TIMESTAMP,
        EndDateTime::TIMESTAMP, Initiator, DeviceProfileId, ChannelId, CampaignId, UserAgent, EngagementValue::INT, ShardKey,
        strlen(Events),
        len(list_filter(json_extract_string(Events, '$[*]."@odata.type"'), lambda kind: ends_with(kind, 'PageViewEvent')))
        FROM Interactions""",
    "events": """SELECT InteractionId::UUID, e->>'@odata.type', e->>'DefinitionId', e->>'Timestamp', e->>'Url', e->>'ItemId',
        e->>'ItemLanguage', e->>'Duration', strlen(e::VARCHAR) FROM
        (SELECT InteractionId, unnest(json_extract(Events, '$[*]')) AS e FROM Interactions)""",
    "interaction_facets": facets("Interaction"),
    "contact_facets": facets("Contact"),
    "places": """SELECT InteractionId::UUID, f->>'Country', f->>'Region', f->>'City', f->>'PostalCode', f->>'IpAddress',
        f->>'Latitude', f->>'Longitude', f->>'BusinessName' FROM
        (SELECT InteractionId, FacetData::JSON AS f FROM InteractionFacets WHERE FacetKey = 'IpInfo')""",
    "contacts": """SELECT c.*, i.identifiers, i.known FROM Contacts c LEFT JOIN
        (SELECT ContactId, count(*) AS identifiers, bool_or(IdentifierType IN ('1', 'Known')) AS known
        FROM ContactIdentifiers GROUP BY ContactId) i USING (ContactId)""",
}
cpu = lambda: sum(resource.getrusage(resource.RUSAGE_SELF)[:2])
before = cpu()
for table, sql in tables.items():
    db.execute(f"COPY ({sql}) TO '{out}/{table}.parquet' (FORMAT parquet, COMPRESSION zstd)").fetchall()
print(cpu() - before)
'''

PAGES = ("len(list_filter(json_extract_string(Events, '$[*].\"@odata.type\"'), "
         "lambda kind: ends_with(kind, 'PageViewEvent')))")

# A question: its name, the command, and SQL for its core, to the raw JSON and to the store.
QUESTIONS = [
    (
        "visits",
        ["visits", "--place", "postal=49000,country=UA", "--tz", "Europe/Kyiv"],
        f"""SELECT CAST(i.StartDateTime AS TIMESTAMP)::DATE AS day, count(*), count(DISTINCT i.ContactId), sum({PAGES})
        FROM Interactions i JOIN InteractionFacets f ON f.InteractionId = i.InteractionId
        WHERE f.FacetKey = 'IpInfo' AND json_extract_string(f.FacetData, '$.PostalCode') = '49000'
        AND json_extract_string(f.FacetData, '$.Country') = 'UA' GROUP BY day""",
        """SELECT start_utc // 86400000 AS day, count(*), count(DISTINCT contact_id), sum(pages)
        FROM interactions JOIN places USING (place_id) WHERE postal = '49000' AND country = 'UA' GROUP BY day""",
    ),
    (
        "robots",
        ["robots"],
        f"""SELECT UserAgent, count(*), count(DISTINCT ContactId), max({PAGES}), sum(({PAGES} <= 1)::INT),
        min(StartDateTime), max(StartDateTime) FROM Interactions GROUP BY UserAgent""",
        "SELECT ua_id, interactions, contacts, max_pages, single, first_utc, last_utc FROM rollup_agents",
    ),
    (
        "orphans",
        ["orphans"],
        """SELECT count(*) FROM Contacts c WHERE NOT EXISTS
        (SELECT 1 FROM Interactions i WHERE i.ContactId = c.ContactId)""",
        "SELECT sum(contacts) FROM rollup_contacts WHERE recorded AND NOT visited",
    ),
    (
        "bloat",
        ["bloat"],
        """SELECT FacetKey, count(*), sum(strlen(FacetData)), max(strlen(FacetData)),
        quantile_disc(strlen(FacetData), [0.5, 0.9, 0.99]) FROM
        (SELECT FacetKey, FacetData FROM ContactFacets UNION ALL SELECT FacetKey, FacetData FROM InteractionFacets)
        GROUP BY FacetKey""",
        """WITH sizes AS (SELECT facet_key, bytes_utf8, sum(facets) AS n FROM rollup_facets GROUP BY ALL),
        places AS (SELECT *, sum(n) OVER (PARTITION BY facet_key ORDER BY bytes_utf8) AS up,
        sum(n) OVER (PARTITION BY facet_key) AS total FROM sizes)
        SELECT facet_key, sum(n), sum(n * bytes_utf8), max(bytes_utf8), min(bytes_utf8) FILTER (up >= 0.5 * total),
        min(bytes_utf8) FILTER (up >= 0.9 * total), min(bytes_utf8) FILTER (up >= 0.99 * total)
        FROM places GROUP BY facet_key""",
    ),
    (
        "cap",
        ["cap", "--path", "InteractionsCache.Referrers[]"],
        """SELECT count(*), sum(greatest(strlen(value) - 512, 0)) FROM (SELECT
        unnest(json_extract_string(FacetData, '$.Referrers[*]')) AS value FROM ContactFacets
        WHERE FacetKey = 'InteractionsCache') WHERE strlen(value) > 512""",
        """SELECT count(*), sum(bytes_utf8 - 512) FROM long_values JOIN terms ON term_id = path_id
        WHERE text = 'Referrers[]' AND bytes_utf8 > 512""",
    ),
    (
        "impact",
        ["impact"],
        f"""SELECT CAST(StartDateTime AS TIMESTAMP)::DATE AS day, count(*), sum({PAGES}), sum(({PAGES} <= 1)::INT)
        FROM Interactions GROUP BY day""",
        """SELECT start_utc // 86400000 AS day, count(*), sum(pages), sum((pages <= 1)::INT) FROM interactions
        GROUP BY day""",
    ),
]


# What the dearest question, visits, reads of the export.
PART = ["Interactions.ndjson", "InteractionFacets.ndjson"]


def part_of(raw, folder):
    """A folder with only those tables of an export that the question about visits reads."""
    part = os.path.join(folder, "part")
    if not os.path.exists(part):
        for root, _, names in os.walk(raw):
            for name in names:
                if name in PART:
                    target = os.path.join(part, os.path.relpath(root, raw))
                    os.makedirs(target, exist_ok=True)
                    os.symlink(os.path.join(os.path.abspath(root), name), os.path.join(target, name))
    return part


def size(folder):
    """Bytes of all files below a folder."""
    return sum(os.path.getsize(os.path.join(root, name)) for root, _, names in os.walk(folder) for name in names)


class Costs:
    """CPU seconds, wall-clock seconds and MiB of several runs of one command."""

    def __init__(self):
        self.cpu, self.wall, self.memory = [], [], []

    def add(self, wall, cpu, memory):
        self.cpu.append(cpu)
        self.wall.append(wall)
        self.memory.append(memory)

    def __str__(self):
        low, high = min(self.cpu), max(self.cpu)
        return (f"{statistics.median(self.cpu):.2f} s CPU ({low:.2f} to {high:.2f}), "
                f"{statistics.median(self.wall):.2f} s wall, {max(self.memory):.0f} MiB")


def imports(program, folder, form, source, costs, name=None):
    """Imports a source into a new store, and gives what it counted."""
    store = os.path.join(folder, name or f"store-{form}")
    shutil.rmtree(store, ignore_errors=True)
    wall, cpu, memory, out = measured([program, "audit", "import", "--json", "--from", form, source, "-o", store])
    costs.add(wall, cpu, memory)
    return json.loads(out)["counts"]


def peer_imports(raw, folder, costs):
    """DuckDB writes the tables of a store from the JSON."""
    out = os.path.join(folder, "store-duckdb")
    shutil.rmtree(out, ignore_errors=True)
    wall, _, memory, cpu = measured([sys.executable, "-c", PEER_IMPORT, raw, out])
    costs.add(wall, float(cpu), memory)


def tell_import(folder, form, source, costs, counts):
    """Prints what imports of a source took."""
    read = size(source) if os.path.isdir(source) else os.path.getsize(source)
    store = os.path.join(folder, f"store-{form}")
    interactions = max(counts["interactions"], 1)
    hot = size(os.path.join(store, "interactions"))
    cpu = statistics.median(costs.cpu)
    print(f"import {form}: {costs}; {read / 1e9:.2f} GB, {read / cpu / 1e9:.2f} GB and "
          f"{counts['rows'] / cpu / 1e6:.2f} M rows a CPU second; {hot / interactions:.1f} bytes an interaction in the "
          f"hot table, {size(store) / interactions:.0f} in all")


def short_rows(folder, interactions):
    """Writes an export with short rows: 3 contacts with a facet for 4 visits, on 90 days, in two shards."""
    guid = lambda kind, at: f"{(at * 0x9e3779b97f4a7c15f39cc0605cedc835 + kind) % (1 << 128):032x}"
    when = lambda at: f"2026-{4 + at % 90 // 30:02}-{1 + at % 30:02}T{at // 90 % 24:02}:{at // 2160 % 60:02}:07Z"
    contacts = interactions * 3 // 4
    tables = {
        "ContactFacets": (contacts, lambda at: (
            f'{{"ContactId":"{guid(1, at)}","FacetKey":"Emails","LastModified":"{when(at)}",'
            f'"FacetData":{{"PreferredKey":"work","Address":"x{at}@example.com"}},'
            f'"ShardKey":"{at % 2 * 200:02x}"}}\n')),
        "Contacts": (contacts, lambda at: (
            f'{{"ContactId":"{guid(1, at)}","LastModified":"{when(at)}","Created":"{when(at)}",'
            f'"ConcurrencyToken":"{guid(2, at)}","ShardKey":"{at % 2 * 200:02x}"}}\n')),
        "Interactions": (interactions, lambda at: (
            f'{{"InteractionId":"{guid(3, at)}","LastModified":"{when(at)}","ContactId":"{guid(1, at % contacts)}",'
            f'"StartDateTime":"{when(at)}","EndDateTime":"{when(at)}","Events":[{{"@odata.type":"#x.PageViewEvent",'
            f'"Url":"/{at % 5000}"}}],"UserAgent":"Agent/{at % 900}","ShardKey":"{at % contacts % 2 * 200:02x}"}}\n')),
    }
    os.makedirs(folder)
    for table, (count, row) in tables.items():
        with open(os.path.join(folder, f"{table}.ndjson"), "w", buffering=1 << 20) as out:
            for at in range(count):
                out.write(row(at))


def memory(options, folder):
    """Imports many short rows."""
    source = os.path.join(folder, "short")
    if not os.path.exists(source):
        short_rows(source, options.interactions)
    costs = Costs()
    counts = imports(options.program, folder, "xdb-json", source, costs)
    tell_import(folder, "xdb-json", source, costs, counts)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--interactions", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--folder", help="keep the sample and the stores here")
    parser.add_argument("--only", choices=["import", "questions", "memory"])
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        (memory if options.only == "memory" else run)(options, options.folder or temporary)


def run(options, folder):
    """Makes the sample where there is none, and measures."""
    sample = os.path.join(folder, "sample")
    if not os.path.exists(os.path.join(sample, "truth.json")):
        make = ["audit", "sample", "--force", "--quiet", "-o", sample, "--interactions", str(options.interactions)]
        measured([options.program, *make])
    raw = os.path.join(sample, "xdb-json")
    sources = {"xdb-json": raw, "accesslog": os.path.join(sample, "access.log")}
    part, of_part, by_peer = part_of(raw, folder), Costs(), Costs()
    peer = importlib.util.find_spec("duckdb") is not None
    imported = {form: Costs() for form in sources}
    own, asked, counts = {}, {}, {}
    store = os.path.join(folder, "store-xdb-json")
    for _ in range(options.rounds):
        for form, source in sources.items():
            if options.only != "questions" or not os.path.exists(os.path.join(folder, f"store-{form}")):
                counts[form] = imports(options.program, folder, form, source, imported[form])
        if options.only != "questions":
            imports(options.program, folder, "xdb-json", part, of_part, "store-part")
            if peer:
                peer_imports(raw, folder, by_peer)
        for name, command, *texts in QUESTIONS if options.only != "import" else []:
            command = [options.program, "audit", command[0], store, *command[1:], "--json", "--quiet"]
            own.setdefault(name, Costs()).add(*measured(command)[:3])
            for where, sql in zip(["raw", "store"], texts) if peer else []:
                wall, _, memory, out = measured([sys.executable, "-c", PEER, raw, store, where, sql])
                asked.setdefault((name, where), Costs()).add(wall, float(out), memory)
    for form, source in sources.items():
        if form in counts:
            tell_import(folder, form, source, imported[form], counts[form])
    for name, costs in own.items():
        print(f"{name}: the whole report {costs}")
        if peer:
            json_cost, store_cost = asked[name, "raw"], asked[name, "store"]
            ratios = [a / b for a, b in zip(json_cost.cpu, store_cost.cpu)]
            whole = statistics.median(a / b for a, b in zip(json_cost.cpu, costs.cpu))
            print(f"    its core, asked by DuckDB of the JSON: {json_cost}; of the store: {store_cost}: "
                  f"x {statistics.median(ratios):.0f}; the JSON takes x {whole:.1f} of the whole report")
    if by_peer.cpu:
        ratios = [a / b for a, b in zip(imported["xdb-json"].cpu, by_peer.cpu)]
        print(f"DuckDB writes the tables of a store, without sums: {by_peer}; our import with them takes "
              f"x {statistics.median(ratios):.2f} of that.")
    if peer and imported["xdb-json"].cpu and asked:
        once = [statistics.median(costs.cpu) for (_, where), costs in asked.items() if where == "raw"]
        ours = statistics.median(imported["xdb-json"].cpu)
        print(f"An import costs {ours / max(once):.1f} questions to the JSON of the dearest kind, "
              f"{ours / sum(once):.2f} of all {len(once)} together.")
        visits = statistics.median(asked["visits", "raw"].cpu)
        print(f"The import of the two tables that the question about visits reads ({of_part}) costs "
              f"{statistics.median(of_part.cpu) / visits:.2f} of this question.")


main()
