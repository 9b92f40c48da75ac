//! What imports what, and how strong each document is, before profiles are known and after.
//!
//! ```text
//! a document          weaker than what it imports
//!   before            what it imports, as found before profiles were known
//!   after             what it imports for the profiles
//! ```
//!
//! Walking gives the strongest first: what was imported after, then before, then the document. When
//! the files of profiles come to a document, those that its imports have got already move up to it: so
//! files of profiles win over all other files of a location. The rules are those of Spring Boot 3
//! (`ConfigDataEnvironmentContributor`).

use std::ops::Range;

/// When something was imported.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Phase {
    /// Before the profiles are known.
    Before,
    /// After.
    After,
}

/// A document of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Document {
    /// The file: an index of what was loaded.
    pub(super) loaded: usize,
    /// Its number in the file.
    pub(super) number: u32,
    /// Its entries.
    pub(super) entries: Range<usize>,
}

/// A document, or a location from which all starts.
#[derive(Debug, Clone, Default)]
pub(super) struct Node {
    /// The document; none of a location.
    pub(super) document: Option<Document>,
    /// What it imports.
    pub(super) imports: Vec<String>,
    /// Whether `imports` and the conditions are known.
    pub(super) bound: bool,
    /// The folder of its file as a location.
    pub(super) base: String,
    /// The text of `on-profile`.
    pub(super) on_profile: Option<String>,
    /// The text of `on-cloud-platform`.
    pub(super) on_platform: Option<String>,
    /// Whether its file is one of a profile.
    pub(super) of_profile: bool,
    /// Whether it still moves up.
    moves: bool,
    before: Option<Vec<usize>>,
    after: Option<Vec<usize>>,
}

impl Node {
    /// A location from which files are imported.
    pub(super) fn location(text: &str) -> Self {
        Self { imports: vec![text.to_owned()], bound: true, ..Self::default() }
    }

    /// A document of a file.
    pub(super) fn document(document: Document, base: &str, of_profile: bool, moves: bool) -> Self {
        let base = base.to_owned();
        Self { document: Some(document), base, of_profile, moves, ..Self::default() }
    }

    fn children(&self, phase: Phase) -> &[usize] {
        match phase {
            Phase::Before => self.before.as_deref().unwrap_or_default(),
            Phase::After => self.after.as_deref().unwrap_or_default(),
        }
    }

    /// Whether it has imports that were not followed in a phase.
    pub(super) fn waits(&self, phase: Phase) -> bool {
        let children = match phase {
            Phase::Before => &self.before,
            Phase::After => &self.after,
        };
        !self.imports.is_empty() && children.is_none()
    }
}

/// All documents.
#[derive(Debug, Default)]
pub(super) struct Tree {
    pub(super) nodes: Vec<Node>,
    /// The locations, the strongest first.
    pub(super) locations: Vec<usize>,
}

impl Tree {
    /// Adds a node.
    pub(super) fn add(&mut self, node: Node) -> usize {
        self.nodes.push(node);
        self.nodes.len() - 1
    }

    /// All nodes, the strongest first.
    pub(super) fn strongest_first(&self) -> Vec<usize> {
        let mut order = Vec::new();
        // What is still to be walked: a node, and whether what it imports has been.
        let mut open: Vec<(usize, bool)> =
            self.locations.iter().rev().map(|at| (*at, false)).collect();
        while let Some((at, is_done)) = open.pop() {
            if is_done {
                order.push(at);
                continue;
            }
            open.push((at, true));
            let node = &self.nodes[at];
            for phase in [Phase::Before, Phase::After] {
                open.extend(node.children(phase).iter().rev().map(|child| (*child, false)));
            }
        }
        order
    }

    /// Gives a node what it has imported, the strongest first.
    pub(super) fn set(&mut self, at: usize, phase: Phase, children: Vec<usize>) {
        match phase {
            Phase::Before => self.nodes[at].before = Some(children),
            Phase::After => {
                self.nodes[at].after = Some(children);
                self.move_up(at);
            }
        }
    }

    /// Takes the files of profiles from what a node has imported before.
    fn move_up(&mut self, at: usize) {
        let before: Vec<usize> = self.nodes[at].children(Phase::Before).to_vec();
        let moves = |child: &usize| self.nodes[*child].moves;
        let has_moving = |child: &usize| {
            let node = &self.nodes[*child];
            node.children(Phase::Before).iter().chain(node.children(Phase::After)).any(moves)
        };
        if !before.iter().any(has_moving) {
            return;
        }
        let mut moved = Vec::new();
        for child in before {
            for phase in [Phase::Before, Phase::After] {
                let children = self.nodes[child].children(phase).to_vec();
                let (taken, kept): (Vec<usize>, Vec<usize>) =
                    children.into_iter().partition(|at| self.nodes[*at].moves);
                taken.iter().for_each(|at| self.nodes[*at].moves = false);
                moved.extend(taken);
                self.set(child, phase, kept);
            }
        }
        moved.extend(self.nodes[at].children(Phase::After));
        self.nodes[at].after = Some(moved);
    }
}
