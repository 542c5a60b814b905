/**
 * Builds the metadata of requests to a deployment (`/svc/…`): what a worker needs, in addition to the body, to identify
 * the caller, and for an HTTP action everything that its Request consists of.
 */
import type {HttpRequest} from 'uWebSockets.js';
import {Buffer} from 'node:buffer';
import {ServiceError} from '../../shared/errors.ts';
import {HOP_BY_HOP} from '../../shared/http-headers.ts';
import type {RequestMeta} from '../../shared/ipc/operations.ts';
import {FRAME_META_BYTES_MAX} from '../../shared/limits.ts';
import type {Operation} from '../../shared/operations.ts';

/** Headers of one connection instead of the message, and our own credential, which the app must not see. */
const NOT_PASSED_ON: ReadonlySet<string> = new Set([...HOP_BY_HOP, 'expect', 'x-svc-admin-token']);
const ASCII = /^[\x00-\x7f]*$/;

/**
 * @param parameters of the path, as the operation expects them
 * @param isAdmin the request has the admin token
 * @param url of an HTTP action
 */
export function deploymentMeta(
  operation: Operation,
  parameters: string[],
  requestId: string,
  isAdmin: boolean,
  req: HttpRequest,
  url: string,
): string {
  const meta: RequestMeta = {op: operation, r: requestId};
  if (parameters.length > 0) meta.p = parameters;
  const authorization = req.getHeader('authorization');
  if (authorization !== '') meta.a = authorization;
  if (isAdmin) meta.w = 1;
  const origin = req.getHeader('origin');
  if (origin !== '') meta.o = origin;
  if (operation === 'functions.http') {
    meta.m = req.getCaseSensitiveMethod();
    meta.u = url;
    meta.h = passedOn(req);
  }
  const text = JSON.stringify(meta);
  // Escaped text is longer than the original; only unusual headers come near this limit.
  if (Buffer.byteLength(text) > FRAME_META_BYTES_MAX) {
    throw new ServiceError('op.invalid_input', 'the headers hold too many characters that need escaping');
  }
  return text;
}

/**
 * Decodes a value as Latin-1, which is what an app expects. `forEach` decodes UTF-8; `getHeader` does not, but returns
 * only the first header of a name.
 */
function latin1(req: HttpRequest, before: [string, string][], name: string, value: string): string {
  const isFirst = !before.some(([known]) => known === name);
  return isFirst ? req.getHeader(name) : Buffer.from(value).toString('latin1');
}

function passedOn(req: HttpRequest): [string, string][] {
  const named = new Set(
    req
      .getHeader('connection')
      .split(',')
      .map(name => name.trim().toLowerCase()),
  );
  const headers: [string, string][] = [];
  req.forEach((name, value) => {
    if (!NOT_PASSED_ON.has(name) && !named.has(name))
      headers.push([name, ASCII.test(value) ? value : latin1(req, headers, name, value)]);
  });
  return headers;
}
