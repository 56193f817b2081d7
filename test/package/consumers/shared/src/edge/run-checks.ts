import 'reflect-metadata';
import { CHECKS } from './checks.js';
import { startEdgeApp } from './edge-app.js';

/** Runs the checks in plain Node, without Jest's loader, and prints the names of passed checks. */
async function main(): Promise<void> {
  const { app, url } = await startEdgeApp();
  for (const check of Object.values(CHECKS)) await check(url);
  console.log(JSON.stringify(Object.keys(CHECKS)));
  await app.close();
}

void main();
