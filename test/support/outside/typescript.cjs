module.exports = globalThis.requireOutside('typescript');
