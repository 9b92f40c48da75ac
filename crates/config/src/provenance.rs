//! The provenance model: what was read, what it assigns, and what became of each assignment.
//!
//! ```text
//! source  ──1:n──  assignment  ──n:1──  effective value of a key
//!                      │ 0:1
//!                  condition
//! ```
//!
//! All rows are values that may be shown to anybody: plaintext of secrets is gone ([`crate::ValueRef`]).

use culprit_model::{Text, labels};

use crate::position::Position;
use crate::value::ValueRef;

labels! {
    /// What a source is.
    SourceKind ("kind of a source") {
        /// A configuration file.
        File = "file",
        /// A file that holds one secret and nothing else: of the folder `secrets_dir`.
        SecretFile = "secret_file",
        /// The environment that a program started from here would get.
        ProcessEnvironment = "process_env",
        /// The arguments that a program started from here would get.
        Arguments = "cli_arg",
        /// A file of code that asks for variables, and has a default for some.
        CodeDefault = "code_default",
        /// The variables that a compose file gives to a service.
        ComposeEnvironment = "compose_environment",
        /// A file that a compose file names under `env_file`.
        ComposeEnvFile = "compose_env_file",
        /// A ConfigMap of Kubernetes.
        K8sConfigMap = "k8s_configmap",
        /// A Secret of Kubernetes.
        K8sSecret = "k8s_secret",
        /// An object of Kubernetes that has containers.
        K8sWorkload = "k8s_workload",
        /// A file of variables: `.env`. In a compose project it fills `${...}` and nothing else.
        DotenvInterpolation = "dotenv_interpolation",
        /// A file of variables that the program itself reads.
        Dotenv = "dotenv",
        /// The variables of an image.
        ImageEnvironment = "image_env",
        /// The variables that a container was created with.
        ContainerEnvironment = "container_env",
        /// The variables that a running process was started with.
        InitialEnvironment = "initial_env",
        /// The variables in the memory of a running process.
        ProcessMemory = "process_memory",
        /// What an application says of its own configuration.
        ApplicationDump = "application_dump",
    }
}

labels! {
    /// What became of reading a source.
    SourceState ("state of a source") {
        /// It was read, and counts.
        Read = "read",
        /// It exists and does not count: `why` says why.
        Unread = "unread",
        /// It does not exist, and need not.
        Missing = "missing",
        /// It does not exist, and must.
        MissingRequired = "missing_required",
        /// It may not be read.
        Denied = "denied",
        /// It is malformed: `why` has the position.
        Unparsable = "unparsable",
        /// It exceeds a limit of size, depth or count.
        TooLarge = "too_large",
        /// It lies outside the root folder, through a link or `..`.
        Outside = "outside",
        /// No load path leads to it, or its layer is off: `why` says which.
        OffLoadPath = "unread(off_load_path)",
        /// It is of a kind that Culprit does not read.
        Unsupported = "unsupported",
    }
}

impl SourceKind {
    /// Whether a source of this kind holds nothing but secrets.
    #[must_use]
    pub fn is_secret(self) -> bool {
        self == Self::SecretFile
    }

    /// Whether it is an object of Kubernetes.
    pub(crate) fn is_of_kubernetes(self) -> bool {
        matches!(self, Self::K8sConfigMap | Self::K8sSecret | Self::K8sWorkload)
    }
}

impl SourceState {
    /// Whether what the source says is not known although it should count.
    #[must_use]
    pub fn is_gap(self) -> bool {
        matches!(
            self,
            Self::MissingRequired
                | Self::Denied
                | Self::Unparsable
                | Self::TooLarge
                | Self::Outside
                | Self::Unsupported
        )
    }
}

/// Something that assigns values to keys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// What it is.
    pub kind: SourceKind,
    /// Its path below the root with `/`, or `environment`.
    pub name: String,
    /// The layer of the profile that it belongs to.
    pub layer: String,
    /// What became of reading it.
    pub state: SourceState,
    /// Why it is in that state, and what is odd about it; empty if there is nothing to say.
    pub why: String,
    /// Where it is malformed; none of other sources.
    pub at: Option<Position>,
    /// The hash of its bytes in hexadecimal digits; none if they were not read.
    pub sha256: Option<String>,
    /// Its size in bytes; 0 if it was not read.
    pub bytes: u64,
    /// When the file changed, in seconds since 1970; none without a file.
    pub modified: Option<u64>,
}

labels! {
    /// How an assignment changes its key.
    Op ("operation") {
        /// Sets the value.
        Set = "set",
        /// Takes the value that the name has outside: `- NAME` in a compose file.
        Inherit = "inherit",
        /// Sets a value that was made from others: `${...}` was replaced.
        TokenExpand = "token_expand",
        /// Adds what was not there.
        Add = "add",
        /// Replaces the text of an element.
        ReplaceText = "replace_text",
        /// Removes an element.
        Delete = "delete",
        /// Removes an attribute.
        DeleteAttribute = "delete_attr",
        /// Puts an element before another one.
        Before = "before",
        /// Puts an element after another one.
        After = "after",
        /// Puts an element in the place of another one.
        Instead = "instead",
    }
}

