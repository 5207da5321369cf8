// The page itself: everything follows the sliders at once.

/** Set text; a number and its % stay in one line, and so does a p-value. */
function setText(id, text) {
  const joined = text.replaceAll(" %", "\u00a0%").replace(/\bp ([=<]) /g, "p\u00a0$1\u00a0");
  if (at(id).textContent !== joined) at(id).textContent = joined;
}

function cell(row, kind, text, value) {
  const made = document.createElement(kind);
  made.textContent = text;
  if (value !== undefined) made.dataset.value = value;
  row.append(made);
  return made;
}

/** Of places in the order of errors, the first and the last. */
const ends = (order) => [...order.slice(0, 3), ...order.slice(-2)];
const isFound = (label) => label.toLowerCase().includes(state.search);

/** The groups to show: of many, the worst and the best of PCA and as chosen, all, or those found. */
function groupsToShow(page, chosen) {
  const all = labels.map((_, a) => a);
  if (!many) return all;
  const sorted = (errors) => [...all].sort((a, b) => errors[b] - errors[a]);
  const order = sorted(chosen.errors);
  if (state.search) return order.filter((a) => isFound(labels[a]));
  const kept = new Set([...ends(order), ...ends(sorted(page.pca.errors))]);
  return state.all ? order : order.filter((a) => kept.has(a));
}

/** The table on new rows is sorted already; of many groups the same are shown. */
function foldNewRows(shown) {
  const table = at("new-rows");
  if (!many || !table) return;
  const rows = [...table.tBodies[0].rows];
  const kept = new Set(ends(rows));
  const named = new Set(shown.map((a) => labels[a]));
  for (const row of rows)
    row.hidden = !(named.has(row.cells[0].textContent) || !state.search && kept.has(row));
}

function tellShown(shown) {
  for (const place of document.querySelectorAll(".find")) {
    const [input, button, text] = place.children;
    if (input !== document.activeElement) input.value = state.search;
    button.textContent = state.all ? "Show the worst and the best" : `Show all ${labels.length} groups`;
    button.hidden = state.search !== "";
    text.textContent = state.search ? `${shown.length} of ${labels.length} groups.`
      : `Sorted by error${state.all ? "" : ", worst and best"}.`;
  }
}

function fillTable(page, chosen, shown) {
  const body = at("table").tBodies[0];
  body.replaceChildren();
  const points = [page.pca, chosen];
  const add = (name, rows, values, write = number) => {
    const row = body.insertRow();
    cell(row, "th", name).scope = "row";
    cell(row, "td", rows);
    values.forEach((value, i) => cell(row, "td", write(value, points[i].errors), value));
  };
  for (const a of shown) {
    const { label, rows } = data.groups[a];
    const mark = rows < data.few ? "*" : "";
    add(label, rows.toLocaleString("en-US") + mark, points.map((point) => point.errors[a]));
  }
  add("total", data.data.rows.toLocaleString("en-US"), points.map((p) => total(p.errors)));
  add("gap", "", points.map((p) => gap(p.errors)), difference);
  if (data.notions[state.notion].reference !== "none") {
    const name = data.notions[state.notion].reference === "own" ? "own best" : "reference";
    add(`gap above ${name}`, "", points.map((p) => gap(aboveReferences(page, p.errors))),
      difference);
  }
}

function show() {
  const page = data.by_components[state.components];
  const chosen = optimum(page);
  setText("headline", page.headline);
  const own = chosen === page.chosen && page.k === data.setting.n_components;
  setText("change", own ? page.change : chosen === page.pca ? "" : page.elsewhere);
  setText("fitted", page.fitted);
  setText("caveats", page.caveats);
  setText("effect", effect(page, chosen));
  setText("variance", variance(page, chosen));
  setText("payers", payers(page, chosen));
  setText("proof", chosen.proof);
  const known = (text, hidden = page.pca.hidden || chosen.hidden) => hidden ? templates.unknown : text;
  setText("figure-before", known(percent(excess(page.pca.errors))));
  setText("figure-after", known(percent(excess(chosen.errors))));
  setText("figure-cost", known(cost(page, chosen)));
  setText("figure-proved", known(chosen.within, chosen.hidden));
  for (const name of ["weight", "radius", "components"]) {
    const list = places[name];
    const text = String(list[state[name]]);
    at(name).value = state[name];
    at(name).setAttribute("aria-valuetext", text);
    setText(`${name}-value`, text);
  }
  at("notion").value = state.notion;
  const shown = groupsToShow(page, chosen);
  fillTable(page, chosen, shown);
  foldNewRows(shown);
  tellShown(shown);
  setText("code", pythonCode());
  setText("copied", "");
  if (models.size === 0) return;
  if (two) drawRegion(page, chosen);
  drawPrice(page, chosen);
  drawGroups(page, chosen, shown);
  const marked = ["marks-region", "marks-price"].flatMap((name) => model(name)?.data.outside ?? []);
  at("legend-outside").hidden = !marked.includes(true);
  at("legend-dominated").hidden = !model("price-dominated").data.y.some(Number.isFinite);
  drawSizes();
  drawLoadings(page);
}

