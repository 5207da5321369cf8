// The page itself: everything follows the sliders at once.

/** Set text; a number and its % stay in one line. */
function setText(id, text) {
  const joined = text.replaceAll(" %", "\u00a0%");
  if (at(id).textContent !== joined) at(id).textContent = joined;
}

function cell(row, kind, text, value, note) {
  const made = document.createElement(kind);
  made.textContent = text;
  if (value !== undefined) made.dataset.value = value;
  if (note) {
    const line = document.createElement("small");
    line.textContent = note;
    made.append(line);
  }
  row.append(made);
  return made;
}

function fillTable(page, chosen) {
  const range = (ends) => ends ? `${number(ends[0])} – ${number(ends[1])}` : "";
  const body = at("table").tBodies[0];
  body.replaceChildren();
  const add = (name, rows, values, notes) => {
    const row = body.insertRow();
    cell(row, "th", name).scope = "row";
    cell(row, "td", rows);
    values.forEach((value, j) => cell(row, "td", number(value), value, notes[j]));
  };
  const points = [page.pca, chosen];
  data.groups.forEach((group, a) => add(
    group.label, group.rows.toLocaleString("en-US"),
    points.map((point) => point.errors[a]), points.map((point) => range(point.interval?.[a]))));
  add("total", data.data.rows.toLocaleString("en-US"), points.map((p) => total(p.errors)), []);
  add("gap", "", points.map((p) => gap(p.errors)), points.map((p) => range(p.gap_interval)));
}

function show() {
  const k = stops.components[state.components];
  const page = data.by_components[state.components];
  const chosen = optimum(page);
  const [before, after] = [page.pca.errors, chosen.errors];
  const [headline, effect, proof] = sentences(k, before, after, chosen.proved);
  setText("headline", headline);
  setText("effect", effect);
  setText("proof", proof);
  setText("figure-before", percent(excess(before)));
  setText("figure-after", percent(excess(after)));
  setText("figure-cost", percent(total(after) / Math.max(total(before), 1e-12) - 1));
  setText("figure-proved", atMost(chosen.proved));
  if (two) setText("fair-name", gap(page.exactly_fair.errors) <= 1e-6 * total(before)
    ? "equal errors" : "smallest gap");
  for (const name of ["weight", "radius", "components"]) {
    const list = name === "components" ? stops.components : stops[name === "weight" ? "weights" : "radii"];
    const text = String(list[state[name]]);
    at(name).value = state[name];
    at(name).setAttribute("aria-valuetext", text);
    setText(`${name}-value`, text);
  }
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

function choose(weight, radius, components) {
  state.weight = stops.weights.indexOf(weight);
  state.radius = stops.radii.indexOf(radius);
  state.components = stops.components.indexOf(components);
  listComponents();
}

function reset() {
  const { fairness_weight: weight, radius, n_components: components } = data.setting;
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
  setText("copied", done ? "Copied." : "Selected: press Ctrl+C to copy.");
}

function writeTexts() {
  const { replicates, level } = data.intervals;
  const solved = stops.weights.length * stops.radii.length;
  setText("groups-text", "Mean squared reconstruction error. " + (replicates
    ? `Intervals: ${100 * level} % bootstrap with ${replicates} replicates, projections held fixed`
      + (two ? "; between computed points of the curve they are interpolated." : ".")
    : "No intervals: none were asked for, or only moments were given."));
  setText("price-text", two
    ? "No projection lies below the curve: a smaller gap costs at least this much total error."
    : "Grey: the optima of all settings. The line joins those of this radius, from PCA's weight 0 up.");
  setText("path-name", two ? "best compromises at radius 0" : "optima at this radius");
  if (data.data.features === 2) setText("region-text", "With two features, every pair of group "
    + "errors on the edge of the shaded area is attained by some projection, and no other. On the "
    + "dashed line both errors are equal.");
  const worst = Math.max(...data.by_components.map((page) => page.curve?.accuracy ?? 0));
  setText("method-text", two
    ? "This page holds the boundary of the attainable errors and finds the optimum of each slider "
      + `position by itself; its objective is proved right within ${atMost(worst)} of it at every position. `
      + "At the report’s own setting the solver’s result and proof are shown."
    : `The sliders stop at ${solved} settings for each number of components, all solved beforehand; `
      + "the proof of each is shown with it.");
  if (data.projected) setText("rows-text",
    `Projected on the components of the report’s setting. ${data.projected.left_out
      ? `${data.projected.left_out.toLocaleString("en-US")} rows, chosen at random, are left out.` : ""}`);
  const series = data.palette.series;
  if (data.projected) at("rows-legend").append(...labels.map((label, a) => {
    const item = document.createElement("li"), dot = document.createElement("i");
    dot.className = "mark dot";
    dot.style.background = series[a % series.length];
    item.append(dot, label);
    return item;
  }));
}

function listen() {
  for (const name of ["weight", "radius", "components"]) {
    const list = name === "components" ? stops.components : stops[name === "weight" ? "weights" : "radii"];
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
  at("section-region").hidden = at("legend-fair").hidden = !two;
  at("section-price").classList.toggle("alone", !two);
  at("section-rows").hidden = !data.projected;
  writeTexts();
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
