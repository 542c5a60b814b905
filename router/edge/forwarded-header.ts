/**
 * What proxies say of a request: `X-Forwarded-For`, `-Proto` and `-Host`, or `Forwarded` (RFC 7239) where those are not there.
 *
 * Each proxy adds to the right of what it got, in the line or in a line of its own, so what is left of a proxy's own words is what somebody
 * claimed. Hence everything is read from the right and no further than it is understood, and quotes do not reach over a comma: a
 * client that opens one must not swallow what the proxy added. Neither an address nor a host has a comma in it.
 */
import type {HttpRequest} from 'uWebSockets.js';
import {type Address, parseAddress} from '../../shared/egress/address.ts';

/** All lines of a header as one list. */
export function listOf(req: HttpRequest, header: string): string {
  let list = '';
  req.forEach((name, value) => {
    if (name === header) list += list === '' ? value : `,${value}`;
  });
  return list;
}

/** Who the proxies named, in both headers that do: one look at the request, which costs more than what is made of what it shows. */
export function hopListsOf(req: HttpRequest): {forwardedFor: string; forwarded: string} {
  let forwardedFor = '';
  let forwarded = '';
  req.forEach((name, value) => {
    if (name === 'x-forwarded-for') forwardedFor += forwardedFor === '' ? value : `,${value}`;
    else if (name === 'forwarded') forwarded += forwarded === '' ? value : `,${value}`;
  });
  return {forwardedFor, forwarded};
}

/** The elements of a list, or what is wanted of each, the last one first. */
export function* fromTheRight(list: string, wanted = (element: string) => element): Generator<string> {
  let end = list.length;
  while (true) {
    const comma = end === 0 ? -1 : list.lastIndexOf(',', end - 1);
    yield wanted(list.slice(comma + 1, end).trim());
    if (comma === -1) return;
    end = comma;
  }
}

/** An address with or without a port, IPv6 with or without brackets; null: it is none (`unknown`, a made-up name, nothing). */
export function addressIn(text: string): Address | null {
  const [, bracketed, withPort] = /^(?:\[([^\]]*)\]|([^:]*))(?::\d{1,5})?$/.exec(text) ?? [];
  const address = bracketed ?? withPort ?? text;
  return address.includes('%') ? null : parseAddress(address);
}

/** A parameter (`for`, `proto`, `host`) of one element of `Forwarded`; empty: it has none. */
export function parameterOf(element: string, name: string): string {
  for (const pair of element.split(';')) {
    const equals = pair.indexOf('=');
    if (equals === -1 || pair.slice(0, equals).trim().toLowerCase() !== name) continue;
    const value = pair.slice(equals + 1).trim();
    return value.length > 1 && value.startsWith('"') && value.endsWith('"') ? value.slice(1, -1) : value;
  }
  return '';
}
