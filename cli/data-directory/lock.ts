/** For commands that change a data directory, which no server may be using. */
import {join} from 'node:path';
import {acquireOwnerLock, OwnerLockHeld} from '../../shared/owner-lock.ts';
import {CommandFailure} from '../failure.ts';
import {type Survey, surveyDataDirectory} from './survey.ts';

/** @throws CommandFailure: it is not a data directory */
export function requireSurvey(data: string): Survey {
  const found = surveyDataDirectory(data);
  if (found !== null) return found;
  throw new CommandFailure(`${data} is not a data directory: it has neither registry.sqlite nor tenants/`);
}

/** @throws CommandFailure: a server uses the directory */
export async function lockDataDirectory(data: string): Promise<{release(): void}> {
  requireSurvey(data); // First, because a lock creates files, which must not happen in another kind of directory.
  try {
    return await acquireOwnerLock(join(data, 'svc'));
  } catch (caught) {
    if (!(caught instanceof OwnerLockHeld)) throw caught;
    const who = caught.owner === null ? 'a server' : `a server (process ${caught.owner.pid})`;
    throw new CommandFailure(`the data directory ${data} is in use by ${who}: stop it first`);
  }
}
