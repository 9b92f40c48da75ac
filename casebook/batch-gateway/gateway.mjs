// A web service in front of a batch program: each request becomes a row of the program's input,
// and the program's output its answer.
//
//   gateway ──row──> input ──> batch.sh ──answer──> gateway, which then takes the next request
//
// `file` hands rows over through a file that a follower looks at every 50 ms, as services do that
// were told not to trust notification; `fifo` through a FIFO, whose reader blocks until a row is
// there. Usage: node gateway.mjs file|fifo ROWS
import { spawn, execFileSync } from "node:child_process";
import { appendFileSync, mkdtempSync, openSync, rmSync, writeFileSync, writeSync } from "node:fs";
import { createInterface } from "node:readline";

const [way, rows] = [process.argv[2], Number(process.argv[3])];
const folder = mkdtempSync("./gateway.");
process.on("exit", () => rmSync(folder, { recursive: true }));
for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, () => process.exit(1));
const input = `${folder}/input`;

const start = {
  file: () => {
    writeFileSync(input, "");
    const options = ["-n", "+1", "---disable-inotify", "-s", "0.05", "-f", input];
    const follower = spawn("tail", options, { stdio: ["ignore", "pipe", "inherit"] });
    const program = spawn("sh", ["batch.sh"], { stdio: [follower.stdout, "pipe", "inherit"] });
    return { program, put: (row) => appendFileSync(input, row), end: () => follower.kill() };
  },
  fifo: () => {
    execFileSync("mkfifo", [input]);
    const fifo = openSync(input, "r+");
    const program = spawn("sh", ["batch.sh"], { stdio: [fifo, "pipe", "inherit"] });
    return { program, put: (row) => writeSync(fifo, row), end: () => program.kill() };
  },
}[way];
const { program, put, end } = start();
const answers = createInterface({ input: program.stdout })[Symbol.asyncIterator]();
for (let row = 1; row <= rows; row++) {
  put(`request ${row}\n`);
  const answer = (await answers.next()).value;
  if (answer !== `done: request ${row}`) throw new Error(`row ${row}: ${answer}`);
}
end();
console.log(`${rows} rows handed over through a ${way}`);
process.exit(0);
