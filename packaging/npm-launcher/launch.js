"use strict";
// Runs a program of the platform's package with our arguments, input and output, and ends as it ends.
const { spawn } = require("node:child_process");
const path = require("node:path");

function find(program) {
  const platform = `rubberband-cli-${process.platform}-${process.arch}`;
  try {
    return path.join(path.dirname(require.resolve(`${platform}/package.json`)), "bin", program);
  } catch {
    console.error(`${program}: the package ${platform} is not installed. Either there is none for this platform (docs/install.md has other ` +
      "ways), or npm left optional dependencies out: install again without --omit=optional.");
    process.exit(1);
  }
}

module.exports = function launch(program) {
  const child = spawn(find(program), process.argv.slice(2), { stdio: "inherit" });
  // A terminal sends these two to the program itself; we wait for it. Others are for us alone, so we pass them on.
  for (const signal of ["SIGINT", "SIGQUIT"]) process.on(signal, () => {});
  for (const signal of ["SIGTERM", "SIGHUP", "SIGUSR1", "SIGUSR2"]) process.on(signal, () => child.kill(signal));
  child.on("error", (error) => {
    console.error(`${program}: cannot be started: ${error.message}`);
    process.exit(1);
  });
  child.on("exit", (code, signal) => {
    if (!signal) process.exit(code);
    process.removeAllListeners(signal);
    process.kill(process.pid, signal);
  });
};
