/**
 * Writes the meta of requests to a deployment (`/svc/…`): what a worker needs beside the body to know the caller, and for an
 * HTTP action everything that makes up its Request.
 */
import type {HttpRequest} from 'uWebSockets.js';
import {Buffer} from 'node:buffer';
import {ServiceError} from '../../shared/errors.ts';
import {HOP_BY_HOP} from '../../shared/http-headers.ts';
import type {RequestMeta} from '../../shared/ipc/operations.ts';
import {FRAME_META_BYTES_MAX} from '../../shared/limits.ts';
import type {Operation} from '../../shared/operations.ts';

/** Of one connection, not of the message; and our own credential, which is not the app's business. */
const NOT_PASSED_ON: ReadonlySet<string> = new Set([...HOP_BY_HOP, 'expect', 'x-svc-admin-token']);
const ASCII = /^[\x00-\x7f]*$/;

/** @param parameters of the path, as the operation wants them, @param isAdmin the admin token came with it, @param url of an HTTP action */
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
  // Escaped text is longer than what came; only odd headers come near this.
  if (Buffer.byteLength(text) > FRAME_META_BYTES_MAX) {
    throw new ServiceError('op.invalid_input', 'the headers hold too many characters that need escaping');
  }
  return text;
}

/** The bytes of a value are characters to an app. `forEach` takes them for UTF-8, `getHeader` (of the first of a name) does not. */
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
