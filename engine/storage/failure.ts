/** Turns any failure into the error that the client gets. */
import {AssertionError} from '../../shared/assert.ts';
import {asServiceError, type ServiceError} from '../../shared/errors.ts';
import {isEngineDamage, storageDamaged} from './damage.ts';
import {storageFailure} from './database.ts';

/**
 * @returns the error, with its cause if that is for the log. @throws errors that end the process: a failed assertion,
 *   or a storage failure
 */
export function refusalOf(caught: unknown): ServiceError {
  if (caught instanceof AssertionError || storageFailure(caught) === 'fatal') throw caught;
  return asServiceError(isEngineDamage(caught) ? storageDamaged({check: 'engine'}) : caught);
}
