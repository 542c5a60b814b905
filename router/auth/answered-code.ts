/** The error code of an answer. It goes into the audit log, and a worker provides it, so it is checked. */
import type {Buffer} from 'node:buffer';
import {type ErrorEnvelope, isErrorCode} from '../../shared/errors.ts';
import {FRAME_META_BYTES_MAX} from '../../shared/limits.ts';

/** @returns empty: not an envelope of ours */
export function answeredCode(body: Buffer): string {
  if (body.length > FRAME_META_BYTES_MAX) return '';
  try {
    const code: unknown = (JSON.parse(body.toString()) as Partial<ErrorEnvelope>).error?.code;
    return isErrorCode(code) ? code : '';
  } catch {
    return ''; // an app's answer
  }
}
