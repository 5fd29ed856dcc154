// tables that sort by a click on a head and show one kind of rows
for (const box of document.querySelectorAll(".race")) {
  const table = box.querySelector("table"), body = table.tBodies[0], heads = [...table.tHead.rows[0].cells];
  const value = (row, i) => {
    const text = row.cells[i].dataset.value, number = Number(text);
    return text !== "" && Number.isFinite(number) ? number : text.toLowerCase();
  };
  const sort = (i, down) => {
    const rows = [...body.rows].sort((a, b) => {
      const x = value(a, i), y = value(b, i);
      return (x < y ? -1 : x > y ? 1 : 0) * (down ? -1 : 1);
    });
    rows.forEach((row) => body.append(row));
    heads.forEach((head, j) => head.setAttribute("aria-sort", j !== i ? "none" : down ? "descending" : "ascending"));
    if (order) order.value = String(i);
  };
  const order = box.querySelector("select.order");
  heads.forEach((head, i) => head.querySelector("button").addEventListener("click", () => sort(i, head.getAttribute("aria-sort") === "ascending")));
  order.addEventListener("change", () => sort(Number(order.value), false));
  const kind = box.querySelector("select.kind"), said = box.querySelector("output");
  kind.addEventListener("change", () => {
    let count = 0;
    for (const row of body.rows) {
      row.hidden = kind.value !== "" && row.dataset.kind !== kind.value;
      count += row.hidden ? 0 : 1;
    }
    said.textContent = `${count} of ${body.rows.length}`;
  });
  box.querySelector(".tools").hidden = false; // of no use without this script
}
