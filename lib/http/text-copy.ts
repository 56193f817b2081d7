/**
 * Copies a value as JSON.stringify reads it, with decimal text in place of every bigint.
 *
 * Promise: a part without bigints is returned as it is; the others are copied, and no original is
 * changed. Copies keep their class, so that a later serializer finds its decorators. Cycles and any
 * depth are handled; refusing them is left to JSON.stringify.
 */
import { beginCopyOf, isOpaque, listOfTexts, viewOf } from './json-parts.js';

/** The value itself if it contains no bigint, otherwise a copy with text in their place. */
export function textCopyOf(value: unknown): unknown {
  if (typeof value === 'bigint') return value.toString();
  if (typeof value !== 'object' || value === null) return value;
  return new TextCopier().copyOf(value);
}

/** An object whose parts are being visited. */
class Visit {
  /** How many parts are done. */
  done = 0;
  copy: object | undefined;

  constructor(
    /** What is visited: the object, or the result of its toJSON. */
    readonly source: object,
    /** What stays in the response if nothing is changed. */
    readonly original: object,
    /** Undefined for a list. */
    readonly keys: readonly string[] | undefined,
  ) {}

  get length(): number {
    return this.keys?.length ?? (this.source as unknown[]).length;
  }

  keyAt(at: number): string | number {
    return this.keys?.[at] ?? at;
  }
}

/**
 * Uses its own stack, because the call stack ends after some thousand levels. An object whose parts
 * are all plain values, as most are, needs neither a place on it nor an entry in the map.
 */
class TextCopier {
  private hasFound = false;
  private readonly stack: Visit[] = [];
  /** By object: what replaces it, or its visit if that is not finished. */
  private readonly known = new Map<object, unknown>();

  copyOf(root: object): unknown {
    let result = this.enter(root, '');
    let visit: Visit | undefined;
    while ((visit = this.stack.at(-1)) !== undefined) {
      if (!this.advance(visit)) continue;
      this.stack.pop();
      result = visit.copy ?? visit.original;
      this.remember(visit, result);
      const parent = this.stack.at(-1);
      if (parent !== undefined) this.deliver(parent, result);
    }
    // A cycle is copied before it is known whether it contains a bigint.
    return this.hasFound ? result : root;
  }

  /** Continues to the next object that needs its own visit; true if there is none left. */
  private advance(visit: Visit): boolean {
    const source = visit.source as Record<string | number, unknown>;
    for (const { length } = visit; visit.done < length; visit.done++) {
      const key = visit.keyAt(visit.done);
      const part = source[key];
      if (typeof part === 'bigint') this.change(visit, key, this.textOf(part));
      if (typeof part !== 'object' || part === null) continue;
      const entered = this.enter(part, key);
      if (entered === undefined) return false;
      if (entered !== part) this.change(visit, key, entered);
    }
    return true;
  }

  /** What replaces an object, or undefined if its visit has been started. */
  private enter(value: object, key: string | number): unknown {
    if (isOpaque(value)) return value;
    const known = this.known.get(value);
    if (known instanceof Visit) return known.source === value ? this.copyIn(known) : value;
    if (known !== undefined) return known;
    const view = viewOf(value, key);
    if (typeof view === 'bigint') return this.textOf(view);
    if (typeof view !== 'object' || view === null) return value;
    if (view !== value && isOpaque(view)) return value;
    const texts = listOfTexts(view);
    if (texts !== undefined) {
      this.hasFound = true;
      return texts;
    }
    const visit = new Visit(view, value, Array.isArray(view) ? undefined : Object.keys(view));
    if (this.isFlat(visit)) return visit.copy ?? value;
    this.known.set(value, visit);
    this.stack.push(visit);
    return undefined;
  }

  /** Handles an object without objects in it; returns false at the first object it finds. */
  private isFlat(visit: Visit): boolean {
    const source = visit.source as Record<string | number, unknown>;
    for (const { length } = visit; visit.done < length; visit.done++) {
      const key = visit.keyAt(visit.done);
      const part = source[key];
      if (typeof part === 'bigint') this.change(visit, key, this.textOf(part));
      else if (typeof part === 'object' && part !== null) return false;
    }
    if (visit.copy !== undefined) this.remember(visit, visit.copy);
    return true;
  }

  /** Not the result of toJSON, which may differ where the object stands under another key. */
  private remember({ source, original }: Visit, result: unknown): void {
    if (source === original) this.known.set(original, result);
    else this.known.delete(original);
  }

  private deliver(parent: Visit, result: unknown): void {
    const key = parent.keyAt(parent.done++);
    const part = (parent.source as Record<string | number, unknown>)[key];
    if (result !== part) this.change(parent, key, result);
  }

  private change(visit: Visit, key: string | number, part: unknown): void {
    // The copy already has this property, so no setter can run.
    (this.copyIn(visit) as Record<string | number, unknown>)[key] = part;
  }

  private copyIn(visit: Visit): object {
    return (visit.copy ??= beginCopyOf(visit.source, visit.keys));
  }

  private textOf(id: bigint): string {
    this.hasFound = true;
    return id.toString();
  }
}
