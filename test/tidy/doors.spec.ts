/** The checks of doors find planted ones, of the kinds that were found, and let the rest pass. */
import { describe, expect, it, test } from '@jest/globals';
import { findingsOf, type Check } from './check.js';
import {
  checkDefaults,
  checkInstanceof,
  checkModuleState,
  checkSwallowed,
  exceptKnown,
} from './doors.js';

const inLib =
  (check: Check) =>
  (text: string, path = 'lib/nest/x.ts'): string[] =>
    findingsOf(check, [{ path, text }]);

describe('instanceof', () => {
  const asked = inLib(checkInstanceof);

  test.each(['StaticSupport', 'IdMaker', 'MemorySupport', 'Redis'])('%s is found', (name) => {
    expect(asked(`\nif (x instanceof ${name}) f();`)).toEqual([
      expect.stringContaining(`lib/nest/x.ts:2 asks \`instanceof ${name}\``),
    ]);
  });

  test.each(['Error', 'Date', 'Map', 'BigUint64Array', 'AbortSignal', 'URL', 'entity'])(
    '%s passes',
    (name) => {
      expect(asked(`if (x instanceof ${name}) f();`)).toEqual([]);
    },
  );

  it('passes in tests, on the page and in comments', () => {
    const text = 'if (x instanceof IdMaker) f();';
    expect(asked(text, 'test/nest/x.spec.ts')).toEqual([]);
    expect(asked(text, 'lib/dashboard/page/x.ts')).toEqual([]);
    expect(asked('// x instanceof IdMaker')).toEqual([]);
  });
});

describe('state of a module', () => {
  const kept = inLib(checkModuleState);

  test.each([
    'let count = 0;',
    'export let last: bigint | undefined;',
    'const inUse = new Map<number, string>();',
    'const seen = new WeakSet();',
    'const words = new Int32Array(4);',
    'const running: string[] = [];\nexport const add = (x: string) => running.push(x);',
    'const known: Record<string, number> = {};\nexport function f() { known.a = 1; }',
    'const known: Record<string, number> = { a: 1 };\nknown["b"] = 2;',
    'export class A {\n  static all = new Set<A>();\n}',
  ])('%s is found', (text) => {
    expect(kept(text)).toEqual([expect.stringMatching(/^lib\/nest\/x\.ts:\d keeps `\w+` in the/)]);
  });

  test.each([
    'const NAMES: ReadonlySet<string> = new Set(["a"]);',
    'const NAMES: Readonly<Record<string, number>> = {};',
    'const NAMES = ["a", "b"];\nexport const has = (x: string) => NAMES.includes(x);',
    'const logger = new Logger("x");',
    'export function f() {\n  let count = 0;\n  const seen = new Map();\n}',
    'export class A {\n  all = new Set<A>();\n  static readonly size = 4;\n}',
  ])('%s passes', (text) => {
    expect(kept(text)).toEqual([]);
  });

  it('passes in the file for what a process has once, and there alone', () => {
    const text = 'const known = new Map<string, object>();';
    expect(kept(text, 'lib/process-wide.ts')).toEqual([]);
    expect(kept(text, 'lib/nest/other-process-wide.ts')).toHaveLength(1);
  });
});

describe('swallowed errors', () => {
  const swallowed = inLib(checkSwallowed);

  test.each([
    'try {\n  f();\n} catch {}',
    'try {\n  f();\n} catch (error) {\n}',
    '// about f\ntry {\n  f();\n} catch {}',
    'await f().catch(() => undefined);',
    'void f().catch(function () {});',
    'const a = (await f().catch(() => [])) ?? [];',
  ])('%s is found', (text) => {
    expect(swallowed(text)).toHaveLength(1);
  });

  test.each([
    'try {\n  f();\n} catch {\n  // It is closed already.\n}',
    'try {\n  f();\n} catch {\n  return undefined;\n}',
    '// Whoever closes us need not hear that it was closed.\nawait f().catch(() => undefined);',
    'await f().catch((error: unknown) => note(error));',
    'await f().catch(note);',
  ])('%s passes', (text) => {
    expect(swallowed(text)).toEqual([]);
  });
});

describe('defaults of a worker id', () => {
  const taught = (path: string, text: string) => findingsOf(checkDefaults, [{ path, text }]);

  test.each([
    ['docs/start.md', "support: process.env['SNOWFLAKE_SUPPORT'] ?? 'static:1'"],
    ['README.md', 'support: process.env.SUPPORT || "static:7"'],
    ['docs/guides/static.md', 'SNOWFLAKE_SUPPORT=${SUPPORT:-static:1}'],
    ['lib/nest/resolve-options.ts', ' * support: given ?? `static:${number}`'],
  ])('in %s, %s is found', (path, text) => {
    expect(taught(path, `\n${text}`)).toEqual([expect.stringContaining(`${path}:2 gives`)]);
  });

  it('a worker id that is chosen passes', () => {
    expect(taught('docs/start.md', "support: 'static:1', // or redis://")).toEqual([]);
  });
});

describe('doors that are known', () => {
  const known = [{ path: 'lib/nest/x.ts', names: 'IdMaker' }];
  const check = inLib(exceptKnown(checkInstanceof, known));

  it('pass, and no other', () => {
    expect(check('a instanceof IdMaker;')).toEqual([]);
    expect(check('a instanceof IdMaker;\nb instanceof BitLayout;')).toHaveLength(1);
  });

  it('must leave the list once they are shut', () => {
    expect(check('isIdMaker(a);')).toEqual([
      expect.stringContaining('has no door IdMaker any more'),
    ]);
  });
});
