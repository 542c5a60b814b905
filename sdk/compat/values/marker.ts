/**
 * Marks the code as written for Convex, so that `ctx.db` accepts the table's name before an id, which such libraries
 * pass (worker/runtime/guest/database.ts). In all other code, that call fails with an error that names it.
 */
export function markAsCompat(): void {
  Object.defineProperty(globalThis, Symbol.for('svc.compat'), {value: true});
}