labels! {
    /// What became of an assignment.
    Outcome ("outcome") {
        /// It is the value.
        Won = "won",
        /// A stronger source assigns another value.
        Shadowed = "shadowed",
        /// A stronger source assigns the same value.
        NoOp = "no_op",
        /// Its condition is false.
        ConditionFalse = "condition_false",
        /// Its condition is about a rule that nothing defines, and is therefore ignored: it counts.
        ConditionIgnored = "condition_ignored_undefined",
        /// Nothing takes the value: `reason` says why.
        NeverApplied = "never_applied",
        /// A variable, and the file has no key for it.
        NoKey = "never_applied(no_key)",
        /// A change of something that does not exist.
        NoTarget = "never_applied(no_target)",
        /// A variable without the prefix that is asked for.
        WrongPrefix = "never_applied(wrong_prefix)",
        /// A variable whose name differs from the one that is asked for, in case or in characters that
        /// are replaced.
        WrongCase = "never_applied(wrong_case)",
        /// A part of a file that nothing fills.
        UnsupportedSection = "never_applied(unsupported_section)",
        /// It was to change something, and a second one was added.
        AddedInsteadOfChanged = "added_instead_of_changed",
        /// Its source does not count.
        Unread = "unread",
        /// It depends on something that is not known.
        Unknown = "unknown",
        /// No value: the program, or the compose file, asks for the key here.
        Requested = "requested",
    }
}

impl Outcome {
    /// Whether nothing takes the value.
    #[must_use]
    pub fn is_never_applied(self) -> bool {
        matches!(
            self,
            Self::NeverApplied
                | Self::NoKey
                | Self::NoTarget
                | Self::WrongPrefix
                | Self::WrongCase
                | Self::UnsupportedSection
        )
    }
}

/// One line of a source that gives a key a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Assignment {
    /// Its source: an index of [`crate::Configuration::sources`].
    pub source: usize,
    /// The key as the program knows it.
    pub key: Text,
    /// The name as the source writes it.
    pub written: Text,
    /// How it changes the key.
    pub op: Op,
    /// The value.
    pub value: ValueRef,
    /// Where the name stands; none in an environment.
    pub at: Option<Position>,
    /// The last line of the value; none in an environment.
    pub end_line: Option<u32>,
    /// Its condition: an index of [`crate::Configuration::conditions`].
    pub condition: Option<usize>,
    /// What became of it.
    pub outcome: Outcome,
    /// The assignment that won instead: an index of [`crate::Configuration::assignments`].
    pub superseded_by: Option<usize>,
    /// Why it did not win, or what the value was made from; empty if there is nothing to say.
    pub reason: String,
}

labels! {
    /// What a condition evaluates to.
    ConditionResult ("result of a condition") {
        /// It holds.
        True = "true",
        /// It does not hold.
        False = "false",
        /// It is malformed, so that what it guards is not known.
        Error = "error",
        /// Nothing defines what it is about, so that it is ignored.
        Ignored = "ignored",
    }
}

/// A condition that guards a part of a source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Condition {
    /// Its language: `spring-profile` or `rule-require`.
    pub dialect: &'static str,
    /// Its text, as written.
    pub text: String,
    /// What it was evaluated with: a name and its values.
    pub inputs: (String, Vec<String>),
    /// What it evaluates to.
    pub result: ConditionResult,
    /// Where it stands: an index of [`crate::Configuration::sources`], and the place; none where its
    /// document has several places.
    pub at: Option<(usize, Position)>,
}

labels! {
    /// How sure it is that a program sees this value.
    Certainty ("certainty") {
        /// All sources were read, and their order is documented.
        Exact = "exact",
        /// The order of the sources is assumed.
        Assumed = "assumed",
        /// A stronger source could not be read.
        Unknown = "unknown",
    }
}

/// The value that a key has in the end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Effective {
    /// The key as the program knows it.
    pub key: Text,
    /// The assignment that won: an index of [`crate::Configuration::assignments`]; none if no assignment
    /// counts.
    pub winner: Option<usize>,
    /// Every assignment of the key, weakest first: indexes of [`crate::Configuration::assignments`].
    pub chain: Vec<usize>,
    /// How sure the winner is.
    pub certainty: Certainty,
    /// The strongest source that was not read and may set the key to another value: an index of
    /// [`crate::Configuration::sources`].
    pub gap: Option<usize>,
}

/// A variable of an environment, and what a program makes of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Variable {
    /// The name as it is set.
    pub name: String,
    /// Its source: an index of [`crate::Configuration::sources`].
    pub source: usize,
    /// The key that it sets; none if it sets none.
    pub key: Option<String>,
    /// Whether its value is the key's.
    pub outcome: Outcome,
    /// Why not; empty if it is.
    pub reason: String,
    /// The known key that it may be meant to set.
    pub nearest: Option<String>,
}

impl Variable {
    /// The variable that an assignment of an environment is, which sets the assignment's key.
    pub(crate) fn of(assignment: &Assignment) -> Self {
        Self {
            name: assignment.written.to_string(),
            source: assignment.source,
            key: Some(assignment.key.to_string()),
            outcome: assignment.outcome,
            reason: assignment.reason.clone(),
            nearest: None,
        }
    }
}
