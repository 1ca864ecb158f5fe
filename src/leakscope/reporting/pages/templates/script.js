"use strict";
// Filter and sort the table of sequences. Without this script the page is the same, only still.
(function () {
  const data = document.getElementById("keys");
  if (!data) return;
  const keys = JSON.parse(data.textContent);
  const table = document.getElementById("table");
  const body = table.tBodies[0];
  const field = (id) => document.getElementById(id);
  const rows = Array.from(body.rows, (row, at) => {
    const words = row.querySelector(".words");
    return {
      row, at, keys: keys[at], text: words ? words.textContent : "",
      haystack: words ? row.querySelector(".sequence").textContent.toLowerCase() : "",
    };
  });

  function filter() {
    const find = field("find") ? field("find").value.trim().toLowerCase() : "";
    const least = Number(field("least").value) || 1;
    let shown = 0;
    for (const item of rows) {
      const keep = item.keys.length >= least
        && (!field("unique").checked || item.keys.unique)
        && (!field("uncopied").checked || !item.keys.copied_from_context)
        && (!find || item.haystack.includes(find));
      item.row.hidden = !keep;
      if (keep) shown += 1;
    }
    field("shown").textContent = shown + " of " + rows.length + " rows shown";
  }

  function sort(header) {
    const key = header.dataset.key;
    const before = header.getAttribute("aria-sort");
    const first = header.dataset.first;
    const other = first === "ascending" ? "descending" : "ascending";
    const now = before === first ? other : first;
    for (const each of table.tHead.rows[0].cells) each.removeAttribute("aria-sort");
    header.setAttribute("aria-sort", now);
    const sign = now === "ascending" ? 1 : -1;
    const of = (item) => (key === "text" ? item.text : item.keys[key]);
    rows.sort((a, b) => {
      const x = of(a), y = of(b);
      if (x === null || y === null) return (x === null) - (y === null) || a.at - b.at;
      const order = key === "text" ? x.localeCompare(y) : x - y;
      return sign * order || a.at - b.at;
    });
    body.append(...rows.map((item) => item.row));
  }

  for (const header of table.querySelectorAll("th[data-key]")) {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...header.childNodes);
    header.append(button);
    button.addEventListener("click", () => sort(header));
  }
  const form = field("controls");
  form.addEventListener("input", filter);
  form.addEventListener("submit", (event) => event.preventDefault());
  form.hidden = false;
  filter();
})();
