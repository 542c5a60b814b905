/**
 * The descriptions of every operation, in addition to its row (`operations.ts`) and its wire types
 * (`operation-types.ts`): a summary, a description, its errors, an example. `GET /api/openapi.json` is generated from
 * the three at build time; no running service loads them. An operation without a text does not compile; an example that
 * differs from the operation's behaviour fails a test.
 */

import type {Operation, RouterOperation} from '../../shared/operations.ts';
import {BACKUP_TEXTS} from './texts/backups.ts';
import {BULK_TEXTS} from './texts/bulk.ts';
import {CLUSTER_TEXTS} from './texts/cluster.ts';
import {SANDBOX_TEXTS, SERVICE_TEXTS} from './texts/control.ts';
import {DASHBOARD_TEXTS} from './texts/dashboard.ts';
import {DOCUMENT_TEXTS, QUERY_TEXTS, TENANT_TEXTS} from './texts/documents.ts';
import {JOURNAL_TEXTS, LIVE_TEXTS, SCHEDULE_TEXTS, SCHEMA_TEXTS} from './texts/followed.ts';
import {DEPLOYMENT_TEXTS, FUNCTION_TEXTS} from './texts/functions.ts';
import {KEY_TEXTS} from './texts/keys.ts';
import {SERVER_TEXTS} from './texts/server.ts';
import {TENANT_STATE_TEXTS} from './texts/tenant-states.ts';
import type {OperationTexts} from './texts/text.ts';
import {UPGRADE_TEXTS} from './texts/upgrades.ts';

export const OPERATION_TEXTS: OperationTexts<Operation | RouterOperation> = {
  ...SERVER_TEXTS,
  ...TENANT_TEXTS,
  ...TENANT_STATE_TEXTS,
  ...BACKUP_TEXTS,
  ...CLUSTER_TEXTS,
  ...UPGRADE_TEXTS,
  ...KEY_TEXTS,
  ...DASHBOARD_TEXTS,
  ...DOCUMENT_TEXTS,
  ...QUERY_TEXTS,
  ...BULK_TEXTS,
  ...LIVE_TEXTS,
  ...JOURNAL_TEXTS,
  ...SCHEMA_TEXTS,
  ...SCHEDULE_TEXTS,
  ...FUNCTION_TEXTS,
  ...DEPLOYMENT_TEXTS,
  ...SERVICE_TEXTS,
  ...SANDBOX_TEXTS,
};
