// @ts-check
'use strict';
// Settings of an application as text: package.json and `.env`, with the lines they have kept.

/** @returns {Record<string, string>} by name, the range for package.json */
function packagesFor(
  /** @type {number} */ nestMajor,
  /** @type {string} */ support,
  /** @type {boolean} */ hasClient,
) {
  const [, client] = CLIENTS.find(([scheme]) => scheme.test(support)) ?? [];
  return {
    '@nestjs/schedule': nestMajor === 11 ? '^6.0.0' : '^12.0.0',
    'nestjs-snowflake': `^${require('../package.json').version}`,
    ...(hasClient ? {} : client),
  };
}

const REDIS = /^(redis|valkey)s?[:+]/i;
const SENTINEL = /^\w+\+sentinel:/i;

/** @type {[scheme: RegExp, client: Record<string, string>][]} */
const CLIENTS = [
  // TypeORM 1.1 refuses 6.
  [REDIS, { ioredis: '^5.4.0' }],
  [/^postgres(ql)?:/i, { pg: '^8.11.0' }],
  [/^(mysql|mariadb):/i, { mysql2: '^3.6.0' }],
  [/^sqlite:/i, { 'better-sqlite3': '^12.0.0' }],
];

/** In the order in which a URL looks for them, with the first major that it can use. */
const REDIS_CLIENTS = /** @type {const} */ ([
  ['ioredis', 0], // its peer range refuses what is too old
  ['redis', 5],
  ['iovalkey', 0],
  ['@valkey/valkey-glide', 2],
]);

/**
 * The client of Redis that an application has and a URL can use.
 * @returns {{ used?: string, tooOld: string[] }} and those of a version that it cannot use
 */
function redisClientOf(
  /** @type {string} */ support,
  /** @type {(name: string) => number | undefined} */ majorOf,
) {
  if (!REDIS.test(support)) return { tooOld: [] };
  const there = REDIS_CLIENTS.filter(([name]) => majorOf(name) !== undefined);
  const isOld = (/** @type {typeof there[number]} */ [name, first]) =>
    Number(majorOf(name)) < first;
  const fit = there.filter((one) => !isOld(one)).map(([name]) => name);
  // GLIDE knows no Sentinel.
  const used = fit.find((name) => !(SENTINEL.test(support) && name.startsWith('@valkey')));
  return { used, tooOld: there.filter(isOld).map(([name]) => `${name} ${majorOf(name)}`) };
}

/** Where a registry is a table, which nothing creates by itself. */
function isDatabase(/** @type {string} */ support) {
  return /^(postgres(ql)?|mysql|mariadb|sqlite):/i.test(support);
}

/** The text of package.json with these dependencies, where it has none of that name. */
function withPackages(
  /** @type {string} */ text,
  /** @type {Readonly<Record<string, string>>} */ packages,
) {
  return withManifest(text, (manifest) => {
    const missing = Object.entries(packages).filter(([name]) => !has(manifest, name));
    const all = { ...manifest.dependencies, ...Object.fromEntries(missing) };
    // As npm sorts them.
    const sorted = Object.entries(all).toSorted(([a], [b]) => a.localeCompare(b, 'en'));
    return missing.length === 0
      ? manifest
      : { ...manifest, dependencies: Object.fromEntries(sorted) };
  });
}

/** The text of package.json in which `nest start` reads `.env`, unless the application does. */
function withEnvFile(/** @type {string} */ text) {
  return withManifest(text, (manifest) => {
    const isRead = has(manifest, '@nestjs/config') || has(manifest, 'dotenv');
    if (isRead || text.includes('--env-file')) return manifest;
    const scripts = Object.entries(manifest.scripts ?? {}).map(([name, command]) => [
      name,
      String(command).replace(/^nest start\b/, 'nest start --env-file .env'),
    ]);
    return { ...manifest, ...(manifest.scripts && { scripts: Object.fromEntries(scripts) }) };
  });
}

function has(/** @type {Record<string, any>} */ manifest, /** @type {string} */ name) {
  const { dependencies, devDependencies, peerDependencies } = manifest;
  return [dependencies, devDependencies, peerDependencies].some((all) => all && name in all);
}

/** Indentation, line ends and the last line as they were; unchanged if nothing changed. */
function withManifest(
  /** @type {string} */ text,
  /** @type {(manifest: Record<string, any>) => object} */ change,
) {
  const manifest = JSON.parse(text);
  const changed = change(manifest);
  if (JSON.stringify(changed) === JSON.stringify(manifest)) return text;
  const indent = /^([ \t]+)"/m.exec(text)?.[1] ?? '  ';
  const eol = text.includes('\r\n') ? '\r\n' : '\n';
  const end = /\s*$/.exec(text)?.[0] ?? '';
  return JSON.stringify(changed, null, indent).replaceAll('\n', eol) + end;
}

/** The text of an `.env` with the variable in it, where it has none of that name. */
function withVariable(
  /** @type {string} */ text,
  /** @type {string} */ name,
  /** @type {string} */ value,
) {
  if (variableIn(text, name) !== undefined) return text;
  const eol = text.includes('\r\n') ? '\r\n' : '\n';
  const between = text === '' || text.endsWith('\n') ? '' : eol;
  // A `#` outside quotes starts a comment; nothing is escaped within them.
  const quote = value.includes("'") ? '"' : "'";
  const written = /[\s#"'`]/.test(value) ? quote + value + quote : value;
  return `${text}${between}${name}=${written}${eol}`;
}

/** @returns {string | undefined} */
function variableIn(/** @type {string | undefined} */ text, /** @type {string} */ name) {
  const line = new RegExp(`^[ \\t]*(?:export[ \\t]+)?${name}[ \\t]*=[ \\t]*["']?(.*)$`, 'm');
  return line.exec(text ?? '')?.[1];
}

module.exports = {
  isDatabase,
  packagesFor,
  redisClientOf,
  variableIn,
  withEnvFile,
  withPackages,
  withVariable,
};
