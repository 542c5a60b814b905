/** A request body in transit from an action to the network: a chunk is accepted when the previous one is gone. */
export class BodyPipe implements AsyncIterable<Uint8Array> {
  readonly #readable: ReadableStream<Uint8Array>;
  readonly #writer: WritableStreamDefaultWriter<Uint8Array>;

  /** @param first the chunk that came with the request */
  constructor(first: Uint8Array | null) {
    const {readable, writable} = new TransformStream<Uint8Array, Uint8Array>();
    this.#readable = readable;
    this.#writer = writable.getWriter();
    // This promise is not awaited; a later chunk gets the same failure.
    if (first !== null) this.#writer.write(first).catch(() => {});
  }

  [Symbol.asyncIterator](): AsyncIterator<Uint8Array> {
    return this.#readable[Symbol.asyncIterator]();
  }

  /** Resolves when there is room for the next chunk. @param chunk null: the end of the body */
  async push(chunk: Uint8Array | null): Promise<void> {
    if (chunk === null) return this.#writer.close();
    await this.#writer.ready;
    await this.#writer.write(chunk);
  }

  /** The request is over, and therefore its body. */
  break(): void {
    this.#writer.abort(new Error('the request is over')).catch(() => {});
  }
}
