/** Many documents, written into a tenant's file as its worker would write them, while nobody has it open. */
import {join} from 'node:path';
import {Writer} from '../../engine/commit/writer.ts';
import {Catalog} from '../../engine/storage/catalog.ts';
import {openWriter} from '../../engine/storage/database.ts';
import type {Service} from './service.ts';

const WRITES_A_GROUP = 5_000;

/** Stops the service meanwhile. The tenant exists; its worker is awake again when this returns. */
export async function fill(
  service: Service,
  tenant: string,
  table: string,
  count: number,
  fieldsOf: (n: number) => Record<string, unknown>,
): Promise<void> {
  await service.get(`/api/tenants/${tenant}/schema`); // it has a file from now on
  await service.end('SIGTERM');
  const db = openWriter(join(service.directoryOf(tenant)!, 'tenant.sqlite'));
  const writer = new Writer(db, Catalog.read(db), Date.now);
  for (let from = 0; from < count; from += WRITES_A_GROUP) {
    writer.statements.begin.run();
    for (let n = from; n < Math.min(count, from + WRITES_A_GROUP); n++) {
      const fields = fieldsOf(n);
      writer.insert(writer.table(table), fields, JSON.stringify(fields));
    }
    writer.appendRecord();
    writer.counters.write();
    writer.numbers.store(true);
    writer.statements.commit.run();
    writer.numbers.committed();
    writer.endGroup();
  }
  db.pragma('wal_checkpoint(TRUNCATE)');
  db.close();
  await service.run();
  await service.get(`/api/tenants/${tenant}/schema`);
}
