/** The parts of an open tenant that handlers use. */

import type {CommitGroups} from '../../../engine/commit/group.ts';
import type {JournalBlocks} from '../../../engine/journal/blocks.ts';
import type {JournalReader} from '../../../engine/journal/read-page.ts';
import type {JournalSearch} from '../../../engine/journal/search.ts';
import type {ScanPool} from '../../../engine/reads/scan-pool.ts';
import type {AllWork} from '../../../engine/scheduler/all-work.ts';
import type {CronRunReader} from '../../../engine/scheduler/cron-runs.ts';
import type {CronReader} from '../../../engine/scheduler/crons.ts';
import type {JobReader} from '../../../engine/scheduler/jobs.ts';
import type {SchemaChanges} from '../../../engine/schema/change.ts';
import type {TableList} from '../../../engine/schema/table-list.ts';
import type {Catalog} from '../../../engine/storage/catalog.ts';
import type {Reader} from '../../../engine/storage/reader.ts';
import type {TableInfo} from '../../../engine/storage/rows.ts';
import type {ControlGate} from '../../control/gate.ts';
import type {FunctionGate} from '../../functions/gate.ts';
import type {Imports} from '../bulk/import/imports.ts';
import type {Tasks} from '../bulk/tasks/tasks.ts';
import type {FunctionFollowers} from '../follow/function-followers.ts';
import type {JournalFollowers} from '../follow/journal-followers.ts';
import type {LiveList} from '../follow/live-list.ts';
import type {ResultFollowers} from '../follow/result-followers.ts';
import type {TenantUse} from './tenant-limits.ts';

export type OpenTenant = {
  path: string;
  /** The reader's catalog. */
  catalog: Catalog;
  /** Number of documents in a table, as far as they are counted. */
  count: (table: TableInfo) => number;
  reader: Reader;
  scans: ScanPool;
  journal: JournalReader;
  journalSearch: JournalSearch;
  journalBlocks: JournalBlocks;
  journalFollowers: JournalFollowers;
  resultFollowers: ResultFollowers;
  functionFollowers: FunctionFollowers;
  liveList: LiveList;
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
  use: () => TenantUse;
  /** Epoch milliseconds. */
  clock: () => number;
};
