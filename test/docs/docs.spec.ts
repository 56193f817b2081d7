/**
 * The documents say what the code does: snippets compile, links lead somewhere, and tables are
 * complete.
 */
import { describe, expect, it } from '@jest/globals';
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { LEASE_DEFAULTS } from '../../lib/lease/lease-options.js';
import { globSync, linksOf, read, snippetFaults, snippetsOf } from './snippets.js';

const markdown = [...globSync('docs', '.md'), 'README.md', 'README.zh-CN.md', 'CONTRIBUTING.md'];
const sources = globSync('lib', '.ts');

describe('the documents', () => {
  it('have snippets that compile', () => {
    const snippets = [...markdown, ...sources].flatMap((path) => snippetsOf(path, read(path)));
    expect(snippets.length).toBeGreaterThan(20);
    expect(snippetFaults(snippets)).toEqual([]);
  }, 60_000);

  it('would be caught with a snippet that does not compile', () => {
    const broken = "```ts\nimport { IdMaker } from 'nestjs-snowflake';\nIdMaker.next();\n```\n";
    const [fault] = snippetFaults(snippetsOf('docs/x.md', broken));
    expect(fault).toMatch(/^docs\/x\.md:1: .*'next' does not exist/);
  }, 60_000);

  it('link to what exists', () => {
    const dead = markdown.flatMap((path) =>
      linksOf(read(path))
        .filter((target) => !existsSync(join(dirname(path), target)))
        .map((target) => `${path} -> ${target}`),
    );
    expect(dead).toEqual([]);
  });

  it('name every option with its default', () => {
    const table = read('docs/reference/options.md');
    const options = read('lib/nest/options.ts');
    const own = /const OWN_NAMES[^{]*\{([^}]*)\}/.exec(options)![1]!;
    const names = [...own.matchAll(/(\w+): true/g)].map(([, name]) => name!);
    const lease = Object.keys(LEASE_DEFAULTS).filter((name) => name !== 'ttlMs');
    const documented = [...table.matchAll(/^\| (`[^|]*`) +\|/gm)].flatMap(([, cell]) =>
      cell!.split(', ').map((name) => name.replaceAll('`', '')),
    );
    const redis = membersOf('lib/backends/redis/redis.support.ts', 'RedisSupportOptions');
    const extras = membersOf('lib/nest/snowflake.module.ts', 'SnowflakeModuleExtras');
    const known = [...names, ...lease, ...redis, ...extras];
    expect(documented.toSorted()).toEqual(known.toSorted());
    for (const [name, value] of Object.entries(LEASE_DEFAULTS)) {
      const row = table.split('\n').find((line) => line.startsWith(`| \`${name}\``)) ?? table;
      expect(row).toContain(String(value));
    }
  });

  it('name every error code', () => {
    const codes = [...read('lib/errors.ts').matchAll(/^ {2}\| '([A-Z_]+)'/gm)].map(([, c]) => c!);
    const table = read('docs/reference/errors.md');
    const documented = [...table.matchAll(/^\| `([A-Z_]+)`/gm)].map(([, code]) => code!);
    expect(codes.length).toBeGreaterThan(8);
    expect(documented.toSorted()).toEqual(codes.toSorted());
  });
});

/** The names of an interface's members. */
function membersOf(path: string, name: string): string[] {
  const body = new RegExp(`interface ${name} \\{([^}]*)\\n\\}`).exec(read(path))![1]!;
  return [...body.matchAll(/^ {2}(?:readonly )?(\w+)\??:/gm)].map(([, member]) => member!);
}
