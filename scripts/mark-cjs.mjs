// Tells Node that dist/cjs is CommonJS although the package as a whole is ESM.
import { writeFileSync } from 'node:fs';

writeFileSync('dist/cjs/package.json', '{ "type": "commonjs" }\n');
