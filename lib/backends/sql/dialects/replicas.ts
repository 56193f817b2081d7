/**
 * What it means if a server has replicas although the support was told that there are none, in the
 * same words for every database.
 */
export function followed(replicaCount: number): string {
  const who = replicaCount === 1 ? 'A replica follows' : `${replicaCount} replicas follow`;
  return (
    `${who} this server, but the support is told that there are none. ` +
    `If another server takes its place, ids could be made twice while the old server still ` +
    `answers: leave out replicated=false in every process.`
  );
}
