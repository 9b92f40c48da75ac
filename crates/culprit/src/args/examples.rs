//! The worked examples that open each subcommand's help.

use std::fmt::Write as _;

/// A command line and what it is for.
type Example = (&'static str, &'static str);

/// Every subcommand's examples. A test fails when a subcommand has none, or one that does not
/// parse.
pub(super) const EXAMPLES: &[(&str, &[Example])] = &[
    (
        "why",
        &[
            ("culprit why -- ./import.sh data.csv", "host against sandbox, five runs each"),
            (
                "culprit why --place host --place docker:postgres:17 -- psql -f q.sql",
                "host against a container of an image",
            ),
            (
                "culprit why --work 8:rows --instead 'sh fixed.sh 8' -- sh guilty.sh 8",
                "show rates, and also measure another command",
            ),
            (
                "culprit why --against before.culprit -- ./import.sh data.csv",
                "new runs against an earlier recording",
            ),
        ],
    ),
    (
        "bench",
        &[
            ("culprit bench cmd 'sort a.txt' 'sort -u a.txt'", "compare two commands"),
            ("culprit bench syscall --place host --place sandbox", "compare two places"),
            ("culprit bench cmd --help", "all options of a probe"),
        ],
    ),
    (
        "bench disk",
        &[
            ("culprit bench disk", "4 KiB reads from the page cache, host against sandbox"),
            (
                "culprit bench disk --cache direct --depth 16 --size 256m --place host --place docker:@host",
                "random reads of the disk, 16 in flight",
            ),
            (
                "culprit bench disk --diskspd '-c2G -b128K -d120 -t4 -o16 -r -w60' --explain",
                "explain what a diskspd command line does",
            ),
        ],
    ),
    (
        "bench compare",
        &[(
            "culprit bench compare monday.json today.json",
            "what changed between two results kept with --save",
        )],
    ),
    (
        "bench syscall",
        &[
            ("culprit bench syscall", "host against sandbox"),
            (
                "culprit bench syscall --place host --place docker:@host",
                "cost of Docker's system call filter",
            ),
        ],
    ),
    (
        "bench files",
        &[
            ("culprit bench files", "host against sandbox"),
            (
                "culprit bench files --place host --place docker:@host --at layer --at volume",
                "a container's layer and a volume",
            ),
        ],
    ),
    (
        "bench copy-up",
        &[
            ("culprit bench copy-up", "host against sandbox"),
            (
                "culprit bench copy-up --place host --place docker:@host --size 1g --rounds 3",
                "a large file of an image",
            ),
        ],
    ),
    (
        "bench notify",
        &[
            ("culprit bench notify", "host against sandbox"),
            (
                "culprit bench notify --reader tail-F,cat-fifo --place host --place docker:@host",
                "with programs of the place",
            ),
        ],
    ),
    (
        "bench net",
        &[
            (
                "culprit bench net --place host --place docker:@host",
                "every network path to a container",
            ),
            (
                "culprit bench net --place docker:@host,net=host --place docker:@host,net=bridge",
                "two network paths",
            ),
            (
                "culprit bench net --dns db.internal --place host --place docker:@host",
                "also the cost of a name lookup",
            ),
        ],
    ),
    (
        "bench start",
        &[
            (
                "culprit bench start --place host --place sandbox --place docker:@host",
                "a process, a sandbox, a runtime alone, a container",
            ),
            (
                "culprit bench start --cold --place host --place docker:@host",
                "also from an image that is not in the page cache",
            ),
        ],
    ),
    (
        "bench memory",
        &[
            ("culprit bench memory", "host against sandbox"),
            ("culprit bench memory --size 256m", "with more memory"),
        ],
    ),
    (
        "bench pressure",
        &[(
            "culprit bench pressure --place host --place docker:@host",
            "read 128 MiB repeatedly, also with a limit of 64 MiB",
        )],
    ),
    (
        "bench quota",
        &[
            (
                "culprit bench quota --place host --place docker:@host",
                "without a quota, and with half a CPU",
            ),
            (
                "culprit bench quota --place host --place docker:@host,cpus=1.5",
                "a quota of your own",
            ),
            (
                "culprit bench quota --siblings 4 --place host --place docker:@host",
                "share of a CPU next to 4 busy threads of the host",
            ),
        ],
    ),
    (
        "bench log",
        &[("culprit bench log --place host --place docker:@host", "each log driver of Docker")],
    ),
    (
        "bench cmd",
        &[
            ("culprit bench cmd 'sort a.txt' 'sort -u a.txt'", "is the second slower?"),
            (
                "culprit bench cmd --place host --place sandbox 'make -B'",
                "one command in two places",
            ),
            (
                "culprit bench cmd -L threads 1,2,4 'make -B -j{threads}' --export-markdown -",
                "one command with several parameters",
            ),
            (
                "culprit bench cmd --prepare 'rm -f out.db' './load old' './load new' --record r",
                "reset before each run; record what differs",
            ),
        ],
    ),
    (
        "verify",
        &[
            ("culprit verify --before ./app-old --after ./app-new", "is it faster now?"),
            (
                "culprit verify --before 'sh guilty.sh 8' --after 'sh fixed.sh 8' --place sandbox",
                "in the place where it was slow",
            ),
            (
                "culprit verify --before ./a --after ./b --no-record --fail-on slower,unclear",
                "exit with 1 if ./b is slower or the verdict is unclear",
            ),
        ],
    ),
    (
        "record",
        &[
            ("culprit record -- make -j4", "a command from its start to its end"),
            ("culprit record -d 10 --pid 4711", "a running process for ten seconds"),
            ("culprit record --container web -o web.culprit", "a container until Ctrl-C"),
            ("culprit record --alloc -- python3 app.py", "with sampled allocations"),
            (
                "culprit record --activity request=server:handle_request -- ./server",
                "with calls of a function: `culprit activities`",
            ),
            (
                "culprit record -d 10 --pid 4711 --activity request=serve:8080",
                "with the requests that a server answers on a port",
            ),
            (
                "culprit record --no-runtime-help -- node app.js",
                "leave NODE_OPTIONS and the like as they are",
            ),
        ],
    ),
    (
        "report",
        &[
            ("culprit report make-1.culprit", "one screen"),
            ("culprit report make-1.culprit -o report.html", "one page to keep or to send"),
            (
                "culprit report run.culprit --fail-on high",
                "exit with 1 if a finding has the severity high",
            ),
        ],
    ),
    (
        "findings",
        &[
            ("culprit findings run.culprit", "problems, the most expensive first"),
            ("culprit findings run.culprit --json", "the same as JSON"),
            ("culprit findings runs/ --by version", "of all recordings of a folder, added up"),
            (
                "culprit findings tables/ --engine sc://spark:15002",
                "tables that an Apache Spark adds up",
            ),
            (
                "culprit findings run.culprit --fail-on lock-contention",
                "exit with 1 if threads compete for a lock",
            ),
            (
                "culprit findings run.culprit --own /srv/shop/",
                "name the functions of the files in this folder",
            ),
        ],
    ),
    (
        "top",
        &[
            ("culprit top run.culprit", "functions by their part of the run time"),
            ("culprit top run.culprit --metric wall", "by the time of all threads"),
            (
                "culprit top runs/ --by host",
                "all recordings of a folder, with the sum of each machine",
            ),
            ("culprit top run.culprit --metric cpu --limit 50", "by time on a CPU"),
            (
                "culprit top tables/ --engine sc://spark:15002",
                "tables that an Apache Spark adds up",
            ),
            (
                "culprit top run.culprit --preset module-entries --columns inc,fold,when",
                "other columns, grouped",
            ),
            (
                "culprit top run.culprit --thread worker --from 2s --to 5s",
                "only some threads, in a time range",
            ),
        ],
    ),
    (
        "tree",
        &[
            ("culprit tree run.culprit", "from the root, big branches only"),
            (
                "culprit tree run.culprit --metric blocked --fold-pct 5",
                "blocked time; small nodes are folded",
            ),
        ],
    ),
    (
        "callers",
        &[
            ("culprit callers 'libc.so.6!read' run.culprit", "functions that call read"),
            ("culprit callers malloc run.culprit --metric cpu", "a pattern finds the function"),
        ],
    ),
    (
        "callees",
        &[
            ("culprit callees 'app!serve' run.culprit", "functions that `serve` calls"),
            ("culprit callees main run.culprit --metric blocked", "what main waits for"),
        ],
    ),
    (
        "butterfly",
        &[
            ("culprit butterfly 'app!parse' run.culprit", "callers above, callees below"),
            ("culprit butterfly parse run.culprit --json", "the same as JSON"),
        ],
    ),
    (
        "flame",
        &[
            ("culprit flame run.culprit", "as text, on the terminal"),
            ("culprit flame run.culprit -o run.svg", "as an SVG picture"),
            ("culprit flame runs/ -o fleet.svg", "all recordings of a folder as one picture"),
            ("culprit flame run.culprit --metric cpu -o run.html", "as an interactive page"),
        ],
    ),
    (
        "source",
        &[
            ("culprit source 'app!parse' run.culprit", "source lines with their time"),
            ("culprit source parse run.culprit --metric cpu --json", "the same as JSON"),
        ],
    ),
    (
        "diff",
        &[
            ("culprit diff before.culprit after.culprit", "by cause, function, module, thread"),
            (
                "culprit diff --before a.culprit b.culprit --after c.culprit d.culprit",
                "several runs a side, with intervals",
            ),
            (
                "culprit diff runs-old runs-new --work 1000:rows -o diff.svg",
                "time per row, as a flame graph",
            ),
            (
                "culprit diff monday tuesday --engine sc://spark:15002",
                "two folders of tables that an Apache Spark adds up",
            ),
        ],
    ),
    (
        "wakers",
        &[
            (
                "culprit wakers run.culprit",
                "the most expensive waits, and the threads that ended them",
            ),
            (
                "culprit wakers run.culprit --metric blocked.lock --thread worker",
                "only waits for locks, of some threads",
            ),
        ],
    ),
    (
        "activities",
        &[
            ("culprit activities run.culprit", "latencies of each name, and the slowest ten"),
            ("culprit activities run.culprit --name request", "distribution of the latencies"),
            ("culprit activities run.culprit --by process", "each instance of a service by itself"),
            ("culprit tree run.culprit --root activities", "call tree below the activities"),
        ],
    ),
    (
        "critical-path",
        &[
            ("culprit critical-path run.culprit", "what the run time of the command depended on"),
            (
                "culprit critical-path run.culprit --thread worker --from 1s --to 2s",
                "one second of a thread, link by link",
            ),
        ],
    ),
    (
        "phases",
        &[
            ("culprit phases run.culprit", "what the run did one after the other, with findings"),
            ("culprit phases run.culprit --thread main --limit 10", "of one thread, in detail"),
            (
                "culprit top run.culprit --from 0s --to 0.8s",
                "functions of one phase; `phases` prints its range",
            ),
        ],
    ),
    (
        "view",
        &[
            ("culprit view run.culprit", "one recording, in a browser on this machine"),
            ("culprit view /var/tmp/recordings --port 8200", "a folder of recordings"),
        ],
    ),
    (
        "presets",
        &[
            ("culprit presets", "list all presets"),
            ("culprit presets save mine --group '{%}!=>module $1' --fold-pct 1", "save a preset"),
            ("culprit presets delete mine", "delete it"),
        ],
    ),
    (
        "audit",
        &[
            (
                "culprit audit sample -o sample --interactions 100000",
                "data to try the questions with",
            ),
            ("culprit audit import --from xdb-json sample/xdb-json -o store", "make a store of it"),
        ],
    ),
    (
        "audit import",
        &[
            ("culprit audit import --from xdb-json export/ -o store", "a folder of JSON lines"),
            ("culprit audit import --from accesslog access.log -o store", "a web server's log"),
            (
                "culprit audit import --from xdb-postgres postgres://user@host/xdb -o store",
                "the tables of a database",
            ),
            (
                "culprit audit import --from xdb-sqlserver sqlserver://user@host/Shard0 -o store",
                "the same of a SQL Server",
            ),
            ("culprit audit import --from bcp Interactions.dat -o store", "a table that bcp wrote"),
            (
                "culprit audit import --from auto logs/ -o store --geoip GeoLite2-City.mmdb",
                "logs of any known form, with the places of addresses",
            ),
            (
                "culprit audit import --from json-log app.log -o store --field address=client.ip",
                "a log with field names of its own",
            ),
        ],
    ),
    (
        "audit refresh",
        &[
            ("culprit audit refresh store", "read what is new in the sources"),
            ("culprit audit refresh store --verify", "and compare with a store made anew"),
        ],
    ),
    (
        "audit sample",
        &[
            ("culprit audit sample -o sample", "10,000 visits, one fifth by robots"),
            (
                "culprit audit sample -o big --interactions 1000000 --robots 0.6 --seed 7",
                "a million visits, most by robots",
            ),
        ],
    ),
    (
        "audit visits",
        &[
            (
                "culprit audit visits store --place postal=49000,country=UA --tz Europe/Kyiv",
                "visits from a postal code by day, without robots",
            ),
            (
                "culprit audit visits store --place within=48.46,35.05,20 --by week --explain",
                "within 20 km, by week, with the steps of the count",
            ),
            (
                "culprit audit visits store --place country=UA --extrapolate",
                "with an estimate for missing shards",
            ),
        ],
    ),
    (
        "audit robots",
        &[
            ("culprit audit robots store", "the user agents with the most visits, and verdicts"),
            ("culprit audit robots store --explain googlebot", "why a user agent is a robot"),
            (
                "culprit audit robots store --by contact --preset strict --json",
                "by contact, only what is certain, as JSON",
            ),
            ("culprit audit robots store --engine sc://spark:15002", "let an Apache Spark answer"),
        ],
    ),
    (
        "audit blacklist",
        &[
            (
                "culprit audit blacklist store --list ExcludeRobots.config",
                "entries that miss, and entries that hit people",
            ),
            (
                "culprit audit blacklist store --list ExcludeRobots.config --patch",
                "only the patch for the list",
            ),
        ],
    ),
    ("audit orphans", &[("culprit audit orphans store", "contacts without visits, and more")]),
    (
        "audit bloat",
        &[
            ("culprit audit bloat store --top 30", "the 30 largest paths and values"),
            ("culprit audit bloat store --price 0.1 --replicas 2", "what the bytes cost a month"),
        ],
    ),
    (
        "audit cap",
        &[(
            "culprit audit cap store --path InteractionsCache.Referrers[] --limit 512 --guards",
            "what 512 bytes would cut, and constraints that keep to it",
        )],
    ),
    (
        "audit impact",
        &[("culprit audit impact store", "visits, pages and conversion without robots")],
    ),
    (
        "audit diff",
        &[
            (
                "culprit audit diff store --between 2026-06-10 2026-06-17",
                "what changed from one day to another",
            ),
            ("culprit audit diff store-of-may store-of-june", "what changed between two stores"),
        ],
    ),
    (
        "audit report",
        &[("culprit audit report store -o store.html", "one page with pictures, for a browser")],
    ),
    (
        "audit clean",
        &[(
            "culprit audit clean plan store --select verdict=certain -o plan",
            "what would leave, and what reports would then show",
        )],
    ),
    (
        "audit clean plan",
        &[
            (
                "culprit audit clean plan store --select verdict=certain -o plan",
                "label what is certainly a robot",
            ),
            (
                "culprit audit clean plan store --select contacts=without-interactions --level store \
                 --spare known-contact -o plan",
                "rebuild the store without contacts that never came",
            ),
        ],
    ),
    ("audit clean show", &[("culprit audit clean show plan", "counts, guards, days, the digest")]),
    (
        "audit clean verify",
        &[(
            "culprit audit clean verify plan --against postgres://user@host/xdb",
            "a dry run against the live rows",
        )],
    ),
    (
        "audit clean apply",
        &[
            ("culprit audit clean apply plan", "only show what would be done"),
            ("culprit audit clean apply plan --execute --confirm 1a2b3c4d", "do it"),
        ],
    ),
    (
        "audit clean undo",
        &[
            ("culprit audit clean undo plan --execute --confirm 1a2b3c4d", "put everything back"),
            (
                "culprit audit clean undo plan --only-batch 3 --execute --confirm 1a2b3c4d",
                "put one batch back",
            ),
        ],
    ),
    (
        "audit clean status",
        &[("culprit audit clean status plan", "how far it is, what was left alone")],
    ),
    (
        "sql",
        &[
            ("culprit sql run.culprit \"SELECT * FROM thread_states\"", "time by thread and cause"),
            (
                "culprit sql run.culprit \"SELECT * FROM top_functions ORDER BY self_cpu DESC\"",
                "functions by CPU time",
            ),
            (
                "culprit sql runs/ \"SELECT recording, sum(total) FROM thread_states GROUP BY 1\"",
                "a folder of recordings",
            ),
            (
                "culprit sql run.culprit --csv -f question.sql > answer.csv",
                "a question from a file",
            ),
            ("culprit sql \"SHOW TABLES\"", "tables and views; `DESCRIBE name` has the columns"),
            (
                "culprit sql store --engine sc://spark:15002 \"SELECT count(*) FROM interactions\"",
                "let an Apache Spark answer",
            ),
        ],
    ),
    (
        "import",
        &[
            ("culprit import script.txt -o run.culprit", "what `perf script` printed"),
            ("culprit import view.perfView.xml.zip", "a view that PerfView saved"),
            ("culprit import stacks.txt --format collapsed", "without detecting the format"),
        ],
    ),
    (
        "export",
        &[
            ("culprit export run.culprit --to collapsed", "folded stacks on stdout"),
            ("culprit export runs/ --to tables -o fleet", "Parquet tables of a folder, for SQL"),
            (
                "culprit export run.culprit --to perfview-xml --metric cpu -o run.perfView.xml",
                "time on a CPU, for PerfView",
            ),
            (
                "culprit export run.culprit --to collapsed --thread worker --from 2s -o w.folded",
                "some threads, from 2 s on",
            ),
            ("culprit export run.culprit --to svg --metric blocked -o b.svg", "a flame graph"),
        ],
    ),
    (
        "explain",
        &[
            ("culprit explain poll-sleep-loop", "one finding's page"),
            ("culprit explain", "all ids"),
        ],
    ),
    (
        "casebook",
        &[
            ("culprit casebook list", "all cases"),
            ("culprit casebook show tail-poll", "show one case"),
            ("culprit casebook run tail-poll", "measure one case on this machine"),
        ],
    ),
    (
        "casebook list",
        &[("culprit casebook list --dir cases", "your own cases, and what they need")],
    ),
    ("casebook show", &[("culprit casebook show tail-poll", "story, fix and commands of a case")]),
    (
        "casebook run",
        &[
            ("culprit casebook run tail-poll cold-start", "two cases"),
            ("culprit casebook run --all --short", "all that this machine can run, in few rounds"),
            (
                "culprit casebook run mine --dir cases --keep out",
                "your own case; keep its recordings",
            ),
        ],
    ),
    (
        "config",
        &[
            ("culprit config show", "effective values of this folder's project"),
            ("culprit config explain server.port", "where one value comes from"),
        ],
    ),
    (
        "config show",
        &[
            ("culprit config show", "find the sources, and show what wins"),
            (
                "culprit config show --root app --define environment=Staging",
                "another folder, as in another environment",
            ),
            ("culprit config show --container web", "a running container: variables and files"),
            ("culprit config show --fail-on config-never-applied", "for a script"),
        ],
    ),
    (
        "config explain",
        &[
            (
                "culprit config explain Logging:LogLevel:Default",
                "the value that won, and why others lost",
            ),
            ("culprit config explain DB_HOST --env-file prod.env", "a variable of services"),
            ("culprit config explain DB_HOST --pid 4711", "a variable of a running process"),
        ],
    ),
    (
        "config drift",
        &[
            ("culprit config drift --container web", "compose file, image, container, processes"),
            ("culprit config drift --pid 4711", "a process, and those that it started"),
            (
                "culprit config drift --inspect containers.json --compose compose.yaml",
                "many containers, from a file of `docker inspect`",
            ),
        ],
    ),
    (
        "config snapshot",
        &[
            ("culprit config snapshot -o before.jsonl", "this folder's project"),
            (
                "culprit config snapshot --container web --like before.jsonl -o after.jsonl",
                "a container, comparable with the first",
            ),
        ],
    ),
    (
        "config diff",
        &[
            ("culprit config diff before.jsonl after.jsonl", "two snapshots"),
            ("culprit config diff container:web-1 container:web-2", "two running containers"),
        ],
    ),
    (
        "config vars",
        &[
            ("culprit config vars", "what each variable sets, and which ones set nothing"),
            ("culprit config vars --no-env", "only those that files of the project set"),
        ],
    ),
    (
        "config roles",
        &[
            ("culprit config roles", "each condition: never true, always true, undefined"),
            (
                "culprit config roles --matrix --declare env=QA,Production",
                "the result in each combination",
            ),
        ],
    ),
    (
        "config prove",
        &[
            ("culprit config prove -- ./server", "which variables a program asks for and reads"),
            (
                "culprit config prove --vars DB_HOST,DB_PORT -o read.json -- ./server --check",
                "watch two values",
            ),
            ("culprit config prove --flip MODE=fast -- ./report", "does a value have an effect?"),
        ],
    ),
    (
        "config profiles",
        &[
            ("culprit config profiles", "all profiles, and the files that each looks for"),
            ("culprit config profiles mine.toml", "check a profile of your own"),
        ],
    ),
    (
        "doctor",
        &[
            ("culprit doctor", "what Culprit can record, and how to allow more"),
            ("culprit doctor --place sandbox", "also check a place from inside"),
            (
                "culprit doctor --no-probes --place docker:app:1",
                "layers of an image, and wasted space",
            ),
        ],
    ),
    (
        "completions",
        &[(
            "culprit completions bash > ~/.local/share/bash-completion/completions/culprit",
            "install for bash",
        )],
    ),
    ("man", &[("culprit man target/man", "every page as troff")]),
];

