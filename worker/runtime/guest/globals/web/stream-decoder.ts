/** Decodes a stream of bytes piece by piece; what is incomplete waits for the next. */
export interface StreamDecoder {
  decode(bytes: Uint8Array, isLast: boolean): string;
}
