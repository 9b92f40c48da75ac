//! A settings module: assignments of names in upper case, and modules that it takes all names from.
//!
//! A name that is set again is another value as a whole: dictionaries are not merged.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::path::Path;
use std::rc::Rc;

use super::dotenv::{self, Variables};
use super::expression::{Scope, Value};
use super::import::{Imported, imported, starred};
use super::more::{add_requests, add_variables};
use super::setting::{NO_VARIABLE, TEXT_IS_TRUE, is_false, is_setting, put};
use super::token_lists::{called, dotted, is_name, split_symbol};
use super::tokens::{Statement, Token, statements};
use super::values::REFUSED;
use crate::position::Position;
use crate::profile::{Profile, PythonModule};
use crate::provenance::{Op, Outcome, SourceKind, SourceState};
use crate::readers::{Contents, Entry, Format, Oddity, Segment};
use crate::sources::{Collected, Defined, Loaded, Part, Request, Root, load_file, shown_path};
use crate::value::Raw;

/// What is said of a value that code makes.
pub(super) const BY_CODE: &str = "code makes the value, and Culprit does not run it";

/// Reads the settings module of a project.
pub(crate) fn collect(profile: &Profile, request: &Request) -> Collected {
    let Some(rules) = &profile.python_module else {
        return Collected::in_order(Vec::new(), Vec::new());
    };
    let root = Root::from_request(request);
    let module = module_of(rules, &root, request);
    let variables = Variables::new(request);
    let scope = Scope::new("", &variables);
    let mut runner = Runner {
        root: &root,
        scope,
        loaded: Vec::new(),
        living: BTreeMap::new(),
        parts: Vec::new(),
        lists: &rules.lists,
        active: Vec::new(),
        runs: Rc::default(),
    };
    for file in rules.named_in.iter().filter(|_| !module.values.is_empty()) {
        runner.loads_of(file);
    }
    let file = module.values.first().and_then(|name| runner.file_of(name));
    match (file, module.values.first()) {
        (Some(file), _) => runner.run(&file),
        (None, Some(name)) => runner.missing(name),
        (None, None) => {}
    }
    let Runner { mut loaded, mut parts, .. } = runner;
    add_requests(profile, &root, &mut loaded, &mut parts);
    if request.all_variables {
        add_variables(request, &variables, &mut loaded, &mut parts);
    }
    if let Some(first) = loaded.first_mut() {
        first.asked = variables.asked();
    }
    Collected { loaded, parts, defines: vec![module] }
}

/// The module's name, and what sets it.
fn module_of(rules: &PythonModule, root: &Root, request: &Request) -> Defined {
    let of =
        |values: Vec<String>, from: String| Defined { name: "module".to_owned(), values, from };
    if let Some((_, values)) = request.defines.iter().find(|(name, _)| name == "module") {
        return of(values.clone(), "--define".to_owned());
    }
    if let Some(name) = request.variable(&rules.variable).filter(|name| !name.expose().is_empty()) {
        return of(vec![name.expose().to_owned()], format!("variable {}", rules.variable));
    }
    for file in &rules.named_in {
        let Some(bytes) = root.read(Path::new(file)).bytes else { continue };
        let found = statements(&String::from_utf8_lossy(&bytes)).unwrap_or_default();
        let name = found.iter().find_map(|statement| {
            let at = statement.tokens.iter().position(
                |token| matches!(token, Token::Text(Some(text)) if *text == rules.variable),
            )?;
            match statement.tokens.get(at + 2) {
                Some(Token::Text(Some(name))) => Some((name.clone(), statement.at[at].line)),
                _ => None,
            }
        });
        if let Some((name, line)) = name {
            return of(vec![name], format!("{file}:{line}"));
        }
    }
    of(Vec::new(), "not set".to_owned())
}

struct Runner<'a> {
    root: &'a Root,
    scope: Scope<'a>,
    loaded: Vec<Loaded>,
    /// The entries that nothing has replaced, by path: source and index in it.
    living: BTreeMap<Vec<Segment>, Vec<(usize, usize)>>,
    parts: Vec<Part>,
    /// Keys whose value must be a list.
    lists: &'a [String],
    /// The files that are being run: a module that takes from itself is not run again.
    active: Vec<String>,
    /// How many files were run, also by the runners of imported modules.
    runs: Rc<Cell<usize>>,
}

/// More files than this are not run: modules that each take from the next one twice are 2^depth files.
const MOST_RUNS: usize = 1_000;

