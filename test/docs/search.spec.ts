/** The search of the built site finds the right page, queried as the search box queries it. */
import { readdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { SEARCH_OPTIONS, wordsOf } from '../../site/.vitepress/search.mjs';
import { builtSite, readPages } from '../site/browsed-site.js';

type Query = readonly [typed: string, ...pages: string[]];

/** Typical queries, each with the pages that are right for it. */
const ENGLISH: readonly Query[] = [
  ['install', 'start'],
  ['getting started', 'start'],
  ['first id', 'start'],
  ['cannot find module schedule', 'start'],
  ['ERR_REQUIRE_ESM', 'start'],
  ['typeorm entity', 'guides/typeorm'],
  ['primary key', 'guides/typeorm', 'guides/databases'],
  ['prisma', 'guides/prisma'],
  ['drizzle', 'guides/drizzle'],
  ['mongoose', 'guides/databases'],
  ['mikro-orm', 'guides/databases', 'guides/recipes'],
  ['seed script', 'guides/scripts'],
  ['pagination cursor', 'guides/partitions'],
  ['uuid or snowflake', 'concepts/choosing'],
  ['switch from uuid', 'guides/moving'],
  ['migrate auto increment', 'guides/moving'],
  ['change layout', 'guides/moving-a-fleet', 'guides/moving'],
  ['move to another redis', 'guides/moving-a-fleet'],
  ['cron once', 'guides/one-cron-job'],
  ['run job once', 'guides/one-cron-job'],
  ['mutex', 'guides/locks'],
  ['distributed lock', 'guides/locks'],
  ['leader election', 'guides/locks'],
  ['semaphore', 'guides/locks', 'concepts/comparison'],
  ['redlock alternative', 'concepts/comparison'],
  ['idempotency', 'guides/one-cron-job', 'guides/locks'],
  ['invoice number', 'guides/order-numbers'],
  ['gapless sequence', 'guides/order-numbers'],
  ['bigint json precision', 'guides/ids-in-json'],
  ['swagger', 'guides/ids-in-json'],
  ['hide ids from users', 'guides/public-ids'],
  ['redis down', 'operating/runbooks'],
  ['outage', 'operating/runbooks'],
  ['duplicate', 'operating/runbooks'],
  ['troubleshooting', 'operating/runbooks'],
  ['worker id conflict', 'operating/runbooks', 'guides/host'],
  ['no worker id free', 'operating/runbooks'],
  ['LEASE_LOST', 'operating/runbooks', 'reference/errors'],
  ['k8s', 'operating/kubernetes'],
  ['helm', 'operating/kubernetes'],
  ['graceful shutdown', 'operating/kubernetes', 'guides/threads'],
  ['serverless', 'operating/other-platforms'],
  ['docker compose', 'operating/other-platforms'],
  ['elasticache', 'operating/managed-redis'],
  ['sentinel', 'guides/redis'],
  ['connection pool', 'guides/sql'],
  ['prometheus metrics', 'operating/monitoring'],
  ['alert', 'operating/monitoring'],
  ['upgrade', 'operating/upgrading'],
  ['latency', 'operating/performance'],
  ['overhead', 'operating/performance'],
  ['throughput', 'operating/performance'],
  ['cost', 'operating/performance', 'guides/which-store'],
  ['limits', 'reference/limits'],
  ['ids per second', 'reference/limits', 'concepts/layout'],
  ['failback', 'concepts/failback'],
  ['split-brain', 'concepts/guarantees'],
  ['clock drift', 'concepts/clock'],
  ['machine id', 'guides/host', 'concepts/lease'],
  ['timestamp from id', 'start', 'concepts/layout', 'operating/command-line'],
  ['graphql scalar', 'guides/ids-in-json'],
  ['security', 'concepts/security'],
  ['license', 'operating/upgrading'],
  ['test mock', 'guides/testing'],
  ['NO_WORKER_FREE', 'reference/errors', 'operating/runbooks'],
  ['leaseTtlMs', 'reference/options'],
];

const CHINESE: readonly Query[] = [
  ['时钟回拨', 'zh/concepts/clock'],
  ['号段', 'zh/guides/segments'],
  ['安装', 'zh/start'],
  ['哨兵', 'zh/guides/redis'],
  ['性能', 'zh/operating/performance'],
  ['雪花算法', 'zh/concepts/choosing'],
  ['趋势递增', 'zh/concepts/choosing'],
  ['机器号', 'zh/concepts/lease', 'zh/guides/host'],
  ['前端精度丢失', 'zh/guides/ids-in-json'],
  ['主从切换', 'zh/guides/redis'],
  ['分布式 ID', 'zh/concepts/choosing'],
];

interface Index {
  search(typed: string, options: object): { readonly id: string }[];
}

let folder: string;
const indexes: Record<string, Index> = {};
beforeAll(async () => {
  folder = await builtSite();
  for (const language of ['root', 'zh']) indexes[language] = await indexOf(language);
});

/** The search index of one language, as the build writes it. */
async function indexOf(language: string): Promise<Index> {
  const chunks = join(folder, 'assets/chunks');
  const name = readdirSync(chunks).find((one) => one.startsWith(`@localSearchIndex${language}.`))!;
  const index = (await import(pathToFileURL(join(chunks, name)).href)) as { default: string };
  const MiniSearch = createRequire(join(process.cwd(), 'site/package.json'))('minisearch') as {
    loadJSON(text: string, options: object): Index;
  };
  const fields = ['title', 'titles', 'text'];
  return MiniSearch.loadJSON(index.default, { fields, storeFields: fields, tokenize: wordsOf });
}

/** The rank of the first right page from 0; Infinity without one. */
function rankOf([typed, ...pages]: Query): number {
  const language = pages[0]!.startsWith('zh/') ? 'zh' : 'root';
  const found = indexes[language]!.search(typed, SEARCH_OPTIONS).map(({ id }) => id.split('#')[0]);
  const rank = found.findIndex((page) => pages.some((wanted) => page === `/${wanted}.html`));
  return rank === -1 ? Infinity : rank;
}

describe('the documentation search', () => {
  it.each([...ENGLISH, ...CHINESE])('finds %s in the first four results', (...query) => {
    expect(rankOf(query)).toBeLessThan(4);
  });

  it('ranks the right page first for nine of ten queries', () => {
    const later = ENGLISH.filter((query) => rankOf(query) > 0).map(([typed]) => typed);
    expect(later.length).toBeLessThanOrEqual(ENGLISH.length / 10);
  });

  it('finds a row of the reference', () => {
    const [first] = indexes['root']!.search('leaseTtlMs', SEARCH_OPTIONS);
    expect(first!.id).toBe('/reference/options.html#leasettlms');
    const pages = readPages(folder);
    expect(pages.get('reference/options.html')!.ids).toContain('leasettlms');
    expect(pages.get('reference/errors.html')!.ids).toContain('lease_lost');
  });
});
