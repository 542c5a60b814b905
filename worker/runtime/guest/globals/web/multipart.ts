/** Writes and parses `multipart/form-data`. The input is outside input: anything malformed is a TypeError. */
import {concatenated} from '../bytes.ts';
import {blobBytes, File} from './blob.ts';
import {FormData} from './form-data.ts';
import {TextDecoder} from './text-encoding.ts';
import {encodeUtf8} from './utf8.ts';

export function encodeMultipart(form: FormData, boundary: string): Uint8Array<ArrayBuffer> {
  const chunks: Uint8Array[] = [];
  for (const [name, value] of form) {
    const isFile = value instanceof File;
    let head = `--${boundary}\r\nContent-Disposition: form-data; name="${escaped(lineBreaks(name))}"`;
    if (isFile)
      head += `; filename="${escaped(value.name)}"\r\nContent-Type: ${value.type || 'application/octet-stream'}`;
    chunks.push(encodeUtf8(`${head}\r\n\r\n`));
    chunks.push(isFile ? blobBytes(value) : encodeUtf8(lineBreaks(value)), encodeUtf8('\r\n'));
  }
  chunks.push(encodeUtf8(`--${boundary}--\r\n`));
  return concatenated(chunks);
}

function lineBreaks(text: string): string {
  return text.replace(/\r\n|\r|\n/g, '\r\n');
}

function escaped(text: string): string {
  return text.replaceAll('\n', '%0A').replaceAll('\r', '%0D').replaceAll('"', '%22');
}

/** @param contentType with its boundary */
export function parseMultipart(bytes: Uint8Array, contentType: string): FormData {
  const [, quoted, plain] = /;\s*boundary=(?:"([^"]+)"|([^;\s]+))/i.exec(contentType) ?? [];
  const boundary = quoted ?? plain;
  if (boundary === undefined) throw malformed('no boundary');
  const delimiter = encodeUtf8(`--${boundary}`);
  const form = new FormData();
  let at = find(bytes, delimiter, 0);
  if (at === -1) throw malformed('no part');
  at += delimiter.length;
  const next = encodeUtf8(`\r\n--${boundary}`);
  while (!startsWith(bytes, at, DASHES)) {
    if (!startsWith(bytes, at, LINE)) throw malformed('a boundary is not a line');
    const headEnd = find(bytes, BLANK_LINE, at);
    const end = headEnd === -1 ? -1 : find(bytes, next, headEnd + LINE.length);
    if (end === -1) throw malformed('it ends within a part');
    const bodyAt = Math.min(headEnd + BLANK_LINE.length, end);
    addPart(form, decoder.decode(bytes.subarray(at + LINE.length, headEnd)), bytes.subarray(bodyAt, end));
    at = end + next.length;
  }
  return form;
}

const LINE = encodeUtf8('\r\n');
const BLANK_LINE = encodeUtf8('\r\n\r\n');
const DASHES = encodeUtf8('--');
const decoder = new TextDecoder('utf-8', {ignoreBOM: true});

function addPart(form: FormData, head: string, body: Uint8Array): void {
  const headers = new Map<string, string>();
  for (const line of head.split('\r\n')) {
    const colon = line.indexOf(':');
    if (colon > 0) headers.set(line.slice(0, colon).trim().toLowerCase(), line.slice(colon + 1).trim());
  }
  const disposition = headers.get('content-disposition') ?? '';
  if (!/^form-data\s*;/i.test(disposition)) throw malformed('a part without a disposition');
  const name = parameter(disposition, 'name');
  if (name === null) throw malformed('a part without a name');
  const filename = parameter(disposition, 'filename');
  if (filename === null) form.append(name, decoder.decode(body));
  else form.append(name, new File([body], filename, {type: headers.get('content-type') ?? 'text/plain'}));
}

function parameter(disposition: string, name: string): string | null {
  const match = new RegExp(`;\\s*${name}="([^"]*)"`, 'i').exec(disposition);
  if (match === null) return null;
  return match[1]!.replaceAll('%0A', '\n').replaceAll('%0D', '\r').replaceAll('%22', '"');
}

function startsWith(bytes: Uint8Array, at: number, what: Uint8Array): boolean {
  return what.every((byte, i) => bytes[at + i] === byte);
}

function find(bytes: Uint8Array, what: Uint8Array, from: number): number {
  for (let at = bytes.indexOf(what[0]!, from); at !== -1; at = bytes.indexOf(what[0]!, at + 1)) {
    if (startsWith(bytes, at, what)) return at;
  }
  return -1;
}

function malformed(why: string): TypeError {
  return new TypeError(`The body is not valid multipart/form-data: ${why}`);
}
