// Stops the servers that the setup started.
export default async function globalTeardown() {
  await Promise.all((globalThis.snowflakeServers ?? []).map((server) => server.stop()));
}
