//! A small writer of databases in the MaxMind format (version 2.0), for tests: no such database may
//! be shipped. <https://maxmind.github.io/MaxMind-DB/>

use std::net::IpAddr;

/// A value of a record.
pub(crate) enum Value {
    Text(&'static str),
    Short(u16),
    Number(u32),
    Long(u64),
    Degrees(f64),
    Map(Vec<(&'static str, Value)>),
    List(Vec<Value>),
}

/// A node of the search tree: what follows a 0 bit, and what follows a 1 bit.
#[derive(Clone, Copy, PartialEq)]
enum Next {
    Nothing,
    Node(usize),
    /// Offset of a record in the data.
    Record(usize),
}

fn control(out: &mut Vec<u8>, kind: u8, size: usize) {
    let (short, more) = match size {
        0..29 => (size, Vec::new()),
        29..285 => (29, vec![u8::try_from(size - 29).unwrap()]),
        _ => (30, u16::try_from(size - 285).unwrap().to_be_bytes().to_vec()),
    };
    let short = u8::try_from(short).unwrap();
    // Kinds from 8 on stand in a byte of their own.
    if kind < 8 {
        out.push(kind << 5 | short);
    } else {
        out.extend([short, kind - 7]);
    }
    out.extend(more);
}

/// A number without its leading zeros.
fn put_number(out: &mut Vec<u8>, kind: u8, bytes: &[u8]) {
    let zeros = bytes.iter().take_while(|byte| **byte == 0).count();
    control(out, kind, bytes.len() - zeros);
    out.extend_from_slice(&bytes[zeros..]);
}

fn put(out: &mut Vec<u8>, value: &Value) {
    match value {
        Value::Text(text) => {
            control(out, 2, text.len());
            out.extend_from_slice(text.as_bytes());
        }
        Value::Degrees(degrees) => {
            control(out, 3, 8);
            out.extend(degrees.to_be_bytes());
        }
        Value::Short(number) => put_number(out, 5, &number.to_be_bytes()),
        Value::Number(number) => put_number(out, 6, &number.to_be_bytes()),
        Value::Long(number) => put_number(out, 9, &number.to_be_bytes()),
        Value::Map(fields) => {
            control(out, 7, fields.len());
            for (name, value) in fields {
                put(out, &Value::Text(name));
                put(out, value);
            }
        }
        Value::List(values) => {
            control(out, 11, values.len());
            values.iter().for_each(|value| put(out, value));
        }
    }
}

/// The bytes of a database of IPv6, in which IPv4 stands below `::/96`.
pub(crate) fn database(kind: &'static str, networks: &[(&str, Value)]) -> Vec<u8> {
    let (mut nodes, mut data) = (vec![[Next::Nothing; 2]], Vec::new());
    for (network, record) in networks {
        let (address, bits) = network.split_once('/').unwrap();
        let bits: usize = bits.parse().unwrap();
        let (number, bits) = match address.parse().unwrap() {
            IpAddr::V4(address) => (u128::from(u32::from(address)), bits + 96),
            IpAddr::V6(address) => (u128::from(address), bits),
        };
        let offset = data.len();
        put(&mut data, record);
        let mut at = 0;
        for bit in 0..bits {
            let side = usize::from(number >> (127 - bit) & 1 == 1);
            if bit + 1 == bits {
                nodes[at][side] = Next::Record(offset);
            } else if let Next::Node(next) = nodes[at][side] {
                at = next;
            } else {
                nodes.push([Next::Nothing; 2]);
                nodes[at][side] = Next::Node(nodes.len() - 1);
                at = nodes.len() - 1;
            }
        }
    }
    let mut out = Vec::new();
    for next in nodes.iter().flatten() {
        let number = match next {
            Next::Nothing => nodes.len(),
            Next::Node(node) => *node,
            Next::Record(offset) => nodes.len() + 16 + offset,
        };
        out.extend_from_slice(&u32::try_from(number).unwrap().to_be_bytes()[1..]);
    }
    out.extend([0; 16]);
    out.extend(data);
    out.extend_from_slice(b"\xab\xcd\xefMaxMind.com");
    let count = u32::try_from(nodes.len()).unwrap();
    put(
        &mut out,
        &Value::Map(vec![
            ("binary_format_major_version", Value::Short(2)),
            ("binary_format_minor_version", Value::Short(0)),
            ("build_epoch", Value::Long(1_795_907_534)),
            ("database_type", Value::Text(kind)),
            ("description", Value::Map(vec![("en", Value::Text("made by a test"))])),
            ("ip_version", Value::Short(6)),
            ("languages", Value::List(vec![Value::Text("en")])),
            ("node_count", Value::Number(count)),
            ("record_size", Value::Short(24)),
        ]),
    );
    out
}
