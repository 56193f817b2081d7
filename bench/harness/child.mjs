// One measurement: prints what the `measure` of a file says about a case, as one line of JSON.
// Usage: node bench/harness/child.mjs <url of the file> <case as JSON> <round>
const [file, chosen, round] = process.argv.slice(2);
const { measure } = await import(file);
const measurement = await measure(JSON.parse(chosen), { round: Number(round) });
process.stdout.write(`${JSON.stringify(measurement)}\n`);
