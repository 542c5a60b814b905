/** What a worker does instead of serving a tenant: see shared/ipc/errand.ts. */
import {adoptFile, isToAdopt} from '../../engine/adopt/adopt-file.ts';
import {writeClosedBase} from '../../engine/copies/closed-base.ts';
import type {ErrandSettings} from '../../shared/ipc/control.ts';
import type {ClosedBase, Errand} from '../../shared/ipc/errand.ts';
import type {Logger} from '../../shared/log.ts';
import {drill} from './drill.ts';

/** @returns the answer to the supervisor. @throws ServiceError */
export async function runErrand(settings: ErrandSettings, errand: Errand, log: Logger): Promise<unknown> {
  switch (errand.kind) {
    case 'adopt': {
      const {timeline} = await adoptFile(settings.directory, errand.check);
      return {timeline};
    }
    case 'base':
      if (isToAdopt(settings.directory)) await adoptFile(settings.directory, 'structure');
      return {commit: await writeClosedBase(settings.directory, Date.now())} satisfies ClosedBase;
    case 'drill':
      return await drill(settings, errand.expected, log);
  }
}
