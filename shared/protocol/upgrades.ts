/** Wire types of upgrades. GET and POST /api/upgrade */
import Type, {type Static} from 'typebox';
import {UPGRADE_FAILURES_SHOWN} from '../limits.ts';

const orNull = <T extends Type.TSchema>(type: T, description: string) => Type.Union([type, Type.Null()], {description});
const EpochMs = Type.Number({description: 'epoch milliseconds'});

const UpgradeRun = Type.Object({
  is_running: Type.Boolean(),
  started_at: EpochMs,
  finished_at: orNull(EpochMs, 'null: it runs'),
  tenants: Type.Integer({description: 'that had an older version, or an unknown one, when it started'}),
  done: Type.Integer(),
  paused: Type.Integer({description: 'skipped: they are migrated when they are used after `resume`'}),
  failed: Type.Integer(),
  failures: Type.Array(Type.Object({tenant: Type.String(), message: Type.String()}), {
    description: `the first ${UPGRADE_FAILURES_SHOWN}`,
  }),
});

export const UpgradeStatus = Type.Object({
  svc: Type.String({description: 'version of the server'}),
  storage_version: Type.Integer({description: 'that it writes'}),
  versions: Type.Array(
    Type.Object({
      storage_version: orNull(Type.Integer(), 'null: there is no file yet, or it cannot be read'),
      tenants: Type.Integer(),
    }),
    {description: 'how many tenants have which version, newest first'},
  ),
  run: orNull(UpgradeRun, 'null: none since the server started'),
});
export type UpgradeStatus = Static<typeof UpgradeStatus>;
export type UpgradeRun = Static<typeof UpgradeRun>;
