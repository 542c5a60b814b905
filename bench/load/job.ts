/** Messages to a load generator, and its answers. */

export type LoadJob = {
  port: number;
  /** Each sends a request when it has the answer to the one before. */
  connections: number;
  seconds: number;
  /** Whole HTTP requests, sent in turn. Bodies are ASCII. */
  requests: string[];
  /**
   * So many requests arrive by themselves (Poisson, in steps of a millisecond) and take a connection that is free; none: as
   * `connections` says. Their time counts from their arrival. Only our own generator does this.
   */
  ratePerS?: number;
};

export type LoadResult = {
  requestsPerS: number;
  p50Ms: number;
  p99Ms: number;
  /** Answers that were no success, and connections that broke. */
  errors: number;
};

/** An HTTP/1.1 request as text. */
export function requestText(method: string, path: string, headers: Record<string, string>, body = ''): string {
  const lines = [`${method} ${path} HTTP/1.1`, 'Host: 127.0.0.1'];
  for (const [name, value] of Object.entries(headers)) lines.push(`${name}: ${value}`);
  if (body !== '') lines.push('Content-Type: application/json', `Content-Length: ${Buffer.byteLength(body)}`);
  return `${lines.join('\r\n')}\r\n\r\n${body}`;
}
