/**
 * Says that this code was written for Convex: `ctx.db` then takes the table's name before an id, as such libraries pass it
 * (worker/runtime/guest/database.ts). Everywhere else that is refused by name.
 */
export function markAsCompat(): void {
  Object.defineProperty(globalThis, Symbol.for('svc.compat'), {value: true});
}
