//! The part of XPath 1.0 that references of patches use.
//!
//! ```text
//! path      = step ("/" step)*          below the parent of the patched element
//! step      = NAME | "*"   predicate*
//! predicate = "[" NUMBER | "last()" | test "]"
//! test      = "@a" | "@a='v'" | "@a!='v'" | contains(@a,'v') | starts-with(@a,'v') | not(test)
//!           | test "and" test | test "or" test | "(" test ")"
//! ```

/// An element as a path sees it.
pub(super) trait Elements {
    /// The children that are elements, in their order.
    fn children(&self, node: u32) -> &[u32];
    /// The name without its prefix.
    fn local_name(&self, node: u32) -> &str;
    /// The value of an attribute.
    fn attribute(&self, node: u32, name: &str) -> Option<&str>;
}

/// A path that can be followed.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Path(Vec<Step>);

#[derive(Debug, Clone, PartialEq)]
struct Step {
    /// None: any name.
    name: Option<String>,
    predicates: Vec<Predicate>,
}

#[derive(Debug, Clone, PartialEq)]
enum Predicate {
    Position(usize),
    Last,
    Test(Test),
}

#[derive(Debug, Clone, PartialEq)]
enum Test {
    Has(String),
    Equals(String, String),
    Differs(String, String),
    Contains(String, String),
    StartsWith(String, String),
    Not(Box<Test>),
    And(Box<Test>, Box<Test>),
    Or(Box<Test>, Box<Test>),
}

impl Path {
    /// Parses a path; none if it is of another form.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let mut parser = Parser { rest: text.trim(), depth: 0 };
        parser.take("./");
        let mut steps = vec![parser.step()?];
        while parser.take("/") {
            steps.push(parser.step()?);
        }
        parser.rest.is_empty().then_some(Self(steps))
    }

    /// The first element that it leads to.
    pub(super) fn first(&self, tree: &dyn Elements, from: u32) -> Option<u32> {
        let mut nodes = vec![from];
        for step in &self.0 {
            nodes = nodes.iter().flat_map(|node| step.follow(tree, *node)).collect();
        }
        nodes.first().copied()
    }
}

impl Step {
    fn follow(&self, tree: &dyn Elements, node: u32) -> Vec<u32> {
        let fits =
            |child: &&u32| self.name.as_ref().is_none_or(|name| tree.local_name(**child) == name);
        let mut found: Vec<u32> = tree.children(node).iter().filter(fits).copied().collect();
        for predicate in &self.predicates {
            found = match predicate {
                Predicate::Position(at) => {
                    found.get(at.wrapping_sub(1)).copied().into_iter().collect()
                }
                Predicate::Last => found.last().copied().into_iter().collect(),
                Predicate::Test(test) => {
                    found.into_iter().filter(|child| test.holds(tree, *child)).collect()
                }
            };
        }
        found
    }
}

impl Test {
    fn holds(&self, tree: &dyn Elements, node: u32) -> bool {
        let value = |name: &str| tree.attribute(node, name);
        match self {
            Self::Has(name) => value(name).is_some(),
            Self::Equals(name, text) => value(name) == Some(text),
            Self::Differs(name, text) => value(name).is_some_and(|value| value != text),
            Self::Contains(name, text) => value(name).unwrap_or_default().contains(text.as_str()),
            Self::StartsWith(name, text) => {
                value(name).unwrap_or_default().starts_with(text.as_str())
            }
            Self::Not(one) => !one.holds(tree, node),
            Self::And(one, other) => one.holds(tree, node) && other.holds(tree, node),
            Self::Or(one, other) => one.holds(tree, node) || other.holds(tree, node),
        }
    }
}

/// Deeper nesting is no reference that a person writes.
const MAX_DEPTH: usize = 32;

struct Parser<'a> {
    rest: &'a str,
    depth: usize,
}

impl<'a> Parser<'a> {
    fn take(&mut self, text: &str) -> bool {
        let taken = self.rest.strip_prefix(text);
        self.rest = taken.map_or(self.rest, str::trim_start);
        taken.is_some()
    }

