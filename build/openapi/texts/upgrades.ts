/** Texts of upgrades. */
import type {OperationTexts} from './text.ts';

const versions = [
  {storage_version: 17, tenants: 40},
  {storage_version: 16, tenants: 2},
];
const run = {
  is_running: true,
  started_at: 1767225660000,
  finished_at: null,
  tenants: 42,
  done: 40,
  paused: 0,
  failed: 0,
  failures: [],
};
const answer = {svc: '0.1.0', storage_version: 17, versions, run};

export const UPGRADE_TEXTS: OperationTexts<'upgrade.status' | 'upgrade.start'> = {
  'upgrade.status': {
    tag: 'server',
    summary: "Storage versions of all tenants' files",
    description: 'How many tenants have which version, and how far the upgrade of all tenants is.',
    example: {answer},
  },
  'upgrade.start': {
    tag: 'server',
    summary: "Migrate all tenants' files",
    description:
      'Wakes each tenant whose file has an older storage version, one after another, and puts it to sleep again. ' +
      'Answers once it has begun. If it runs already, nothing else begins.',
    example: {answer: {...answer, run: {...run, done: 0}}},
  },
};
