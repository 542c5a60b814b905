/** A request body on its way from an action to the network: a piece is taken when the one before is gone. */
export class BodyPipe implements AsyncIterable<Uint8Array> {
  readonly #readable: ReadableStream<Uint8Array>;
  readonly #writer: WritableStreamDefaultWriter<Uint8Array>;

  /** @param first the piece that came with the request */
  constructor(first: Uint8Array | null) {
    const {readable, writable} = new TransformStream<Uint8Array, Uint8Array>();
    this.#readable = readable;
    this.#writer = writable.getWriter();
    // Nobody waits for this one; a later piece meets the same failure.
    if (first !== null) this.#writer.write(first).catch(() => {});
  }

  [Symbol.asyncIterator](): AsyncIterator<Uint8Array> {
    return this.#readable[Symbol.asyncIterator]();
  }

  /** Resolves when there is room for the next. @param piece null: that was all */
  async push(piece: Uint8Array | null): Promise<void> {
    if (piece === null) return this.#writer.close();
    await this.#writer.ready;
    await this.#writer.write(piece);
  }

  /** The request is over; so is its body. */
  break(): void {
    this.#writer.abort(new Error('the request is over')).catch(() => {});
  }
}
