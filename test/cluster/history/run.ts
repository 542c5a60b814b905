/**
 * A randomized history on real hosts: clients write and read by all routers while faults come and go. Afterwards everything
 * is well, and everything that was seen has to agree with what is there. A seed repeats the faults, not their effects.
 */
import {setTimeout as delay} from 'node:timers/promises';
import {ReplicatedLog} from '../../../cluster/log/replicated-log.ts';
import {checkLog} from '../../../cluster/ownership/check-log.ts';
import type {JournalPage, JournalRecord} from '../../../shared/protocol/journal.ts';
import {killHard} from '../../harness/processes.ts';
import {seededRandom} from '../../harness/random.ts';
import {CLUSTER} from '../harness/rig.ts';
import {type SvcHost, SvcHosts} from '../harness/svc-hosts.ts';
import {Order, violationsOf} from './checks.ts';
import {Clients, CRON, idOf} from './clients.ts';
import {faultsUntil} from './faults.ts';
import {fileFindings} from './file-checks.ts';
import {deployments, FunctionClients} from './function-clients.ts';
import {LiveClients} from './live-clients.ts';
import {Notes} from './notes.ts';

const TENANTS = ['red', 'green'];
const CLIENTS = 5;
/** Afterwards everything is served within this time: hosts join, leases end, tenants are opened. */
const WELL_MS = 90_000;
const POLL_MS = 100;
const JOURNAL_PAGE = 1_000;

export type History = {
  readonly seed: number;
  /** None: all is well. */
  readonly violations: readonly string[];
  readonly faults: readonly string[];
  readonly writes: number;
  readonly acknowledged: number;
  /** Of them, by function sockets. */
  readonly calls: number;
  readonly reads: number;
  readonly results: number;
  /** Of the hosts, for people. */
  readonly logs: string;
};

export type HistoryOptions = {
  readonly seed: number;
  /** Of faults; the hosts' start and the checks come on top. */
  readonly durationMs: number;
  /** Only faults with this in their names, to find out which of them breaks something. */
  readonly wanted?: string;
  /** Another build than the one beside the tests. */
  readonly dist?: string;
};

/** A fault fills it. Its reserve is more than all clients write between two polls of the free space. */
const JETSTREAM = 'sync_interval: always, max_file_store: 64MB';

export async function randomHistory({seed, durationMs, wanted = '', dist}: HistoryOptions): Promise<History> {
  const cluster = await SvcHosts.start({dist, hasOwnMachines: true, jetstream: JETSTREAM});
  const killAll = () => {
    for (const {service} of cluster.hosts) for (const pid of service.processes()) killHard(pid);
  };
  process.once('exit', killAll);
  const random = seededRandom(seed);
  const clients = TENANTS.map(id => new Clients(new Notes(id), cluster.hosts, seededRandom(random() * 2 ** 30)));
  const live: (LiveClients | FunctionClients)[] = [];
  const sockets: FunctionClients[] = [];
  const violations: string[] = [];
  let faults: string[] = [];
  try {
    for (const id of TENANTS) await cluster.tenant(id);
    const apps = await deployments();
    for (const one of clients) await one.prepare(apps[0]!);
    for (const one of clients) one.start(CLIENTS);
    for (const {notes} of clients) {
      live.push(new LiveClients(notes, cluster.hosts, seededRandom(random() * 2 ** 30)));
      sockets.push(new FunctionClients(notes, cluster.hosts, seededRandom(random() * 2 ** 30)));
    }
    live.push(...sockets);
    faults = await faultsUntil(performance.now() + durationMs, seed, {cluster, tenants: TENANTS, apps, wanted});
    const stopped = Promise.all([...clients.map(one => one.stop()), ...sockets.map(one => one.stopWriting())]);
    for (const one of clients) violations.push(...(await findingsOf(cluster, one, stopped)));
    for (const one of live) await one.stop();
    await Promise.all(cluster.hosts.map(({service}) => service.killAll()));
    for (const finding of await cluster.nats.differentCopies()) {
      // A server of NATS that stays behind has lost nothing, and hosts say so.
      (finding.includes(' does not follow: ') ? faults : violations).push(finding);
    }
    for (const id of TENANTS) violations.push(...(await fileFindings(cluster, id)));
  } finally {
    process.off('exit', killAll);
    for (const one of live) await one.stop();
    for (const one of clients) await one.close();
    await cluster.stop();
  }
  const writes = clients.flatMap(({notes}) => [...notes.writes.values()]);
  return {
    ...{seed, violations, faults},
    writes: writes.length,
    acknowledged: writes.filter(({outcome}) => outcome === 'acknowledged').length,
    calls: writes.filter(({marker, outcome}) => outcome === 'acknowledged' && marker.startsWith('f')).length,
    reads: clients.reduce((sum, {notes}) => sum + notes.reads.length, 0),
    results: clients.reduce((sum, {notes}) => sum + notes.subscriptions.flatMap(({results}) => results).length, 0),
    logs: cluster.hosts.map(({name, service}) => `── ${name} ──\n${service.log}`).join('\n'),
  };
}

