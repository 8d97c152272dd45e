// Builds the page into dist/: one script, one style sheet, one document, which evenair-web embeds.
import { build } from "esbuild";
import { copyFile, mkdir, rm } from "node:fs/promises";

const here = new URL(".", import.meta.url).pathname;
await rm(`${here}dist`, { recursive: true, force: true });
await mkdir(`${here}dist`);
await build({
  absWorkingDir: here,
  entryPoints: ["src/main.tsx", "src/style.css"],
  bundle: true,
  minify: true,
  format: "esm",
  target: "es2022",
  jsx: "automatic",
  jsxImportSource: "preact",
  outdir: "dist",
});
for (const file of ["index.html", "icon.svg"]) {
  await copyFile(`${here}src/${file}`, `${here}dist/${file}`);
}
