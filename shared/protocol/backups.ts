/** Wire types of backups. GET /api/backup, POST /api/backup/run, GET /api/tenants/{tenant_id}/backup */
import Type, {type Static} from 'typebox';
import {BACKUP_PAGE_MAX, BACKUP_POINTS_MAX} from '../limits.ts';

const orNull = <T extends Type.TSchema>(type: T, description: string) => Type.Union([type, Type.Null()], {description});
const EpochMs = Type.Number({description: 'epoch milliseconds'});

const BackupPoint = Type.Object(
  {
    at: EpochMs,
    sequence: Type.Integer({description: 'of the newest journal record'}),
    commit: Type.Integer({description: 'number of the commit in its timeline'}),
  },
  {description: 'a commit that can be restored'},
);
export type BackupPoint = Static<typeof BackupPoint>;

const BackupGap = Type.Object(
  {
    finding: Type.String(),
    unreadable: Type.Array(Type.String(), {description: 'objects that are missing or damaged, the first of them'}),
    newest: orNull(
      Type.Object({timeline: Type.String(), commit: Type.Integer()}),
      'the newest commit that was stored and cannot be restored; null: none is known',
    ),
  },
  {description: 'why the newest state in the repository may not be the newest that was stored'},
);
export type BackupGap = Static<typeof BackupGap>;

const BACKUP_STATES = ['starting', 'running', 'failing', 'locked', 'standby'] as const;
export type BackupState = (typeof BACKUP_STATES)[number];

const BackupFault = Type.Object({
  at: EpochMs,
  kind: Type.String({description: 'such as `unavailable`, `refused`, `no_space`, `timeout`, `damaged`, `locked`'}),
  message: Type.String(),
});
export type BackupFault = Static<typeof BackupFault>;

const BackupProof = Type.Object(
  {
    at: EpochMs,
    passed: Type.Boolean(),
    point: orNull(BackupPoint, 'the restored commit; null: nothing could be restored'),
    finding: orNull(Type.String(), 'the first fault; null: none'),
    object: orNull(Type.String(), 'the object of the repository that is at fault; null: none, or it is not known'),
  },
  {description: 'the result of a drill of one tenant'},
);
export type BackupProof = Static<typeof BackupProof>;

const TenantBackup = Type.Object({
  id: Type.String(),
  newest: orNull(BackupPoint, 'the newest commit in the repository; null: no copy yet, or not read since the start'),
  age_ms: Type.Number({description: 'age of the oldest commit that is not in the repository; 0: all are'}),
  spool_bytes: Type.Integer({description: 'page sets that are not in the repository yet'}),
  fault: orNull(BackupFault, 'why its copy stands still, or lacks packages; null: neither'),
  last_proof: orNull(BackupProof, 'null: no drill has restored it, or its proof was not read yet'),
});
export type TenantBackup = Static<typeof TenantBackup>;

export const BackupQuery = Type.Object({
  limit: Type.Optional(Type.Integer({minimum: 1, description: `default 50; above ${BACKUP_PAGE_MAX} is that`})),
  cursor: Type.Optional(Type.String({description: 'next_cursor of the page before'})),
});

const DrillStatus = Type.Object({
  every_ms: Type.Number({description: '0: only on request'}),
  running: orNull(
    Type.Object({done: Type.Integer(), total: Type.Integer({description: '0: the tenants are being chosen'})}),
    'null: none is running',
  ),
  last: orNull(
    Type.Object({at: EpochMs, tenants: Type.Integer(), failed: Type.Integer()}),
    'null: none has ended since the start',
  ),
});
export type DrillStatus = Static<typeof DrillStatus>;

export const BackupStatus = Type.Object({
  backup: orNull(
    Type.Object({
      to: Type.String({description: 'the repository'}),
      repository_id: orNull(Type.String(), 'null: it was not reached since the start'),
      every_ms: Type.Number(),
      state: Type.Enum([...BACKUP_STATES], {
        description:
          '`failing`: tried again; `locked`: not tried again, because another server writes to the repository; `standby`: another host of the cluster writes to it',
      }),
      age_ms: Type.Number({description: 'the highest of all tenants'}),
      spool_bytes: Type.Integer({description: 'of all tenants'}),
      last_success_at: orNull(EpochMs, 'when the repository last had everything; null: not since the start'),
      last_fault: orNull(BackupFault, 'null: none since the last success'),
      drill: DrillStatus,
    }),
    'null: the server was started without --backup-to',
  ),
  tenants: Type.Array(TenantBackup, {description: 'in order of id'}),
  next_cursor: orNull(Type.String(), 'null: this is the last page'),
});
export type BackupStatus = Static<typeof BackupStatus>;

export const BackupRun = Type.Object({
  tenants: Type.Integer({description: 'tenants that the repository has copies of'}),
  took_ms: Type.Number(),
});
export type BackupRun = Static<typeof BackupRun>;

export const PointsQuery = Type.Object({
  before: Type.Optional(Type.Integer({minimum: 0, description: 'epoch milliseconds; absent: the newest'})),
});

export const TenantPoints = Type.Object({
  tenant: TenantBackup,
  ranges: Type.Array(
    Type.Object({timeline: Type.String(), from: BackupPoint, to: BackupPoint, points: Type.Integer()}),
    {description: 'one for each timeline, newest first'},
  ),
  points: Type.Array(BackupPoint, {description: `the newest ${BACKUP_POINTS_MAX} before \`before\`, newest first`}),
  has_more: Type.Boolean(),
  gap: orNull(BackupGap, 'null: the newest point is the newest that was stored'),
});
export type TenantPoints = Static<typeof TenantPoints>;

export const DrillQuery = Type.Object({
  tenants: Type.Optional(Type.Integer({minimum: 1, description: 'this many at random; absent: all'})),
});

/** POST /api/backup/drill */
export const StartedDrill = Type.Object({drill: DrillStatus});

const FLAG = Type.Optional(Type.Enum(['true', 'false']));
export const RestoreQuery = Type.Object({
  to_time: Type.Optional(
    Type.Integer({minimum: 0, description: 'the newest commit at or before it, epoch milliseconds'}),
  ),
  to_sequence: Type.Optional(
    Type.Integer({minimum: 0, description: 'the newest commit whose journal ends at or before it; absent: the newest'}),
  ),
  as: Type.Optional(Type.String({description: 'the tenant to make; absent: the tenant itself, with `replace`'})),
  replace: FLAG,
  live: FLAG,
});

/** POST /api/tenants/{tenant_id}/restore */
export const RestoredTenant = Type.Object({
  tenant: Type.String(),
  from: Type.String(),
  point: BackupPoint,
  live: Type.Boolean({description: 'false: it is paused, and answers reads'}),
  gap: orNull(BackupGap, 'null: the point is the newest for the request that was stored'),
});
export type RestoredTenant = Static<typeof RestoredTenant>;