    fn name(&mut self) -> Option<&'a str> {
        let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.');
        let end = self.rest.find(|c| !is_part(c)).unwrap_or(self.rest.len());
        let (name, rest) = self.rest.split_at(end);
        self.rest = rest.trim_start();
        name.starts_with(|c: char| c.is_alphanumeric() || c == '_').then_some(name)
    }

    fn text(&mut self) -> Option<String> {
        let quote = self.rest.chars().next().filter(|c| matches!(c, '\'' | '"'))?;
        let (text, rest) = self.rest[1..].split_once(quote)?;
        self.rest = rest.trim_start();
        Some(text.to_owned())
    }

    fn step(&mut self) -> Option<Step> {
        let name = if self.take("*") { None } else { Some(self.name()?.to_owned()) };
        let mut predicates = Vec::new();
        while self.take("[") {
            predicates.push(self.predicate()?);
            if !self.take("]") {
                return None;
            }
        }
        Some(Step { name, predicates })
    }

    fn predicate(&mut self) -> Option<Predicate> {
        if self.take("last()") {
            return Some(Predicate::Last);
        }
        if self.rest.starts_with(|c: char| c.is_ascii_digit()) {
            return Some(Predicate::Position(self.name()?.parse().ok()?));
        }
        Some(Predicate::Test(self.any()?))
    }

    fn any(&mut self) -> Option<Test> {
        let mut one = self.all()?;
        while self.take("or ") {
            one = Test::Or(Box::new(one), Box::new(self.all()?));
        }
        Some(one)
    }

    fn all(&mut self) -> Option<Test> {
        let mut one = self.single()?;
        while self.take("and ") {
            one = Test::And(Box::new(one), Box::new(self.single()?));
        }
        Some(one)
    }

    fn single(&mut self) -> Option<Test> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return None;
        }
        let test = if self.take("not(") {
            let inner = self.any()?;
            self.take(")").then(|| Test::Not(Box::new(inner)))
        } else if self.take("(") {
            let inner = self.any()?;
            self.take(")").then_some(inner)
        } else if self.take("contains(") {
            self.arguments().map(|(name, text)| Test::Contains(name, text))
        } else if self.take("starts-with(") {
            self.arguments().map(|(name, text)| Test::StartsWith(name, text))
        } else {
            self.comparison()
        };
        self.depth -= 1;
        test
    }

    fn arguments(&mut self) -> Option<(String, String)> {
        self.take("@").then_some(())?;
        let name = self.name()?.to_owned();
        self.take(",").then_some(())?;
        let text = self.text()?;
        self.take(")").then_some((name, text))
    }

    fn comparison(&mut self) -> Option<Test> {
        self.take("@").then_some(())?;
        let name = self.name()?.to_owned();
        if self.take("!=") {
            return Some(Test::Differs(name, self.text()?));
        }
        if self.take("=") {
            return Some(Test::Equals(name, self.text()?));
        }
        Some(Test::Has(name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `0` has the children 1 to 3: `p` of type `A, B`, `p` of type `C`, `q`.
    struct Three;

    impl Elements for Three {
        fn children(&self, node: u32) -> &[u32] {
            if node == 0 { &[1, 2, 3] } else { &[] }
        }
        fn local_name(&self, node: u32) -> &str {
            if node == 3 { "q" } else { "p" }
        }
        fn attribute(&self, node: u32, name: &str) -> Option<&str> {
            let types = ["", "A, B", "C"];
            types.get(node as usize).copied().filter(|_| name == "type")
        }
    }

    #[test]
    fn references_lead_to_the_first_element_that_fits() {
        for (path, node) in [
            ("p", Some(1)),
            ("*[2]", Some(2)),
            ("*[last()]", Some(3)),
            ("p[@type='A, B']", Some(1)),
            ("*[@type=\"C\"]", Some(2)),
            ("*[contains(@type, 'B') or @type='C']", Some(1)),
            ("*[not(@type) and not(@name)]", Some(3)),
            ("*[starts-with(@type,'C')]", Some(2)),
            ("p[@type!='C'][1]", Some(1)),
            ("p[@type='D']", None),
            ("p/q", None),
        ] {
            assert_eq!(Path::parse(path).unwrap().first(&Three, 0), node, "{path}");
        }
        for other in ["//p", "p[", "p[count(*)=1]", "", "../p", "p | q"] {
            assert_eq!(Path::parse(other), None, "{other}");
        }
    }
}
