/**
 * The errand of a drill: checks a restored file, opens it read-only, starts the functions of its active deployment and
 * runs a query. The file is a scratch copy, and no job, cron, service or action runs.
 */
import {Buffer} from 'node:buffer';
import {randomUUID} from 'node:crypto';
import {setPriority} from 'node:os';
import {join} from 'node:path';
import {openReader} from '../../engine/storage/database.ts';
import {readIdentity, type StoredIdentity} from '../../engine/storage/identity.ts';
import {Reserve} from '../../engine/storage/reserve.ts';
import {checkFile} from '../../engine/verify/check-file.ts';
import {ServiceError} from '../../shared/errors.ts';
import type {ErrandSettings} from '../../shared/ipc/control.ts';
import type {DrilledFile, ExpectedPoint} from '../../shared/ipc/drill.ts';
import type {Logger} from '../../shared/log.ts';
import type {FunctionEntry} from '../../shared/protocol/functions.ts';
import {TENANT_FILE} from '../../shared/tenant-directory.ts';
import type {FunctionPlatform} from '../functions/platform.ts';
import {decoded} from '../ipc/decode.ts';
import {DRILL_NICENESS, DRILL_QUERIES_MAX, DRILL_TEXT_CHARS_MAX} from '../limits.ts';
import {WorkerEgress} from '../runtime/egress/worker-egress.ts';
import {Tenant} from '../tenant.ts';

type FunctionsChecked = Pick<DrilledFile, 'functions' | 'query' | 'functionFindings'>;

export async function drill(settings: ErrandSettings, expected: ExpectedPoint, log: Logger): Promise<DrilledFile> {
  // Tenants that are served go first. Its processes inherit it.
  setPriority(DRILL_NICENESS);
  const {digest, ...point} = expected;
  const path = join(settings.directory, TENANT_FILE);
  const checked = checkFile(path, {tenant: settings.tenant, point: {...point, digest: Buffer.from(digest, 'hex')}});
  const isSound = checked.checks.every(({findings}) => findings.length === 0);
  return {...checked, ...(isSound ? await startFunctions(settings, log) : NOT_STARTED)};
}

const NOT_STARTED: FunctionsChecked = {functions: 'not_started', query: null, functionFindings: []};
const NONE: FunctionsChecked = {...NOT_STARTED, functions: 'none'};

async function startFunctions(settings: ErrandSettings, log: Logger): Promise<FunctionsChecked> {
  const reserve = new Reserve(settings.reservePath);
  const tenant = await openForReading(settings, reserve, log);
  try {
    return tenant.hasCode ? await callQuery(await tenant.dispatch.tenant.functions.loaded()) : NONE;
  } catch (caught) {
    if (!(caught instanceof ServiceError)) throw caught;
    return {functions: 'failed', query: null, functionFindings: [caught.message]};
  } finally {
    await tenant.close();
    reserve.close();
  }
}

/** Opens the file as a paused tenant that answers reads. */
function openForReading(settings: ErrandSettings, reserve: Reserve, log: Logger): Promise<Tenant> {
  const none = {socketPath: join(settings.directory, 'none'), secret: ''};
  const egress = new WorkerEgress(none, () => undefined);
  const installNode = () => Promise.reject(new Error('a drill installs nothing'));
  const {generation, createdMs} = identityIn(join(settings.directory, TENANT_FILE));
  const own = {...settings, generation, createdMs, copies: null, log: null, hasCode: false, isReadOnly: true};
  return Tenant.open({...own, ...none, egress: none, routers: 1}, reserve, log, {
    egress,
    installNode,
    onUse: () => undefined,
  });
}

/** A file that passed its checks has an identity. */
function identityIn(path: string): StoredIdentity {
  const db = openReader(path);
  try {
    return readIdentity(db)!;
  } finally {
    db.close();
  }
}

/**
 * Calls queries that have no required arguments until one returns. A query can refuse a caller without an identity, so
 * what it throws is no fault of the file. @throws ServiceError: the code cannot be started
 */
async function callQuery(platform: FunctionPlatform): Promise<FunctionsChecked> {
  const {functions} = platform.functionList();
  let query: string | null = null;
  for (const {path} of functions.filter(isCallable).slice(0, DRILL_QUERIES_MAX)) {
    const body = Buffer.from(JSON.stringify({path, args: {}}));
    const reply = await platform.endpoints.run(decoded({op: 'functions.run', r: randomUUID()}, body, null));
    const {status, errorMessage} = JSON.parse(reply) as {status: string; errorMessage?: string};
    if (status === 'success') return {functions: 'started', query: `${path} returned`, functionFindings: []};
    query ??= `${path} threw: ${errorMessage}`.slice(0, DRILL_TEXT_CHARS_MAX);
  }
  return {functions: 'started', query, functionFindings: []};
}

function isCallable({kind, args}: FunctionEntry): boolean {
  if (kind !== 'query') return false;
  return args === null || (args.type === 'object' && Object.values(args.value).every(({optional}) => optional));
}