/// Whether statements of a block are run.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mode {
    Run,
    Skip,
    /// It depends on what is not known.
    Maybe,
}

/// The blocks around a statement: how far each one's head is indented, and the mode of what is below.
type Blocks = Vec<(usize, Mode)>;

impl Runner<'_> {
    /// The file of a module.
    fn file_of(&self, module: &str) -> Option<String> {
        let path = module.replace('.', "/");
        let files = [format!("{path}.py"), format!("{path}/__init__.py")];
        files.into_iter().find(|file| !self.root.matching(file).is_empty())
    }

    fn add_source(&mut self, file: &str) -> Option<String> {
        let kind = SourceKind::File;
        let (mut source, _) = load_file(self.root, Path::new(file), None, kind, "module");
        let mut text = None;
        if source.state == SourceState::Unread {
            source.state = SourceState::Read;
            source.why.clear();
            let bytes = self.root.read(Path::new(file)).bytes.unwrap_or_default();
            match String::from_utf8(bytes) {
                Ok(found) => text = Some(found),
                Err(_) => {
                    (source.state, source.why) = (SourceState::Unparsable, "not UTF-8".to_owned());
                }
            }
        }
        self.loaded.push(Loaded::new(0, (source, Contents::default())));
        text
    }

    /// The calls of a file that read a file of variables, and nothing else of it.
    fn loads_of(&mut self, file: &str) {
        let Some(bytes) = self.root.read(Path::new(file)).bytes else { return };
        let found = statements(&String::from_utf8_lossy(&bytes)).unwrap_or_default();
        let mut scope = Scope::new(file, self.scope.variables);
        for statement in &found {
            if let Some(call) = dotenv::call(&statement.tokens, &scope) {
                self.loads((file, statement.at[0].line), &call, Mode::Run);
            } else if let Some(([Token::Name(name)], value)) = split_symbol(&statement.tokens, "=")
            {
                let value = scope.value(value);
                scope.names.insert(name.clone(), value);
            }
        }
    }

    /// `load_dotenv()` of a file.
    fn loads(&mut self, (file, line): (&str, u32), call: &dotenv::Call, mode: Mode) {
        let names = dotenv::candidates(call, file).into_iter();
        let mut names = names.map(|name| shown_path(Path::new(&name)));
        let first = names.clone().next();
        let found = names.find(|name| !self.root.matching(name).is_empty());
        let is_unknown = matches!(call.path, dotenv::Where::Unknown);
        if mode == Mode::Maybe || is_unknown {
            self.scope.variables.open();
        }
        let is_missing = found.is_none();
        let Some(name) = found.or(first).filter(|_| mode == Mode::Run) else { return };
        let format = Some(Format::EnvPython);
        let mut held =
            load_file(self.root, Path::new(&name), format, SourceKind::Dotenv, "load_dotenv");
        if is_missing {
            held.0.why = format!("no such file; {file}:{line} reads it");
        }
        self.scope.variables.take(&name, &held.1, call.beats);
        if held.0.state.is_gap() {
            self.scope.variables.open();
        }
        let is_new = |one: &Loaded| one.source.name != name;
        if self.loaded.iter().all(is_new) {
            self.loaded.push(Loaded::new(0, held));
        }
    }

    fn missing(&mut self, module: &str) {
        let _ = self.add_source(&format!("{}.py", module.replace('.', "/")));
        if let Some(last) = self.loaded.last_mut() {
            last.source.state = SourceState::MissingRequired;
        }
    }

    /// Notes once that there are more files than are run.
    fn too_many(&mut self, runs: usize, file: &str) {
        if runs == MOST_RUNS {
            let _ = self.add_source(file);
            if let Some(last) = self.loaded.last_mut() {
                last.source.state = SourceState::TooLarge;
                last.source.why = format!("more than {MOST_RUNS} modules are imported");
            }
        }
    }

    fn run(&mut self, file: &str) {
        if self.active.iter().any(|active| active == file) || self.active.len() > 32 {
            return;
        }
        let runs = self.runs.get();
        self.runs.set(runs + 1);
        if runs >= MOST_RUNS {
            return self.too_many(runs, file);
        }
        let index = self.loaded.len();
        let Some(text) = self.add_source(file) else { return };
        let found = match statements(&text) {
            Ok(found) => found,
            Err((at, why)) => {
                let source = &mut self.loaded[index].source;
                source.state = SourceState::Unparsable;
                source.why = format!("line {}, column {}: {why}", at.line, at.column);
                return;
            }
        };
        self.active.push(file.to_owned());
        let outer = std::mem::replace(&mut self.scope.file, file.to_owned());
        let mut part = 0;
        let mut blocks: Blocks = Vec::new();
        let mut taken: BTreeMap<usize, Option<bool>> = BTreeMap::new();
        for statement in &found {
            blocks.retain(|(indent, _)| *indent < statement.indent);
            let mode = blocks.iter().fold(Mode::Run, |mode, (_, block)| match (mode, block) {
                (Mode::Skip, _) | (_, Mode::Skip) => Mode::Skip,
                (Mode::Maybe, _) | (_, Mode::Maybe) => Mode::Maybe,
                _ => Mode::Run,
            });
            if let Some(module) = starred(&statement.tokens).filter(|_| mode != Mode::Skip) {
                let length = self.loaded[index].contents.entries.len();
                self.parts.push(Part { loaded: index, entries: part..length });
                part = length;
                if let Some(other) = self.relative(file, &module) {
                    self.run(&other);
                }
                continue;
            }
            self.statement(index, statement, mode, &mut blocks, &mut taken);
        }
        let length = self.loaded[index].contents.entries.len();
        self.parts.push(Part { loaded: index, entries: part..length });
        self.scope.file = outer;
        self.active.pop();
    }

    /// The file of a module that a file names, relative or not.
    fn relative(&self, file: &str, module: &str) -> Option<String> {
        let dots = module.chars().take_while(|c| *c == '.').count();
        if dots == 0 {
            return self.file_of(module);
        }
        let folders = Path::new(file).ancestors().nth(dots)?;
        let name = &module[dots..];
        self.file_of(&folders.join(name.replace('.', "/")).to_string_lossy())
    }

    fn statement(
        &mut self,
        index: usize,
        statement: &Statement,
        mode: Mode,
        blocks: &mut Blocks,
        taken: &mut BTreeMap<usize, Option<bool>>,
    ) {
        let Some(Token::Name(word)) = statement.tokens.first() else { return };
        let below = match word.as_str() {
            "if" | "elif" | "else" => self.branch(word, statement, taken),
            "def" | "class" | "async" | "@" => Mode::Skip,
            "try" => Mode::Run,
            "for" | "while" | "with" | "except" | "finally" | "match" | "case" => Mode::Maybe,
            _ if mode == Mode::Skip => return,
            _ => return self.assignment(index, statement, mode),
        };
        blocks.push((statement.indent, below));
        // `if X: Y = 1`
        let Some((head, rest)) = split_symbol(&statement.tokens, ":") else { return };
        if rest.is_empty() || below == Mode::Skip || mode == Mode::Skip {
            return;
        }
        let inner = Statement {
            indent: statement.indent + 1,
            tokens: rest.to_vec(),
            at: statement.at[head.len() + 1..].to_vec(),
            end_line: statement.end_line,
        };
        let mode = if mode == Mode::Maybe { mode } else { below };
        self.assignment(index, &inner, mode);
    }

    /// The mode below `if`, `elif` and `else`; `taken` remembers whether a branch before was taken.
    fn branch(
        &self,
        word: &str,
        statement: &Statement,
        taken: &mut BTreeMap<usize, Option<bool>>,
    ) -> Mode {
        let before = if word == "if" {
            Some(false)
        } else {
            taken.get(&statement.indent).copied().flatten()
        };
        let truth = match split_symbol(&statement.tokens[1..], ":") {
            _ if word == "else" => Some(true),
            Some((condition, _)) => self.scope.value(condition).truth(),
            None => None,
        };
        let (mode, now) = match (before, truth) {
            (Some(true), _) => (Mode::Skip, Some(true)),
            (Some(false), Some(true)) => (Mode::Run, Some(true)),
            (_, Some(false)) => (Mode::Skip, before),
            _ => (Mode::Maybe, None),
        };
        taken.insert(statement.indent, now);
        mode
    }

    fn assignment(&mut self, index: usize, statement: &Statement, mode: Mode) {
        let tokens = &statement.tokens;
        let first = match tokens.first() {
            Some(Token::Name(name)) => name.clone(),
            _ => return,
        };
        if let Some(imported) = imported(tokens) {
            return self.import(index, statement, mode, &imported);
        }
        if matches!(first.as_str(), "import" | "from") {
            return tokens.iter().for_each(|token| {
                if let Token::Name(name) = token {
                    self.scope.names.remove(name);
                }
            });
        }
        let mut written =
            Written { op: Op::Set, index, at: statement.at[0], end_line: statement.end_line };
        if let Some((target, value)) = split_symbol(tokens, "+=") {
            written.op = Op::Add;
            return self.extend(&written, target, value, mode);
        }
        if let Some(call) = dotenv::call(tokens, &self.scope) {
            let file = self.loaded[index].source.name.clone();
            return self.loads((&file, statement.at[0].line), &call, mode);
        }
        let Some((target, mut value)) = split_symbol(tokens, "=") else {
            return self.called(&written, tokens);
        };
        let mut targets = vec![split_symbol(target, ":").map_or(target, |(name, _)| name)];
        while let Some((next, rest)) = split_symbol(value, "=") {
            targets.push(next);
            value = rest;
        }
        let text = self.scope.text_for_truth(value).filter(|_| mode == Mode::Run);
        self.scope.used.borrow_mut().clear();
        self.scope.missing.borrow_mut().take();
        let value = if mode == Mode::Maybe { Value::Unknown } else { self.scope.value(value) };
        let missing = self.scope.missing.borrow_mut().take().filter(|_| mode == Mode::Run);
        let wrong = text.filter(|(_, text)| is_false(text)).map(|(name, _)| (name, TEXT_IS_TRUE));
        for (name, what) in wrong.into_iter().chain(missing.map(|name| (name, NO_VARIABLE))) {
            let oddity = Oddity { at: written.at, name: crate::secret::name(&name), what };
            self.loaded[index].contents.oddities.push(oddity);
        }
        for target in targets {
            match target {
                [Token::Name(name)] => self.set(&written, name, &[], &value),
                target => self.set_below(&written, target, &value),
            }
        }
    }

    /// `from MODULE import NAME as OTHER`. A name that is no setting and not known is forgotten.
    fn import(&mut self, index: usize, statement: &Statement, mode: Mode, imported: &Imported) {
        let written =
            Written { op: Op::Set, index, at: statement.at[0], end_line: statement.end_line };
        let file = self.relative(&self.loaded[index].source.name, &imported.module);
        let values = file.filter(|_| mode == Mode::Run).map(|file| self.values_of(&file));
        let values = values.unwrap_or_default();
        self.scope.used.borrow_mut().clear();
        for (name, own) in &imported.names {
            match values.get(name) {
                None if !is_setting(own) => {
                    self.scope.names.remove(own);
                }
                value => self.set(&written, own, &[], value.unwrap_or(&Value::Unknown)),
            }
        }
    }

    /// The names that a module has after it was run by itself. What could not be read is noted.
    fn values_of(&mut self, file: &str) -> BTreeMap<String, Value> {
        let scope = Scope::new(file, self.scope.variables);
        let mut runner = Runner {
            root: self.root,
            scope,
            loaded: Vec::new(),
            living: BTreeMap::new(),
            parts: Vec::new(),
            lists: self.lists,
            active: self.active.clone(),
            runs: Rc::clone(&self.runs),
        };
        runner.run(file);
        let Runner { scope, loaded, .. } = runner;
        self.loaded.extend(loaded.into_iter().filter(|one| one.source.state.is_gap()));
        scope.names
    }

    /// `NAME["a"]["b"] = value`
    fn set_below(&mut self, written: &Written, target: &[Token], value: &Value) {
        let mut path = Vec::new();
        let mut rest = target;
        while let Some((start, "[", inner)) = called(rest) {
            let name = match self.scope.value(inner) {
                Value::Text(name) => Some(name),
                _ => None,
            };
            path.insert(0, name);
            rest = start;
        }
        let Some(name) = dotted(rest) else { return };
        match path.into_iter().collect::<Option<Vec<String>>>() {
            Some(path) if !path.is_empty() && self.is_group(&name, &path) => {
                self.set(written, &name, &path, value);
            }
            _ => self.set(written, &name, &[], &Value::Unknown),
        }
    }

    /// Whether a name holds groups down to the last part of a path.
    fn is_group(&self, name: &str, path: &[String]) -> bool {
        let mut value = self.scope.names.get(name);
        for part in &path[..path.len() - 1] {
            value = match value {
                Some(Value::Group(all)) => {
                    all.iter().find(|(own, _)| own == part).map(|(_, value)| value)
                }
                _ => None,
            };
        }
        matches!(value, Some(Value::Group(_)))
    }

    /// `NAME += value`
    fn extend(&mut self, written: &Written, target: &[Token], value: &[Token], mode: Mode) {
        let [Token::Name(name)] = target else { return };
        self.scope.used.borrow_mut().clear();
        let more = if mode == Mode::Maybe { Value::Unknown } else { self.scope.value(value) };
        let value = match (self.scope.names.get(name), more) {
            (Some(Value::List(all)), Value::List(more)) => {
                Value::List(all.iter().cloned().chain(more).collect())
            }
            (Some(Value::Text(text)), Value::Text(more)) => Value::Text(format!("{text}{more}")),
            _ => Value::Unknown,
        };
        self.set(written, name, &[], &value);
    }

    /// A statement that calls something may change the names that it mentions, and all names if it gets
    /// them all.
    fn called(&mut self, written: &Written, tokens: &[Token]) {
        let all = tokens.iter().any(|token| is_name(token, "locals") || is_name(token, "globals"));
        let known: Vec<String> = self.scope.names.keys().cloned().collect();
        for name in known {
            let mentioned = tokens.iter().any(|token| is_name(token, &name));
            if (all || mentioned) && called(tokens).is_some() {
                self.set(written, &name, &[], &Value::Unknown);
            }
        }
    }

    fn set(&mut self, written: &Written, name: &str, path: &[String], value: &Value) {
        if name.contains('.') {
            return;
        }
        if path.is_empty() {
            self.scope.names.insert(name.to_owned(), value.clone());
        } else if let Some(group) = self.scope.names.get_mut(name) {
            put(group, path, value.clone());
        }
        if !is_setting(name) {
            return;
        }
        let start: Vec<Segment> = std::iter::once(name.to_owned())
            .chain(path.iter().cloned())
            .map(Segment::Name)
            .collect();
        self.replace(&start, written);
        for (variable, _) in self.scope.used.borrow().iter() {
            self.scope.variables.sets(variable, name);
        }
        let remark = self.remark();
        let is_list = matches!(value, Value::List(_) | Value::Unknown);
        let is_refused = path.is_empty() && !is_list && self.lists.iter().any(|one| one == name);
        for (below, text) in value.leaves() {
            let verdict = match &text {
                _ if is_refused => {
                    (Outcome::Unknown, format!("the value is no list and no tuple{REFUSED}"))
                }
                Some(_) => (Outcome::Won, remark.clone()),
                None => (Outcome::Unknown, BY_CODE.to_owned()),
            };
            let entry = Entry {
                path: start.iter().cloned().chain(below).collect(),
                value: Raw::new(text.unwrap_or_default()),
                op: written.op,
                template: false,
                null: false,
                retyped: None,
                at: written.at,
                end_line: written.end_line,
                document: 0,
            };
            let loaded = &mut self.loaded[written.index];
            let at = loaded.contents.entries.len();
            self.living.entry(entry.path.clone()).or_default().push((written.index, at));
            loaded.verdicts.insert(at, verdict);
            loaded.contents.entries.push(entry);
        }
    }

    /// Marks what an assignment replaces: all that is at its place and below it, and the empty groups
    /// above it.
    fn replace(&mut self, start: &[Segment], by: &Written) {
        let name = self.loaded[by.index].source.name.clone();
        let why = format!("line {} of {name} sets it again", by.at.line);
        let below = self.living.range(start.to_vec()..);
        let below = below.take_while(|(path, _)| path.starts_with(start));
        let above = (1..start.len()).map(|length| &start[..length]);
        let groups = above.filter(|path| {
            let last = self.living.get(*path).and_then(|places| places.last());
            last.is_some_and(|(index, at)| {
                self.loaded[*index].contents.entries[*at].value.expose() == "{}"
            })
        });
        let lost: Vec<Vec<Segment>> =
            below.map(|(path, _)| path.clone()).chain(groups.map(<[Segment]>::to_vec)).collect();
        for (index, at) in lost.iter().filter_map(|path| self.living.remove(path)).flatten() {
            self.loaded[index].verdicts.insert(at, (Outcome::Shadowed, why.clone()));
        }
    }

    /// Which variables the value was made from.
    fn remark(&self) -> String {
        let used = self.scope.used.borrow();
        let shown = |(name, place): &(String, Option<String>)| {
            let name = crate::secret::name(name);
            match place.as_deref() {
                Some("") => format!("from the variable `{name}`"),
                Some(place) => format!("from the variable `{name}` of {place}"),
                None => format!("the variable `{name}` is not set"),
            }
        };
        used.iter().map(shown).collect::<Vec<_>>().join(", ")
    }
}

/// Where an assignment is written.
struct Written {
    /// How it changes what is there.
    op: Op,
    index: usize,
    at: Position,
    end_line: u32,
}
