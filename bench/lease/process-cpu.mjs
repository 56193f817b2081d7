// CPU time of a server and of the processes that it started, as Linux counts it.
//
// Guarantee: children that have ended count as well, and other processes never.
import { readFileSync } from 'node:fs';

/** Of the kernel's clock for user space, on every architecture that Node runs on. */
const TICK_MS = 10;

/** In ms, since the server was started. */
export function processCpuMs(/** @type {number} */ pid) {
  const [, , user, system, endedUser, endedSystem] = fieldsOf(pid);
  return (user + system + endedUser + endedSystem) * TICK_MS + childrenCpuMs(pid);
}

function childrenCpuMs(pid) {
  const list = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim();
  const children = list === '' ? [] : list.split(' ').map(Number);
  return children.reduce((sum, child) => sum + cpuMsIfThere(child), 0);
}

function cpuMsIfThere(pid) {
  try {
    return processCpuMs(pid);
  } catch (error) {
    // It ended since it was listed.
    if (error.code === 'ENOENT' || error.code === 'ESRCH') return 0;
    throw error;
  }
}

/** Fields 12 to 17; the name before them may hold anything. */
function fieldsOf(pid) {
  const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
  return text
    .slice(text.lastIndexOf(')') + 2)
    .split(' ')
    .slice(9, 15)
    .map(Number);
}
