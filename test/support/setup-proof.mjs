// Jest runs each setup file only once, so every kind with servers has its own.
import { startServers } from './servers.mjs';

/** @param {import("@jest/types").Config.GlobalConfig} config */
export default (config) => startServers('proof', config);
