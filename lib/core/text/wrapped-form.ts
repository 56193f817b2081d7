/**
 * A form around another form: what it adds to the texts of the one within, and takes off again.
 *
 * Promise: a text that this form does not write is refused in its words, one that the form within
 * does not write in the words of that form.
 */
import { quoted } from '../../shown.js';
import { decodedBy, notTextRefusal, refusalBy } from './refusal.js';
import type { TextForm } from './text-form.js';

/** What a form does to the text of the form within it. */
export interface Wrapping<Text extends string> {
  readonly name: string;
  readonly pattern: string | undefined;
  readonly inner: TextForm;
  wrap(text: string): Text;
  /** The text of the form within, or undefined for a text that is not of this form. */
  unwrap(text: string): string | undefined;
  /** What is wrong with a text that cannot be unwrapped, from a comma on. */
  faultOf(text: string): string;
}

export class WrappedForm<Text extends string> implements TextForm<Text> {
  readonly name: string;
  readonly pattern?: string;
  private readonly wrapping: Wrapping<Text>;

  constructor(wrapping: Wrapping<Text>) {
    this.name = wrapping.name;
    if (wrapping.pattern !== undefined) this.pattern = `^${wrapping.pattern}$`;
    this.wrapping = wrapping;
  }

  encode(id: bigint): Text {
    return this.wrapping.wrap(this.wrapping.inner.encode(id));
  }

  decode(text: string): bigint {
    return decodedBy(this, text);
  }

  tryDecode(text: string): bigint | undefined {
    if (typeof text !== 'string') return undefined;
    const inner = this.wrapping.unwrap(text);
    return inner === undefined ? undefined : this.wrapping.inner.tryDecode(inner);
  }

  refusalOf(text: string): string {
    const notText = notTextRefusal(this, text);
    if (notText !== undefined) return notText;
    const start = `Expected an id as ${this.name} text, got ${quoted(text)}`;
    const within = this.wrapping.unwrap(text);
    if (within === undefined) return start + this.wrapping.faultOf(text);
    return `${start}. ${refusalBy(this.wrapping.inner, within)}`;
  }
}
