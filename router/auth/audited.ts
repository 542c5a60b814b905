/** Builds the audit record of a request, which is stored before its action begins. */
import type {Buffer} from 'node:buffer';
import {ServiceError} from '../../shared/errors.ts';
import type {AuditedAction, AuditRequest} from '../../shared/ipc/audit.ts';
import {KEY_PREFIX} from '../../shared/key-prefix.ts';
import {AUDIT_PAGE_RECORDS_MAX} from '../../shared/limits.ts';
import {AUDIT_SUBJECT_CHARS_MAX} from '../limits.ts';
import {decodedOrSame, type Route} from '../routes.ts';
import {keyOf, type Principal, sessionIdOf} from './credentials.ts';

/** The parts of an exchange that are read here. */
type AuditedExchange = {
  readonly route: Route | null;
  readonly path: string;
  readonly query: string;
  readonly body: Buffer;
  readonly tenantId: string;
  readonly principal: Principal | null;
  readonly address: string;
  readonly requestId: string;
};

const LIMIT_DEFAULT = 100;
const SECRET = new RegExp(`(${KEY_PREFIX}[^_]{0,16})_.*`, 's');
const DIGITS = /^\d{1,15}$/;

/** The body is read only for operations whose subject is named there. */
export function auditedAction(exchange: AuditedExchange): AuditedAction {
  const route = exchange.route!;
  const {answer, rights} = route;
  const subject = subjectIn(route, exchange.path);
  if (rights.subject !== undefined) addMembers(subject, rights.subject, exchange.body);
  if (rights.querySubject !== undefined) addParameters(subject, rights.querySubject, exchange.query);
  const key = keyOf(exchange.principal);
  const session = sessionIdOf(exchange.principal);
  return {
    operation: 'own' in answer ? answer.own : answer.operation,
    tenant: exchange.tenantId === '' ? null : exchange.tenantId,
    subject,
    key: key?.id ?? null,
    key_name: key?.name ?? 'admin',
    ...(session === null ? {} : {session}),
    address: exchange.address,
    request_id: exchange.requestId,
  };
}

/** The path's parameters by name, without the tenant. */
function subjectIn({pattern}: Route, path: string): Record<string, string> {
  const parts = path.split('/');
  const subject: Record<string, string> = {};
  for (const [i, part] of pattern.split('/').entries()) {
    if (!part.startsWith('{') || part === '{tenant_id}') continue;
    subject[part.slice(1, -1)] = cutSecret(decodedOrSame(parts[i] ?? ''));
  }
  return subject;
}

/**
 * Adds the members that exist and are strings, by the last step of their path. The handler that parses the body reports
 * other errors.
 */
function addMembers(subject: Record<string, string>, paths: readonly string[], bytes: Buffer): void {
  let body: unknown;
  try {
    body = JSON.parse(bytes.toString());
  } catch {
    return;
  }
  for (const path of paths) {
    const steps = path.split('.');
    const value = steps.reduce<unknown>(
      (part, step) => (part as Record<string, unknown> | null | undefined)?.[step],
      body,
    );
    if (typeof value === 'string') subject[steps.at(-1)!] = cutSecret(value);
  }
}

function addParameters(subject: Record<string, string>, names: readonly string[], query: string): void {
  const parameters = new URLSearchParams(query);
  for (const name of names) {
    const value = parameters.get(name);
    if (value !== null) subject[name] = cutSecret(value);
  }
}

/** If a request names a key by its whole secret, only the id is recorded. */
export function cutSecret(text: string): string {
  return text.replace(SECRET, '$1…').slice(0, AUDIT_SUBJECT_CHARS_MAX);
}

/** Parses the query string. @throws op.invalid_input 400 */
export function auditRequest(of: AuditRequest['of'], query: string): AuditRequest {
  const parameters = new URLSearchParams(query);
  const after = numberIn(parameters, 'after');
  const limit = numberIn(parameters, 'limit') ?? LIMIT_DEFAULT;
  if (limit < 1) throw new ServiceError('op.invalid_input', 'limit must be 1 at least');
  return {action: 'audit_page', of, after, limit: Math.min(limit, AUDIT_PAGE_RECORDS_MAX)};
}

/** @throws op.invalid_input 400 */
export function numberIn(parameters: URLSearchParams, name: string): number | null {
  const text = parameters.get(name);
  if (text === null) return null;
  if (!DIGITS.test(text)) throw new ServiceError('op.invalid_input', `${name} must be a number in digits`);
  return Number(text);
}
