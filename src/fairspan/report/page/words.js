// Numbers as people read them, and what the chosen projection changes. All words, and the rules for
// choosing among them, come with the data.

const total = (errors) => errors.reduce((sum, error, a) => sum + shares[a] * error, 0);
const gap = (errors) => Math.max(...errors) - Math.min(...errors);
const { templates, rules } = data.words;
const fill = (template, words) => template.replace(/\{(\w+)\}/g, (_, word) => words[word]);

function number(value) {
  const size = Math.abs(value);
  if (size === 0) return "0";
  if (size >= rules.tiny && size < rules.large) return value.toPrecision(4);
  return size >= rules.large && size < rules.huge
    ? value.toLocaleString("en-US", { maximumFractionDigits: 0 }) : value.toExponential(3).replace("e+", "e");
}

function percent(share) {
  const value = 100 * Math.max(share, 0);
  if (value === Infinity) return templates.infinite;
  return value < rules.small ? templates.small : `${value.toFixed(value >= rules.whole ? 0 : 1)} %`;
}

/** How much larger the largest error is than the smallest, as a share of it. */
function excess(errors) {
  const [low, high] = [Math.min(...errors), Math.max(...errors)];
  if (high === low) return 0;
  return low > rules.zero * high ? high / low - 1 : Infinity;
}

const cost = (page, point) => percent(total(point.errors) / total(page.pca.errors) - 1 || 0);

/** What the chosen projection changes for the groups, and its price. */
function effect(page, point) {
  if (point.hidden || page.pca.hidden) return "";
  const [before, after] = [page.pca.errors, point.errors];
  const apart = Math.max(...before.map((error, a) => Math.abs(error - after[a])));
  let name = excess(after) <= excess(before) ? "narrows" : "widens";
  if (excess(after) === Infinity) name = "spares";
  if (excess(after) < rules.same) name = "closes";
  if (apart <= rules.same * Math.max(...before)) name = "same";
  return fill(templates[name], {
    method: data.method,
    worst: data.names[after.indexOf(Math.max(...after))],
    best: data.names[after.indexOf(Math.min(...after))],
    gap: percent(excess(after)),
    price: fill(templates.price, { share: cost(page, point) }),
  });
}

/** How an error changes, in per cent and with its sign. */
function changed(before, after) {
  if (before <= 0) return after <= 0 ? "0 %" : `+${templates.infinite}`;
  const text = percent(Math.abs(after / before - 1));
  return text === templates.small ? text : `${after > before ? "+" : "-"}${text}`;
}

/** Which group is served worst, and how each group's error changes compared with PCA. */
function whoPays(page, point) {
  const [before, after] = [page.pca.errors, point.errors];
  const same = rules.same * Math.max(...before);
  const moves = before.map((error, a) => Math.abs(error - after[a]));
  if (Math.max(...moves) <= same) return "";
  const served = (errors) =>
    data.names[errors.findIndex((error) => error >= Math.max(...errors) * (1 - rules.same))];
  const shown = moves.map((_, a) => a).sort((a, b) => moves[b] - moves[a]).slice(0, rules.named)
    .sort((a, b) => a - b);
  const changes = shown.map((a) => `${data.names[a]} ${changed(before[a], after[a])}`);
  if (shown.length < before.length) changes.push("...");
  let name = "some pay";
  if (before.every((error, a) => after[a] >= error - same)) name = "no one gains";
  if (before.every((error, a) => after[a] > error + same)) name = "everyone pays";
  const alike = excess(after) < rules.same;
  return `${fill(templates[alike ? "all served alike" : "worst served"], {
    worst: served(before), before: number(Math.max(...before)),
    other: served(after), after: number(Math.max(...after)), method: data.method,
  })} ${fill(templates[name], { changes: changes.join(", ") })}`;
}

/** Whether another projection is known that serves every group better. */
const isDominated = (page, point) => point.dominated ?? page.own_points.some((best) =>
  best.every((error, a) => error < (1 - rules.small / 100) * point.errors[a]));

/** Who pays for the chosen projection, and whether another one serves every group better. */
function payers(page, point) {
  if (page.pca.hidden || point.hidden) return "";
  const dominated = isDominated(page, point);
  const told = [whoPays(page, point), point.better ?? (dominated ? templates["dominated here"] : "")];
  if (dominated && data.notions[state.notion].disparity === "gap") told.push(templates.instead);
  return told.filter(Boolean).join(" ");
}

function pythonCode() {
  const real = (value) => Number.isInteger(value) ? value.toFixed(1) : String(value);
  return fill(data.code, {
    n_components: stops.components[state.components],
    fairness_weight: real(stops.weights[state.weight]),
    comparison: data.notions[state.notion].code,
    radius: real(stops.radii[state.radius]),
    standardize: data.setting.standardize ? "True" : "False",
  });
}
