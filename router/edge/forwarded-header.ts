/**
 * Parses what proxies report about a request: `X-Forwarded-For`, `-Proto` and `-Host` or, without those, `Forwarded`
 * (RFC 7239).
 *
 * Each proxy appends to the right of what it received, in the same line or a new one, so everything to the left of a
 * proxy's own entry can be forged. Hence lists are read from the right, only as far as they can be parsed, and quotes
 * do not extend over a comma: a client that opens a quote must not swallow what the proxy appended. Neither an address
 * nor a host contains a comma.
 */
import type {HttpRequest} from 'uWebSockets.js';
import {type Address, parseAddress} from '../../shared/egress/address.ts';

/** All lines of a header, joined into one list. */
export function listOf(req: HttpRequest, header: string): string {
  let list = '';
  req.forEach((name, value) => {
    if (name === header) list += list === '' ? value : `,${value}`;
  });
  return list;
}

/**
 * The lists of both headers that name callers, read in one pass, because reading the request costs more than parsing
 * the lists.
 */
export function hopListsOf(req: HttpRequest): {forwardedFor: string; forwarded: string} {
  let forwardedFor = '';
  let forwarded = '';
  req.forEach((name, value) => {
    if (name === 'x-forwarded-for') forwardedFor += forwardedFor === '' ? value : `,${value}`;
    else if (name === 'forwarded') forwarded += forwarded === '' ? value : `,${value}`;
  });
  return {forwardedFor, forwarded};
}

/** The elements of a list, or the wanted part of each, from the last to the first. */
export function* fromTheRight(list: string, wanted = (element: string) => element): Generator<string> {
  let end = list.length;
  while (true) {
    const comma = end === 0 ? -1 : list.lastIndexOf(',', end - 1);
    yield wanted(list.slice(comma + 1, end).trim());
    if (comma === -1) return;
    end = comma;
  }
}

/**
 * Parses an address with or without a port, IPv6 with or without brackets; null: not an address (`unknown`, a made-up
 * name, empty).
 */
export function addressIn(text: string): Address | null {
  const [, bracketed, withPort] = /^(?:\[([^\]]*)\]|([^:]*))(?::\d{1,5})?$/.exec(text) ?? [];
  const address = bracketed ?? withPort ?? text;
  return address.includes('%') ? null : parseAddress(address);
}

/** A parameter (`for`, `proto`, `host`) of one element of `Forwarded`; empty: missing. */
export function parameterOf(element: string, name: string): string {
  for (const pair of element.split(';')) {
    const equals = pair.indexOf('=');
    if (equals === -1 || pair.slice(0, equals).trim().toLowerCase() !== name) continue;
    const value = pair.slice(equals + 1).trim();
    return value.length > 1 && value.startsWith('"') && value.endsWith('"') ? value.slice(1, -1) : value;
  }
  return '';
}
