/**
 * The case of the contract suite that is about each broken variant of the protocol. A mutant that
 * is not named here must be rejected by any.
 */
export const MUTANT_REJECTED_BY: Readonly<Record<string, readonly string[]>> = {
  'no floor at re-grant': ['starts a new holder where the range of the last one ended, not before'],
  'floor off by one': ['starts a new holder where the range of the last one ended, not before'],
  'renew answers but does not store': ['raises the ceiling of a lease, and remembers it'],
  'renew without token check': ['prolongs only for the token that holds the worker id'],
  'no nonce although processes are cloned': ['tells both copies of a process that they are copies'],
  'release without token check': ['takes a worker id back only from the token that holds it'],
  'acquire in two steps': ['gives 30 who ask at once as many different worker ids'],
  'renew may lower the ceiling': [
    'never lowers a ceiling, and never turns its clock back, when the host clock steps back',
  ],
  'release stores last instead of last + 1': [
    'starts the next holder right behind the last id that was made',
  ],
  'release clears the ceiling': ['starts the next holder right behind the last id that was made'],
  'release is not clamped to its own grant': [
    'keeps later holders apart when acquire and release of an old one come again',
  ],
  'no quarantine of a new registry': [
    'starts behind everything a registry could have forgotten that is not known to be new',
  ],
  'quarantine shorter than a lease': [
    'starts behind every forgotten range after the registry was wiped',
  ],
  'server change ignored': ['grants nothing before a quarantine when another server answers'],
  'range extended across an era': [
    'never extends a range across a change of servers: the holder gets another, behind it',
  ],
  'ceiling = max(now, floor) + ttl': [
    'keeps ranges apart when the registry is wiped twice within one lease',
  ],
  'safe floor kept but not applied': [
    'starts behind every forgotten range after the registry was wiped',
  ],
};
