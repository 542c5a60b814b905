/** How the name of a function that a request gave is shown: it may be as long as its sender liked. */
export function shownFunction(name: string): string {
  return name.length > 200 ? `${name.slice(0, 200)}…` : name;
}
