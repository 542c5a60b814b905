/** Shortens the function name of a request for display, because the sender can make it arbitrarily long. */
export function shownFunction(name: string): string {
  return name.length > 200 ? `${name.slice(0, 200)}…` : name;
}