/// The text of a subcommand's examples.
fn text(examples: &[Example]) -> String {
    let mut text = String::from("Examples:\n");
    for (line, meaning) in examples {
        let _ = writeln!(text, "  # {meaning}\n  {line}");
    }
    text
}

/// Adds to every subcommand its examples, between what it does and its options. What variables are
/// set to is nobody's business who reads a pasted help.
pub(super) fn add(command: clap::Command) -> clap::Command {
    const TEMPLATE: &str =
        "{about-with-newline}\n{before-help}{usage-heading} {usage}\n\n{all-args}{after-help}";
    EXAMPLES.iter().fold(command, |command, (path, examples)| {
        at(command, path, &|sub| {
            sub.before_help(text(examples))
                .help_template(TEMPLATE)
                .mut_args(|option| option.hide_env_values(true))
        })
    })
}

/// Changes the subcommand at a path of names: `bench cmd` is the subcommand `cmd` of `bench`.
fn at(
    command: clap::Command,
    path: &str,
    change: &dyn Fn(clap::Command) -> clap::Command,
) -> clap::Command {
    let (name, rest) = path.split_once(' ').unwrap_or((path, ""));
    let name = name.to_owned();
    command.mut_subcommand(
        name,
        |sub| if rest.is_empty() { change(sub) } else { at(sub, rest, change) },
    )
}
