/**
 * Formats numbers, times and holders in the same way everywhere on the page, in two languages.
 * Durations are short enough for a table.
 */
import type { HolderView } from '../answers.js';

const NUMBER = new Intl.NumberFormat('en-US', { maximumFractionDigits: 1 });
const LOCAL = new Intl.DateTimeFormat('en-GB', {
  dateStyle: 'medium',
  timeStyle: 'long',
});

const SECOND_MS = 1000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
export const YEAR_MS = 365.25 * DAY_MS;

/** The largest first: the unit, its letter, and the smaller unit shown after it. */
const UNITS = [
  [YEAR_MS, 'y', DAY_MS, 'd'],
  [DAY_MS, 'd', HOUR_MS, 'h'],
  [HOUR_MS, 'h', MINUTE_MS, 'min'],
  [MINUTE_MS, 'min', SECOND_MS, 's'],
] as const;

export function numberText(number: number): string {
  return NUMBER.format(number);
}

/** Writes `2 h 5 min`, `48 s`, `350 ms`. */
export function spanText(ms: number): string {
  if (ms < 0) return `-${spanText(-ms)}`;
  const units = UNITS.find(([unitMs]) => ms >= unitMs);
  if (units === undefined) {
    return ms < SECOND_MS ? `${Math.round(ms)} ms` : `${Math.floor(ms / SECOND_MS)} s`;
  }
  const [unitMs, unit, restMs, rest] = units;
  const whole = Math.floor(ms / unitMs);
  const left = Math.floor((ms - whole * unitMs) / restMs);
  return left === 0 ? `${whole} ${unit}` : `${whole} ${unit} ${left} ${rest}`;
}

/** Writes how long ago, or how far ahead. */
export function agoText(ms: number): string {
  return ms >= 0 ? said('{} ago', spanText(ms)) : said('in {}', spanText(-ms));
}

export function utcText(ms: number): string {
  return new Date(ms).toISOString().replace('T', ' ').replace('Z', ' UTC');
}

/** Writes a time in the time zone of the browser. */
export function localText(ms: number): string {
  return LOCAL.format(ms);
}

export function timeText(date: Date): string {
  return date.toLocaleTimeString('en-GB');
}

export function dayText(ms: number): string {
  return new Date(ms).toISOString().split('T')[0]!;
}

/** A count with its noun: `1 wait`, `2 waits`. In Chinese, the template has the noun. */
export function countText(count: number, one: string): string {
  const text = numberText(count);
  return IS_CHINESE ? text : `${text} ${one}${count === 1 ? '' : 's'}`;
}

/** Names a holder of a worker ID. */
export function holderText({ application, host, pid }: HolderView): string {
  return application === ''
    ? said('{}, pid {}', host, pid)
    : said('{} on {}, pid {}', application, host, pid);
}

/*
 * The texts of the page in English or Chinese, by the language of the browser. States, other names
 * from the code, and the messages of the library are the same in both.
 *
 * Guarantee: a text without a Chinese translation does not compile.
 */

