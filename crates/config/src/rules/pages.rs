//! The pages of all rules, in the order of the list of rules.

use super::page::ConfigRuleDoc;

/// What shows whether a fix worked, where one key is meant.
const EXPLAIN: &str = "culprit config explain KEY";
/// What shows whether a fix worked.
const SHOW: &str = "culprit config show";

/// The page of every rule.
pub const PAGES: &[ConfigRuleDoc] = &[
    ConfigRuleDoc {
        id: super::start_fails::ID,
        claim: "The program does not start with a file or a value.",
        signature: "A source that counts cannot be parsed, or does not exist and is not optional. The profile \
                    says that the program refuses to start then: Spring Boot, .NET, Docker Compose, or the \
                    package config of Node.js. Or no source sets a value that the code needs, or a value has \
                    not the type of its field.",
        not_reported: &[
            "programs that start without the file",
            "files of profiles and environments that are not active",
            "files that Culprit may not read, because the program may",
            "values that a source may set which could not be read",
        ],
        why: "Nothing that the file says is known. Keys that it may set are marked `unknown`.",
        fix: &[
            "Correct the line that the finding names.",
            "Create the missing file, or mark it as optional where it is named.",
        ],
        check: SHOW,
    },
    ConfigRuleDoc {
        id: super::never_applied::ID,
        claim: "A variable is set, and nothing takes its value.",
        signature: "A variable has the prefix of a configuration builder, and the section has no such \
                    key, or the builder asks for another name. Or a file of variables sets a name that \
                    no service gets. Or a section names builders that cannot fill it.",
        not_reported: &[
            "variables without the prefix of a builder, because they concern other programs",
            "variables that a builder takes under another spelling",
        ],
        why: "The program starts without a message and uses the value of the file, or none. A Strict \
              builder asks the environment only for keys that the file has.",
        fix: &[
            "Add the line that the finding names, so that the builder asks for the variable.",
            "Rename the variable to the name that the builder asks for.",
            "Set `mode=\"Greedy\"` on the builder, if every variable with the prefix is meant.",
        ],
        check: EXPLAIN,
    },
    ConfigRuleDoc {
        id: super::near_miss_name::ID,
        claim: "A name sets a key that nothing else knows, and is almost a known one.",
        signature: "One source alone sets a key, and nothing asks for it. The key is almost one that the code, a \
                    compose file or the framework asks for, or that a weaker source sets. A slip is two letters \
                    swapped, or one letter doubled, missing, added or replaced, in at most two words.",
        not_reported: &[
            "names that differ only in digits",
            "names of fewer than 4 letters",
            "short names that differ in a letter, as `POST` and `PORT`",
            "two names in the same source",
        ],
        why: "A program takes every spelling for a name of its own. The finding also says what follows, such \
              as an empty `${...}`.",
        fix: &[
            "Write the name that is asked for.",
            "If nothing is known to ask for either name, compare both with the program's documentation.",
        ],
        check: EXPLAIN,
    },
    ConfigRuleDoc {
        id: super::duplicate_key::ID,
        claim: "One source sets a key twice.",
        signature: "Two lines of one source set the same key under the same condition.",
        not_reported: &["documents of one file with different conditions"],
        why: "Most programs take the later line, and some refuse the file.",
        fix: &["Remove one of the two lines."],
        check: EXPLAIN,
    },
    ConfigRuleDoc {
        id: super::shadowed::ID,
        claim: "A variable of the environment beats the value of a project's file.",
        signature: "The winner of a key is a variable, and a file has another value for it.",
        not_reported: &[
            "a variable with the same value as the file",
            "a file that overrides a weaker file",
            "a variable that a configuration builder takes, because the builder is made for that",
        ],
        why: "A variable may be left over from other work in the same shell.",
        fix: &[
            "Unset the variable, if the file is right.",
            "Do nothing, if the variable is right.",
        ],
        check: EXPLAIN,
    },
    ConfigRuleDoc {
        id: super::env_file_order::ID,
        claim: "Two files of variables of one service set one variable, and the later wins.",
        signature: "Two files under `env_file` of a service of a compose file have different values of a \
                    variable, and `environment` of the service does not set it. The finding is \
                    information, unless the later file is shared by more services than the earlier one.",
        not_reported: &[
            "equal values",
            "a variable that `environment` sets, because that is stronger than both files",
        ],
        why: "Docker Compose takes the files in their order. A value for one service is lost, if the file \
              that all services share stands last.",
        fix: &[
            "Name the shared file first, and the service's own file last.",
            "Do nothing, if the later file is right.",
        ],
        check: EXPLAIN,
    },
    ConfigRuleDoc {
        id: super::bad_env_value::ID,
        claim: "A file of variables has a line that its reader takes in another way.",
        signature: "A line of a file of variables, or an item in a list of YAML, has quotes, blanks, a byte \
                    order mark or another character. Its reader makes them a part of the value or of the name.",
        not_reported: &[
            "quotes that the reader removes",
            "a blank within quotes behind several words or a sign",
        ],
        why: "The readers of such files differ: what one removes, another one keeps. A blank before a \
              closing quote is part of the value in every format.",
        fix: &["Write the line without what the finding names."],
        check: EXPLAIN,
    },
    ConfigRuleDoc {
        id: super::case_mismatch::ID,
        claim: "Two names differ only in upper and lower case, where case matters.",
        signature: "Two keys are the same in lower case, and the program keeps them apart.",
        not_reported: &["programs that ignore case"],
        why: "A program that reads one of them does not see the other.",
        fix: &["Give both the spelling that the program reads."],
        check: SHOW,
    },
    ConfigRuleDoc {
        id: super::blank_interpolation::ID,
        claim: "A `${...}` stands for a variable that is not set.",
        signature: "A value uses a variable that neither the shell nor a file of variables sets. Or the program \
                    keeps the reference as text.",
        not_reported: &["variables with a default, as in `${NAME:-text}`"],
        why: "An empty text takes its place, the text stays, or the program refuses to start.",
        fix: &["Set the variable.", "Give it a default."],
        check: EXPLAIN,
    },
    ConfigRuleDoc {
        id: super::undefined_rule::ID,
        claim: "A condition is about a rule that nothing defines.",
        signature: "An element has `require` of a rule, and appSettings has no `RULE:define`.",
        not_reported: &["rules with a default, such as `role`"],
        why: "The program ignores such a condition: the element applies in every environment.",
        fix: &[
            "Add the key `RULE:define` to appSettings.",
            "Correct the rule's name in the namespace of the attribute.",
        ],
        check: "culprit config roles",
    },
    ConfigRuleDoc {
        id: super::never_true::ID,
        claim: "No declared combination of rules makes a condition true.",
        signature: "The condition is false for every set of its words that the rule can have.",
        not_reported: &[
            "conditions that are false now, and true in another environment",
            "words of a rule whose values are not documented",
        ],
        why: "What it guards never applies. A misspelled role is the usual reason.",
        fix: &[
            "Correct the word that the rule cannot have.",
            "Remove the element, if it is not needed.",
        ],
        check: "culprit config roles --matrix",
    },
    ConfigRuleDoc {
        id: super::added_not_changed::ID,
        claim: "A patch was to change an element, and added a second one.",
        signature: "A patch matches no element, and one with the same name, or almost the same, exists.",
        not_reported: &[
            "a new element that no other resembles",
            "elements that differ in what tells them apart",
            "slips among more than 5,000 elements side by side",
        ],
        why: "Attributes without the `set` namespace are what a patch is matched by. A second element \
              with the same name exists then, and which one the program reads is not defined.",
        fix: &[
            "Write `set:value=\"...\"` instead of `value=\"...\"`.",
            "Write `<patch:attribute name=\"value\">...</patch:attribute>` in the element.",
        ],
        check: EXPLAIN,
    },
    ConfigRuleDoc {
        id: super::target_missing::ID,
        claim: "A patch deletes, moves or refers to what does not exist.",
        signature: "`patch:delete` or `patch:deleteattribute` matches nothing, or the XPath of \
                    `patch:before`, `patch:after` or `patch:instead` leads to no element beside it. \
                    Or a container needs a ConfigMap, a Secret or a key that no manifest has. \
                    Or `!reset` of one variable in a compose file removes nothing.",
        not_reported: &[
            "patches whose condition is false",
            "references that are optional",
            "`!reset` of a whole `environment`",
        ],
        why: "The program says nothing. What was to be deleted may have another name now, and what was \
              to be placed stands at the end. Kubernetes does not start such a container.",
        fix: &[
            "Correct the name of the object or key. The finding names one that is almost the same.",
            "Correct the attributes that the element is matched by.",
            "Remove the patch, if what it deletes is gone.",
            "Compose: write `environment: !override` with all variables that shall stay.",
        ],
        check: EXPLAIN,
    },
    ConfigRuleDoc {
        id: super::off_load_path::ID,
        claim: "A file has the form of configuration, and no load path leads to it.",
        signature: "A file is in no layer's folder, or its layer or the file itself is turned off. Or no \
                    pod of the manifests takes a value of a ConfigMap or Secret, or mounts it.",
        not_reported: &[
            "objects that any other file names, and those that the cluster or a controller makes",
            "files whose name says that they are disabled, such as `.config.disabled`",
            "files for other environments",
        ],
        why: "All that the file sets has no effect, and no message says so.",
        fix: &[
            "Move the file into the folder of a layer.",
            "Name the object in a container, or mount it.",
            "Remove what is not meant.",
        ],
        check: SHOW,
    },
    ConfigRuleDoc {
        id: super::optional_source_failed::ID,
        claim: "An optional source does not exist, and the program starts without it.",
        signature: "A file names another one that is optional, and there is no such file.",
        not_reported: &["files that a profile looks for, and that nothing names"],
        why: "The program starts without a message, and without the values of that source.",
        fix: &["Create the file, or correct its path.", "Remove what names it."],
        check: SHOW,
    },
    ConfigRuleDoc {
        id: super::culture_parse::ID,
        claim: "A value has the form of a time or date, and the invariant culture does not read it so.",
        signature: "A time span has a part that is too large or a decimal comma, or a date has its day \
                    first.",
        not_reported: &["values of programs that do not read by .NET's invariant culture"],
        why: "The program refuses the value, or reads it by the language of the user that runs it. It \
              can work on one machine and fail on another one.",
        fix: &[
            "Write time spans as `d.hh:mm:ss.fff`, with at most 23 hours.",
            "Write dates as `yyyy-MM-dd`.",
        ],
        check: EXPLAIN,
    },
    ConfigRuleDoc {
        id: super::undefined_order::ID,
        claim: "Two values of equal rank set one key, and no rule says which one wins.",
        signature: "Two variables set the same key to different values. Or two files of one layer do, and \
                    the order of the files is assumed.",
        not_reported: &[
            "equal values",
            "one source that sets a key twice under one name, because its last line wins",
            "two variables of Spring Boot, of which it asks for one first: `A_MAXSIZE` before `A_MAX_SIZE`",
        ],
        why: "The winner can change with the order in which a program lists variables or files.",
        fix: &["Leave the key in one of the two places."],
        check: EXPLAIN,
    },
    ConfigRuleDoc {
        id: super::text_is_true::ID,
        claim: "A setting takes a text that means false, and the program takes every text for true.",
        signature: "The default of a setting is a truth value, and the variable that it takes instead is `False`, \
                    `0`, `no` or `off`. The settings do not turn the text into a truth value.",
        not_reported: &[
            "settings whose default is no truth value",
            "settings that compare the text, or convert it",
            "settings that a later line sets again",
        ],
        why: "`os.environ.get(\"DEBUG\", False)` with `DEBUG=False` is the text `False`, which is true.",
        fix: &[
            "Compare the text: `os.environ.get(\"DEBUG\", \"\").lower() in (\"1\", \"true\")`.",
            "Set the variable to the empty text.",
        ],
        check: EXPLAIN,
    },
    ConfigRuleDoc {
        id: crate::drift::DRIFT,
        claim: "A variable has another value in a later place than in an earlier one.",
        signature: "The compose file, the image, the container, its processes and their memory are \
                    compared with the place that is meant. A variable differs, or is missing.",
        not_reported: &[
            "variables that a shell or an engine sets by itself",
            "variables that an entry point or a program adds",
            "processes that somebody started in the container from outside",
        ],
        why: "The container still runs with what it was created with, or something on the way changed it.",
        fix: &[
            "Create the container anew: `docker compose up -d` does so where its file has changed.",
            "Look at the entry point: a shell script may set or remove the variable.",
        ],
        check: "culprit config drift --container NAME",
    },
    ConfigRuleDoc {
        id: crate::drift::WORKER_MISSES,
        claim: "The main process has a variable, and a worker does not.",
        signature: "The first process of a container was given a variable, and one of its descendants was \
                    started without it.",
        not_reported: &["variables that a shell or an engine sets by itself"],
        why: "The worker reads the value of a file, or none. A container shows the variable all the same.",
        fix: &[
            "Let the service manager pass the variable on: it often starts workers with a clean environment.",
        ],
        check: "culprit config drift --container NAME",
    },
    ConfigRuleDoc {
        id: crate::exposure::NEWER,
        claim: "A file changed after the process that reads it had started.",
        signature: "A source of the process's configuration is newer than the start of the process.",
        not_reported: &["files that do not count for the process"],
        why: "Most programs read their configuration once, so the process runs with the old values.",
        fix: &["Restart the process, or tell it to read its configuration again."],
        check: "culprit config show --pid PID",
    },
    ConfigRuleDoc {
        id: crate::exposure::EXPOSED,
        claim: "Others can read a secret: in an image, a file or a command line.",
        signature: "A value is a secret by its name or its form. It stands in the variables or files of an \
                    image, in a file that every user can read, or on a command line.",
        not_reported: &[
            "values that only look random, because a checksum does too",
            "files of a folder, because there every file of a project is readable",
        ],
        why: "Who can pull the image, list processes or read the file has the secret.",
        fix: &[
            "Give the secret when the container starts: as a mounted file or a secret of the engine.",
            "Take it out of the image, build it anew, and change the secret: old layers still hold it.",
        ],
        check: SHOW,
    },
    ConfigRuleDoc {
        id: crate::observation::NEVER_READ,
        claim: "A variable is set, and no program read it while it was watched.",
        signature: "The processor watched the bytes of its value in every program that `config prove` \
                    started, from the first instruction to the last, and nobody touched them. A variable \
                    with a random name beside it shows that the runtime does not copy all of them.",
        not_reported: &[
            "variables of programs that copy all variables",
            "programs that ran already, or were not watched to their end",
        ],
        why: "Whoever set the variable believes that it has an effect.",
        fix: &[
            "Correct its name: the names that the program asks for are listed beside it.",
            "Remove it.",
            "Repeat the run with the work in which the program should read it.",
        ],
        check: "culprit config prove --vars NAME -- CMD",
    },
    ConfigRuleDoc {
        id: crate::observation::HIDDEN_KNOB,
        claim: "A program asks for a variable that nothing sets.",
        signature: "The program's own code asked for a name that its environment does not have.",
        not_reported: &["names that libraries and runtimes ask for"],
        why: "The program takes its built-in default, and the name may be documented nowhere.",
        fix: &[
            "Set the variable, if the default is not what you want.",
            "Compare its spelling with the variables that are set.",
        ],
        check: "culprit config prove -- CMD",
    },
];
