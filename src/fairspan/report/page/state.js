// What the page knows, and the positions of its sliders. All scripts of the page share one scope.
// Names come from the data and are only ever set as text.

const read = (id) => JSON.parse(document.getElementById(id).textContent);
const at = (id) => document.getElementById(id);
const data = read("data");
const shares = data.groups.map((group) => group.share);
const sizes = data.groups.map((group) => group.weight);
const labels = data.groups.map((group) => group.label);
const two = labels.length === 2;
const many = labels.length > data.many;
const stops = data.stops;
const places = { weight: stops.weights, radius: stops.radii, components: stops.components };
const state = { notion: 0, weight: 0, radius: 0, components: 0, component: 0, search: "", all: false };
