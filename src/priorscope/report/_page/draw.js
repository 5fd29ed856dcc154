const specs = JSON.parse(document.getElementById("charts").textContent);
const dark = window.matchMedia("(prefers-color-scheme: dark)");
const draw = () => Promise.all(Object.entries(specs).map(async ([id, spec]) => {
  const chosen = structuredClone(spec);
  chosen.config = dark.matches ? chosen.usermeta.dark : chosen.usermeta.light;
  if (window.innerWidth < 640) { // beside the chart a legend would leave it no room
    chosen.config.legend = { ...chosen.config.legend, orient: "bottom", columns: 2 };
    if (chosen.width > 240) chosen.width = "container";
    if (chosen.hconcat) { chosen.vconcat = chosen.hconcat; delete chosen.hconcat; } // panels below each other
  }
  const result = await vegaEmbed("#" + id, chosen, {
    ast: true, // expressions are interpreted: no text becomes code
    renderer: "svg", actions: { export: true, source: false, compiled: false, editor: false },
    loader: { load: () => Promise.reject(new Error("this page loads nothing")) },
  });
  window.views[id] = result.view;
}));
window.views = {};
window.drawn = draw().then(() => { document.documentElement.dataset.drawn = "yes"; });
dark.addEventListener("change", draw);
