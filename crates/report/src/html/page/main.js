// Puts the page together: tools, tabs between recordings, sorting, the theme.

const byId = (id) => document.getElementById(id);
// A recording without thread time has tables alone.
const timed = byId("strips") !== null;
const flame = timed ? new Flame(byId("flame"), byId("flame-status"), byId("flame-of")) : null;
const strips = !timed ? null : new Strips(byId("strips"), byId("strips-status"), (range) => {
  byId("whole").hidden = range === null;
  flame.set({ range: strips.view.merged_below_ns > 0 ? null : range });
}, (thread) => {
  byId("apart").value = "id";
  // The table's metric may have nothing of this thread.
  byId("metric").value = "wall";
  flame.set({ apart: "id", metric: "wall" });
  flame.zoomTo(flame.find(threadFrames(thread, "id")));
  byId("flame-section").scrollIntoView();
});

function showPictures(index) {
  const view = prepare(page.views[index]);
  flame.options.range = null;
  const [asTable] = byId("metric").options;
  asTable.hidden = !view.table;
  if (!view.table && byId("metric").value === asTable.value) byId("metric").value = "wall";
  flame.options.metric = byId("metric").value;
  flame.show(view);
  strips.show(view);
  byId("whole").hidden = true;
  byId("all-threads").hidden = view.threads.length <= FEW;
  byId("all-threads").textContent = `all ${view.threads.length} threads`;
  byId("merged").textContent = view.merged_below_ns > 0
    ? `Pieces shorter than ${duration(view.merged_below_ns)} are merged; each piece shows the cause of its longest part. The flame graph shows the whole recording.`
    : "";
}

function showView(index) {
  if (timed) showPictures(index);
  for (const part of document.querySelectorAll("[data-view]")) {
    part.hidden = Number(part.dataset.view) !== index;
  }
}

const viewSelect = byId("view");
page.views.forEach((view, index) => {
  const option = element("option", view.label);
  option.value = String(index);
  viewSelect.append(option);
});
viewSelect.addEventListener("change", () => showView(Number(viewSelect.value)));

byId("search")?.addEventListener("input", (event) => flame.search(event.target.value));
byId("metric")?.addEventListener("change", (event) => flame.set({ metric: event.target.value }));
byId("apart")?.addEventListener("change", (event) => flame.set({ apart: event.target.value }));
byId("colour")?.addEventListener("change", (event) => flame.set({ colour: event.target.value }));
byId("reset")?.addEventListener("click", () => flame.zoomTo(0));
byId("whole")?.addEventListener("click", () => strips.setRange(null));
byId("all-threads")?.addEventListener("click", () => { strips.all = !strips.all; strips.draw(); });

byId("theme").addEventListener("click", () => {
  const dark = document.documentElement.dataset.theme
    ? document.documentElement.dataset.theme === "dark"
    : matchMedia("(prefers-color-scheme: dark)").matches;
  document.documentElement.dataset.theme = dark ? "light" : "dark";
  flame?.draw();
  strips?.draw();
});
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { flame?.draw(); strips?.draw(); });

// Tables sort by a click on a heading; `data-sort` holds a cell's number.
for (const table of document.querySelectorAll("table.sortable")) {
  [...table.tHead.rows[0].cells].forEach((heading, column) => {
    const button = element("button", heading.textContent);
    heading.replaceChildren(button);
    button.addEventListener("click", () => {
      const down = heading.getAttribute("aria-sort") !== "descending";
      for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
      heading.setAttribute("aria-sort", down ? "descending" : "ascending");
      const key = (row) => row.cells[column].dataset.sort ?? row.cells[column].textContent;
      const rows = [...table.tBodies[0].rows].sort((a, b) => {
        const [x, y] = [key(a), key(b)];
        const order = isNaN(x) || isNaN(y) ? x.localeCompare(y) : Number(x) - Number(y);
        return down ? -order : order;
      });
      table.tBodies[0].append(...rows);
    });
  });
}

for (const part of document.querySelectorAll(".needs-script")) part.hidden = false;
viewSelect.parentElement.hidden = page.views.length < 2;
viewSelect.value = String(page.first);
showView(page.first);
