// The objective, and the optimum of the chosen setting.

/** What each group's error is compared with, for some components. */
function references(page, edges) {
  const given = data.notions[state.notion].reference;
  if (given === "own") return page.own.map((error, a) => (Math.sqrt(error) + edges[a]) ** 2);
  return given === "none" ? edges.map(() => 0) : given;
}

/**
 * The objective's pieces: each group in turn is counted up by the weight; the other one is counted
 * down by as much where the gap counts, and not at all where the largest error does.
 */
function pieces(m, weight, edges, beyond) {
  const lowered = data.notions[state.notion].disparity === "gap" ? weight : 0;
  const high = [0, 1].map((a) => (Math.sqrt(m[a]) + edges[a]) ** 2);
  const low = [0, 1].map((a) => Math.max(Math.sqrt(m[a]) - edges[a], 0) ** 2);
  const piece = (up, down) => {
    const less = shares[down] - lowered;
    return (shares[up] + weight) * high[up] + less * (less >= 0 ? high[down] : low[down])
      - weight * beyond[up] + lowered * beyond[down];
  };
  return [piece(0, 1), piece(1, 0)];
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

/** Place between two others where a function changes its sign. */
function bisect(sign, low, high) {
  const before = sign(low) < 0;
  for (let step = 0; step < 60; step++) {
    const middle = (low + high) / 2;
    if ((sign(middle) < 0) === before) low = middle; else high = middle;
  }
  return (low + high) / 2;
}

/**
 * Errors of the optimum of two groups. The boundary is scanned; its best valleys are searched, and
 * so is every place where the pieces cross, which is where steep valleys have their floor.
 */
function minimise(page, weight, radius) {
  const curve = page.curve;
  const edges = sizes.map((size) => Math.sqrt(radius / Math.sqrt(size)));
  const beyond = references(page, edges);
  const both = (place) => pieces(boundaryPoint(curve, place), weight, edges, beyond);
  const value = (place) => Math.max(...both(place));
  const ridge = (place) => { const [up, down] = both(place); return up - down; };
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
  for (let i = 0; i < last; i++) {
    const ends = [i / steps, (i + 1) / steps];
    if ((ridge(ends[0]) < 0) === (ridge(ends[1]) < 0)) continue;
    const place = bisect(ridge, ...ends);
    if (value(place) < best[0]) best = [value(place), place];
  }
  return boundaryPoint(curve, best[1]);
}

const isReports = (weight, radius) => state.notion === data.setting.notion
  && weight === data.setting.fairness_weight && radius === data.setting.radius;

/** More groups: the solution at a stop of the weight and of the radius. */
const stopAt = (page, weight, radius) =>
  page.optima[(state.notion * stops.weights.length + weight) * stops.radii.length + radius];

/** Errors and proof of the optimum for some components at the current setting. */
function optimum(page) {
  const weight = stops.weights[state.weight], radius = stops.radii[state.radius];
  if (isReports(weight, radius)) return page.chosen;
  // There is nothing to search: the page's curve would be PCA only up to its accuracy.
  if (weight === 0 && radius === 0) return page.pca;
  if (!two) return stopAt(page, state.weight, state.radius);
  return { ...page.curve, errors: minimise(page, weight, radius) };
}
