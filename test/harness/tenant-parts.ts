/** A tenant's file in a directory of its own, with a writer, a catalog and a reader on it as a worker has them, and no process. */
import {rmSync} from 'node:fs';
import {join} from 'node:path';
import {passThrough, type Stage} from '../../engine/commit/commit.ts';
import {Writer} from '../../engine/commit/writer.ts';
import {Catalog, type CatalogTable, catalogIndex, refreshInfo} from '../../engine/storage/catalog.ts';
import {openReader, openWriter} from '../../engine/storage/database.ts';
import {Reader} from '../../engine/storage/reader.ts';
import {makeMemoryDirectory} from './memory-directory.ts';

export class TenantParts {
  readonly #directory = makeMemoryDirectory('svc-parts-');
  readonly path = join(this.#directory, 'tenant.sqlite');
  readonly writerDb = openWriter(this.path);
  readonly readerDb = openReader(this.path);
  readonly catalog = Catalog.read(this.writerDb);
  #clock = 1_800_000_000_000;
  #tables = 0;
  /** A millisecond passes whenever the writer looks at the clock. */
  readonly writer = new Writer(this.writerDb, this.catalog, () => this.#clock++);
  readonly reader: Reader;

  constructor(options: {cachesRows?: boolean} = {}) {
    this.reader = new Reader(this.readerDb, this.catalog, options);
  }

  /** A group of this one write. The reader reads it from then on, and these are notified of it. */
  write<T>(change: (writer: Writer) => T, stages: readonly Stage[] = []): T {
    const {writer, reader} = this;
    writer.statements.begin.run();
    const made = change(writer);
    writer.appendRecord();
    writer.counters.write();
    writer.numbers.store(false);
    writer.statements.commit.run();
    writer.numbers.committed();
    reader.endSnapshot();
    const commit = writer.commit();
    reader.committed(commit);
    passThrough(stages, commit);
    writer.endGroup();
    return made;
  }

  /** A new, empty table with these indexes, each named after its fields: `a_b`. */
  newTable(
    indexes: readonly (readonly string[])[] = [],
    state: 'enabled' | 'building' = 'enabled',
    name = `t${++this.#tables}`,
  ): CatalogTable {
    const table = this.write(writer => writer.table(name));
    for (const fields of indexes) {
      table.indexes.push(catalogIndex(this.catalog.nextIndexNumber(), fields.join('_'), [...fields], state, 0));
    }
    refreshInfo(table);
    return table;
  }

  close(): void {
    this.readerDb.close();
    this.writerDb.close();
    rmSync(this.#directory, {recursive: true});
  }
}
