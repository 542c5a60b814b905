/** Checks the JSON of a body that the router reads itself. Each refusal names the member at fault. */
import type {Buffer} from 'node:buffer';
import type {Static, TSchema} from 'typebox';
import type {Validator} from 'typebox/compile';
import {ServiceError} from '../../shared/errors.ts';
import {parseJson} from '../../shared/values/json.ts';

/** Characters of a wrong value that the error message shows. */
const SHOWN_CHARS_MAX = 80;

type Fault = {keyword: string; instancePath: string; message: string; params: object};

/** @throws op.invalid_input 400 */
export function bodyOf<T extends TSchema>(type: Validator<Record<never, never>, T>, bytes: Buffer): Static<T> {
  const body = parseJson(bytes);
  if (!type.Check(body)) throw refusalOf(type.Errors(body), body);
  return body as Static<T>;
}

function refusalOf(faults: Iterable<Fault>, body: unknown): ServiceError {
  const all = [...faults];
  const closed = all.find(({keyword}) => keyword === 'additionalProperties');
  const {additionalProperties: [unknown] = []} = (closed?.params ?? {}) as {additionalProperties?: string[]};
  if (unknown !== undefined) return invalid(`${unknown} is not a member that is known here`);
  const [{instancePath, keyword, message, params}] = all as [Fault];
  const at = instancePath.slice(1).replaceAll('/', '.') || 'the body';
  const {allowedValues} = params as {allowedValues?: unknown[]};
  if (keyword === 'enum' && allowedValues !== undefined)
    return invalid(`${at} must be one of ${allowedValues.join(', ')}, not ${shown(memberAt(body, instancePath))}`);
  return invalid(`${at} ${message}`);
}

/** @param pointer a location in the format of the validators: `/scopes/0` */
function memberAt(body: unknown, pointer: string): unknown {
  return pointer
    .slice(1)
    .split('/')
    .reduce((value, name) => (value as Record<string, unknown>)[name], body);
}

function shown(value: unknown): string {
  const text = JSON.stringify(value);
  return text.length > SHOWN_CHARS_MAX ? `${text.slice(0, SHOWN_CHARS_MAX)}…` : text;
}

function invalid(message: string): ServiceError {
  return new ServiceError('op.invalid_input', message);
}
