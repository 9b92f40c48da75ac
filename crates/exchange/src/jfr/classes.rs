//! What a chunk says about its own types: the metadata event, a tree of elements with attributes.

use std::borrow::Cow;

use rustc_hash::FxHashMap;

use super::bytes::{Cursor, Written, Wrong};

/// Elements within elements; the format has six.
const DEEPEST: usize = 16;

/// Structures within structures.
const DEEPEST_VALUE: usize = 8;

/// What a number that is a length of time counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unit {
    Ticks,
    /// So many nanoseconds each.
    Nanos(u64),
}

/// How the values of a class are encoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Byte,
    Number,
    /// So many bytes that nobody asks for: floating-point numbers.
    Skipped(usize),
    Text,
    Fields,
    /// Of itself: no value ends.
    Endless,
}

#[derive(Debug, Clone)]
pub(super) struct Field {
    pub(super) name: String,
    pub(super) class: usize,
    /// The value stands in a checkpoint; here is its key.
    pub(super) constant: bool,
    pub(super) list: bool,
    pub(super) unit: Unit,
}

#[derive(Debug, Clone)]
pub(super) struct Class {
    pub(super) name: String,
    pub(super) kind: Kind,
    pub(super) fields: Vec<Field>,
}

/// The classes of a chunk, by position; ids differ from chunk to chunk.
#[derive(Debug, Default)]
pub(super) struct Classes {
    pub(super) list: Vec<Class>,
    places: FxHashMap<u64, usize>,
}

impl Classes {
    pub(super) fn place(&self, id: u64) -> Option<usize> {
        self.places.get(&id).copied()
    }

    /// The class of a name, for texts' constants.
    pub(super) fn named(&self, name: &str) -> Option<usize> {
        self.list.iter().position(|class| class.name == name)
    }

    /// From the body of a metadata event.
    pub(super) fn parse(bytes: &[u8], at: usize) -> Result<Self, Wrong> {
        let mut cursor = Cursor::new(bytes, at);
        // Start, duration, and the number of this version of the metadata.
        for _ in 0..3 {
            cursor.number()?;
        }
        let mut strings = Vec::new();
        for _ in 0..cursor.count()? {
            strings.push(match cursor.text()? {
                Written::Text(text) => text,
                _ => Cow::Borrowed(""),
            });
        }
        let root = Element::parse(&mut cursor, &strings, 0)?;
        let metadata = root.children.iter().find(|child| child.name == "metadata").ok_or(Wrong)?;
        Ok(Self::of(metadata))
    }

    fn of(metadata: &Element<'_>) -> Self {
        let elements: Vec<&Element<'_>> = metadata.children_named("class").collect();
        let mut places = FxHashMap::default();
        for (place, element) in elements.iter().enumerate() {
            places.insert(element.id("id"), place);
        }
        let names: Vec<&str> = elements.iter().map(|element| element.text("name")).collect();
        let list = elements.iter().map(|element| class(element, &places, &names)).collect();
        let mut classes = Self { list, places };
        classes.settle();
        classes
    }

    /// Takes out fields that have no bytes, and marks what has itself within itself: afterwards
    /// whatever is read costs at least a byte.
    fn settle(&mut self) {
        let sizes: Vec<_> = (0..self.list.len()).map(|at| self.size(at, 0)).collect();
        for (class, size) in self.list.iter_mut().zip(&sizes) {
            class.fields.retain(|field| {
                field.constant || field.list || sizes.get(field.class) != Some(&Size::Nothing)
            });
            if *size == Size::Endless {
                class.kind = Kind::Endless;
            }
        }
    }

    fn size(&self, class: usize, depth: usize) -> Size {
        let Some(class) = self.list.get(class) else { return Size::Nothing };
        if class.kind != Kind::Fields {
            return Size::Something;
        }
        if depth > DEEPEST_VALUE || class.fields.len() > MOST_FIELDS {
            return Size::Endless;
        }
        let mut size = Size::Nothing;
        for field in &class.fields {
            let of = match field.constant || field.list {
                true => Size::Something,
                false => self.size(field.class, depth + 1),
            };
            match of {
                Size::Endless => return Size::Endless,
                Size::Something => size = Size::Something,
                Size::Nothing => {}
            }
        }
        size
    }
}

/// Events of the JDK have twenty at most.
const MOST_FIELDS: usize = 256;

/// What values of a class take up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Size {
    Nothing,
    Something,
    Endless,
}

