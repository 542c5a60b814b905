/** A build of a later release: tenants that it opens get a storage version that the build beside the tests cannot open. */
import {NEWEST_STORAGE_VERSION, READABLE_FROM} from '../../../shared/storage-version.ts';
import {ChangedBuild} from '../../harness/changed-build.ts';

const LATER = NEWEST_STORAGE_VERSION + 1;

export function laterBuild(): ChangedBuild {
  const build = new ChangedBuild();
  const step = 'db.exec(ADD_COMMIT_NUMBERS)';
  build.replace('*.js', step, `${step}, (db) => db.exec('CREATE TABLE of_the_future (a INTEGER PRIMARY KEY)')`);
  build.replace('*.js', `STORAGE_VERSION === ${NEWEST_STORAGE_VERSION}`, `STORAGE_VERSION === ${LATER}`);
  build.replace('*.js', `"readable_from", ${READABLE_FROM}`, `"readable_from", ${LATER}`);
  build.replace('cluster.js', `record.storage ?? 0, ${READABLE_FROM}`, `record.storage ?? 0, ${LATER}`);
  build.replace('cluster.js', `storage: ${NEWEST_STORAGE_VERSION}`, `storage: ${LATER}`);
  return build;
}
