/**
 * What a server that others follow means where the support was told that there are none.
 *
 * Promise: said in the same words of every database.
 */
export function followed(replicaCount: number): string {
  const who = replicaCount === 1 ? 'A replica follows' : `${replicaCount} replicas follow`;
  return (
    `${who} this server, but the support is told that there are none. ` +
    `If another server takes its place, ids could be made twice while the old server still ` +
    `answers: leave out replicated=false in every process.`
  );
}
