// Starts the dashboard: the theme before the first paint, then the WebAssembly module that the page names.
// A classic script in a file of its own, because the page's policy allows no inline script.
(() => {
  const { js, wasm } = document.currentScript.dataset;
  try {
    const theme = localStorage.getItem("oncegate-theme");
    if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
  } catch {
    // Storage may be closed to us; the system's theme is fine.
  }
  const ready = new Promise((done) => {
    if (document.readyState !== "loading") done();
    else document.addEventListener("DOMContentLoaded", done, { once: true });
  });
  Promise.all([import(js), ready])
    .then(([dashboard]) => dashboard.default({ module_or_path: wasm }))
    .catch((error) => {
      console.error(error);
      const note = document.createElement("p");
      note.className = "boot";
      note.setAttribute("role", "alert");
      note.textContent = `The dashboard could not start: ${error}. Reload to try again.`;
      document.body.replaceChildren(note);
    });
})();
