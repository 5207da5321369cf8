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

/** Errors above what they are compared with; null where they are compared as they are. */
function aboveReferences(page, errors) {
  if (data.notions[state.notion].reference === "none") return null;
  const values = references(page, sizes.map(() => 0));
  return errors.map((error, a) => error - values[a]);
}

/** A difference of errors; 0 where they are the same. */
const difference = (value, errors) =>
  Math.abs(value) < rules.same * Math.max(...errors) ? "0" : number(value);

/** What is compared: the references, and the errors above them by group. */
function compared(page, before, after) {
  const own = data.notions[state.notion].reference === "own";
  const [first, last] = [before, after].map((errors) => aboveReferences(page, errors));
  const most = first.map((_, a) => a).sort((a, b) => first[b] - first[a]);
  const shown = most.slice(0, rules.named).sort((a, b) => a - b);
  const listed = (values, write) =>
    shown.map((a) => `${data.names[a]} ${write(values[a])}`).join(", ")
      + (shown.length < before.length ? ", ..." : "");
  const [noted, written] = [before, after].map((errors) => (value) => difference(value, errors));
  const told = fill(templates.compared, {
    reference: templates[own ? "each own" : "each given"],
    references: listed(references(page, sizes.map(() => 0)), number),
    before: listed(first, noted), after: listed(last, written), method: data.method,
    gap_before: noted(gap(first)), gap_after: written(gap(last)),
  });
  return page.verdict ? `${told} ${templates["compared on new rows"]}` : told;
}

/** What the chosen projection changes for the groups, its price, and what is compared. */
function effect(page, point) {
  if (point.hidden || page.pca.hidden) return "";
  const [before, after] = [page.pca.errors, point.errors];
  const [first, last] = [before, after].map((errors) => aboveReferences(page, errors));
  const apart = Math.max(...before.map((error, a) => Math.abs(error - after[a])));
  let name = excess(after) <= excess(before) ? "narrows" : "widens";
  if (difference(gap(after), after) === "0") name = "closes";
  if (stops.weights[state.weight] === 0) name = "unweighted";
  if (excess(after) === Infinity) name = "spares";
  if (first && stops.weights[state.weight] !== 0) {
    name = gap(last) <= gap(first) ? "narrows above" : "widens above";
    if (difference(gap(last), after) === "0") name = "closes above";
  }
  if (apart <= rules.same * Math.max(...before)) name = "same";
  const told = fill(templates[name], {
    method: data.method,
    reference: templates[data.notions[state.notion].reference === "own" ? "each own" : "each given"],
    before: first ? difference(gap(first), before) : percent(excess(before)),
    after: last && difference(gap(last), after),
    worst: data.names[after.indexOf(Math.max(...after))],
    best: data.names[after.indexOf(Math.min(...after))],
    gap: percent(excess(after)),
    price: fill(templates.price, { share: cost(page, point) }),
  });
  const turns = point === page.chosen && page.k === data.setting.n_components
    && page.verdict?.change === "widened" && ["closes", "narrows"].includes(name);
  const whole = turns ? `${told} ${templates["favours the fit"]}` : told;
  return first ? `${whole} ${compared(page, before, after)}` : whole;
}

/** How much of the variance is kept. */
function variance(page, point) {
  if (page.pca.hidden || point.hidden) return "";
  const [before, after] = [page.pca, point]
    .map(({ errors }) => `${(100 * (1 - total(errors) / data.data.variance)).toFixed(1)} %`);
  return fill(templates[before === after ? "kept alike" : "kept"], { before, after, method: data.method });
}

/** How an error changes, in per cent and with its sign. */
function changed(before, after) {
  const share = before > 0 ? after / before - 1 : after > 0 ? Infinity : 0;
  const size = Math.abs(share);
  if (size < rules.same) return "0 %";
  const text = 100 * size < rules.small ? `${(100 * size).toPrecision(1)} %` : percent(size);
  return `${share > 0 ? "+" : "-"}${text}`;
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
  const more = shown.length < before.length ? ` and ${before.length - shown.length} more` : "";
  let name = "some pay";
  if (before.every((error, a) => after[a] >= error - same)) name = "no one gains";
  if (before.every((error, a) => after[a] > error + same)) name = "everyone pays";
  const alike = excess(after) < rules.same;
  const [worst, other] = [served(before), served(after)];
  const still = worst === other ? "worst served still" : "worst served";
  return `${fill(templates[alike ? "all served alike" : still], {
    worst, before: number(Math.max(...before)),
    other, after: number(Math.max(...after)), method: data.method,
  })} ${fill(templates[name], { changes: changes.join(", ") + more })}`;
}

/** Whether another projection is known that serves every group better. */
const isDominated = (page, point) => point.dominated ?? page.own_points.some((best) =>
  best.every((error, a) => error < (1 - rules.small / 100) * point.errors[a]));

/** By how much another projection serves every group better, as far as the page's curve says. */
function betterHere(page, point) {
  const gain = (best) => Math.min(...best.map((error, a) => 1 - error / point.errors[a]));
  const most = two ? Math.max(...along(page.curve).map(gain)) - page.curve.accuracy : 0;
  // Rounded down: at least this much.
  const share = Math.floor(1000 * most) / 10;
  return share > 0 ? fill(templates.dominated, { share: `${share.toFixed(1)} %` })
    : templates["dominated here"];
}

/** Who pays for the chosen projection, and whether another one serves every group better. */
function payers(page, point) {
  if (page.pca.hidden || point.hidden) return "";
  const dominated = isDominated(page, point);
  const told = [whoPays(page, point), point.better ?? (dominated ? betterHere(page, point) : "")];
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
    clipping: data.clipping,
  });
}
