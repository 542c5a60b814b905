/** Splits long JSON into chunks, for responses that are sent while they are made. */

/** Characters of text in one chunk. */
export const CHUNK_CHARS = 64 * 1024;

/** Chunks of a text that can be long. No chunk ends within a surrogate pair, which would not survive the encoding. */
export function* cutUp(text: string): Generator<string, void, void> {
  for (let at = 0; at < text.length; ) {
    let end = Math.min(at + CHUNK_CHARS, text.length);
    if (end < text.length && (text.charCodeAt(end - 1) & 0xfc00) === 0xd800) end--;
    yield text.slice(at, end);
    at = end;
  }
}

/** A JSON array of these texts. */
export function* arrayChunks(texts: Iterable<string>): Generator<string, void, void> {
  let chunk = '[';
  let isFirst = true;
  for (const text of texts) {
    chunk += isFirst ? text : `,${text}`;
    isFirst = false;
    if (chunk.length < CHUNK_CHARS) continue;
    yield* cutUp(chunk);
    chunk = '';
  }
  yield `${chunk}]`;
}
