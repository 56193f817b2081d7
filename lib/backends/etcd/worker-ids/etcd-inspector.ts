/**
 * A registry in etcd, opened for an operator by its URL.
 *
 * Promise: read() and findings() change nothing.
 */
import type { RegistryInspector } from '../../../registry/registry-view.js';
import { SliceInspector } from '../../../registry/slice-inspector.js';
import { storeFromUrl } from './etcd.support.js';

/** @throws SnowflakeError CONFIG_INVALID */
export function inspectorFromUrl(url: string): RegistryInspector {
  const store = storeFromUrl(url);
  return new SliceInspector(store, store.where, store.prefix);
}
