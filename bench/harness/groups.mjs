// The groups of all folders, in the order in which they are measured.
//
// Guarantee: a folder that cannot be loaded does not hide the others; its error is given back.

/** @typedef {import('./turns.mjs').BenchGroup & { folder: string }} FolderGroup */

const FOLDERS = ['ids', 'counters', 'lock', 'threads', 'database', 'lease'];

/** @returns {Promise<{ groups: FolderGroup[], failures: { name: string, error: any }[] }>} */
export async function loadGroups() {
  const loaded = { groups: [], failures: [] };
  for (const folder of FOLDERS) {
    try {
      const { groups } = await import(`../${folder}/index.mjs`);
      loaded.groups.push(...groups.map((group) => ({ ...group, folder })));
    } catch (error) {
      loaded.failures.push({ name: `${folder}/`, error });
    }
  }
  return loaded;
}

/** Those with the text in their title or in the name of their folder; all without a text. */
export function groupsLike(/** @type {FolderGroup[]} */ groups, /** @type {string} */ only = '') {
  const wanted = only.toLowerCase();
  return groups.filter(
    ({ title, folder }) => title.toLowerCase().includes(wanted) || folder.includes(wanted),
  );
}