const CHINESE = {
  'Skip to the worker ids': '跳到 worker id',
  generator: '生成器',
  'Loading …': '正在加载……',
  'Open the runbook': '查看应急手册',
  'This process': '本进程',
  'Since this page was opened': '自本页打开以来',
  'The fleet: who holds which worker id': '全体进程：谁持有哪个 worker id',
  find: '查找',
  'worker id, application, host, pid or state': 'worker id、应用、主机、pid 或状态',
  Locks: '锁',
  'Cron jobs': '定时任务',
  'Read an id': '解读 id',
  id: 'id',
  'written as': '书写形式',
  Layout: '布局',
  'bit {}': '第 {} 位',
  'bits {} to {}': '第 {} 至 {} 位',
  'bit {}, {}': '第 {} 位，{}',
  unused: '未使用',
  '{} since the epoch: {}, here {}': '{}，自起始时间算起：{}，本地时间 {}',
  'is its number in the tick': '是它在这个 tick 中的序列号',
  'was given in the call that generated the id': '由生成 id 的那次调用给出',
  'is the worker id': '就是 worker id',
  'is part of the worker id {}': '是 worker id {} 的一部分',
  'Worker id {} has no known holder now.': 'Worker id {} 目前没有已知的持有者。',
  'Worker id {} is now held by {}.': 'Worker id {} 目前由 {} 持有。',
  'Worker id {} is now held by {} (for {}).': 'Worker id {} 目前由 {} 持有（已 {}）。',
  'Other text forms': '其他文本形式',
  '{} on {}, pid {}': '{}（主机 {}，pid {}）',
  '{}, pid {}': '{}，pid {}',
  '{} to {}: {} % is used, {} years are left.': '{} 至 {}：已用 {} %，还剩 {} 年。',
  'It ran out on {}: no id can be made.': '已于 {} 用尽：不能再生成 id。',
  fingerprint: '指纹',
  'one tick': '一个 tick',
  'worker ids': 'worker id',
  '{} to {}': '{} 至 {}',
  'ids per second and worker': '每个 worker 每秒的 id',
  'this application may lease': '本应用可租用',
  '{} free': '{} 空闲',
  'others: unknown': '其他：未知',
  unknown: '未知',
  processes: '进程',
  applications: '应用',
  'versions of the library': '库版本',
  'worker ids in use': '已用的 worker id',
  '{} of {}': '{} / {}',
  'longest held': '持有最久',
  newest: '最新',
  'first to end': '最先结束',
  '{} This list is from {}.': '{} 此列表取自 {}。',
  'Who holds which lock': '谁持有哪把锁',
  lock: '锁',
  state: '状态',
  '{}, this process': '{}，本进程',
  by: '持有者',
  token: '令牌',
  since: '自',
  'free in': '距释放',
  'No lock is held.': '没有锁被持有。',
  'kept in': '存于',
  'held here': '本进程持有',
  'waited for here': '本进程等待',
  got: '已得到',
  refused: '被拒绝',
  'store away': '存储不可用',
  lost: '已丢失',
  'Which job ran when': '哪个任务何时运行',
  job: '任务',
  schedule: '时间表',
  'last run for': '最近一次运行属于',
  'none yet': '尚无',
  began: '开始',
  ended: '结束',
  next: '下一次',
  ' in {}': '，用时 {}',
  ', {} before left out': '，此前跳过 {} 次',
  ', {} late': '，迟到 {}',
  'generates ids': '正在生成 id',
  'still generates ids': '仍在生成 id',
  'generates no ids': '不能生成 id',
  now: '现在',
  'last answer at {}, {}': '上次应答 {}，{}',
  'no answer': '没有应答',
  'no recent answer': '近来没有应答',
  'no lease': '没有租约',
  'no end': '永久',
  'worker id': 'worker id',
  none: '无',
  'lease left': '租约剩余',
  'worker id from': 'worker id 来自',
  'lasts without the store': '没有存储还能维持',
  registry: '注册表',
  renewals: '续租',
  renewed: '上次续租',
  'store answers': '存储应答',
  taken: '上次取得',
  buffered: '缓冲',
  'requested per call': '每次请求',
  'ids from': 'id 来自',
  ', usable for {}': '，可用 {}',
  ', {} at the current rate': '，以目前速率可用 {}',
  'typical answer time': '通常应答用时',
  '{} ids: {} at this rate': '{} 个 id：以此速率可用 {}',
  '{} ids': '{} 个 id',
  'ended {}': '结束于 {}',
  'ids per second': '每秒 id 数',
  'ids made': '已生成 id',
  'calls that got no id': '未得到 id 的调用',
  'waits for the clock': '等待时钟',
  'ahead of the clock': '超前于时钟',
  'clock set back': '时钟回拨',
  "store's clock minus ours": '存储时钟减本机时钟',
  '{} ago': '{}前',
  'in {}': '{}后',
  '{}: free': '{}：空闲',
  '{}: not for this application': '{}：不供本应用使用',
  application: '应用',
  host: '主机',
  version: '版本',
  age: '持有时长',
  'time to ceiling': '距上限',
  'No worker id matches.': '没有匹配的 worker id。',
  'Who holds which worker id': '谁持有哪个 worker id',
  'You are signed out. Sign in and reload this page.': '你已退出登录。请登录并重新加载本页。',
  'You may no longer see this page ({}). Sign in and reload it.':
    '你已无权查看本页（{}）。请登录并重新加载。',
  'The application answered {}.': '应用应答了 {}。',
  'The application did not answer within {} s.': '应用在 {} s 内没有应答。',
  'The application does not answer.': '应用没有应答。',
  '{}: {} to {}.': '{}：由 {} 变为 {}。',
  '{}: there is a new registry, because the store lost its data or was replaced.':
    '{}：有了新的注册表，因为存储丢失了数据或被替换。',
  ' Worker ids are leased again, and ids run ahead of the clock for a while.':
    'Worker id 会重新租用，id 会在一段时间内超前于时钟。',
  'Worker id {} joined: {}.': 'Worker id {} 加入：{}。',
  'Worker id {} left: {}.': 'Worker id {} 离开：{}。',
  'Worker id {} left: {} gave it back.': 'Worker id {} 离开：{} 已归还。',
  'Worker id {} was lost: {} did not renew its lease in time.':
    'Worker id {} 已丢失：{} 没有及时续租。',
  'Worker id {} came back: {}.': 'Worker id {} 已恢复：{}。',
  'Processes that answer': '应答的进程',
  '{} processes in turn': '{} 个轮流应答的进程',
  'Live from {}.': '实时数据来自 {}。',
  ' The data shown is old.': '所示数据已陈旧。',
  'Processes lease from different registries, so ids may repeat. Compare their `support`.':
    '进程从不同的注册表租用，id 可能重复。请比较它们的 `support`。',
  default: '默认',
};

type English = keyof typeof CHINESE;

export const IS_CHINESE = navigator.language.toLowerCase().startsWith('zh');

/** @param values replace each {} in turn, and are never translated */
export function said(english: English, ...values: readonly (string | number)[]): string {
  let at = 0;
  return (IS_CHINESE ? CHINESE[english] : english).replace(/\{\}/g, () => String(values[at++]));
}
