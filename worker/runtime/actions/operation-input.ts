/** Parses the parameters of operations from the isolate: outside input, checked field by field. */
import {isText} from '../../../shared/values/shapes.ts';
import type {FetchCall} from '../guest/actions/network.ts';
import type {SocketCall} from '../guest/actions/web-socket.ts';

export type Fields = Readonly<Record<string, unknown>>;

/** @throws SyntaxError, TypeError */
export function fieldsOf(parameters: string): Fields {
  const parsed: unknown = JSON.parse(parameters);
  if (typeof parsed !== 'object' || parsed === null) throw new TypeError('parameters are an object');
  return parsed as Fields;
}

export function numberOf(fields: Fields, name: string): number {
  const value = fields[name];
  if (typeof value !== 'number' || !(value >= 0)) throw new TypeError(`${name} must be a number`);
  return value;
}

export function textOf(fields: Fields, name: string): string {
  const value = fields[name];
  if (typeof value !== 'string') throw new TypeError(`${name} must be a string`);
  return value;
}

export function checkFetchCall(fields: Fields): FetchCall {
  const {headers, redirect} = fields;
  if (redirect !== 'follow' && redirect !== 'error' && redirect !== 'manual')
    throw new TypeError('redirect is invalid');
  if (!Array.isArray(headers) || !headers.every(isPair)) throw new TypeError('headers are pairs');
  return {
    id: numberOf(fields, 'id'),
    method: textOf(fields, 'method'),
    url: textOf(fields, 'url'),
    headers,
    redirect,
    streams: fields.streams === true,
  };
}

export function checkSocketCall(fields: Fields): SocketCall {
  const {protocols} = fields;
  if (!Array.isArray(protocols) || !protocols.every(isText)) throw new TypeError('protocols are strings');
  return {id: numberOf(fields, 'id'), url: textOf(fields, 'url'), protocols};
}

function isPair(value: unknown): value is [string, string] {
  return Array.isArray(value) && value.length === 2 && value.every(isText);
}
