// Removes what earlier builds left, so that a file deleted in lib/ cannot live on in a package.
import { rmSync } from 'node:fs';

for (const folder of ['lib', 'esm', 'readable', 'cjs', 'types', 'data', 'schematics']) {
  rmSync(`dist/${folder}`, { recursive: true, force: true });
}
