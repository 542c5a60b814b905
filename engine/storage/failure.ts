/** What somebody is told who asked for something that failed, whatever it was that failed. */
import {AssertionError} from '../../shared/assert.ts';
import {asServiceError, type ServiceError} from '../../shared/errors.ts';
import {isEngineDamage, storageDamaged} from './damage.ts';
import {storageFailure} from './database.ts';

/** @returns with its cause, if that is for the log. @throws what ends the process: a belief of ours was wrong, or the storage failed */
export function refusalOf(caught: unknown): ServiceError {
  if (caught instanceof AssertionError || storageFailure(caught) === 'fatal') throw caught;
  return asServiceError(isEngineDamage(caught) ? storageDamaged({check: 'engine'}) : caught);
}
