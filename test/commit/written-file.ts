/** A file with its writer, and groups that commit to it, without a service. */
import {rmSync} from 'node:fs';
import {join} from 'node:path';
import {CommitGroups} from '../../engine/commit/group.ts';
import {StorageQuota} from '../../engine/commit/storage-quota.ts';
import {Writer} from '../../engine/commit/writer.ts';
import {Catalog} from '../../engine/storage/catalog.ts';
import type {Connection} from '../../engine/storage/connection.ts';
import {openWriter} from '../../engine/storage/database.ts';
import {createLogger} from '../../shared/log.ts';
import {WorkerMetrics} from '../../shared/metrics/worker-metrics.ts';
import {makeMemoryDirectory} from '../harness/memory-directory.ts';
import {promptSync} from '../harness/prompt-sync.ts';

export class WrittenFile {
  readonly #directory: string;
  readonly db: Connection;
  readonly writer: Writer;

  constructor(name: string) {
    this.#directory = makeMemoryDirectory(name);
    this.db = openWriter(join(this.#directory, 'tenant.sqlite'));
    this.writer = new Writer(this.db, Catalog.read(this.db), Date.now);
  }

  /** @param storageBytesMax 0: no quota */
  groups(storageBytesMax = 0): CommitGroups {
    return new CommitGroups({
      writer: this.writer,
      metrics: new WorkerMetrics(),
      log: createLogger({}),
      stages: [],
      sync: promptSync,
      quota: new StorageQuota(this.db, storageBytesMax),
    });
  }

  close(): void {
    this.db.close();
    rmSync(this.#directory, {recursive: true});
  }
}
