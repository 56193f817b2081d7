// As an import of Jest finds it: what is named one by one.
exports.chromium = globalThis.requireOutside('playwright-core').chromium;
