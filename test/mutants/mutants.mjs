/**
 * Every broken variant of the protocol that the tests must catch, by name, and the variants that
 * are safe and must pass: a mutant that lives where it should die means a test that is blind, and
 * one that dies where it should live means a test that cries wolf.
 */
import { CLIENT_MUTANTS } from './client-mutants.mjs';
import { REGISTRY_MUTANTS } from './registry-mutants.mjs';
import { SAFE_VARIANTS } from './safe-variants.mjs';
import { TIME_MUTANTS } from './time-mutants.mjs';

export const BROKEN_VARIANTS = [...REGISTRY_MUTANTS, ...TIME_MUTANTS, ...CLIENT_MUTANTS];

export { CLIENT_MUTANTS, REGISTRY_MUTANTS, SAFE_VARIANTS, TIME_MUTANTS };
