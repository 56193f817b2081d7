/**
 * What the playground says, in the languages of the site. Names of code, such as those of fields
 * and presets, and the messages of the library are the same in all.
 *
 * Guarantee: a text that one language lacks is an error of the compiler.
 */

const ENGLISH = {
  copy: {
    copied: 'Copied.',
    refused: 'The browser does not allow it.',
    text: 'Copy',
    link: 'Copy a link to this',
  },
  read: {
    title: 'Read an id',
    id: 'Id',
    form: 'Text form',
    layout: 'Layout',
    own: 'a layout of your own',
    fields: 'Fields',
    epoch: 'Epoch',
    unit: 'ms in a tick',
    fieldLike: (text: string) => `Expected a field to be like worker:10, got "${text}".`,
    fitting: 'Layouts that it can be of by its time, likeliest first:',
    tooLarge: (idMax: bigint) => `It is larger than ${idMax}, the largest id of this layout.`,
    table: 'Fields of the id',
    field: 'field',
    bits: 'bits',
    value: 'value',
    meaning: 'meaning',
    milliseconds: (epoch: string, date: string) => `ms since ${epoch}: ${date}`,
    ticks: (unitMs: number, epoch: string, date: string) =>
      `ticks of ${unitMs} ms since ${epoch}: ${date}`,
    sequence: 'its number within the tick',
    call: 'given in the call that made it',
    workerId: 'the worker id',
    partOfWorkerId: (workerId: number) => `part of worker id ${workerId}`,
    otherForms: 'Other text forms',
  },
  compose: {
    title: 'Compose a layout',
    intro: 'Drag a border between two fields, or focus it and use the arrow keys.',
    bitsOf: (field: string) => `Bits of ${field}`,
    epoch: 'Epoch',
    tick: 'One tick',
    lifetime: 'lifetime',
    years: (count: string) => `${count} years`,
    lastDay: 'last day',
    workerIds: 'worker ids',
    idsOfOne: 'ids per second of one worker',
    idsOfAll: 'ids per second of all',
    longestId: 'longest id',
    digits: (count: number) => `${count} digits`,
    options: 'The options of this layout',
  },
  make: {
    title: 'Make ids',
    layout: 'Layout',
    workerId: 'Worker id',
    count: 'How many',
    make: 'Make',
    made: 'The ids made',
  },
  range: {
    title: 'Ids between two dates',
    intro: 'No index on a date is needed: the primary key is ordered by time.',
    layout: 'Layout',
    from: 'From (UTC)',
    to: 'To (UTC)',
    query: 'The query',
  },
  publicIds: {
    title: 'Public ids',
    intro:
      'What outsiders see shows neither how many there are nor which came first. ' +
      'Make your own key with ',
    introAfterCommand: '; this one is known to everybody.',
    id: 'Id',
    prefix: 'Prefix',
    key: 'Key',
    publicId: 'its public id',
    nextPublicId: 'that of the next id',
  },
};

export type PlaygroundTexts = typeof ENGLISH;

const CHINESE: PlaygroundTexts = {
  copy: {
    copied: '已复制。',
    refused: '浏览器不允许复制。',
    text: '复制',
    link: '复制本结果的链接',
  },
  read: {
    title: '解读 id',
    id: 'id',
    form: '文本形式',
    layout: '布局',
    own: '自定义布局',
    fields: '字段',
    epoch: '起始时间（epoch）',
    unit: '一个 tick 的毫秒数',
    fieldLike: (text) => `字段应写成 worker:10 的形式，而不是“${text}”。`,
    fitting: '按它的时间可能属于的布局，最可能的在前：',
    tooLarge: (idMax) => `它大于 ${idMax}，即这个布局中最大的 id。`,
    table: 'id 的各个字段',
    field: '字段',
    bits: '位数',
    value: '值',
    meaning: '含义',
    milliseconds: (epoch, date) => `自 ${epoch} 起的毫秒数：${date}`,
    ticks: (unitMs, epoch, date) => `自 ${epoch} 起的 tick 数，每个 ${unitMs} ms：${date}`,
    sequence: '这个 tick 中的序列号',
    call: '由生成它的那次调用给出',
    workerId: '就是 worker id',
    partOfWorkerId: (workerId) => `worker id ${workerId} 的一部分`,
    otherForms: '其他文本形式',
  },
  compose: {
    title: '设计布局',
    intro: '拖动两个字段之间的边界，或者让它得到焦点后按方向键。',
    bitsOf: (field) => `${field} 的位数`,
    epoch: '起始时间（epoch）',
    tick: '一个 tick',
    lifetime: '寿命',
    years: (count) => `${count} 年`,
    lastDay: '最后一天',
    workerIds: 'worker id 的个数',
    idsOfOne: '每个 worker 每秒的 id',
    idsOfAll: '全部 worker 每秒的 id',
    longestId: '最长的 id',
    digits: (count) => `${count} 位数字`,
    options: '这个布局的选项',
  },
  make: {
    title: '生成 id',
    layout: '布局',
    workerId: 'worker id',
    count: '个数',
    make: '生成',
    made: '生成的 id',
  },
  range: {
    title: '两个日期之间的 id',
    intro: '不需要日期上的索引：主键本来就按时间排序。',
    layout: '布局',
    from: '从（UTC）',
    to: '到（UTC）',
    query: '查询语句',
  },
  publicIds: {
    title: '公开 id',
    intro: '外部用户看到的文本既不显示有多少个 id，也不显示哪个在先。请用 ',
    introAfterCommand: ' 生成你自己的密钥：这里的密钥人人皆知。',
    id: 'id',
    prefix: '前缀',
    key: '密钥',
    publicId: '它的公开 id',
    nextPublicId: '下一个 id 的公开 id',
  },
};

/** @param lang of a page, as HTML has it */
export function textsOf(lang: string): PlaygroundTexts {
  return lang.startsWith('zh') ? CHINESE : ENGLISH;
}
