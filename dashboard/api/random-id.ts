/** `crypto.randomUUID` is missing in pages loaded over plain HTTP from another machine. */
export function randomId(): string {
  return Array.from(crypto.getRandomValues(new Uint32Array(4)), word => word.toString(36)).join('-');
}
