// What people say for the matter of a page, in words that it does not have at its head. The search
// finds it by them: test/site/search.spec.ts.

/** @type {Readonly<Record<string, string>>} by the path of a page */
export const SAID = {
  'start.md': 'getting started, quick start',
  'concepts/choosing.md': 'compared with uuid, nanoid, ulid, objectid',
  'concepts/layout.md': 'how many ids per second',
  'guides/testing.md': 'test mock, fake, stub',
  'zh/start.md': '安装、快速开始',
  'zh/concepts/choosing.md': '分布式 ID、雪花算法、趋势递增',
  'zh/concepts/lease.md': '机器号',
  'zh/guides/ids-in-json.md': '前端精度丢失',
  'zh/guides/redis.md': '哨兵、主从切换',
  'zh/internals/performance.md': '性能',
};
