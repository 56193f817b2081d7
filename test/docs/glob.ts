/**
 * Files below a folder by their ending; Node 20 has no glob of its own.
 */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';

export { existsSync } from 'node:fs';

export function globSync(folder: string, ending: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith(ending))
    .map((name) => join(folder, name));
}
