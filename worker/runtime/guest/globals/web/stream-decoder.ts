/** Decodes a stream of bytes chunk by chunk; an incomplete character waits for the next chunk. */
export interface StreamDecoder {
  decode(bytes: Uint8Array, isLast: boolean): string;
}
