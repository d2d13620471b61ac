// Builds what internal/dashboard embeds: the style from app.css, and htmx with its SSE part
// as its makers ship them. The outputs are committed, so `go build` needs no Node; this is
// run when a template uses a new class or a package here is raised.
import { execFileSync } from "node:child_process";
import { copyFileSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const out = join(here, "../../internal/dashboard/asset");
const module = (...p) => join(here, "node_modules", ...p);

execFileSync(module(".bin/tailwindcss"), ["-i", join(here, "app.css"), "-o", join(out, "app.css"), "--minify"], {
  cwd: here,
  stdio: "inherit",
});

// A page under `default-src 'self'` may load no data: address, and asking would only fill
// the browser's console with refusals.
const css = readFileSync(join(out, "app.css"), "utf8").replace(/--fx-noise:url\([^)]*\)(?:[^;}]*)/g, "--fx-noise:none");
const data = css.match(/url\(["']?(?!#)[^)]{0,60}/g);
if (data) throw new Error("app.css asks for addresses that the page may not load: " + data.join(" "));
writeFileSync(join(out, "app.css"), css.trimEnd() + "\n");

// The source maps are not served; their comment would make every browser ask for one.
const script = (from, to) => {
  const s = readFileSync(from, "utf8").replace(/^\/\/# sourceMappingURL=.*$/gm, "");
  writeFileSync(join(out, to), s.trimEnd() + "\n");
};
script(module("htmx.org/dist/htmx.min.js"), "htmx.js");
script(module("htmx.org/dist/ext/hx-sse.min.js"), "htmx-sse.js");
copyFileSync(module("htmx.org/LICENSE"), join(out, "LICENSE-htmx.txt"));
copyFileSync(module("daisyui/LICENSE"), join(out, "LICENSE-daisyui.txt"));
copyFileSync(module("tailwindcss/LICENSE"), join(out, "LICENSE-tailwindcss.txt"));
