/** The tables of a tenant with how many documents each has. GET /api/tenants/{tenant_id}/tables */
import {ServiceError} from '../../shared/errors.ts';
import type {TableCounts} from '../commit/table-counts.ts';
import {type Catalog, isCounted} from '../storage/catalog.ts';

export class TableList {
  readonly #catalog: Catalog;
  readonly #counts: TableCounts;

  constructor(catalog: Catalog, counts: TableCounts) {
    this.#catalog = catalog;
    this.#counts = counts;
  }

  /**
   * `{"tables": [{"name", "documents"}]}`, by name. A table that is empty and has no schema is not there.
   * @throws session.overloaded 503 while the file of an older svc cannot be counted, the disk being full
   */
  async text(): Promise<string> {
    await this.#counts.complete();
    const tables = [];
    for (const table of this.#catalog.tables()) {
      const {name, documents, fields, deployed} = table;
      if (!isCounted(table)) {
        throw new ServiceError(
          'session.overloaded',
          `the documents of table ${name} are still being counted; try again`,
        );
      }
      if (documents > 0 || fields !== null || deployed !== null) tables.push({name, documents});
    }
    return JSON.stringify({tables: tables.sort((a, b) => (a.name < b.name ? -1 : 1))});
  }
}
