/**
 * Identities to run functions as, saved by name in this browser for each tenant. They are claims, as
 * `ctx.auth.getUserIdentity()` returns them, and never tokens: a text that looks like a token is refused.
 */
import {IDENTITIES_MAX, IDENTITY_CHARS_MAX} from '../../limits.ts';

export type Identity = Readonly<Record<string, unknown>>;
export type SavedIdentity = {readonly name: string; readonly identity: Identity};

/** What a person types. */
export type IdentityDraft = {readonly subject: string; readonly name: string; readonly claims: string};

export const EMPTY_DRAFT: IdentityDraft = {subject: '', name: '', claims: ''};

const keyOf = (tenant: string) => `svc.identities.${tenant}`;
/** Three parts of base64url (a JWT), or a key or token of svc. */
const TOKEN = /[\w-]{8,}\.[\w-]{8,}\.[\w-]{8,}|\bsvc_[a-z]+_\w{8,}/;

export function savedIdentities(tenant: string): readonly SavedIdentity[] {
  try {
    const saved: unknown = JSON.parse(localStorage.getItem(keyOf(tenant)) ?? '[]');
    return Array.isArray(saved) ? saved.filter(isSaved) : [];
  } catch {
    return []; // Something else wrote there.
  }
}

function isSaved(value: unknown): value is SavedIdentity {
  const {name, identity} = (value ?? {}) as Partial<SavedIdentity>;
  return typeof name === 'string' && typeof identity === 'object' && identity !== null;
}

/** Replaces the one of that name. @returns all, by name */
export function saveIdentity(tenant: string, name: string, identity: Identity): readonly SavedIdentity[] {
  const others = savedIdentities(tenant).filter(one => one.name !== name);
  return store(tenant, [...others.slice(-(IDENTITIES_MAX - 1)), {name, identity}]);
}

export function forgetIdentity(tenant: string, name: string): readonly SavedIdentity[] {
  return store(
    tenant,
    savedIdentities(tenant).filter(one => one.name !== name),
  );
}

function store(tenant: string, identities: readonly SavedIdentity[]): readonly SavedIdentity[] {
  const sorted = identities.toSorted((a, b) => a.name.localeCompare(b.name));
  localStorage.setItem(keyOf(tenant), JSON.stringify(sorted));
  return sorted;
}

export function draftOfIdentity({subject, name, ...claims}: Identity): IdentityDraft {
  return {
    subject: typeof subject === 'string' ? subject : '',
    name: typeof name === 'string' ? name : '',
    claims: Object.keys(claims).length === 0 ? '' : JSON.stringify(claims, null, 2),
  };
}

/** The identity that was typed, or why it is none. */
export function identityOf({subject, name, claims}: IdentityDraft): Identity | {readonly fault: string} {
  if (TOKEN.test(`${subject} ${name} ${claims}`)) {
    return {fault: 'This looks like a token. Type the claims of an identity: no token is needed, and none is saved.'};
  }
  if (subject.length + name.length + claims.length > IDENTITY_CHARS_MAX) {
    return {fault: `An identity has at most ${IDENTITY_CHARS_MAX} characters.`};
  }
  if (subject.trim() === '') return {fault: 'A subject is missing: it says who the user is.'};
  let more: unknown = {};
  try {
    if (claims.trim() !== '') more = JSON.parse(claims);
  } catch (error) {
    return {fault: (error as Error).message};
  }
  if (typeof more !== 'object' || more === null || Array.isArray(more)) {
    return {fault: 'Other claims must be a JSON object, like {"email": "ada@example.com"}.'};
  }
  return {...more, subject: subject.trim(), ...(name.trim() === '' ? {} : {name: name.trim()})};
}

export function isFault(typed: Identity | {readonly fault: string}): typed is {readonly fault: string} {
  return typeof typed.fault === 'string' && Object.keys(typed).length === 1;
}
