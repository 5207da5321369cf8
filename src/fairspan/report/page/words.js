// Numbers as people read them, and sentences; their templates come with the data.

const total = (errors) => errors.reduce((sum, error, a) => sum + shares[a] * error, 0);
const gap = (errors) => Math.max(...errors) - Math.min(...errors);
const number = (value) => value === 0 ? "0"
  : Math.abs(value) < 1e-4 || Math.abs(value) >= 1e7 ? value.toExponential(3)
  : value.toLocaleString("en-US", { minimumSignificantDigits: 4, maximumSignificantDigits: 4 });

/** A proved bound with one digit, rounded up: what is said stays true. */
function atMost(value) {
  if (value <= 0) return "0";
  const [mantissa, exponent] = value.toExponential().split("e").map(Number);
  const up = Math.ceil(mantissa);
  return up === 10 ? `1e${exponent + 1}` : `${up}e${exponent}`;
}

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
    proved: atMost(proved),
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
