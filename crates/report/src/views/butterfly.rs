//! One function between its callers and its callees.

use culprit_engine::calls::{CallTree, NameId, Neighbour};
use culprit_model::clean;

use super::{share, value};
use crate::layout::{Align, Layout, Table};
use crate::units::percent;

/// Callers above, the function itself, callees below.
#[must_use]
pub fn butterfly_text(tree: &CallTree, focus: NameId, limit: usize, layout: &Layout) -> String {
    let found = tree.butterfly(focus);
    let metric = tree.metric();
    let mut text = side("callers", &found.callers, tree, found.total, limit, layout);
    let name = clean(tree.names().text(focus)).into_owned();
    text.push_str(&format!(
        "\n{}  total {}, {} of all; own {}\n\n",
        layout.paint().strong(&name),
        value(metric, found.total),
        percent(share(found.total, tree.total())),
        value(metric, found.own),
    ));
    text.push_str(&side("callees", &found.callees, tree, found.total, limit, layout));
    text
}

fn side(
    title: &str,
    side: &[Neighbour],
    tree: &CallTree,
    whole: u64,
    limit: usize,
    layout: &Layout,
) -> String {
    let shown = if limit == 0 { side.len() } else { limit.min(side.len()) };
    let mut table =
        Table::new(&[("value", Align::Right), ("share", Align::Right), (title, Align::Left)]);
    for neighbour in &side[..shown] {
        table.row([
            value(tree.metric(), neighbour.value),
            percent(share(neighbour.value, whole)),
            clean(tree.names().text(neighbour.name)).into_owned(),
        ]);
    }
    let mut text = table.render(layout.width_of_values());
    if side.is_empty() {
        text.push_str("  none\n");
    }
    if shown < side.len() {
        text.push_str(&format!("{} more; `--limit 0` shows all.\n", side.len() - shown));
    }
    text
}
