/**
 * A folder that one process at a time may use: its process id lies in a file beside it. A process
 * that was killed leaves the file behind; the next one sees that nobody has that id any more, and
 * takes over.
 */
import { readFileSync, rmSync, writeFileSync } from 'node:fs';

/** Answers how to give the folder back. */
export function lockFolder(folder: string): () => void {
  const file = `${folder}.lock`;
  if (!isTaken(file)) rmSync(file, { force: true });
  try {
    writeFileSync(file, String(process.pid), { flag: 'wx' });
  } catch (cause) {
    throw new Error(
      `The database in ${folder} is in use, perhaps by another \`npm start\` (see ${file}). Stop ` +
        'that, or give this one its own: DATA_DIR=.data/other PORT=3001 npm start',
      { cause },
    );
  }
  return () => rmSync(file, { force: true });
}

function isTaken(file: string): boolean {
  try {
    const pid = Number(readFileSync(file, 'utf8'));
    // Our own id was a former process's: in a container everyone is process 1.
    return pid !== process.pid && process.kill(pid, 0);
  } catch (error) {
    // EPERM: somebody else's process is a process too.
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
