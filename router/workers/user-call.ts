/**
 * Identifies the function that a request calls, and its arguments, to attribute a worker's crash to it. The names are
 * the router's own, derived from the request. Bodies are private to the tenant and are read only after a crash.
 */
import type {Buffer} from 'node:buffer';
import {createHash} from 'node:crypto';
import type {UserCall} from '../../shared/ipc/control.ts';
import type {RequestMeta} from '../../shared/ipc/operations.ts';
import {CALL_BODY_BYTES_READ} from '../limits.ts';

/** Long bodies that may name a function twice count as calls of one pseudo-function, whatever they contain. */
const LONG_BODY = 'a function named twice';
const NO_FUNCTION = 'no function';
/** The usual beginning of a body that names a valid function. */
const BEGINNING = /^\s*\{\s*"path"\s*:\s*"([^"\\]*)"/;
/** `"path"` a second time, or its letters as escapes. */
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
  // The digest includes the name, because it covers only parts of a long body, and one function's calls must not cause
  // another one's to be refused.
  return {name, key: digest(name, body)};
}

/** @param body empty if it was streamed */
export function httpActionCall(method: string, url: string, body: Buffer): UserCall {
  const [, path = '/'] = /^\w+:\/\/[^/]*([^?]*)/.exec(url) ?? [];
  return {name: `${method} ${path}`, key: digest(`${method} ${url}`, body)};
}

/**
 * Reads the path from the beginning of a long body, unless something later may name another one. Parsing all of it
 * would take time from other tenants.
 */
function pathOfLong(body: Buffer): string {
  const beginning = BEGINNING.exec(body.toString('utf8', 0, 2 * NAME_CHARS_MAX));
  if (beginning === null) return LONG_BODY;
  const isNamedAgain = NAMES_AGAIN.some(text => body.indexOf(text, beginning[0].length) !== -1);
  return isNamedAgain ? LONG_BODY : canonical(beginning[1]!);
}

/** Maps the different spellings of a function's path to one name. */
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

/** For a long body, hashes its length, beginning and end: a digest of all of it would take time from other tenants. */
function digest(head: string, body: Buffer): string {
  const hash = createHash('sha256').update(`${head}\n${body.length}\n`);
  if (body.length <= 2 * CALL_BODY_BYTES_READ) return hash.update(body).digest('base64');
  hash.update(body.subarray(0, CALL_BODY_BYTES_READ)).update(body.subarray(-CALL_BODY_BYTES_READ));
  return hash.digest('base64');
}
