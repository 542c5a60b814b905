/**
 * Reads `If-Match` and `If-None-Match`. A condition that nothing evaluates is refused, because the client relies on it.
 */
import type {HttpRequest} from 'uWebSockets.js';
import {ServiceError} from '../../shared/errors.ts';
import type {Route} from '../routes.ts';
import {listOf} from './forwarded-header.ts';

/** Header values; empty: missing. */
type Conditions = {readonly ifMatch: string; readonly ifNoneMatch: string};

const NONE: Conditions = {ifMatch: '', ifNoneMatch: ''};

/** @throws op.invalid_input 400 */
export function conditionsOf(
  req: HttpRequest,
  {takesConditions, refusesConditions, isRead}: Pick<Route, 'takesConditions' | 'refusesConditions' | 'isRead'>,
): Conditions {
  if (!takesConditions) {
    if (refusesConditions && (req.getHeader('if-match') !== '' || req.getHeader('if-none-match') !== '')) {
      throw new ServiceError('op.invalid_input', OF_INSERT);
    }
    return NONE;
  }
  if (!isRead) return {ifMatch: allLines(req, 'if-match'), ifNoneMatch: allLines(req, 'if-none-match')};
  if (req.getHeader('if-match') !== '') throw new ServiceError('op.invalid_input', OF_READ);
  return {ifMatch: '', ifNoneMatch: allLines(req, 'if-none-match')};
}

const JUDGED = 'PUT, PATCH and DELETE of a document, and POST …/upsert';
const OF_INSERT = `POST …/documents always makes a new document: If-Match and If-None-Match are judged by ${JUDGED}; to make one only if its id is free, PUT it with If-None-Match: *`;
const OF_READ = `a read judges If-None-Match alone; If-Match is judged by ${JUDGED}`;

/**
 * Joins lines of the same name into one list (RFC 9110, 5.3). All headers are read only if the request has such a
 * header, and most have none.
 */
function allLines(req: HttpRequest, header: string): string {
  return req.getHeader(header) === '' ? '' : listOf(req, header);
}
