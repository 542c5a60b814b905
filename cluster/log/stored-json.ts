/** JSON that small records and notes have: checked whole when it is read, because another version or a fault can have written it. */
import type {Static, TSchema} from 'typebox';
import Value from 'typebox/value';
import {LogError} from './log-error.ts';

/** @param what begins the sentence of the error. @throws LogError `damaged`: it is no JSON, or breaks the schema */
export function decodeStored<T extends TSchema>(schema: T, bytes: Buffer, what: string): Static<T> {
  let stored: unknown;
  try {
    stored = JSON.parse(bytes.toString());
  } catch (cause) {
    throw new LogError('damaged', `${what} is no JSON`, {cause});
  }
  if (!Value.Check(schema, stored)) throw new LogError('damaged', `${what} breaks its format`);
  return stored;
}