/** All is well again: what is there now is compared with all that was seen. */
async function findingsOf(cluster: SvcHosts, clients: Clients, stopped: Promise<unknown>): Promise<string[]> {
  const {notes} = clients;
  const deadline = performance.now() + WELL_MS;
  try {
    for (const host of cluster.hosts) {
      await well(`${host.name} serves ${notes.tenant} again`, deadline, async () => {
        return (await clients.ask(host, 'GET', `/documents/lists/${idOf('lists', 0)}`)).status === 200;
      });
    }
    await well(`all writes of ${notes.tenant} are answered`, deadline, async () => {
      return await Promise.race([stopped.then(() => true), delay(POLL_MS, false)]);
    });
    const [host] = cluster.hosts as [SvcHost];
    await well(`the cron of ${notes.tenant} is deleted`, deadline, async () => {
      return [204, 404].includes((await clients.ask(host, 'DELETE', `/crons/${CRON}`)).status);
    });
    await well(`all jobs of ${notes.tenant} have run`, deadline, async () => {
      const {status, body} = await clients.ask(host, 'GET', '/schedule');
      return status === 200 && (body as {jobs: unknown[]}).jobs.length === 0;
    });
    const journals: JournalRecord[][] = [];
    for (const one of cluster.hosts) {
      await well(`${one.name} shows the journal of ${notes.tenant}`, deadline, async () => {
        const journal = await journalOf(clients, one);
        if (journal !== null) journals.push(journal);
        return journal !== null;
      });
    }
    const [journal, ...others] = journals as [JournalRecord[], ...JournalRecord[][]];
    const order = new Order(journal);
    await well(`live queries of ${notes.tenant} show what is there`, deadline, async () => {
      const open = notes.subscriptions.filter(({isOpen, results}) => isOpen && results.length > 0);
      return open.every(({results}) => order.spanOf(results.at(-1)!.documents)?.to === Number.POSITIVE_INFINITY);
    });
    const found = violationsOf(notes, journal);
    for (const other of others) {
      if (JSON.stringify(other) !== JSON.stringify(journal))
        found.push(`${notes.tenant}: hosts show different journals`);
    }
    await well(`the log of ${notes.tenant} is read`, deadline, async () => {
      found.push(...(await logFindings(cluster, notes.tenant)));
      return true;
    });
    return found;
  } catch (error) {
    return [`${notes.tenant}: ${(error as Error).message}`];
  }
}

async function well(what: string, deadline: number, poll: () => Promise<boolean>): Promise<void> {
  let last: unknown;
  while (performance.now() < deadline) {
    const isSo = await poll().catch((error: unknown) => {
      last = error;
      return false;
    });
    if (isSo) return;
    await delay(POLL_MS);
  }
  throw new Error(`not so after ${WELL_MS} ms: ${what} (${String(last)})`);
}

/** @returns null: it was refused */
async function journalOf(clients: Clients, host: SvcHost): Promise<JournalRecord[] | null> {
  const records: JournalRecord[] = [];
  for (let after = 0; ; ) {
    const answer = await clients.ask(host, 'GET', `/journal?after=${after}&limit=${JOURNAL_PAGE}`);
    if (answer.status !== 200) return null;
    const page = answer.body as JournalPage;
    records.push(...page.records);
    after = page.next_cursor;
    if (!page.has_more) return records;
  }
}

/** Its records are one chain in which epochs never fall: that is checked when they are read. */
async function logFindings(cluster: SvcHosts, tenant: string): Promise<string[]> {
  const {engine} = await cluster.nats.host();
  const checked = await checkLog(new ReplicatedLog(engine, CLUSTER), tenant);
  return (checked?.findings ?? ['no log']).map(finding => `${tenant}: ${finding}`);
}