fn class(element: &Element<'_>, places: &FxHashMap<u64, usize>, names: &[&str]) -> Class {
    let name = element.text("name");
    let kind = match name {
        "boolean" | "byte" => Kind::Byte,
        "char" | "short" | "int" | "long" => Kind::Number,
        "float" => Kind::Skipped(4),
        "double" => Kind::Skipped(8),
        "java.lang.String" => Kind::Text,
        _ => Kind::Fields,
    };
    let field = |child: &Element<'_>| Field {
        name: child.text("name").to_owned(),
        class: places.get(&child.id("class")).copied().unwrap_or(usize::MAX),
        constant: child.text("constantPool") == "true",
        list: !matches!(child.text("dimension"), "" | "0"),
        unit: unit(child, places, names),
    };
    let fields = match kind {
        Kind::Fields => element.children_named("field").map(field).collect(),
        _ => Vec::new(),
    };
    Class { name: name.to_owned(), kind, fields }
}

/// What the annotation of a field says about its lengths of time.
fn unit(field: &Element<'_>, places: &FxHashMap<u64, usize>, names: &[&str]) -> Unit {
    let span = |annotation: &&Element<'_>| {
        let place = places.get(&annotation.id("class"));
        place.and_then(|place| names.get(*place)) == Some(&"jdk.jfr.Timespan")
    };
    match field.children_named("annotation").find(span).map(|found| found.text("value")) {
        Some("NANOSECONDS") => Unit::Nanos(1),
        Some("MICROSECONDS") => Unit::Nanos(1_000),
        Some("MILLISECONDS") => Unit::Nanos(1_000_000),
        Some("SECONDS") => Unit::Nanos(1_000_000_000),
        _ => Unit::Ticks,
    }
}

/// An element of the tree.
#[derive(Debug, Default)]
struct Element<'a> {
    name: &'a str,
    attributes: Vec<(&'a str, &'a str)>,
    children: Vec<Self>,
}

impl<'a> Element<'a> {
    fn parse(
        cursor: &mut Cursor<'_>,
        strings: &'a [Cow<'_, str>],
        depth: usize,
    ) -> Result<Self, Wrong> {
        if depth > DEEPEST {
            return Err(Wrong);
        }
        let mut element = Self { name: string(cursor, strings)?, ..Self::default() };
        for _ in 0..cursor.count()? {
            element.attributes.push((string(cursor, strings)?, string(cursor, strings)?));
        }
        for _ in 0..cursor.count()? {
            element.children.push(Self::parse(cursor, strings, depth + 1)?);
        }
        Ok(element)
    }

    fn text(&self, name: &str) -> &'a str {
        let found = self.attributes.iter().find(|(key, _)| *key == name);
        found.map_or("", |(_, value)| value)
    }

    /// An attribute that is a class's number; no class has the largest.
    fn id(&self, name: &str) -> u64 {
        self.text(name).parse().unwrap_or(u64::MAX)
    }

    fn children_named(&self, name: &'static str) -> impl Iterator<Item = &Self> {
        self.children.iter().filter(move |child| child.name == name)
    }
}

fn string<'a>(cursor: &mut Cursor<'_>, strings: &'a [Cow<'_, str>]) -> Result<&'a str, Wrong> {
    let at = usize::try_from(cursor.number()?).map_err(|_| Wrong)?;
    strings.get(at).map(|text| &**text).ok_or(Wrong)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn classes(fields: &[(&str, &[(&str, bool)])]) -> Classes {
        let list = fields.iter().map(|(name, of)| Class {
            name: (*name).to_owned(),
            kind: if *name == "int" { Kind::Number } else { Kind::Fields },
            fields: of
                .iter()
                .map(|(name, list)| Field {
                    name: (*name).to_owned(),
                    class: fields.iter().position(|(of, _)| of == name).unwrap(),
                    constant: false,
                    list: *list,
                    unit: Unit::Ticks,
                })
                .collect(),
        });
        let mut classes = Classes { list: list.collect(), places: FxHashMap::default() };
        classes.settle();
        classes
    }

    #[test]
    fn nothing_is_read_for_ever() {
        let all = classes(&[
            ("int", &[]),
            ("empty", &[]),
            ("hollow", &[("empty", false), ("int", false)]),
            ("itself", &[("int", false), ("itself", false)]),
            ("tree", &[("tree", true)]),
        ]);
        let kinds: Vec<_> = all.list.iter().map(|class| class.kind).collect();
        assert_eq!(kinds, [Kind::Number, Kind::Fields, Kind::Fields, Kind::Endless, Kind::Fields]);
        assert_eq!(all.list[2].fields.len(), 1);
    }
}
