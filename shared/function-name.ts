/** Shortens the function name of a request for display, because the sender can make it arbitrarily long. */
export function shownFunction(name: string): string {
  return name.length > 200 ? `${name.slice(0, 200)}…` : name;
}

/** A text of any length, such as an id from a path, in a message. */
export function shownText(text: string): string {
  return JSON.stringify(text.length > 140 ? `${text.slice(0, 140)}…` : text);
}
