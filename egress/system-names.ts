/**
 * Resolves names from the hosts file, else through the name servers of resolv.conf. Unlike `getaddrinfo`, it blocks no
 * thread, so names without an answer cost one socket each and delay nothing else.
 */

import {Resolver} from 'node:dns/promises';
import {accessSync, constants, readFileSync, statSync} from 'node:fs';
import {isIP} from 'node:net';
import {
  EGRESS_LOOKUP_MS_MAX,
  EGRESS_LOOKUP_TIMEOUT_MS,
  EGRESS_LOOKUP_TRIES,
  EGRESS_SEARCH_DOMAINS_MAX,
  EGRESS_SYSTEM_FILE_POLL_MS,
} from './limits.ts';
import type {Resolve} from './policy.ts';

export type SystemNamesParts = {
  hosts: string;
  resolvConf: string;
  /** `address:port` of name servers; null: those of the system. */
  servers: string[] | null;
};

const SYSTEM: SystemNamesParts = {hosts: '/etc/hosts', resolvConf: '/etc/resolv.conf', servers: null};
/** Errors by which a name server says that the name does not exist or has no address. */
const NO_ADDRESS = new Set(['ENOTFOUND', 'ENODATA', 'EBADNAME', 'EBADQUERY', 'ENONAME']);

type Search = {domains: string[]; dots: number};

export function systemNames({hosts, resolvConf, servers}: SystemNamesParts = SYSTEM): Resolve {
  const known = new SystemFile(hosts, hostsIn);
  const search = new SystemFile(resolvConf, searchIn);
  return async (host, signal) => {
    signal.throwIfAborted();
    const listed = known.content().get(host) ?? (isLocalhost(host) ? ['127.0.0.1', '::1'] : null);
    if (listed !== null) return listed;
    const resolver = new Resolver({timeout: EGRESS_LOOKUP_TIMEOUT_MS, tries: EGRESS_LOOKUP_TRIES});
    if (servers !== null) resolver.setServers(servers);
    const cancel = () => resolver.cancel();
    const timer = setTimeout(cancel, EGRESS_LOOKUP_MS_MAX);
    signal.addEventListener('abort', cancel, {once: true});
    try {
      for (const name of candidates(host, search.content())) {
        const found = await addressesOf(resolver, name);
        if (found.length > 0) return found;
        signal.throwIfAborted();
      }
    } catch (caught) {
      throw lookupError('EAI_AGAIN', host, caught);
    } finally {
      clearTimeout(timer);
      signal.removeEventListener('abort', cancel);
    }
    throw lookupError('ENOTFOUND', host);
  };
}

/** @returns an empty list if the name has no address. @throws when no name server can answer */
async function addressesOf(resolver: Resolver, name: string): Promise<string[]> {
  const answers = await Promise.allSettled([resolver.resolve4(name), resolver.resolve6(name)]);
  const found = answers.flatMap(answer => (answer.status === 'fulfilled' ? answer.value : []));
  if (found.length > 0) return found;
  for (const answer of answers) {
    if (answer.status === 'rejected' && !NO_ADDRESS.has((answer.reason as NodeJS.ErrnoException).code ?? ''))
      throw answer.reason;
  }
  return [];
}

/** In the order of `getaddrinfo`: a name with few dots is tried within the search domains first. */
function candidates(host: string, {domains, dots}: Search): string[] {
  const searched = domains.map(domain => `${host}.${domain}`);
  return host.split('.').length - 1 >= dots ? [host, ...searched] : [...searched, host];
}

function isLocalhost(host: string): boolean {
  return host === 'localhost' || host.endsWith('.localhost');
}

/** Has the codes and messages of `dns.lookup`, which tenants' code expects. */
function lookupError(code: string, host: string, cause?: unknown): Error {
  const error = new Error(`getaddrinfo ${code} ${host}`, {cause});
  return Object.assign(error, {code, syscall: 'getaddrinfo', hostname: host});
}

/** A system file that is read again after it has changed. */
class SystemFile<T> {
  readonly #path: string;
  readonly #parse: (text: string) => T;
  #content: T;
  #stamp = '';
  #lookedMs = Number.NEGATIVE_INFINITY;

  constructor(path: string, parse: (text: string) => T) {
    this.#path = path;
    this.#parse = parse;
    this.#content = parse('');
  }

  content(): T {
    const nowMs = performance.now();
    if (nowMs - this.#lookedMs < EGRESS_SYSTEM_FILE_POLL_MS) return this.#content;
    this.#lookedMs = nowMs;
    const stamp = this.#poll();
    if (stamp !== this.#stamp) this.#content = this.#parse(stamp === '' ? '' : readFileSync(this.#path, 'utf8'));
    this.#stamp = stamp;
    return this.#content;
  }

  /** Identifies the file's version; empty: the file does not exist or is not readable. */
  #poll(): string {
    try {
      accessSync(this.#path, constants.R_OK);
      const {mtimeMs, size, ino} = statSync(this.#path);
      return `${mtimeMs} ${size} ${ino}`;
    } catch {
      return '';
    }
  }
}

function hostsIn(text: string): Map<string, string[]> {
  const hosts = new Map<string, string[]>();
  for (const [address, ...names] of linesOf(text)) {
    if (isIP(address!) === 0) continue;
    for (const name of names.map(each => each.toLowerCase())) {
      const listed = hosts.get(name);
      if (listed === undefined) hosts.set(name, [address!]);
      else if (!listed.includes(address!)) listed.push(address!);
    }
  }
  return hosts;
}

function searchIn(text: string): Search {
  const search: Search = {domains: [], dots: 1};
  for (const [keyword, ...values] of linesOf(text)) {
    if (keyword === 'search' || keyword === 'domain')
      search.domains = values.map(domain => domain.replace(/\.$/, '')).filter(domain => domain !== '');
    const dots = keyword === 'options' ? values.find(value => /^ndots:\d+$/.test(value)) : undefined;
    if (dots !== undefined) search.dots = Number(dots.slice('ndots:'.length));
  }
  search.domains = search.domains.slice(0, EGRESS_SEARCH_DOMAINS_MAX);
  return search;
}

/** The words of each line that is not empty. */
function linesOf(text: string): string[][] {
  return text
    .split('\n')
    .map(line => line.replace(/[#;].*/, '').trim())
    .filter(line => line !== '')
    .map(line => line.split(/\s+/));
}
