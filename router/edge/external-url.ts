/** Reconstructs the URL that the client requested, which differs from the received one behind a proxy. */
import type {HttpRequest} from 'uWebSockets.js';
import {ServiceError} from '../../shared/errors.ts';
import type {Believed} from './callers.ts';
import {fromTheRight, listOf, parameterOf} from './forwarded-header.ts';

const HOST = /^[\w.~:[\]-]+$/;

/** @throws op.invalid_input 400 when the host is invalid */
export function externalUrl(req: HttpRequest, believed: Believed): string {
  const host = (believed === 'all' ? said(req, 'x-forwarded-host', 'host') : '') || req.getHeader('host');
  if (!HOST.test(host)) throw new ServiceError('op.invalid_input', 'the Host header is not a host');
  const query = (req.getQuery() as string | undefined) ?? '';
  return `${schemeOf(req, believed)}://${host}${req.getUrl()}${query === '' ? '' : `?${query}`}`;
}

function schemeOf(req: HttpRequest, believed: Believed): 'http' | 'https' {
  if (believed === 'none') return 'http';
  const scheme = believed === 'all' ? said(req, 'x-forwarded-proto', 'proto') : req.getHeader('x-forwarded-proto');
  return scheme.toLowerCase() === 'https' ? 'https' : 'http';
}

/** The value from the nearest proxy; empty: it sends none. */
function said(req: HttpRequest, header: string, parameter: string): string {
  const list = listOf(req, header);
  if (list !== '') return last(list);
  return parameterOf(last(listOf(req, 'forwarded')), parameter);
}

function last(list: string): string {
  for (const element of fromTheRight(list)) return element;
  return '';
}
