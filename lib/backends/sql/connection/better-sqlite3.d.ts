/**
 * What is used of better-sqlite3, which brings no types of its own and is not installed for those
 * who use another driver.
 */
declare module 'better-sqlite3' {
  const Database: new (path: string, options: { timeout: number }) => never;
  export default Database;
}
