// The charts: Bokeh models by name, filled and coloured.

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

/** Points inside an axis' limits, those outside moved to its edge, where they are drawn hollow. */
function marks(page, chosen, project, [left, right, bottom, top]) {
  const colour = colours();
  const rows = [
    ["PCA", page.pca.errors, "triangle", colour.pca, 12],
    ["FairPCA", page.fair_pca.errors, "diamond", colour.other, 13],
  ];
  if (two) rows.push([at("legend-fair").textContent, page.exactly_fair.errors, "square", colour.fair, 10]);
  rows.push(["chosen", chosen.errors, "circle", colour.curve, 15]);
  const points = rows.map((row) => project(row[1]));
  const within = (value, low, high) =>
    value < low ? low + 0.02 * (high - low) : value > high ? high - 0.02 * (high - low) : value;
  const moved = points.map(([x, y]) => [within(x, left, right), within(y, bottom, top)]);
  const outside = points.map(([x, y], i) => x !== moved[i][0] || y !== moved[i][1]);
  return {
    ...columns(moved),
    marker: rows.map((row) => row[2]),
    colour: rows.map((row) => row[3]),
    edge: rows.map((row, i) => outside[i] ? row[3] : colour.card),
    alpha: outside.map((far) => far ? 0 : 1),
    size: rows.map((row) => row[4]),
    name: rows.map((row, i) => outside[i] ? `${row[0]}: ${points[i].map(number).join(", ")}` : row[0]),
    outside,
  };
}

const columns = (points) => ({ x: points.map((p) => p[0]), y: points.map((p) => p[1]) });

/** Points along a curve of parabolas. */
const along = (curve) =>
  Array.from({ length: 4 * curve.corners.length + 1 }, (_, i) => boundaryPoint(curve, i / 4));

/** The best compromises at radius 0: the boundary between PCA and equal errors. */
function compromises(page) {
  const difference = (point) => point[0] - point[1];
  const ends = [page.pca.errors, page.exactly_fair.errors].sort((a, b) => difference(a) - difference(b));
  const between = along(page.curve).filter((point) =>
    difference(point) > difference(ends[0]) && difference(point) < difference(ends[1]));
  return [ends[0], ...between, ends[1]];
}

/** Draw a path, dashed where another projection serves every group better. */
function putPath(name, page, points, project) {
  const marked = points.map((point) => isDominated(page, point));
  const place = (shown) => columns(points.map((point, i) => shown(i) ? project(point.errors) : [NaN, NaN]));
  put(name, place((i) => !marked[i]));
  put(`${name}-dominated`, place((i) => marked[i] || marked[i - 1] || marked[i + 1]));
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
  const region = columns([...along(page.curve), ...along(page.back)]);
  const [left, right, bottom, top] = view(page, region);
  put("region", region);
  const ends = [Math.max(left, bottom), Math.min(right, top)];
  put("diagonal", ends[0] < ends[1] ? { x: ends, y: ends } : { x: [], y: [] });
  putPath("compromise", page, compromises(page).map((errors) => ({ errors })), (errors) => errors);
  put("marks-region", marks(page, chosen, (errors) => errors, [left, right, bottom, top]));
  setRange("x-region", left, right);
  setRange("y-region", bottom, top);
}

function drawPrice(page, chosen) {
  // The curve of two groups is one of plain gaps; of more, the gap that counts is drawn.
  const compare = (errors) => two ? errors : aboveReferences(page, errors) ?? errors;
  const project = (errors) => [gap(compare(errors)), total(errors)];
  model("axis-price").axis_label = compare(chosen.errors) === chosen.errors
    ? "gap between groups" : "gap between errors above their references";
  let path, others;
  if (two) {
    path = compromises(page).map((errors) => ({ errors }));
    others = columns([]);
  } else {
    path = stops.weights.map((_, i) => stopAt(page, i, state.radius));
    const all = stops.weights.flatMap((_, i) => stops.radii.map((_, j) => stopAt(page, i, j)));
    others = columns(all.map((one) => project(one.errors)));
  }
  const curve = columns(path.map((point) => project(point.errors)));
  putPath("price", page, path, project);
  put("stops", others);
  // FairPCA may lie far off; what is compared are the compromises.
  const compared = columns([page.pca, chosen].map((point) => project(point.errors)));
  const x = [...curve.x, ...others.x, ...compared.x];
  const y = [...curve.y, ...others.y, ...compared.y];
  const [least, width] = [Math.min(...x), Math.max(...x) || 1];
  const [bottom, top] = around(y, 0.15, 0.35);
  // Zero is in view, unless all gaps are far from it.
  const [left, right] = least > 0.4 * width ? around(x, 0.12, 0.12) : [-0.04 * width, 1.12 * width];
  setRange("x-price", left, right);
  setRange("y-price", bottom, top);
  put("marks-price", marks(page, chosen, project, [left, right, bottom, top]));
  const floor = curve.x.map(() => bottom);
  put("beyond", two ? { x: curve.x, floor, ceiling: curve.y } : { x: [], floor: [], ceiling: [] });
}

function bars(point, shown, shift) {
  const errors = shown.map((a) => point.errors[a]);
  return {
    y: shown.map((_, i) => shown.length - 1 - i + shift), error: errors, text: errors.map(number),
  };
}

function drawGroups(page, chosen, shown) {
  model("figure-groups").height = 84 + (many ? 36 : 56) * shown.length;
  model("axis-groups").major_label_overrides =
    new Map(shown.map((a, i) => [shown.length - 1 - i, data.short_labels[a]]));
  put("bars-pca", bars(page.pca, shown, 0.19));
  put("bars-chosen", bars(chosen, shown, -0.19));
  const ends = [page.pca, chosen].flatMap((point) => point.errors);
  const room = innerWidth < 620 ? 1.55 : 1.25;
  setRange("x-groups", 0, room * Math.max(...ends, 1e-300));
  setRange("y-groups", -0.6, shown.length - 0.4);
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
  const y = (shift) => row.features.map((_, j) => most - 1 - j + shift);
  // One above the other: equal loadings do not hide each other.
  put("loadings", {
    y_pca: y(0.17), y_chosen: y(-0.17), pca: row.pca, chosen: row.chosen, feature: row.features,
  });
  const names = row.features.map((name, j) => [most - 1 - j, data.short_features[name]]);
  model("axis-loadings").major_label_overrides = new Map(names);
  setRange("x-loadings", ...around([0, ...row.pca, ...row.chosen], 0.07, 0.07));
  setRange("y-loadings", most - n - 0.7, most - 0.3);
}

function drawRows() {
  if (!data.projected) return;
  const { x, y, group } = data.projected;
  const series = [colours().text, ...data.palette.series.slice(1)];
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
  for (const name of ["compromise", "price"]) {
    stroke(`glyph-${name}`, c.curve); stroke(`glyph-${name}-dominated`, c.curve);
  }
  fill("glyph-beyond", c.ground);
  fill("glyph-stops", c.muted); stroke("glyph-stops", null);
  for (const [name, colour] of [["pca", c.pca], ["chosen", c.curve]]) {
    fill(`glyph-bars-${name}`, colour); stroke(`glyph-bars-${name}`, colour);
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
