/**
 * The methods of every class that Nest instantiates: instance methods and static ones.
 */
import type { DiscoveryService, MetadataScanner } from '@nestjs/core';

export interface FoundMethod {
  readonly method: (this: unknown, ...args: unknown[]) => unknown;
  /** Class and method, such as `Reports.nightly`. */
  readonly where: string;
  readonly className: string;
  /** The only object of the class; undefined if Nest creates one for each request or user. */
  readonly instance: object | undefined;
  readonly module: string;
  readonly isStatic: boolean;
}

/** The parts of Nest that find these methods. */
export interface Discovery {
  readonly discovery: DiscoveryService;
  readonly scanner: MetadataScanner;
}

export function* methodsIn({ discovery, scanner }: Discovery): Generator<FoundMethod> {
  const seen = new Set<unknown>();
  for (const wrapper of [...discovery.getProviders(), ...discovery.getControllers()]) {
    const isOne = wrapper.isDependencyTreeStatic() && !wrapper.isTransient;
    const instance = isOne ? (Object(wrapper.instance) as object) : undefined;
    const own = instance && (Object.getPrototypeOf(instance) as object | null);
    const type: unknown = instance === undefined ? wrapper.metatype : own?.constructor;
    // A provider may have two names.
    if (typeof type !== 'function' || seen.has(instance ?? type)) continue;
    seen.add(instance ?? type);
    const prototype = (type.prototype ?? {}) as Readonly<Record<string, unknown>>;
    const found = { className: type.name, instance, module: wrapper.host?.name ?? '' };
    const all = [
      ...Object.entries(Object.getOwnPropertyDescriptors(type)).map(
        ([name, { value }]) => [name, value as unknown, true] as const,
      ),
      ...scanner
        .getAllMethodNames(prototype)
        .map((name) => [name, prototype[name], false] as const),
    ];
    for (const [name, value, isStatic] of all) {
      const method = value as FoundMethod['method'];
      if (typeof method !== 'function') continue;
      yield { ...found, method, where: `${type.name}.${name}`, isStatic };
    }
  }
}
