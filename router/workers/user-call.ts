/**
 * Which function a request calls, and with what: what a worker's death is held against. The names are the router's own, made
 * of what the request says; bodies are the tenant's business and are looked at only when something went wrong.
 */
import type {Buffer} from 'node:buffer';
import {createHash} from 'node:crypto';
import type {UserCall} from '../../shared/ipc/control.ts';
import type {RequestMeta} from '../../shared/ipc/operations.ts';
import {CALL_BODY_BYTES_READ} from '../limits.ts';

/** Long bodies that may say a function twice count as calls of one: whatever they say, they are alike in that. */
const LONG_BODY = 'a function named twice';
const NO_FUNCTION = 'no function';
/** How every client begins a body, if it names a function that can be. */
const BEGINNING = /^\s*\{\s*"path"\s*:\s*"([^"\\]*)"/;
/** `"path"` once more, or its letters as escapes. */
const NAMES_AGAIN = ['"path"', '\\u006', '\\u007'];
/** No function has a longer path. */
const NAME_CHARS_MAX = 1_024;

/** @param meta RequestMeta as JSON, of an operation that runs the tenant's code */
export function callOf(meta: string, body: Buffer): UserCall {
  const {op, m = '', u = ''} = JSON.parse(meta) as RequestMeta;
  return op === 'functions.http' ? httpActionCall(m, u, body) : functionCall(body);
}

/** @param body as it was sent: an object with `path` and `args` */
export function functionCall(body: Buffer): UserCall {
  const name = body.length > CALL_BODY_BYTES_READ ? pathOfLong(body) : pathOf(body);
  // The name is in the digest: of a long body not all is, and nobody shall have the calls of another function refused.
  return {name, key: digest(name, body)};
}

/** @param body empty when it was sent in pieces */
export function httpActionCall(method: string, url: string, body: Buffer): UserCall {
  const [, path = '/'] = /^\w+:\/\/[^/]*([^?]*)/.exec(url) ?? [];
  return {name: `${method} ${path}`, key: digest(`${method} ${url}`, body)};
}

/** Parsing it would take time from other tenants: its beginning says the function, unless something behind may say another. */
function pathOfLong(body: Buffer): string {
  const beginning = BEGINNING.exec(body.toString('utf8', 0, 2 * NAME_CHARS_MAX));
  if (beginning === null) return LONG_BODY;
  const isNamedAgain = NAMES_AGAIN.some(text => body.indexOf(text, beginning[0].length) !== -1);
  return isNamedAgain ? LONG_BODY : canonical(beginning[1]!);
}

/** The ways to write the path of a function are one name. */
function canonical(path: string): string {
  const [, module, name] = /^(.*?)(?:\.(?:js|ts))?(?::([^:]*))?$/s.exec(path)!;
  return name === undefined || name === 'default' ? module! : `${module}:${name}`;
}

function pathOf(body: Buffer): string {
  try {
    const {path} = JSON.parse(body.toString('utf8')) as {path?: unknown};
    return typeof path === 'string' && path.length <= NAME_CHARS_MAX ? canonical(path) : NO_FUNCTION;
  } catch {
    return NO_FUNCTION; // the worker refuses it
  }
}

/** Of a long body its length, beginning and end: a digest of all of it would take time from other tenants. */
function digest(head: string, body: Buffer): string {
  const hash = createHash('sha256').update(`${head}\n${body.length}\n`);
  if (body.length <= 2 * CALL_BODY_BYTES_READ) return hash.update(body).digest('base64');
  hash.update(body.subarray(0, CALL_BODY_BYTES_READ)).update(body.subarray(-CALL_BODY_BYTES_READ));
  return hash.digest('base64');
}
