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
    'starts the next holder right after the last id that was made',
  ],
  'release clears the ceiling': ['starts the next holder right after the last id that was made'],
  'release is not clamped to its own grant': [
    'keeps later holders apart when acquire and release of an old one come again',
  ],
  'no quarantine of a new registry': [
    'starts after everything that an absent registry could have forgotten',
  ],
  'quarantine shorter than a lease': [
    'starts after every forgotten range when the registry was wiped',
  ],
  'server change ignored': ['grants nothing before a quarantine when another server answers'],
  'range extended across an era': [
    'never extends a range across a change of servers: the holder gets another one after it',
  ],
  'ceiling = max(now, floor) + ttl': [
    'keeps ranges apart when the registry is wiped twice within one lease',
  ],
  'a claim starts at now, not at the stored ceiling': [
    'lets a worker id be taken over, from where the range of its holder ends',
    'keeps apart the ranges of two who take a worker id over from each other',
  ],
  'safe floor kept but not applied': [
    'starts after every forgotten range when the registry was wiped',
  ],
  'a drawn worker id granted without reading its ceiling': [
    'leases from millions of worker ids, each to one holder at a time',
  ],
};

/**
 * What each safe variant is without, and nothing else: the suite demands more than uniqueness
 * needs, so that times stay accurate, copies are noticed and a loss is proved sooner.
 */
export const SAFE_VARIANT_IS_WITHOUT: Readonly<Record<string, readonly string[]>> = {
  'random choice among the free worker ids': ['takes the worker id that has been free for longest'],
  'raw TIME without slewing': [
    'never lowers a ceiling, and never turns its clock back, when the host clock steps back',
    'goes on raising ceilings after its clock stepped back',
    'never turns its clock back, however often the host clock steps to and fro',
  ],
  'renew without `have`': [
    'lets others start only after a ceiling that a former holder was told',
    'lets others start only after such a ceiling if somebody else has the worker id by now',
    'takes a ceiling it does not remember for a proof that writes were lost',
    'starts above what another server granted meanwhile, once somebody renews who knows',
    'has everybody leave who was granted a range by a server that had been left',
    'goes on with the holder who knew, behind its range',
    'has them leave also where the other server counted fewer eras',
    'goes on with a holder of whose nonces it has forgotten some',
  ],
  'no nonce where there are no clones': [
    'tells both copies of a process that they are copies',
    'tells a copy that knows less than the store that it is one, also after a loss',
  ],
};
