"use strict";
(() => {
  const root = document.documentElement;
  const system = window.matchMedia("(prefers-color-scheme: dark)");
  let asked = null; // the reader's choice; null: the system's
  const theme = () => asked ?? (system.matches ? "dark" : "light");

  const figures = JSON.parse(document.getElementById("charts").textContent);
  const places = [...document.querySelectorAll("[data-chart]")];
  const options = {
    displaylogo: false,
    responsive: true,
    modeBarButtons: [["zoom2d", "pan2d", "zoomIn2d", "zoomOut2d", "resetScale2d", "toImage"]],
  };

  // A figure with the colours of the present style; only keys that name a colour are looked at.
  function coloured(value, style, key = "") {
    if (Array.isArray(value)) return value.map((item) => coloured(item, style, key));
    if (value !== null && typeof value === "object") {
      return Object.fromEntries(Object.entries(value).map(([k, v]) => [k, coloured(v, style, k)]));
    }
    const named = /color$/.test(key) && typeof value === "string" && /^var\((--\w+)\)$/.exec(value);
    return named ? style.getPropertyValue(named[1]).trim() : value;
  }

  // On a narrow screen: few ticks, short names, the legend below, and no room for long titles.
  const NARROW = 440;
  function narrow(layout, data) {
    const { xaxis, yaxis } = layout;
    xaxis.title.text = xaxis.title.text.split(", the ")[0];
    if (xaxis.dtick === 1) {
      xaxis.dtick = Math.max(1, Math.ceil((xaxis.range[1] - xaxis.range[0]) / 8));
    }
    xaxis.nticks = 5;
    yaxis.ticktext = yaxis.ticktext?.map((name) =>
      name.length > 20 ? `${name.slice(0, 12)}…${name.slice(-7)}` : name);
    xaxis.tickangle = 0;
    layout.margin = { ...layout.margin, l: 40, r: 8, t: 8 };
    layout.legend = { orientation: "h", x: 0, xref: "container", y: 0, yref: "container" };
    layout.font = { ...layout.font, size: 12 };
    const shown = data.filter((trace) => trace.showlegend !== false).length;
    if (layout.showlegend) {
      layout.height += 22 * shown;
      layout.margin.b += 22 * shown;
    }
  }

  function draw(name, page = null) {
    root.dataset.theme = name;
    const style = getComputedStyle(root);
    for (const place of places) {
      const { data, layout } = coloured(figures[place.dataset.chart], style);
      const half = place.parentElement.classList.contains("half");
      layout.height ??= half ? 330 : 400;
      if (!page && place.clientWidth < NARROW) narrow(layout, data);
      if (page) {
        layout.width = half ? page / 2 - 10 : page;
        layout.height = Math.min(layout.height, half ? 270 : 640);
      }
      const bar = !page && place.clientWidth >= NARROW;
      Plotly.react(place, data, { ...layout, autosize: !page }, { ...options, displayModeBar: bar });
    }
  }

  draw(theme());
  document.getElementById("theme").addEventListener("click", () => {
    asked = theme() === "dark" ? "light" : "dark";
    draw(asked);
  });
  let printing = false; // a printer may change the colour scheme by itself
  system.addEventListener("change", () => printing || draw(theme()));
  window.addEventListener("beforeprint", () => {
    printing = true;
    draw("light", 680);
  });
  window.addEventListener("afterprint", () => {
    printing = false;
    draw(theme());
  });

  // Tables: numbers sort as numbers, the largest first; what is missing goes last.
  function sort(table, column, header) {
    const body = table.tBodies[0];
    const keys = new Map([...body.rows].map((row) => [row, row.cells[column].dataset.sort]));
    const numeric = header.classList.contains("number");
    const before = header.getAttribute("aria-sort");
    const down = before ? before === "ascending" : numeric;
    const compare = numeric
      ? (a, b) => (a === "") - (b === "") || (down ? b - a : a - b)
      : (a, b) => (a === "") - (b === "") || a.localeCompare(b) * (down ? -1 : 1);
    const rows = [...body.rows].sort((a, b) => compare(keys.get(a), keys.get(b)));
    body.append(...rows);
    for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
    header.setAttribute("aria-sort", down ? "descending" : "ascending");
  }

  for (const table of document.querySelectorAll("table.sortable")) {
    [...table.tHead.rows[0].cells].forEach((header, column) => {
      header.querySelector("button").addEventListener("click", () => sort(table, column, header));
    });
  }

  for (const input of document.querySelectorAll("input[data-table]")) {
    const name = input.dataset.table;
    const rows = [...document.getElementById(`table-${name}`).tBodies[0].rows];
    const count = document.querySelector(`[data-count="${name}"]`);
    input.addEventListener("input", () => {
      const wanted = input.value.trim().toLowerCase();
      for (const row of rows) {
        const texts = [row.textContent, ...[...row.cells].map((cell) => cell.title)];
        row.hidden = !texts.join("\n").toLowerCase().includes(wanted);
      }
      const left = rows.filter((row) => !row.hidden).length;
      count.textContent = wanted ? `${left} of ${rows.length} rows` : `${rows.length} rows`;
    });
  }
})();
