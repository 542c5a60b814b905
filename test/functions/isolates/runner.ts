/** A SyncRunner over a real isolate, with the kernel of dist/realm.js, and a real file, with clocks that a test may set. */
import {mkdtempSync, rmSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {onTestFinished} from 'vitest';
import {Catalog} from '../../../engine/storage/catalog.ts';
import {openWriter} from '../../../engine/storage/database.ts';
import {Reader} from '../../../engine/storage/reader.ts';
import {HostDatabase} from '../../../worker/runtime/database/host-database.ts';
import type {Clocks} from '../../../worker/runtime/deadline.ts';
import {type SyncResult, SyncRunner} from '../../../worker/runtime/isolate/sync-runner.ts';

export type RunnerOptions = {wallMsMax?: number; clocks?: Clocks};

export class TestRunner {
  readonly #runner: SyncRunner;
  readonly #files: Readonly<Record<string, string>>;

  /** @param files of the bundle: path → source of an ES module */
  constructor(files: Record<string, string>, {wallMsMax = 8_000, clocks}: RunnerOptions = {}) {
    this.#files = files;
    const directory = mkdtempSync(join(tmpdir(), 'svc-runner-'));
    const db = openWriter(join(directory, 'tenant.sqlite'));
    const database = new HostDatabase(new Reader(db, Catalog.read(db), {cachesRows: false}), null);
    const code = {timestampMs: Date.UTC(2024, 0, 1), seed: '0'.repeat(32), read: (path: string) => this.#files[path]!};
    const options = clocks === undefined ? {wallMsMax} : {wallMsMax, clocks};
    this.#runner = new SyncRunner('query', () => code, database, null, options);
    onTestFinished(() => {
      this.#runner.dispose();
      db.close();
      rmSync(directory, {recursive: true});
    });
  }

  /** @param path `module:name` */
  run(path: string, args: unknown = {}, deployment = 1): SyncResult {
    const [module, name] = path.split(':') as [string, string];
    return this.#runner.run({
      deployment: {id: deployment, timestampMs: Date.UTC(2024, 0, 1), seed: '0'.repeat(32)},
      path,
      module,
      name,
      paginated: false,
      args: JSON.stringify(args),
      caller: {identity: null},
      env: {},
      nowMs: Date.UTC(2025, 0, 1),
      seed: '1'.repeat(32),
      endCursor: null,
    });
  }

  /** What it returned. @throws what it threw */
  value(path: string, args: unknown = {}): unknown {
    const {outcome} = this.run(path, args);
    if (!outcome.ok) throw new Error(`${outcome.error.name}: ${outcome.error.message}`);
    return JSON.parse(outcome.value);
  }
}

/** A handler as the bundle has it. */
export function handler(name: string, body: string): string {
  return `export const ${name} = {_handler: async (ctx, args) => {${body}\n}};\n`;
}
