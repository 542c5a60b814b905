/**
 * `svc cluster adopt` makes the tenants of a server alone tenants of a cluster, with everything that they have. It runs on
 * the machine of the stopped server, which becomes a host. Nothing is deleted, and a run that ended is repeated.
 *
 *   all is checked ──▶ generations are reserved ──▶ marked: no start ──▶ each tenant ──▶ marked: of the cluster
 *        └─▶ refused, nothing was changed
 */
import {randomBytes} from 'node:crypto';
import {mkdirSync} from 'node:fs';
import {join} from 'node:path';
import type {Command} from 'commander';
import {EngineError} from '../../cluster/log/log-engine.ts';
import {LogError} from '../../cluster/log/log-error.ts';
import type {ReplicatedLog} from '../../cluster/log/replicated-log.ts';
import {findTenant} from '../../cluster/ownership/claim.ts';
import {TenantEntries} from '../../cluster/ownership/tenant-entries.ts';
import {CopyError} from '../../engine/copies/copy-error.ts';
import {type Adopting, readClusterMark, writeClusterMark} from '../../supervisor/files/cluster-mark.ts';
import {Registry} from '../../supervisor/files/registry.ts';
import {bytesText} from '../bytes-text.ts';
import {counted} from '../counted.ts';
import {lockDataDirectory, requireSurvey} from '../data-directory/lock.ts';
import {CommandFailure, reportFailure} from '../failure.ts';
import {printable} from '../printable.ts';
import {type AdoptPlan, planAdoption} from './adopt-plan.ts';
import {adoptTenant, generationIn} from './adopt-tenant.ts';
import {addLogOptions, type LogOptions, logAccess} from './log-options.ts';

type Options = LogOptions & {data: string; json?: true};

export function registerAdopt(cluster: Command): void {
  const command = cluster
    .command('adopt')
    .description('make the tenants of a server alone, which is stopped, tenants of the cluster; run it on its machine')
    .option('--data <directory>', 'the data directory (SVC_DATA)', process.env.SVC_DATA ?? './data')
    .option('--json', 'one tenant per line, as JSON');
  addLogOptions(command).action((options: Options) => reportFailure('svc cluster adopt', () => adopt(options)));
}

async function adopt({data, json, ...options}: Options): Promise<void> {
  const access = logAccess(options);
  process.umask(0o077);
  const lock = await lockDataDirectory(data);
  try {
    const mark = readClusterMark(data);
    if (mark !== null && mark.cluster !== access.cluster) {
      throw new CommandFailure(`${data} is of a host of the cluster ${mark.cluster}`);
    }
    if (mark !== null && mark.adopting === null) {
      if (json !== true) say(`${data} is of a host of the cluster ${access.cluster} already`);
      return;
    }
    const {startLog} = await import('./nats-log.ts');
    const {log, close} = await startLog(access);
    const registry = new Registry(join(data, 'registry.sqlite'));
    try {
      const adopting = mark?.adopting ?? null;
      await adoptAll(log, {data, registry, adopting, cluster: access.cluster, isJson: json === true});
    } catch (caught) {
      throw explained(caught);
    } finally {
      registry.close();
      await close();
    }
  } finally {
    lock.release();
  }
}

type Run = {data: string; registry: Registry; adopting: Adopting | null; cluster: string; isJson: boolean};

async function adoptAll(log: ReplicatedLog, {data, registry, adopting: before, cluster, isJson}: Run): Promise<void> {
  const plan = await checkedPlan(log, {data, registry, adopting: before});
  const entries = new TenantEntries(log.records, new AbortController().signal);
  const adopting = before ?? (await reserved(entries, plan, registry));
  const start = randomBytes(16).toString('hex');
  writeClusterMark(data, {start, cluster, adopting});
  const scratch = join(data, 'scratch-cluster');
  mkdirSync(scratch, {recursive: true, mode: 0o700});
  const parts = {replicated: log, entries, registry, adopting, scratch: join(scratch, 'adopt'), nowMs: Date.now()};
  for (const tenant of plan.tenants) {
    const done = await adoptTenant(parts, tenant);
    const text = done.state === 'there' ? 'in the cluster already' : `adopted, ${bytesText(done.bytes)}`;
    say(isJson ? JSON.stringify(done) : printable(`${done.tenant}  ${text}`));
  }
  writeClusterMark(data, {start, cluster, adopting: null});
  if (!isJson)
    say(`${counted(plan.tenants.length, 'tenant')} of the cluster ${cluster}: start svc here as one of its hosts`);
}

/** @throws CommandFailure: nothing was changed */
async function checkedPlan(
  log: ReplicatedLog,
  {data, registry, adopting}: Pick<Run, 'data' | 'registry' | 'adopting'>,
): Promise<AdoptPlan> {
  const survey = requireSurvey(data);
  const {unknown, tenants, adopted} = survey.plan;
  const isWhole = survey.registryFinding === null && !tenants.some(({isMissing}) => isMissing) && unknown.length === 0;
  // A run that ended leaves directories that the registry does not name yet.
  if (adopting === null && (!isWhole || adopted.length > 0)) {
    throw new CommandFailure(`${data} is not as a server leaves it: svc verify says what is wrong, then start it once`);
  }
  const plan = planAdoption(survey, registry, adopting);
  const faults = [...plan.faults];
  for (const {id, generation} of plan.tenants) {
    const found = await findTenant(log.records, id);
    const isOurs = adopting !== null && found?.record.generation === generationIn(adopting, generation);
    if (found !== null && !isOurs) faults.push(`tenant ${id}: the cluster has a tenant of this name`);
  }
  if (faults.length > 0) throw new CommandFailure(`no tenant was adopted:\n  ${faults.join('\n  ')}`);
  return plan;
}

async function reserved(entries: TenantEntries, {tenants}: AdoptPlan, registry: Registry): Promise<Adopting> {
  const generations = tenants.map(({generation}) => generation);
  const last = Math.max(registry.lastGeneration(), ...generations);
  const added = await entries.reserveGenerations({first: Math.min(last, ...generations), last});
  if (typeof added === 'number') return {last, added};
  throw new CommandFailure(`the generations of tenants cannot be stored: the log is ${added}`);
}

function explained(caught: unknown): unknown {
  if (caught instanceof CopyError) return new CommandFailure(caught.message, 1, {cause: caught});
  if (!(caught instanceof EngineError || caught instanceof LogError)) return caught;
  return new CommandFailure(`the log does not answer: ${caught.message}; run it again`, 1, {cause: caught});
}

function say(text: string): void {
  process.stdout.write(`${text}\n`);
}
