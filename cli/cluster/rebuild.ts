/**
 * `svc cluster rebuild` begins the logs of tenants again after NATS has lost all data. The hosts run, on NATS servers that are
 * empty: each lists its files, and the host with the newest file of a tenant makes it the first base of a new log.
 */
import {setTimeout as delay} from 'node:timers/promises';
import type {Command} from 'commander';
import type {Static} from 'typebox';
import Value from 'typebox/value';
import {ListedFiles, RebuildAnswer, type RebuildRequest} from '../../cluster/host/rebuilds.ts';
import type {ReplicatedLog} from '../../cluster/log/replicated-log.ts';
import {decodeMember, isServing, MEMBER_PREFIX} from '../../cluster/members/member-record.ts';
import type {MemberFile} from '../../cluster/owner/lost-tail.ts';
import {decodePlace} from '../../cluster/owner/place.ts';
import {newestFile} from '../../cluster/owner/rebuild.ts';
import {findEntry} from '../../cluster/ownership/claim.ts';
import {TenantEntries} from '../../cluster/ownership/tenant-entries.ts';
import {bytesText} from '../bytes-text.ts';
import {confirm} from '../confirm.ts';
import {counted} from '../counted.ts';
import {CommandFailure} from '../failure.ts';
import {REBUILD_LIST_MS, TASK_POLL_MS} from '../limits.ts';
import {printable} from '../printable.ts';
import {addLogOptions, type LogOptions} from './log-options.ts';
import type {ConnectedLog} from './nats-log.ts';
import {onLog} from './on-log.ts';

type Options = LogOptions & {json?: true; yes?: true};
type Hosts = ConnectedLog['hosts'];
type Found = MemberFile & {readonly bytes: number};
type Lost = {readonly tenant: string; readonly generation: number; readonly newest: Found; readonly files: number};

export function registerRebuild(cluster: Command): void {
  const command = cluster
    .command('rebuild')
    .description('when NATS has lost all data: begin the logs again with the newest files of the hosts, which run')
    .option('--yes', 'do not ask')
    .option('--json', 'one tenant per line, as JSON');
  addLogOptions(command).action((options: Options) =>
    onLog('rebuild', options, (log, hosts) => rebuild(log, hosts, options)),
  );
}

async function rebuild(log: ReplicatedLog, hosts: Hosts, {yes, json}: Options): Promise<void> {
  const names = await hostsOf(log);
  const lost = await lostOf(log, await filesOf(hosts, names));
  for (const {tenant, newest, files} of lost) {
    const what = `newest file at ${newest.host}, commit ${newest.commit}, ${bytesText(newest.bytes)}`;
    process.stderr.write(printable(`${tenant}  ${what}, of ${counted(files, 'host')} with one\n`));
  }
  const what = `${counted(lost.length, 'tenant')} of the hosts ${names.join(', ')} get new logs; files of hosts that do not run, and writes that only they have, are left behind`;
  await confirm(what, 'rebuild', yes === true ? {yes} : {}, 'always');
  const entries = new TenantEntries(log.records, new AbortController().signal);
  const raised = await entries.raiseGenerations(Math.max(...lost.map(({generation}) => generation)));
  if (raised !== 'stored')
    throw new CommandFailure(`the generations of tenants cannot be stored: the log is ${raised}`);
  let failed = 0;
  for (const one of lost) {
    const state = await rebuilt(hosts, one);
    if (state !== 'rebuilt') failed++;
    const {tenant, newest} = one;
    const shown = {tenant, state, host: newest.host, commit: newest.commit};
    const text = state === 'there' ? 'has records in the log, which stay as they are' : state;
    process.stdout.write(json === true ? `${JSON.stringify(shown)}\n` : printable(`${tenant}  ${text}\n`));
  }
  if (failed > 0) process.exitCode = 1;
}

/** Hosts whose entries are of the present cluster. */
async function hostsOf({records}: ReplicatedLog): Promise<string[]> {
  const members = await records.list(MEMBER_PREFIX);
  const names = [...members].flatMap(([host, value]) => (isServing(decodeMember(host, value)) ? [host] : []));
  if (names.length === 0) throw new CommandFailure('no host runs: start svc on all hosts first');
  return names;
}

/** By tenant and generation. @throws CommandFailure: a host does not answer */
async function filesOf(hosts: Hosts, names: readonly string[]): Promise<Map<string, Found[]>> {
  const found = new Map<string, Found[]>();
  for (const host of names) {
    for (let after: string | null = null; ; ) {
      const request: Static<typeof RebuildRequest> = {does: 'files', after};
      const answer = await hosts.askHost(host, request, REBUILD_LIST_MS);
      if (!Value.Check(ListedFiles, answer)) {
        throw new CommandFailure(
          `the host ${host} does not answer: its files could be the newest. Start it, or forget it`,
        );
      }
      for (const {tenant, generation, place, commit, bytes} of answer.files) {
        const key = `${tenant} ${generation}`;
        found.set(key, [...(found.get(key) ?? []), {host, ...decodePlace(place), commit, bytes}]);
      }
      after = answer.next;
      if (after === null) break;
    }
  }
  return found;
}

/** @throws CommandFailure: the cluster has all of them */
async function lostOf(log: ReplicatedLog, found: ReadonlyMap<string, Found[]>): Promise<Lost[]> {
  const lost: Lost[] = [];
  for (const [key, files] of found) {
    const [tenant, generation] = key.split(' ') as [string, string];
    // A deleted tenant has an entry as well.
    if ((await findEntry(log.records, tenant)) !== null) continue;
    const newest = newestFile(files) as Found;
    // A host that was away can have an earlier tenant of the name.
    const later = [...found.keys()].some(other => {
      const [its, than] = other.split(' ');
      return its === tenant && Number(than) > Number(generation);
    });
    if (!later) lost.push({tenant, generation: Number(generation), newest, files: files.length});
  }
  if (lost.length > 0) return lost.sort((one, other) => (one.tenant < other.tenant ? -1 : 1));
  throw new CommandFailure('the cluster knows every tenant that its hosts have a file of: there is nothing to rebuild');
}

async function rebuilt(hosts: Hosts, {tenant, generation, newest}: Lost): Promise<string> {
  const request: Static<typeof RebuildRequest> = {
    ...{does: 'rebuild', tenant, generation},
    epoch: newest.position.epoch,
  };
  for (; ; await delay(TASK_POLL_MS)) {
    const answer = await hosts.askHost(newest.host, request, REBUILD_LIST_MS);
    if (!Value.Check(RebuildAnswer, answer)) return 'no answer';
    if (answer.is !== 'working') return answer.is;
  }
}
