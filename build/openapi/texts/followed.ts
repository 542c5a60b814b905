/** Texts of the journal, schemas, scheduled jobs and crons. */
import type {Named, OperationTexts} from './text.ts';

const TIMELINE = '5f1e0c9a7b3d4e2f8a6c5b4d3e2f1a0b';
const JOB_ID = 'c8b1e6a0f2d94c37a5e8b6d1f0a29374';
const INDEX = {name: 'by_email', fields: ['email'], unique: true};
const FIELDS = [{name: 'email', field_type: 'string', required: true}];
const STORED_SCHEMA = {table: 'people', fields: FIELDS, indexes: [{id: 'index_1', ...INDEX, state: 'enabled'}]};
const MAIL = {type: 'insert', table: 'mails', fields: {to: 'ada'}};
const SWEEP = {type: 'delete', table: 'mails', id: 'mail-1'};
const HOURLY = {type: 'interval', seconds: 3_600};
const JOB = {id: JOB_ID, run_at: 1_800_000_060_000, mutation: MAIL, created_at: 1_800_000_000_000};
const FROM_SCHEDULE = {operation: 'schedule.create', values: {job_id: '$response.body#/job_id'}};
const FROM_SCHEMA = {operation: 'schema.put', values: {table: '$request.path.table'}};
const RECORD = {
  version: 1,
  sequence: 1,
  timestamp: 1_800_000_000_000,
  events: [{type: 'document.inserted', table: 'cities', id: 'bern'}],
  writes: [
    {
      table: 'cities',
      id: 'bern',
      op: 'insert',
      document: {
        _id: 'bern',
        _creationTime: 1_800_000_000_000,
        _updateTime: 1_800_000_000_000,
        name: 'Bern',
      },
    },
  ],
  scheduled_execution_id: null,
  cause: {kind: 'api', request_id: '4f1c9ab2d0-1k', key_id: 'k3m9x2abcdef'},
  integrity_sha256: '9d0c3f1b2a4e5d6c7f8091a2b3c4d5e6f708192a3b4c5d6e7f8091a2b3c4d5e6',
};
const CRON = {
  name: 'sweep',
  schedule: HOURLY,
  mutation: SWEEP,
  enabled: true,
  last_run: null,
  next_run: 1_800_003_600_000,
  created_at: 1_800_000_000_000,
  last_outcome: null,
  last_error: null,
  failures: 0,
};
const FROM_CRON = {operation: 'crons.create', values: {name: '$request.body#/name'}};
const NOT_THERE = 'op.not_found: table "mails" has no document "mail-1"';
const FAILED = {ran_at: 1_800_000_000_000, outcome: 'failed', error: NOT_THERE};
const CRON_WORK = {kind: 'cron', origin: 'native', id: 'sweep', type: 'delete', table: 'mails', function: null};
const JOB_WORK = {kind: 'job', origin: 'function', id: JOB_ID, type: 'function', table: null, function: 'mails:send'};
const GAP = ['op.rate_limited'] as const;

const LIVE_QUERY = {
  id: 'q1',
  type: 'query',
  query: {table: 'cities', filters: []},
  function: null,
  args: null,
  kind: null,
  holders: 1,
  identities: null,
  result_bytes: 120,
  current: true,
  since: 1_800_000_000_000,
  last_evaluated_at: 1_800_000_000_000,
  time_ms: 1.5,
  evaluations: {changed: 2, equal: 0, unmatched: 0, skipped: 7},
};
const EVALUATION = {
  at: 1_800_000_000_000,
  time_ms: 0.5,
  result: 'changed',
  cause: 'written',
  sequence: 1,
  table: 'cities',
  document: 'bern',
  index: null,
  range: 'any document',
};

export const LIVE_TEXTS: OperationTexts<Named<'live_queries'>> = {
  'live_queries.list': {
    tag: 'live',
    summary: 'Live queries, the most expensive first',
    description:
      'Native live queries and those of functions, by the time that their evaluations have taken since they ' +
      'were subscribed to. Equal subscriptions share one.',
    example: {query: {limit: 10}, answer: {queries: [LIVE_QUERY], total: 1, next_cursor: null}},
  },
  'live_queries.get': {
    tag: 'live',
    summary: 'A live query, with the writes that made it run',
    errors: ['op.not_found'],
    example: {answer: {query: LIVE_QUERY, recent: [EVALUATION]}},
  },
};

