/** What a worker does instead of serving a tenant: see shared/ipc/errand.ts. */
import {adoptFile} from '../../engine/adopt/adopt-file.ts';
import type {Errand, ErrandSettings} from '../../shared/ipc/errand.ts';

/** @returns what the supervisor is told, as JSON. @throws ServiceError */
export async function runErrand({directory}: ErrandSettings, errand: Errand): Promise<unknown> {
  switch (errand.kind) {
    case 'adopt': {
      const {timeline} = await adoptFile(directory, errand.check);
      return {timeline};
    }
  }
}
