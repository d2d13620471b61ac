// What makes pages nicer where scripts run. Nothing depends on it.
(() => {
  "use strict";
  document.documentElement.classList.add("js");

  // The same words as ago and took in words.go.
  const unit = (s) => {
    if (s < 60) return Math.floor(s) + " s";
    if (s < 3600) return Math.floor(s / 60) + " min";
    if (s < 172800) return Math.floor(s / 3600) + " h";
    return Math.floor(s / 86400) + " days";
  };
  const ago = (s) => (s < -60 ? "in " + unit(s < -172800 ? 43200 - s : -s) : s < 5 ? "just now" : unit(s) + " ago");
  const took = (s) => {
    if (s < 60) return Math.max(0, s).toFixed(1) + " s";
    if (s < 3600) return Math.floor(s / 60) + " min " + (Math.floor(s) % 60) + " s";
    return Math.floor(s / 3600) + " h " + (Math.floor(s / 60) % 60) + " min";
  };
  const write = (e, text) => {
    if (e.textContent !== text) e.textContent = text;
  };
  const tick = () => {
    if (document.hidden) return;
    const now = Date.now();
    for (const e of document.querySelectorAll("time[data-ago]")) write(e, ago((now - Date.parse(e.dateTime)) / 1000));
    for (const e of document.querySelectorAll("time[data-since]")) write(e, took((now - Date.parse(e.dateTime)) / 1000));
  };
  setInterval(tick, 1000);
  document.addEventListener("visibilitychange", tick);

  // A form that was sent is not sent again by a second click.
  document.addEventListener("submit", (e) => {
    const form = e.target;
    if (form.method !== "post") return;
    if (form.dataset.sent) e.preventDefault();
    form.dataset.sent = "1";
  });
  window.addEventListener("pageshow", () => {
    for (const f of document.querySelectorAll("form[data-sent]")) delete f.dataset.sent;
  });

  // A menu closes when one clicks beside it, and by Escape.
  const menus = () => document.querySelectorAll("details.menu-pop[open]");
  document.addEventListener("click", (e) => {
    for (const m of menus()) if (!m.contains(e.target)) m.open = false;
    const copy = e.target.closest("[data-copy]");
    if (!copy) return;
    const from = document.getElementById(copy.dataset.copy);
    navigator.clipboard.writeText(from.textContent.trim()).then(
      () => write(copy, "Copied"),
      () => getSelection().selectAllChildren(from),
    );
  });
  document.addEventListener("keydown", (e) => {
    if (e.key !== "Escape") return;
    for (const m of menus()) {
      m.open = false;
      m.querySelector("summary").focus();
    }
  });

  // Say so while the page cannot hear what changes.
  const offline = (yes) => {
    const e = document.getElementById("offline");
    if (e) e.hidden = !yes;
  };
  document.addEventListener("htmx:sse:error", (e) => {
    if (e.detail?.status === 401) location.reload(); // the session has ended: the sign-in comes
    else offline(true);
  });
  document.addEventListener("htmx:sse:after:connection", () => offline(false));
  // What failed comes first to those who do not see the page.
  document.addEventListener("DOMContentLoaded", () => document.getElementById("problem")?.focus());
})();