function listComponents() {
  const k = stops.components[state.components];
  const select = at("component");
  state.component = Math.min(state.component, k - 1);
  select.replaceChildren(...Array.from({ length: k }, (_, j) => new Option(String(j + 1), j)));
  select.value = state.component;
}

function listNotions() {
  at("notion").replaceChildren(...data.notions.map((one, i) => new Option(one.name, i)));
}

function choose(weight, radius, components) {
  state.weight = stops.weights.indexOf(weight);
  state.radius = stops.radii.indexOf(radius);
  state.components = stops.components.indexOf(components);
  listComponents();
}

function reset() {
  const { fairness_weight: weight, radius, n_components: components } = data.setting;
  state.notion = data.setting.notion;
  choose(weight, radius, components);
  show();
}

async function copy() {
  const code = at("code").textContent;
  let done = false;
  try {
    await navigator.clipboard.writeText(code);
    done = true;
  } catch {
    // Pages opened from disk may have no clipboard; selecting the text and copying still works.
    const range = document.createRange();
    range.selectNodeContents(at("code"));
    getSelection().removeAllRanges();
    getSelection().addRange(range);
    done = document.execCommand("copy");
  }
  setText("copied", at("copied").dataset[done ? "done" : "else"]);
}

function listGroups() {
  const series = data.palette.series;
  at("rows-legend").append(...labels.map((label, a) => {
    const item = document.createElement("li"), dot = document.createElement("i");
    dot.className = "mark dot";
    // The first is as dark as night: there it is the colour of the text.
    dot.style.background = a % series.length ? series[a % series.length] : "var(--text)";
    item.append(dot, label);
    return item;
  }));
}

function listen() {
  for (const name of ["weight", "radius", "components"]) {
    const list = places[name];
    at(name).max = list.length - 1;
    at(name).disabled = list.length < 2;
    at(name).addEventListener("input", () => {
      state[name] = Number(at(name).value);
      if (name === "components") listComponents();
      show();
    });
  }
  at("component").addEventListener("change", () => {
    state.component = Number(at("component").value);
    show();
  });
  at("notion").addEventListener("input", () => {
    state.notion = Number(at("notion").value);
    show();
  });
  for (const place of document.querySelectorAll(".find")) {
    const [input, button] = place.children;
    input.addEventListener("input", () => { state.search = input.value.trim().toLowerCase(); show(); });
    button.addEventListener("click", () => { state.all = !state.all; show(); });
  }
  at("whole").addEventListener("change", show);
  at("reset").addEventListener("click", reset);
  at("copy").addEventListener("click", copy);
  const repaint = () => { paint(); drawRows(); show(); };
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", repaint);
  matchMedia("print").addEventListener("change", repaint);
  let closed = [];
  addEventListener("beforeprint", () => {
    state.printing = true;
    fitCharts();
    closed = [...document.querySelectorAll("details:not([open])")];
    closed.forEach((one) => { one.open = true; });
    repaint();
  });
  addEventListener("afterprint", () => {
    state.printing = false;
    for (const chart of document.querySelectorAll(".chart")) chart.style.zoom = "";
    closed.forEach((one) => { one.open = false; });
    repaint();
  });
}

/** Scale charts to their printed columns: they keep the width in which the screen drew them. */
function fitCharts() {
  for (const chart of document.querySelectorAll(":is(.pair, .split) .chart")) {
    const card = chart.closest(".pair > .card");
    const isWhole = card && getComputedStyle(card).gridColumnEnd === "-1";
    const room = isWhole ? 1080 : card ? 515 : 630;
    chart.style.zoom = Math.min(1, room / chart.clientWidth);
  }
}

async function start() {
  at("section-rows").hidden = !data.projected;
  listGroups();
  listNotions();
  const items = read("charts");
  reset();
  await Promise.all(Object.values(items).map((item) => Bokeh.embed.embed_item(item)));
  for (const document of Bokeh.documents)
    for (const one of document.all_models ?? document._all_models.values())
      if (one.name) models.set(one.name, one);
  listen();
  paint();
  drawRows();
  show();
  if (innerWidth <= 620) for (const one of document.querySelectorAll("details")) one.open = false;
  document.documentElement.dataset.ready = "true";
}

start();
