/**
 * A host is lost: a server under mixed load copies into a repository while its processes are killed; its data directory is deleted, and
 * everything is made again from the repository and its key.
 */
import {mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {newRepositoryKey, parseRepositoryKey} from '../../copies/repository/keys.ts';
import {Repository} from '../../copies/repository/repository.ts';
import {restoreFile} from '../../copies/restore/restore-file.ts';
import {openStore} from '../../copies/store/open-store.ts';
import {checkFile} from '../../engine/verify/check-file.ts';
import {isAlive} from '../harness/processes.ts';
import {seededRandom} from '../harness/random.ts';
import {Service} from '../harness/service.ts';
import {until} from '../harness/until.ts';
import {contentOf, TenantHistory} from './history.ts';
import {MixedLoad} from './mixed-load.ts';

const LOADS = 2;
/** Successful requests of each load between two kills. */
const BETWEEN_KILLS = 25;

const VICTIMS = ['worker', 'copier', 'router', 'supervisor', 'all'] as const;
type Victim = (typeof VICTIMS)[number];

export class LostHost {
  readonly seed: number;
  readonly service: Service;
  readonly loads: MixedLoad[] = [];
  readonly #root: string;
  readonly #repository: string;
  readonly #key: string;
  readonly #random: () => number;
  #restores = 0;

  private constructor(seed: number, root: string, service: Service, [repository, key]: [string, string]) {
    this.seed = seed;
    this.#root = root;
    this.service = service;
    this.#repository = repository;
    this.#key = key;
    this.#random = seededRandom(seed);
  }

  /** A server with tenants under load, which copies. @param repository undefined: a directory */
  static async begin(seed: number, repository?: string, env: Record<string, string> = {}): Promise<LostHost> {
    const root = mkdtempSync(join(tmpdir(), 'svc-lost-host-'));
    const to = repository ?? join(root, 'repository');
    const key = join(root, 'backup.key');
    writeFileSync(key, `${newRepositoryKey()}\n`, {mode: 0o600});
    (await Repository.init(await openStore(to), keyIn(key))).close();
    const args = ['--backup-to', to, '--backup-key', key, '--backup-every', '200ms'];
    const service = await Service.start({args, env});
    const host = new LostHost(seed, root, service, [to, key]);
    for (let i = 0; i < LOADS; i++) host.loads.push(await MixedLoad.begin(service, seed + i));
    return host;
  }

  /** Kills some process again and again while the loads go on. @returns what was killed */
  async survive(kills: number): Promise<Victim[]> {
    const victims: Victim[] = [];
    for (let i = 0; i < kills; i++) {
      await Promise.all(this.loads.map(load => load.progress(BETWEEN_KILLS)));
      const victim = VICTIMS[Math.floor(this.#random() * VICTIMS.length)]!;
      await this.#kill(victim);
      victims.push(victim);
    }
    await Promise.all(this.loads.map(load => load.progress(BETWEEN_KILLS)));
    return victims;
  }

  async #kill(victim: Victim): Promise<void> {
    const {service} = this;
    switch (victim) {
      case 'supervisor': {
        const before = service.processes();
        await service.end('SIGKILL');
        await until('the children to end', () => !before.some(isAlive));
        return service.run();
      }
      case 'all':
        await service.killAll();
        return service.run();
      default: {
        const pids = service.children(victim);
        const pid = pids[Math.floor(this.#random() * pids.length)];
        if (pid !== undefined) process.kill(pid, 'SIGKILL');
      }
    }
  }

  /** Ends the loads, and waits until the repository has everything. @returns what each tenant had */
  async settle(): Promise<Map<string, TenantHistory>> {
    for (const load of this.loads) await load.stop();
    await this.backUp();
    const histories = new Map<string, TenantHistory>();
    for (const {tenant} of this.loads) histories.set(tenant.id, await TenantHistory.of(tenant));
    return histories;
  }

  async backUp(): Promise<void> {
    const headers = {'x-svc-admin-token': this.service.adminToken};
    let last = '';
    await until('a whole backup', async () => {
      const {status, text} = await this.service.request('POST', '/api/backup/run', undefined, headers);
      last = text;
      return status === 200;
    }).catch(caught => {
      throw new Error(`the last answer was ${last}`, {cause: caught});
    });
  }

  /** Deletes the host with all its data. */
  async lose(): Promise<void> {
    await this.service.killAll();
    rmSync(this.service.data, {recursive: true, force: true});
    mkdirSync(this.service.data);
  }

  async open(): Promise<Repository> {
    return Repository.open(await openStore(this.#repository), keyIn(this.#key));
  }

  /** Restores a tenant and compares it. @param sequence absent: the newest. @returns the sequence of the file, and how it differs */
  async compare(
    repository: Repository,
    tenant: string,
    history: TenantHistory,
    target: 'newest' | {sequence: number} | {timeMs: number},
  ): Promise<{sequence: number; differences: string[]}> {
    const path = join(this.#root, `restored-${this.#restores++}.sqlite`);
    const point = await restoreFile({repository, tenant, target, path, isKept: true});
    const {checks} = checkFile(path, {tenant, point});
    const content = contentOf(path);
    rmSync(path);
    const differences = [...checks.flatMap(({findings}) => findings), ...history.differencesOf(content)];
    if (content.sequence !== point.sequence) differences.push(`it ends at ${content.sequence}, not ${point.sequence}`);
    return {sequence: content.sequence, differences};
  }

  /** Markers of inserts that were answered with success, and are not in the newest state. */
  missing(load: MixedLoad, history: TenantHistory): number[] {
    const state = history.stateAt(history.head);
    const there = new Set((state.get('docs') ?? []).map(doc => Number(doc.marker)));
    return [...load.acknowledged].filter(marker => !there.has(marker));
  }

  async end(): Promise<void> {
    await this.service.stop();
    rmSync(this.#root, {recursive: true, force: true});
    rmSync(this.service.data, {recursive: true, force: true});
  }
}

function keyIn(path: string): Buffer {
  return parseRepositoryKey(readFileSync(path, 'utf8'));
}
