"use strict";
(() => {
  const parsed = (id) => JSON.parse(document.getElementById(id).textContent);
  const said = document.getElementById("said");
  const say = (words) => { said.textContent = ""; setTimeout(() => { said.textContent = words; }, 50); };

  // Figures. Their colours are the page's variables, so that no theme needs them drawn again.
  const specs = parsed("specs"), config = parsed("config");
  const drawings = [...document.querySelectorAll("[data-spec]")].map((place) =>
    vegaEmbed(place, specs[place.dataset.spec], { mode: "vega-lite", actions: false, renderer: "svg", config, defaultStyle: false })
      .catch((error) => { place.textContent = `This figure could not be drawn: ${error.message}`; throw error; }));
  Promise.all(drawings).then(() => { document.documentElement.dataset.drawn = String(drawings.length); });

  // Light and dark.
  const root = document.documentElement, button = document.getElementById("theme");
  const dark = () => root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  const pressed = () => button.setAttribute("aria-pressed", String(dark()));
  button.addEventListener("click", () => {
    root.dataset.theme = dark() ? "light" : "dark";
    try { localStorage.setItem("radii-theme", root.dataset.theme); } catch (error) { /* not remembered */ }
    pressed();
  });
  pressed();

  // Search: rows that hold every word stay.
  for (const input of document.querySelectorAll("[data-filter]")) {
    const table = document.getElementById(input.dataset.filter);
    const rows = [...table.querySelectorAll("[data-row]")].map((row) => [row, row.textContent.toLocaleLowerCase()]);
    const count = input.parentElement.querySelector("output");
    input.addEventListener("input", () => {
      const words = input.value.toLocaleLowerCase().split(/\s+/).filter(Boolean);
      let left = 0;
      for (const [row, text] of rows) {
        row.hidden = !words.every((word) => text.includes(word));
        left += row.hidden ? 0 : 1;
      }
      for (const body of table.tBodies) body.hidden = ![...body.querySelectorAll("[data-row]")].some((row) => !row.hidden);
      count.textContent = words.length ? `${left} of ${rows.length}` : "";
    });
  }

  // Copy. The clipboard may be refused to a file; a selection is not.
  const copy = async (text) => {
    try { await navigator.clipboard.writeText(text); return true; } catch (error) {
      const area = Object.assign(document.createElement("textarea"), { value: text });
      document.body.append(area);
      area.select();
      const done = document.execCommand("copy");
      area.remove();
      return done;
    }
  };
  for (const one of document.querySelectorAll("button.copy")) {
    one.addEventListener("click", async () => {
      const done = await copy(one.closest(".code").querySelector("code").textContent);
      one.textContent = done ? "Copied" : "Select it by hand";
      say(one.textContent);
      setTimeout(() => { one.textContent = "Copy"; }, 2000);
    });
  }

  // One engine at a time.
  const engine = document.getElementById("engine");
  if (engine) {
    const show = () => { for (const one of document.querySelectorAll(".engine")) one.hidden = one.id !== engine.value; };
    engine.addEventListener("change", show);
    show();
  }

  // Paper shows what is folded.
  let opened = [];
  addEventListener("beforeprint", () => {
    for (const one of document.querySelectorAll("details:not([open])")) {
      opened.push(one);
      one.open = true;
    }
  });
  addEventListener("afterprint", () => {
    for (const one of opened) one.open = false;
    opened = [];
  });
})();
