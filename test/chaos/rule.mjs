// What a rule is that can be taken out of the packed library.

/**
 * @typedef {{ in: 'lua' | 'code', says: string, insteadSays: string }} Edit as the build writes it
 * @typedef {'ids made twice' | 'two holders' | 'tokens that fell'} Shown
 * @typedef {{ name: string, edits: readonly Edit[], shows?: Shown }} Rule
 */

export {};