export const JOURNAL_TEXTS: OperationTexts<Named<'journal'>> = {
  'journal.page': {
    summary: 'Records of the journal, oldest first',
    description:
      'One record per committed write, without gaps. Pass `next_cursor` as the next `after`, with the ' +
      '`timeline`. After 410, load the bootstrap again. New types of events and new members can be added; ' +
      'ignore those that you do not know. `table`, `document`, `kind`, `request_id`, `from` and `to` select ' +
      'records; such a page can be empty while `has_more` is true. With `order=desc`, pass `next_cursor` as `before`.',
    errors: ['journal.cursor_expired'],
    example: {
      query: {after: 0, limit: 2},
      answer: {
        records: [RECORD],
        next_cursor: 1,
        latest_sequence: 1,
        cursor_floor: 1,
        has_more: false,
        timeline: TIMELINE,
      },
    },
  },
  'journal.counts': {
    summary: 'Records of the journal by time and kind',
    description:
      'For charts. Divides the range into `buckets` of equal length. Counting begins with the newest records and ' +
      'takes about 10 ms; if `complete` is false, the same request counts older ones a moment later.',
    errors: ['op.invalid_input'],
    example: {
      query: {buckets: 2},
      answer: {
        from: 1_800_000_000_000,
        to: 1_800_000_000_000,
        bucket_ms: 1,
        buckets: [{at: 1_800_000_000_000, records: 1, kinds: {insert: 1}}],
        counted_from: 1_800_000_000_000,
        complete: true,
      },
    },
  },
  'journal.stream': {
    summary: 'Records of the journal, existing and future ones',
    description:
      'Server-sent events: `data` is a record, `id` its sequence. The first event, `open`, has `timeline`, ' +
      '`latest_sequence` and `cursor_floor`. The last one is `end` with an `error`. The stream ends after ' +
      '`limit` records; without `limit` it does not end. To continue after a disconnect, send ' +
      '`Last-Event-ID`.',
    errors: ['journal.cursor_expired'],
    example: {query: {after: '0', limit: 1}, answer: RECORD},
  },
  'journal.bootstrap': {
    summary: 'The whole state at one record of the journal',
    description:
      'Streams it without blocking writes. Continue with the journal after `resume_after_sequence`. It ' +
      'contains neither values of variables nor code.',
    errors: [],
    example: {
      answer: {
        snapshot: {
          version: 1,
          applied_sequence: 1,
          durable_head: 1,
          schema: {tables: {}},
          documents: {
            cities: [{_id: 'bern', _creationTime: 1_800_000_000_000, _updateTime: 1_800_000_000_000, name: 'Bern'}],
          },
          scheduled_execution_ids: [],
          jobs: [],
          crons: [],
          deployments: [],
          settings: {egress: {allow: [], deny: []}, allowed_origins: null},
          environment: [],
        },
        resume_after_sequence: 1,
        bootstrap_cut_sequence: 1,
        cursor_floor_sequence: 1,
        timeline: TIMELINE,
      },
    },
  },
};

export const SCHEMA_TEXTS: OperationTexts<Named<'schema'>> = {
  'schema.all': {
    summary: 'All table schemas',
    example: {answer: {tables: {people: STORED_SCHEMA}}},
  },
  'schema.indexes': {
    summary: 'All indexes, with the progress of builds and last reads',
    description:
      'An index without `last_read_at` was read by no query or function since the worker started. Reads of live ' +
      'queries count when they are subscribed, and cached results of functions when they are computed.',
    example: {
      answer: {
        since: 1_800_000_000_000,
        indexes: [
          {
            ...{table: 'people', name: 'by_name', fields: ['name'], state: 'building'},
            ...{documents: 135_000, built: 0.42, last_read_at: null},
          },
        ],
      },
    },
  },
  'schema.get': {
    summary: 'The schema of a table',
    description: 'An index is `building` until it has all documents; queries use it from then on.',
    errors: ['op.not_found'],
    example: {path: {table: 'people'}, answer: STORED_SCHEMA, from: FROM_SCHEMA},
  },
  'schema.put': {
    summary: 'Set the schema of a table',
    description:
      'Replaces the whole schema: indexes that it does not list are dropped. Existing documents are ' +
      'checked first; if some violate it, nothing changes and `detail.offenders` names the first. `table` ' +
      'must equal the one in the path. 409: the active deployment declares this table.',
    errors: ['op.schema_violation', 'op.conflict'],
    example: {path: {table: 'people'}, body: {table: 'people', fields: FIELDS, indexes: [INDEX]}},
  },
  'schema.delete': {
    summary: 'Drop the schema of a table, and its indexes',
    description: 'Documents stay.',
    errors: ['op.not_found', 'op.conflict'],
    example: {path: {table: 'people'}, from: FROM_SCHEMA},
  },
};

