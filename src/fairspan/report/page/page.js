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

function fillTable(page, chosen) {
  const body = at("table").tBodies[0];
  body.replaceChildren();
  const add = (name, rows, values) => {
    const row = body.insertRow();
    cell(row, "th", name).scope = "row";
    cell(row, "td", rows);
    values.forEach((value) => cell(row, "td", number(value), value));
  };
  const points = [page.pca, chosen];
  data.groups.forEach((group, a) => add(
    group.label, group.rows.toLocaleString("en-US"), points.map((point) => point.errors[a])));
  add("total", data.data.rows.toLocaleString("en-US"), points.map((p) => total(p.errors)));
  add("gap", "", points.map((p) => gap(p.errors)));
}

function show() {
  const page = data.by_components[state.components];
  const chosen = optimum(page);
  setText("headline", page.headline);
  const own = chosen === page.chosen && page.k === data.setting.n_components;
  setText("change", own ? page.change : page.elsewhere);
  setText("fitted", page.fitted);
  setText("caveats", page.caveats);
  setText("effect", effect(page, chosen));
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
  fillTable(page, chosen);
  setText("code", pythonCode());
  setText("copied", "");
  if (models.size === 0) return;
  if (two) drawRegion(page, chosen);
  drawPrice(page, chosen);
  drawGroups(page, chosen);
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
    dot.style.background = series[a % series.length];
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
  at("whole").addEventListener("change", show);
  at("reset").addEventListener("click", reset);
  at("copy").addEventListener("click", copy);
  const repaint = () => { paint(); show(); };
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", repaint);
  matchMedia("print").addEventListener("change", repaint);
  addEventListener("beforeprint", () => { state.printing = true; repaint(); });
  addEventListener("afterprint", () => { state.printing = false; repaint(); });
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
  model("axis-groups").major_label_overrides =
    new Map(data.short_labels.map((label, a) => [labels.length - 1 - a, label]));
  listen();
  paint();
  drawRows();
  show();
  document.documentElement.dataset.ready = "true";
}

start();
