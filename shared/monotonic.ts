/**
 * Milliseconds on a clock that only goes forward, read at each call. All processes of a host read the same one, so that a
 * deadline can be sent as an instant; its zero means nothing. It stands still while the machine is suspended.
 */
export function monotonicMs(): number {
  const [seconds, nanoseconds] = process.hrtime();
  return seconds * 1_000 + nanoseconds / 1e6;
}
