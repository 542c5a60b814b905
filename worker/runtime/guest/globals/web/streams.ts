/** The stream classes: a large package that few functions use, so it is evaluated on first access. */
import {define, defineLazily} from '../define.ts';
import type {TextDecoder as Decoder, TextEncoder as Encoder} from './text-encoding.ts';

type Package = typeof import('web-streams-polyfill');

const NAMES = [
  'ReadableStream',
  'ReadableStreamDefaultReader',
  'ReadableStreamBYOBReader',
  'ReadableStreamDefaultController',
  'ReadableByteStreamController',
  'ReadableStreamBYOBRequest',
  'WritableStream',
  'WritableStreamDefaultWriter',
  'WritableStreamDefaultController',
  'TransformStream',
  'TransformStreamDefaultController',
  'ByteLengthQueuingStrategy',
  'CountQueuingStrategy',
] as const satisfies (keyof Package)[];

export function streams(): Package {
  return require('web-streams-polyfill') as Package;
}

export function installStreams(): void {
  for (const name of NAMES) defineLazily(name, () => streams()[name]);
  defineLazily('TextEncoderStream', textEncoderStream);
  defineLazily('TextDecoderStream', textDecoderStream);
}

/** True once the stream was read from or cancelled. */
export function isDisturbed(stream: object): boolean {
  return Boolean((stream as {_disturbed?: boolean})._disturbed);
}

/** A stream of one chunk, or of none if it is empty. */
export function streamOf(bytes: Uint8Array): ReadableStream<Uint8Array> {
  const {ReadableStream} = streams();
  return new ReadableStream<Uint8Array>({
    type: 'bytes',
    start(controller) {
      if (bytes.byteLength > 0) controller.enqueue(bytes.slice());
      controller.close();
    },
  }) as unknown as ReadableStream<Uint8Array>;
}

function textEncoderStream(): unknown {
  const {TransformStream} = streams();
  class TextEncoderStream {
    readonly readable: unknown;
    readonly writable: unknown;
    readonly encoding = 'utf-8';

    constructor() {
      const encoder = new TextEncoder() as unknown as Encoder;
      let high = '';
      const {readable, writable} = new TransformStream<unknown, Uint8Array>({
        transform(chunk, controller) {
          const text = high + String(chunk);
          // A high surrogate waits for its low surrogate.
          high = /[\ud800-\udbff]$/.test(text) ? text.slice(-1) : '';
          const bytes = encoder.encode(high === '' ? text : text.slice(0, -1));
          if (bytes.byteLength > 0) controller.enqueue(bytes);
        },
        flush(controller) {
          if (high !== '') controller.enqueue(encoder.encode(high));
        },
      });
      this.readable = readable;
      this.writable = writable;
    }
  }
  define(TextEncoderStream.prototype, Symbol.toStringTag, 'TextEncoderStream');
  return TextEncoderStream;
}

function textDecoderStream(): unknown {
  const {TransformStream} = streams();
  class TextDecoderStream {
    readonly readable: unknown;
    readonly writable: unknown;
    readonly encoding: string;
    readonly fatal: boolean;
    readonly ignoreBOM: boolean;

    constructor(label?: string, options?: {fatal?: boolean; ignoreBOM?: boolean}) {
      const decoder = new TextDecoder(label, options) as unknown as Decoder;
      const {readable, writable} = new TransformStream<unknown, string>({
        transform(chunk, controller) {
          const text = decoder.decode(chunk, {stream: true});
          if (text !== '') controller.enqueue(text);
        },
        flush(controller) {
          const text = decoder.decode();
          if (text !== '') controller.enqueue(text);
        },
      });
      this.readable = readable;
      this.writable = writable;
      this.encoding = decoder.encoding;
      this.fatal = decoder.fatal;
      this.ignoreBOM = decoder.ignoreBOM;
    }
  }
  define(TextDecoderStream.prototype, Symbol.toStringTag, 'TextDecoderStream');
  return TextDecoderStream;
}
