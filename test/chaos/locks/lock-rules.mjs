/**
 * Rules of locks that can be taken out of the packed library, so that the chaos is seen to notice.
 */

/** @type {readonly import('../rule.mjs').Rule[]} */
export const LOCK_RULES = [
  {
    // After a loss locks are granted at once, while those that were forgotten are still held.
    name: 'lock-quiet',
    shows: 'two holders',
    edits: [
      { in: 'lua', says: 'ready = math.max(ready, now + longest + lossWindow)', insteadSays: '' },
      {
        in: 'code',
        says: 'Math.max(header.readyAtMs, nowMs + header.longestMs + lossWindowMs)',
        insteadSays: '0',
      },
      {
        in: 'code',
        says: 'if (wait !== void 0 && (isMine || !isOfNow))',
        insteadSays: 'if (false)',
      },
      {
        in: 'code',
        says: '[isAbsent(this.#keys.wait), isAbsent(key)]',
        insteadSays: '[isAbsent(key)]',
      },
    ],
  },
  {
    // A holder believes what it was told once, however long ago.
    name: 'lock-deadline',
    shows: 'two holders',
    edits: [
      {
        in: 'code',
        says: 'Math.max(0, Math.floor(Math.min(ttlMs - passed(), this.#allowedMs)))',
        insteadSays: 'ttlMs',
      },
    ],
  },
  {
    // Tokens are counted alone, and begin anew where the last one was forgotten.
    name: 'lock-token',
    shows: 'tokens that fell',
    edits: [
      {
        in: 'lua',
        says: "isLess(known, first) and first or sum(known, '1')",
        insteadSays: "sum(known, '1')",
      },
      { in: 'code', says: 'known >= first ? known + 1n : first', insteadSays: 'known + 1n' },
      {
        in: 'code',
        says: '[timed, have, survived].map(',
        insteadSays: '[at, have, survived].map(',
      },
    ],
  },
];
