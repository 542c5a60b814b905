/**
 * The common part of `Request` and `Response`: the body. Available bytes stay bytes until the stream property of the
 * object is read, so most bodies need neither the stream package nor a turn of the queue.
 */
import {concatenated, isBufferSource, viewOf} from '../bytes.ts';
import {randomBytes} from '../random-bytes.ts';
import {Blob, blobBytes} from './blob.ts';
import {FormData} from './form-data.ts';
import type {Headers} from './headers.ts';
import {encodeMultipart, parseMultipart} from './multipart.ts';
import {isDisturbed, streamOf, streams} from './streams.ts';
import {TextDecoder} from './text-encoding.ts';
import {encodeUtf8} from './utf8.ts';

export type BodyContent = {
  bytes: Uint8Array<ArrayBuffer> | null;
  /** Made from the bytes on first access. */
  stream: ReadableStream<Uint8Array> | null;
  isUsed: boolean;
};

/** @returns null for no body. `type` is the content type that the body implies. */
export function contentOf(body: unknown): {content: BodyContent; type: string | null} | null {
  if (body === null || body === undefined) return null;
  if (isStream(body)) {
    if (body.locked || isDisturbed(body)) throw new TypeError('Body: the stream is locked or has been read from');
    return {content: {bytes: null, stream: body, isUsed: false}, type: null};
  }
  const [bytes, type] = bytesAndType(body);
  return {content: {bytes, stream: null, isUsed: false}, type};
}

function bytesAndType(body: unknown): [Uint8Array<ArrayBuffer>, string | null] {
  if (isBufferSource(body)) return [viewOf(body, 'the body').slice(), null];
  if (body instanceof Blob) return [blobBytes(body), body.type || null];
  if (body instanceof FormData) {
    const boundary = `----svcFormBoundary${[...randomBytes(16)].map(byte => byte.toString(16).padStart(2, '0')).join('')}`;
    return [encodeMultipart(body, boundary), `multipart/form-data; boundary=${boundary}`];
  }
  const isParameters = Object.prototype.toString.call(body) === '[object URLSearchParams]';
  const type = isParameters ? 'application/x-www-form-urlencoded;charset=UTF-8' : 'text/plain;charset=UTF-8';
  return [encodeUtf8(String(body)), type];
}

function isStream(value: unknown): value is ReadableStream<Uint8Array> {
  return (
    Object.prototype.toString.call(value) === '[object ReadableStream]' && value instanceof streams().ReadableStream
  );
}

export abstract class Body {
  abstract get headers(): Headers;
  #content: BodyContent | null;

  constructor(content: BodyContent | null) {
    this.#content = content;
  }

  get body(): ReadableStream<Uint8Array> | null {
    const content = this.#content;
    if (content === null) return null;
    content.stream ??= streamOf(content.bytes!);
    if (content.isUsed && !content.stream.locked && !isDisturbed(content.stream)) content.stream.getReader();
    return content.stream;
  }

  get bodyUsed(): boolean {
    const content = this.#content;
    if (content === null) return false;
    return content.isUsed || (content.stream !== null && isDisturbed(content.stream));
  }

  async arrayBuffer(): Promise<ArrayBuffer> {
    return (await this.#read()).slice().buffer;
  }
  async bytes(): Promise<Uint8Array> {
    return (await this.#read()).slice();
  }
  async text(): Promise<string> {
    return new TextDecoder().decode(await this.#read());
  }
  async json(): Promise<unknown> {
    return JSON.parse(await this.text());
  }
  async blob(): Promise<Blob> {
    return new Blob([await this.#read()], {type: this.headers.get('content-type') ?? ''});
  }
  async formData(): Promise<FormData> {
    const type = this.headers.get('content-type') ?? '';
    const bytes = await this.#read();
    if (/^multipart\/form-data\s*(;|$)/i.test(type)) return parseMultipart(bytes, type);
    if (!/^application\/x-www-form-urlencoded\s*(;|$)/i.test(type)) {
      throw new TypeError('formData: the content type is neither multipart/form-data nor urlencoded');
    }
    const form = new FormData();
    for (const [name, value] of new URLSearchParams(new TextDecoder().decode(bytes))) form.append(name, value);
    return form;
  }

  /** A second body with the same content. */
  protected teed(): BodyContent | null {
    const content = this.#content;
    if (content === null) return null;
    if (this.bodyUsed || content.stream?.locked) throw new TypeError('clone: the body is locked or has been used');
    if (content.stream === null) return {...content};
    const [ours, theirs] = content.stream.tee();
    this.#content = {...content, bytes: null, stream: ours as ReadableStream<Uint8Array>};
    return {bytes: null, stream: theirs as ReadableStream<Uint8Array>, isUsed: false};
  }

  /** Takes over the body of another object of the same kind. */
  protected adopt(content: BodyContent | null): void {
    this.#content = content;
  }

  /** Passes the body to another object; this object's body counts as used afterwards. */
  protected taken(): BodyContent | null {
    const content = this.#content;
    if (content === null) return null;
    if (this.bodyUsed || content.stream?.locked) throw new TypeError('the body is locked or has been used');
    this.#content = {bytes: new Uint8Array(0), stream: null, isUsed: true};
    return content;
  }

  async #read(): Promise<Uint8Array<ArrayBuffer>> {
    const content = this.#content;
    if (content === null) return new Uint8Array(0);
    if (this.bodyUsed || content.stream?.locked) throw new TypeError('Body is unusable: it is locked or has been used');
    content.isUsed = true;
    if (content.stream === null) return content.bytes!;
    const reader = content.stream.getReader();
    const chunks: Uint8Array[] = [];
    for (;;) {
      const {done, value} = await reader.read();
      if (done) return concatenated(chunks);
      if (!(value instanceof Uint8Array)) throw new TypeError('Body: a chunk of the stream is not a Uint8Array');
      chunks.push(value);
    }
  }
}
