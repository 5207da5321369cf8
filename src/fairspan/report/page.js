"use strict";
// The page of a report: finds the optimum of the chosen setting and shows it everywhere at once.
// Names come from the data and are only ever set as text.
(() => {
  const read = (id) => JSON.parse(document.getElementById(id).textContent);
  const at = (id) => document.getElementById(id);
  const data = read("data");
  const shares = data.groups.map((group) => group.share);
  const sizes = data.groups.map((group) => group.weight);
  const labels = data.groups.map((group) => group.label);
  const two = labels.length === 2;
  const stops = data.stops;
  const state = { weight: 0, radius: 0, components: 0, component: 0 };

  // ---- the objective and its least value -------------------------------------------------

  /** Objective of two groups: worst-case total error plus weight times worst-case gap. */
  function objective(m, weight, edges) {
    const high = [0, 1].map((a) => (Math.sqrt(m[a]) + edges[a]) ** 2);
    const low = [0, 1].map((a) => Math.max(Math.sqrt(m[a]) - edges[a], 0) ** 2);
    const piece = (up, down) => {
      const less = shares[down] - weight;
      return (shares[up] + weight) * high[up] + less * (less >= 0 ? high[down] : low[down]);
    };
    return Math.max(piece(0, 1), piece(1, 0));
  }

  /** Point of the boundary: the parabola of arc floor(place), at its fraction. */
  function boundaryPoint(curve, place) {
    const arc = Math.min(Math.floor(place), curve.corners.length - 1);
    const s = place - arc;
    const [a, b, c] = [curve.points[arc], curve.corners[arc], curve.points[arc + 1]];
    return [0, 1].map((j) =>
      Math.max((1 - s) ** 2 * a[j] + 2 * s * (1 - s) * b[j] + s ** 2 * c[j], 0));
  }

  /** Least value between two places, by golden section. */
  function goldenSection(value, low, high) {
    const ratio = (Math.sqrt(5) - 1) / 2;
    let [x, y] = [high - ratio * (high - low), low + ratio * (high - low)];
    let [f, g] = [value(x), value(y)];
    for (let step = 0; step < 60; step++) {
      if (f <= g) {
        [high, y, g] = [y, x, f];
        x = high - ratio * (high - low);
        f = value(x);
      } else {
        [low, x, f] = [x, y, g];
        y = low + ratio * (high - low);
        g = value(y);
      }
    }
    return f <= g ? [f, x] : [g, y];
  }

  /** Errors of the optimum of two groups: the boundary is scanned, its best valleys searched. */
  function minimise(curve, weight, radius) {
    const edges = sizes.map((size) => Math.sqrt(radius / Math.sqrt(size)));
    const value = (place) => objective(boundaryPoint(curve, place), weight, edges);
    const steps = 4;
    const last = steps * curve.corners.length;
    const scanned = Array.from({ length: last + 1 }, (_, i) => value(i / steps));
    const valleys = scanned
      .map((f, i) => [f, i])
      .filter(([f, i]) => f <= (scanned[i - 1] ?? Infinity) && f <= (scanned[i + 1] ?? Infinity))
      .sort((a, b) => a[0] - b[0])
      .slice(0, 4);
    let best = [valleys[0][0], valleys[0][1] / steps];
    for (const [, i] of valleys) {
      const ends = [Math.max(i - 1, 0) / steps, Math.min(i + 1, last) / steps];
      const found = goldenSection(value, ...ends);
      if (found[0] < best[0]) best = found;
    }
    return boundaryPoint(curve, best[1]);
  }

  /** Intervals at errors between two anchors, which carry their own. */
  function interpolate(anchors, errors) {
    const difference = (point) => point.errors[0] - point.errors[1];
    const here = errors[0] - errors[1];
    let next = anchors.findIndex((anchor) => difference(anchor) >= here);
    if (next < 0) next = anchors.length - 1;
    const [a, b] = [anchors[Math.max(next - 1, 0)], anchors[next]];
    const width = difference(b) - difference(a);
    const share = width > 0 ? Math.min(Math.max((here - difference(a)) / width, 0), 1) : 1;
    const mix = (x, y) => (1 - share) * x + share * y;
    return {
      interval: errors.map((error, j) => [0, 1].map((end) =>
        Math.max(error + mix(a.interval[j][end] - a.errors[j], b.interval[j][end] - b.errors[j]), 0))),
      gap_interval: [0, 1].map((end) => mix(a.gap_interval[end], b.gap_interval[end])),
    };
  }

  const isReports = (weight, radius) =>
    weight === data.setting.fairness_weight && radius === data.setting.radius;

  /** Errors, intervals and proof of the optimum for some components at the current setting. */
  function optimum(page) {
    const weight = stops.weights[state.weight], radius = stops.radii[state.radius];
    if (isReports(weight, radius)) return page.chosen;
    if (!two) return page.optima[state.weight * stops.radii.length + state.radius];
    const errors = minimise(page.curve, weight, radius);
    const intervals = page.anchors ? interpolate(page.anchors, errors) : {};
    return { errors, proved: page.curve.accuracy, ...intervals };
  }

  // ---- words and numbers ----------------------------------------------------------------

  const total = (errors) => errors.reduce((sum, error, a) => sum + shares[a] * error, 0);
  const gap = (errors) => Math.max(...errors) - Math.min(...errors);
  const number = (value) => value === 0 ? "0"
    : Math.abs(value) < 1e-4 || Math.abs(value) >= 1e7 ? value.toExponential(3)
    : Number(value.toPrecision(4)).toLocaleString("en-US", { maximumSignificantDigits: 4 });
  const small = (value) => value <= 0 ? "0" : value.toExponential(0).replace("e+", "e");

  const quoted = (label) => /^[\p{L} ]*$/u.test(label) ? label : `“${label}”`;

  function excess(errors) {
    const [low, high] = [Math.min(...errors), Math.max(...errors)];
    if (high === low) return 0;
    return low > 1e-12 * high ? high / low - 1 : Infinity;
  }

  function percent(share) {
    const value = 100 * Math.max(share, 0);
    if (value === Infinity) return "infinitely";
    if (value < 0.05) return "under 0.1 %";
    return `${value.toFixed(value >= 9.95 ? 0 : 1)} %`;
  }

  function sentences(k, before, after, proved) {
    const [low, high] = [Math.min(...before), Math.max(...before)];
    const words = {
      components: `${k} component${k === 1 ? "" : "s"}`,
      worst: quoted(labels[before.indexOf(high)]),
      best: quoted(labels[before.indexOf(low)]),
      before: percent(excess(before)),
      after: percent(excess(after)),
      cost: percent(total(after) / Math.max(total(before), 1e-12) - 1),
      proved: small(proved),
    };
    let first = excess(before) < 5e-6 ? "equal" : "unequal";
    if (low <= 1e-12 * high) first = high === 0 ? "equal" : "perfect";
    const moved = Math.max(...before.map((error, a) => Math.abs(error - after[a])));
    let second = excess(after) <= excess(before) ? "closes" : "widens";
    if (moved <= 5e-6 * high) second = "same";
    return [first, second, "proof"].map((name) =>
      data.sentences[name].replace(/\{(\w+)\}/g, (_, word) => words[word]));
  }

  function pythonCode() {
    const real = (value) => Number.isInteger(value) ? value.toFixed(1) : String(value);
    return "from fairspan import RobustFairPCA\n\npca = RobustFairPCA(\n"
      + `    ${stops.components[state.components]},\n`
      + `    fairness_weight=${real(stops.weights[state.weight])},\n`
      + `    radius=${real(stops.radii[state.radius])},\n`
      + `    standardize=${data.setting.standardize ? "True" : "False"},\n`
      + ").fit(X, sensitive_features=groups)";
  }

  // ---- charts ---------------------------------------------------------------------------

  let models = new Map();
  const model = (name) => models.get(name);
  const put = (name, columns) => { model(name).data = columns; };

  function setRange(name, low, high) {
    const range = model(name);
    if (range.start !== low) range.start = low;
    if (range.end !== high) range.end = high;
  }

  function around(values, below, above) {
    const [low, high] = [Math.min(...values), Math.max(...values)];
    const width = high - low || 0.1 * Math.abs(high) || 1;
    return [low - below * width, high + above * width];
  }

  const night = () => matchMedia("(prefers-color-scheme: dark)").matches
    && !matchMedia("print").matches && !state.printing;
  const colours = () => data.palette[night() ? "dark" : "light"];

  function marks(page, chosen, project) {
    const colour = colours();
    const rows = [
      ["PCA", page.pca.errors, "triangle", colour.pca, 12],
      ["FairPCA", page.fair_pca.errors, "diamond", colour.other, 13],
    ];
    if (two) rows.push([at("fair-name").textContent, page.exactly_fair.errors, "square", colour.fair, 10]);
    rows.push(["chosen", chosen.errors, "circle", colour.curve, 15]);
    const points = rows.map((row) => project(row[1]));
    return {
      x: points.map((point) => point[0]),
      y: points.map((point) => point[1]),
      marker: rows.map((row) => row[2]),
      colour: rows.map((row) => row[3]),
      size: rows.map((row) => row[4]),
      name: rows.map((row) => row[0]),
    };
  }

  const columns = (points) => ({ x: points.map((p) => p[0]), y: points.map((p) => p[1]) });

  /** The best compromises at radius 0: the boundary between PCA and equal errors. */
  function compromises(page) {
    const difference = (point) => point[0] - point[1];
    const ends = [page.pca.errors, page.exactly_fair.errors].sort((a, b) => difference(a) - difference(b));
    const places = Array.from({ length: 4 * page.curve.corners.length }, (_, i) => i / 4);
    const between = places.map((place) => boundaryPoint(page.curve, place)).filter((point) =>
      difference(point) > difference(ends[0]) && difference(point) < difference(ends[1]));
    return [ends[0], ...between, ends[1]];
  }

  /** Edges of the chart: the whole region, or a square around the compromises. */
  function view(page, region) {
    const whole = [around(region.x, 0.05, 0.05), around(region.y, 0.05, 0.05)];
    if (at("whole").checked) return whole.flat();
    const near = columns([page.pca.errors, page.exactly_fair.errors, page.fair_pca.errors]);
    const ranges = [near.x, near.y].map((values) => [Math.min(...values), Math.max(...values)]);
    const width = Math.max(...ranges.map(([low, high]) => high - low), 0.02 * Math.max(...near.x, ...near.y));
    return ranges.flatMap(([low, high]) =>
      [0.5 * (low + high) - 0.95 * width, 0.5 * (low + high) + 0.95 * width]);
  }

  function drawRegion(page, chosen) {
    const region = columns(page.region);
    const [left, right, bottom, top] = view(page, region);
    put("region", region);
    const ends = [Math.max(left, bottom), Math.min(right, top)];
    put("diagonal", ends[0] < ends[1] ? { x: ends, y: ends } : { x: [], y: [] });
    put("compromise", columns(compromises(page)));
    put("marks-region", marks(page, chosen, (errors) => errors));
    setRange("x-region", left, right);
    setRange("y-region", bottom, top);
  }

  function drawPrice(page, chosen) {
    const project = (errors) => [gap(errors), total(errors)];
    const shown = marks(page, chosen, project);
    let curve, others;
    if (two) {
      curve = columns(compromises(page).map(project));
      others = columns([]);
    } else {
      const row = stops.weights.map((_, i) =>
        page.optima[i * stops.radii.length + state.radius].errors);
      curve = columns(row.map(project));
      others = columns(page.optima.map((one) => project(one.errors)));
    }
    put("price", curve);
    put("stops", others);
    put("marks-price", shown);
    // FairPCA may lie far off; what is compared are the compromises.
    const compared = shown.x.map((_, i) => i).filter((i) => shown.name[i] !== "FairPCA");
    const x = [...curve.x, ...others.x, ...compared.map((i) => shown.x[i])];
    const y = [...curve.y, ...others.y, ...compared.map((i) => shown.y[i])];
    const width = Math.max(...x) || 1;
    const [bottom, top] = around(y, 0.15, 0.35);
    setRange("x-price", -0.04 * width, 1.12 * width);
    setRange("y-price", bottom, top);
    const floor = curve.x.map(() => bottom);
    put("beyond", two ? { x: curve.x, floor, ceiling: curve.y } : { x: [], floor: [], ceiling: [] });
  }

  function bars(point, shift) {
    const n = labels.length;
    const interval = point.interval ?? point.errors.map((error) => [error, error]);
    return {
      y: labels.map((_, a) => n - 1 - a + shift),
      error: point.errors,
      low: interval.map((ends) => ends[0]),
      high: interval.map((ends) => ends[1]),
      text: point.errors.map(number),
      at: point.errors.map((error, a) => Math.max(error, interval[a][1])),
    };
  }

  function drawGroups(page, chosen) {
    put("bars-pca", bars(page.pca, 0.19));
    put("bars-chosen", bars(chosen, -0.19));
    const ends = [page.pca, chosen].flatMap((point) =>
      [...point.errors, ...(point.interval ?? []).flat()]);
    setRange("x-groups", 0, 1.22 * Math.max(...ends, 1e-300));
    setRange("y-groups", -0.6, labels.length - 0.4);
  }

  function drawSizes() {
    const found = data.by_components.map(optimum);
    const low = (point) => Math.min(...point.errors), high = (point) => Math.max(...point.errors);
    const pca = data.by_components.map((page) => page.pca);
    put("sizes", {
      k: stops.components,
      pca_low: pca.map(low), pca_high: pca.map(high), low: found.map(low), high: found.map(high),
    });
    const k = stops.components[state.components];
    model("span-k").location = k;
    setRange("x-sizes", 0.7, stops.components.length + 0.3);
    setRange("y-sizes", 0, 1.08 * Math.max(...pca.map(high), ...found.map(high), 1e-300));
  }

  function drawLoadings(page) {
    const row = page.loadings[state.component];
    const n = row.features.length;
    const most = Math.max(...page.loadings.map((one) => one.features.length));
    put("loadings", {
      y: row.features.map((_, j) => most - 1 - j), pca: row.pca, chosen: row.chosen, feature: row.features,
    });
    const names = row.features.map((name, j) => [most - 1 - j, data.short_features[name]]);
    model("axis-loadings").major_label_overrides = new Map(names);
    setRange("x-loadings", ...around([0, ...row.pca, ...row.chosen], 0.07, 0.07));
    setRange("y-loadings", most - n - 0.7, most - 0.3);
    const { fairness_weight: weight, radius } = data.setting;
    at("loadings-text").textContent = ` at the report’s weight ${weight} and radius ${radius}.`
      + (row.left_out ? ` The largest ${n} of ${n + row.left_out} features.` : "");
  }

  function drawRows() {
    if (!data.projected) return;
    const { x, y, group } = data.projected;
    const series = data.palette.series;
    put("rows", { x, y, colour: group.map((code) => series[code % series.length]) });
    setRange("x-rows", ...around(x, 0.05, 0.05));
    setRange("y-rows", ...around(y, 0.05, 0.05));
  }

  /** Every colour of every chart, for day or night. */
  function paint() {
    const c = colours();
    for (const [name, one] of models) {
      if (!name.startsWith("figure-")) continue;
      for (const axis of [...one.below, ...one.left]) {
        axis.axis_label_text_color = axis.major_label_text_color = c.muted;
        axis.axis_line_color = c.line;
        if (name !== "figure-groups" && name !== "figure-loadings") axis.major_tick_line_color = c.line;
      }
      for (const grid of one.center) if ("grid_line_color" in grid) grid.grid_line_color = c.line;
    }
    const fill = (name, colour) => { if (model(name)) model(name).glyph.fill_color = colour; };
    const stroke = (name, colour) => { if (model(name)) model(name).glyph.line_color = colour; };
    fill("glyph-region", c.region); stroke("glyph-region", c.region);
    stroke("glyph-diagonal", c.muted);
    stroke("glyph-compromise", c.curve); stroke("glyph-price", c.curve);
    fill("glyph-beyond", c.ground);
    fill("glyph-stops", c.muted); stroke("glyph-stops", null);
    stroke("glyph-marks-region", c.card); stroke("glyph-marks-price", c.card);
    for (const [name, colour] of [["pca", c.pca], ["chosen", c.curve]]) {
      fill(`glyph-bars-${name}`, colour); stroke(`glyph-bars-${name}`, colour);
      stroke(`glyph-whisker-${name}`, c.text);
      model(`glyph-value-${name}`).glyph.text_color = c.text;
      fill(`glyph-band-${name}`, colour);
      fill(`glyph-loading-${name}`, colour); stroke(`glyph-loading-${name}`, colour);
    }
    for (const edge of ["pca_low", "pca_high", "low", "high"]) {
      const colour = edge.startsWith("pca") ? c.pca : c.curve;
      stroke(`glyph-${edge}`, colour);
      fill(`glyph-dot-${edge}`, colour); stroke(`glyph-dot-${edge}`, colour);
    }
    stroke("glyph-shift", c.pale);
    model("span-k").line_color = model("span-zero").line_color = c.muted;
  }

  // ---- the page ---------------------------------------------------------------------------

  const setText = (id, text) => { if (at(id).textContent !== text) at(id).textContent = text; };

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
    setText("figure-proved", small(chosen.proved));
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
        + `position by itself; its objective is proved right within ${small(worst)} of it at every position. `
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
})();
