/**
 * The signature of a row: facts that the database alone knows of the write that made it, kept in
 * the text of the row. A dump carries the text, and loading it writes the row anew.
 *
 * Guarantee: a row whose signature does not fit was put back. A row without one, of an older
 * version of this package, or written by such a version since, is taken as it is.
 */
/** How a dialect tells one write from another, as texts in SQL. */
export interface Stamps {
  /** The signature of the statement that writes. */
  readonly written: string;
  /** The signature of the row `r` that is read. */
  readonly found: string;
}

export interface SignedRow {
  readonly version: number;
  /** The ceiling of a worker id. */
  readonly number: bigint | number;
  readonly text: string;
}

/** Behind it comes what the database writes, and then the end. */
const BEGIN = ',"written":"';
export const END = '"}';
const SIGNATURE = /,"written":"(\d+)\/(\d+)\/(\w*)"\}$/;
/** Without a field it is what older versions know as a header before there is one. */
const SIGNABLE = /^\{".*\}$/s;

/** The text up to the stamp; undefined for one that is not signed. */
export function unsigned({ version, number, text }: SignedRow): string | undefined {
  return SIGNABLE.test(text) ? `${text.slice(0, -1)}${BEGIN}${version}/${number}/` : undefined;
}

/** The text as it was before it was signed. */
export function withoutSignature(text: string): string {
  return text.replace(SIGNATURE, '}');
}

/** @param found the stamp of the row; empty where the database has none */
export function isPutBack({ version, number, text }: SignedRow, found: unknown): boolean {
  const [, ofVersion, ofNumber, written] = SIGNATURE.exec(text) ?? [];
  // Older versions write the row, and hand on what they do not know.
  if (ofVersion !== String(version) || ofNumber !== String(number)) return false;
  return typeof found === 'string' && found !== '' && written !== '' && found !== written;
}
