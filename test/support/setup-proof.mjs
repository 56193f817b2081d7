// Jest runs a setup once for each file of this name, so that every kind with servers has its own.
import { startServers } from './servers.mjs';

/** @param {import("@jest/types").Config.GlobalConfig} config */
export default (config) => startServers('proof', config);