export const SCHEDULE_TEXTS: OperationTexts<Named<'schedule' | 'crons'>> = {
  'schedule.create': {
    summary: 'Schedule a mutation',
    description: 'Runs exactly once, at its time or as soon after it as the server runs, whichever process crashes.',
    errors: GAP,
    takesKey: true,
    example: {body: {run_after_ms: 3_600_000, mutation: MAIL}, answer: {job_id: JOB_ID}},
  },
  'schedule.list': {
    summary: 'Pending jobs, the next one first',
    description: 'The whole list, or pages of it with `limit` or `after`: then the answer has `next_cursor`.',
    errors: ['op.too_large'],
    example: {query: {limit: 100}, answer: {jobs: [JOB], next_cursor: null}},
  },
  'schedule.get': {
    summary: 'A pending job',
    errors: ['op.not_found'],
    example: {answer: {job: JOB}, from: FROM_SCHEDULE},
  },
  'schedule.cancel': {
    summary: 'Cancel a pending job',
    errors: ['op.not_found'],
    takesKey: true,
    example: {from: FROM_SCHEDULE},
  },
  'schedule.retry': {
    summary: 'Do the work of a failed job again',
    description:
      'Creates a new job with the same work, due now; the result of the first one stays. Only failed jobs whose result ' +
      'is stored: one that has completed is 409, one that is pending 404.',
    errors: ['op.not_found', 'op.conflict'],
    takesKey: true,
    example: {answer: {job_id: JOB_ID}, from: FROM_SCHEDULE},
  },
  'schedule.result': {
    summary: 'The outcome of a job',
    description: '404 while the job is pending, if it was cancelled, and for jobs older than the newest 10,000.',
    errors: ['op.not_found'],
    example: {
      answer: {
        result: {
          id: JOB_ID,
          run_at: 1_800_000_060_000,
          finished_at: 1_800_000_060_004,
          mutation: MAIL,
          outcome: 'completed',
          error: null,
        },
      },
      from: FROM_SCHEDULE,
    },
  },
  'crons.create': {
    summary: 'Create a cron',
    description:
      'With an interval it first runs one interval from now. With a cron expression it follows the clock ' +
      'of a time zone. One run makes up for all ticks missed while the server was down.',
    errors: ['op.conflict', ...GAP],
    takesKey: true,
    example: {body: {name: 'sweep', schedule: HOURLY, mutation: SWEEP}},
  },
  'crons.list': {
    summary: 'Crons, by name',
    description: 'The whole list, or pages of it with `limit` or `after`: then the answer has `next_cursor`.',
    errors: ['op.too_large'],
    example: {
      query: {limit: 100},
      answer: {
        crons: [CRON],
        next_cursor: null,
      },
    },
  },
  'crons.get': {
    summary: 'A cron',
    errors: ['op.not_found'],
    example: {answer: {cron: CRON}, from: FROM_CRON},
  },
  'crons.patch': {
    summary: 'Change, enable or disable a cron',
    description:
      'Absent members keep their values; outcomes and history stay as well. A new `schedule` starts now. A ' +
      'cron that is enabled again continues with the next tick of its old phase. Changing the `mutation` ' +
      'requires `data:write` as well.',
    errors: ['op.not_found'],
    takesKey: true,
    example: {
      body: {schedule: {type: 'cron', expression: '30 2 * * *', time_zone: 'Europe/Berlin'}, enabled: true},
      answer: {
        cron: {
          ...CRON,
          schedule: {type: 'cron', expression: '30 2 * * *', time_zone: 'Europe/Berlin'},
          next_run: 1_800_062_600_000,
        },
      },
      from: FROM_CRON,
    },
  },
  'crons.next': {
    summary: 'When a cron is due next',
    description: 'Empty while it is not enabled.',
    errors: ['op.not_found'],
    example: {query: {limit: 2}, answer: {times: [1_800_000_060_000, 1_800_003_660_000]}, from: FROM_CRON},
  },
  'crons.run': {
    summary: 'Run a cron now',
    description:
      'Works for disabled crons as well, and does not move the ticks. If its work fails, that is the ' +
      'outcome, not an error of the request.',
    errors: ['op.not_found'],
    takesKey: true,
    example: {answer: {run: {due: null, ...FAILED}}, from: FROM_CRON},
  },
  'crons.history': {
    summary: 'The newest runs of a cron',
    description: 'The newest 100, or pages of them with `limit` or `after`: then the answer has `next_cursor`.',
    errors: ['op.not_found'],
    example: {query: {limit: 10}, answer: {runs: [{due: null, ...FAILED}], next_cursor: null}, from: FROM_CRON},
  },
  'schedule.all': {
    summary: 'Jobs and crons, of this API and of functions, the next one first',
    description: 'In pages, without arguments and fields.',
    errors: [],
    example: {
      query: {limit: 100},
      answer: {
        scheduled: [
          {
            ...CRON_WORK,
            due: 1_800_003_600_000,
            created_at: 1_800_000_000_000,
            schedule: HOURLY,
            last_outcome: null,
            failures: 0,
          },
          {
            ...JOB_WORK,
            due: 1_800_007_200_000,
            created_at: 1_800_000_000_000,
            schedule: null,
            last_outcome: null,
            failures: 0,
          },
        ],
        next_cursor: null,
      },
    },
  },
  'schedule.history': {
    summary: 'Outcomes of jobs and crons, newest first',
    description: 'In pages: the newest 10,000 jobs, and the newest 100 runs of each cron.',
    errors: [],
    example: {query: {limit: 100}, answer: {runs: [{...CRON_WORK, due: null, ...FAILED}], next_cursor: null}},
  },
  'crons.delete': {
    summary: 'Delete a cron',
    errors: ['op.not_found'],
    takesKey: true,
    example: {from: FROM_CRON},
  },
};
