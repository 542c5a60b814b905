/** What handlers need of the open tenant. */
import type {Imports} from '../bulk/imports.ts';
import type {Tasks} from '../bulk/tasks.ts';
import type {CommitGroups} from '../commit/group.ts';
import type {ControlGate} from '../control/gate.ts';
import type {JournalFollowers} from '../follow/journal-followers.ts';
import type {ResultFollowers} from '../follow/result-followers.ts';
import type {FunctionGate} from '../functions/gate.ts';
import type {JournalReader} from '../journal/read-page.ts';
import type {ScanPool} from '../reads/scan-pool.ts';
import type {AllWork} from '../scheduler/all-work.ts';
import type {CronRunReader} from '../scheduler/cron-runs.ts';
import type {CronReader} from '../scheduler/crons.ts';
import type {JobReader} from '../scheduler/jobs.ts';
import type {SchemaChanges} from '../schema/change.ts';
import type {TableList} from '../schema/table-list.ts';
import type {Catalog} from '../storage/catalog.ts';
import type {Reader} from '../storage/reader.ts';
import type {TableInfo} from '../storage/rows.ts';

export type OpenTenant = {
  path: string;
  /** Of what the reader reads. */
  catalog: Catalog;
  /** Documents of a table, as far as they are counted. */
  count: (table: TableInfo) => number;
  reader: Reader;
  scans: ScanPool;
  journal: JournalReader;
  journalFollowers: JournalFollowers;
  resultFollowers: ResultFollowers;
  groups: CommitGroups;
  schemas: SchemaChanges;
  imports: Imports;
  tasks: Tasks;
  jobs: JobReader;
  crons: CronReader;
  cronRuns: CronRunReader;
  allWork: AllWork;
  tables: TableList;
  functions: FunctionGate;
  control: ControlGate;
  /** Epoch milliseconds. */
  clock: () => number;
};
