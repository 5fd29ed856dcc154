const specs = JSON.parse(document.getElementById("charts").textContent);
const dark = window.matchMedia("(prefers-color-scheme: dark)");
const folded = (element) => element.closest("details:not([open])");
const narrow = (part) => { // legends of two columns, wherever the chart says how many
  for (const [name, value] of Object.entries(part ?? {})) {
    if (name === "legend" && value?.columns > 2) value.columns = 2;
    if (typeof value === "object" && name !== "datasets") narrow(value);
  }
};
const draw = async ([id, spec]) => {
  const chosen = structuredClone(spec);
  chosen.config = dark.matches ? chosen.usermeta.dark : chosen.usermeta.light;
  if (window.innerWidth < 640) { // beside the chart a legend would leave it no room
    chosen.config.legend = { ...chosen.config.legend, orient: "bottom", columns: 2 };
    narrow(chosen);
    if (chosen.width > 240) chosen.width = "container";
    if (chosen.hconcat) { chosen.vconcat = chosen.hconcat; delete chosen.hconcat; } // panels below each other
  }
  const result = await vegaEmbed("#" + id, chosen, {
    ast: true, // expressions are interpreted: no text becomes code
    renderer: "svg", actions: { export: true, source: false, compiled: false, editor: false },
    loader: { // pictures are written into the page; nothing else is shown or fetched
      load: () => Promise.reject(new Error("this page loads nothing")),
      sanitize: (uri) => uri.startsWith("data:image/png;") ? Promise.resolve({ href: uri }) : Promise.reject(new Error("this page loads nothing")),
    },
  });
  window.views[id] = result.view;
};
const all = (wanted) => Promise.all(Object.entries(specs).filter(([id]) => wanted(document.getElementById(id), id)).map(draw));
window.views = {};
window.drawn = all((element) => !folded(element)).then(() => { document.documentElement.dataset.drawn = "yes"; });
dark.addEventListener("change", () => all((element, id) => id in window.views));
for (const details of document.querySelectorAll("details")) // what is folded away has no width to be drawn in
  details.addEventListener("toggle", () => all((element, id) => details.contains(element) && !folded(element) && !(id in window.views)));
