// Labels for the cells of tables, which a phone shows one below the other.

/** Each cell has the text of its column's heading as `data-label`. */
export function labeledCells(/** @type {import('vitepress').MarkdownRenderer} */ md) {
  md.core.ruler.push('labeled_cells', ({ tokens }) => {
    /** @type {string[]} */
    let labels = [];
    let column = 0;
    for (const [at, token] of tokens.entries()) {
      if (token.type === 'table_open') labels = [];
      if (token.type === 'tr_open') column = 0;
      if (token.type === 'th_open') labels.push(tokens[at + 1]?.content ?? '');
      if (token.type === 'td_open') token.attrSet('data-label', labels[column++] ?? '');
    }
  });
}
