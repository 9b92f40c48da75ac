// A program that logs by the level of a variable.
const level = process.env.LOG_LEVEL ?? "warning";
console.log(`logs ${level}`);
