// Generics, closures, trait objects and iterator chains that are inlined many levels deep.
use std::collections::BTreeMap;

trait Animal {
    fn legs(&self) -> usize;
}
struct Dog(String);
struct Bird(Vec<u8>);
impl Animal for Dog {
    #[inline(never)]
    fn legs(&self) -> usize {
        self.0.chars().filter(|c| c.is_alphabetic()).count()
    }
}
impl Animal for Bird {
    #[inline(never)]
    fn legs(&self) -> usize {
        self.0.iter().map(|&b| usize::from(b) * 3).fold(0, |a, b| a ^ b)
    }
}

#[inline(never)]
fn largest<T: Ord + Copy, F: Fn(T) -> T>(items: &[T], map: F) -> Option<T> {
    items.iter().copied().map(map).max()
}

fn main() {
    let all: Vec<Box<dyn Animal>> = vec![Box::new(Dog("rex 1".to_string())), Box::new(Bird(vec![1, 2, 3]))];
    let mut counts: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (index, animal) in all.iter().enumerate() {
        counts.entry(animal.legs()).or_default().push(index);
    }
    let seed = std::env::args().count() as u64;
    println!("{counts:?} {:?} {:?}", largest(&[1u64, 5, seed], |x| x * 3), largest(&[1i8, -5], |x| x / 2));
}
