// The rules of counters that can be taken out of the packed library.

/** @import { Rule } from '../rule.mjs' */

/** @type {readonly Rule[]} */
export const COUNTER_RULES = [
  {
    // Counters: neither another server nor what a process was answered shows a loss.
    name: 'counter-loss',
    edits: [
      { in: 'lua', says: 'if isOther then era = era + 1 end', insteadSays: '' },
      {
        in: 'lua',
        says: 'elseif isLess(row.next, have) then\n  era = era + 1\n',
        insteadSays: '',
      },
      { in: 'lua', says: 'if lastTime and seenEra > era then', insteadSays: 'if false then' },
      {
        in: 'code',
        says: 'if (era > header.era)',
        insteadSays: 'if (false)',
      },
      {
        in: 'code',
        says: 'isSame ? moved : afterLoss({ ...moved, server })',
        insteadSays: '({ ...moved, server })',
      },
      {
        in: 'code',
        says: 'have > row.next ? afterLoss(header) : header',
        insteadSays: 'header',
      },
    ],
  },
  {
    // After a loss they go on where the store remembers, and not beyond what it forgot.
    name: 'counter-gap',
    edits: [
      { in: 'lua', says: 'row.next = sum(row.next, row.margin)', insteadSays: '' },
      {
        in: 'code',
        says: 'next + (lossCount > 1 ? 2n * margin : margin)',
        insteadSays: 'next',
      },
    ],
  },
  {
    // Numbers behind a jump are granted before the jump is safe: a second loss repeats it.
    name: 'counter-wait',
    edits: [
      {
        in: 'lua',
        says: 'greatest(row.margin, margin), now + lossWindow',
        insteadSays: 'margin, 0',
      },
      {
        in: 'code',
        says: 'const readyAtMs = nowOf(header) + terms.lossWindowMs',
        insteadSays: 'const readyAtMs = 0',
      },
    ],
  },
  {
    // Numbers are granted that no file keeps.
    name: 'counter-file',
    edits: [
      {
        in: 'lua',
        says: "return { err = 'NOFILE the append-only file is off' }",
        insteadSays: 'doubt = nil',
      },
      { in: 'lua', says: 'atRiskMs = (age + 1) * 1000', insteadSays: 'atRiskMs = 0' },
    ],
  },
  {
    // A counter that is not there begins anew by itself.
    name: 'counter-absent',
    edits: [
      {
        in: 'lua',
        says: "startAt == '' then return { 'absent' }",
        insteadSays: "startAt == '' then startAt = '1'",
      },
      {
        in: 'code',
        says: 'if (request.startAt === void 0)',
        insteadSays: 'if (false)',
      },
      {
        in: 'code',
        says: 'blankRow(formOf(request), request.startAt, era)',
        insteadSays: 'blankRow(formOf(request), request.startAt ?? 1n, era)',
      },
    ],
  },
];
