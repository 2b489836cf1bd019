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

  let told = false;
  const tell = (what, error) => {
    if (told) return;
    told = true;
    console.error(error);
    const note = document.createElement("div");
    note.className = "boot";
    note.setAttribute("role", "alert");
    note.dataset.test = "stopped";
    const text = document.createElement("p");
    text.textContent = `${what}: ${error}. What you see may be old.`;
    const reload = document.createElement("button");
    reload.type = "button";
    reload.textContent = "Reload";
    reload.addEventListener("click", () => location.reload());
    note.append(text, reload);
    document.body.prepend(note);
  };

  // A module that trapped draws nothing more: without a word its numbers would look alive.
  const stopped = (error) => {
    if (error instanceof WebAssembly.RuntimeError) tell("The dashboard stopped", error);
  };
  addEventListener("error", (event) => stopped(event.error));
  addEventListener("unhandledrejection", (event) => stopped(event.reason));

  const ready = new Promise((done) => {
    if (document.readyState !== "loading") done();
    else document.addEventListener("DOMContentLoaded", done, { once: true });
  });
  Promise.all([import(js), ready])
    .then(([dashboard]) => dashboard.default({ module_or_path: wasm }))
    .catch((error) => tell("The dashboard could not start", error));
})();
