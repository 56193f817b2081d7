// Removes what earlier builds left, so that a file deleted in lib/ cannot live on in a package.
import { rmSync } from 'node:fs';

rmSync('dist/esm', { recursive: true, force: true });
rmSync('dist/cjs', { recursive: true, force: true });
