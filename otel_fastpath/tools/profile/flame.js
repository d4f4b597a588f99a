"use strict";
(() => {
  const HEIGHT = 20, LEAST = 0.001;
  const box = document.getElementById("flame");
  const detail = document.getElementById("detail");
  const search = document.getElementById("search");
  const matched = document.getElementById("matched");
  const node = ([name, value, telemetry, children], parent) => {
    const made = { name, value, telemetry, parent };
    made.children = children.map((child) => node(child, made));
    return made;
  };
  const root = node(JSON.parse(document.getElementById("data").textContent), null);
  let shown = root;
  const percent = (value) => (root.value ? (100 * value / root.value).toFixed(1) : "0.0") + " %";
  const isMatch = (each) => search.value !== "" && each.name.toLowerCase().includes(search.value.toLowerCase());
  const describe = (each) =>
    each.name + ": " + percent(each.value) + " of the CPU, " + each.value.toFixed(3) + " s" + (each.telemetry ? ", telemetry" : "");
  const zoom = (each) => { shown = each; draw(); };

  function add(each, left, width, row, isOuter) {
    const bar = document.createElement("button");
    bar.type = "button";
    bar.textContent = each.name;
    bar.title = describe(each);
    bar.className = (each.telemetry ? "telemetry" : "rest") + (isOuter ? " outer" : "") + (isMatch(each) ? " match" : "");
    bar.style.left = 100 * left + "%";
    bar.style.width = 100 * width + "%";
    bar.style.top = HEIGHT * row + "px";
    bar.addEventListener("click", () => zoom(each));
    bar.addEventListener("mouseenter", () => { detail.textContent = describe(each); });
    bar.addEventListener("focus", () => { detail.textContent = describe(each); });
    box.append(bar);
  }

  // The time of all matches; what is within another match does not count twice.
  const sum = (each) => (isMatch(each) ? each.value : each.children.reduce((total, child) => total + sum(child), 0));

  function draw() {
    box.textContent = "";
    let deepest = 0;
    const outer = [];
    for (let each = shown.parent; each; each = each.parent) outer.unshift(each);
    outer.forEach((each, row) => add(each, 0, 1, row, true));
    const place = (each, left, width, row) => {
      if (width < LEAST) return;
      deepest = Math.max(deepest, row);
      add(each, left, width, row, false);
      let at = left;
      for (const child of each.children) {
        const part = each.value ? width * child.value / each.value : 0;
        place(child, at, part, row + 1);
        at += part;
      }
    };
    place(shown, 0, 1, outer.length);
    box.style.height = HEIGHT * (deepest + 1) + "px";
    detail.textContent = describe(shown);
    matched.textContent = search.value ? percent(sum(root)) + " of the CPU is in what was found" : "";
  }

  search.addEventListener("input", draw);
  document.getElementById("reset").addEventListener("click", () => { search.value = ""; zoom(root); });
  document.addEventListener("keydown", (event) => { if (event.key === "Escape" && shown.parent) zoom(shown.parent); });
  draw();
})();
