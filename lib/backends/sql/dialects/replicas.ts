/**
 * What a server that others follow means where the support was told that there are none.
 *
 * Promise: said in the same words of every database.
 */
export function followed(replicaCount: number): string {
  return (
    `${replicaCount} replicas follow this server, but the support is told that there are none. ` +
    `If one of them takes its place, ids could be made twice while the old server still ` +
    `answers: leave out replicated=false in every process.`
  );
}
