/** The spool that is made from a tenant's log leads on from what the repository has, whatever the log still has. */
import {mkdirSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
import {expect, test} from 'vitest';
import {LogSpool} from '../../cluster/copies/log-spool.ts';
import {LOG_SPOOL_SETS} from '../../cluster/limits.ts';
import {checkFollows, type Position} from '../../engine/copies/page-set.ts';
import {encodePosition} from '../../engine/copies/position-file.ts';
import {SpoolView} from '../../engine/copies/spool-view.ts';
import {type Parts, scenario} from './harness/file-scenario.ts';
import type {ReplicatedHost} from './harness/replicated-host.ts';

const BYTES_MAX = 2 ** 30;

async function serve(host: ReplicatedHost, epoch: number): Promise<void> {
  expect(await host.serve((await host.bring(epoch))!, () => 0)).toBe(true);
}

async function write(host: ReplicatedHost, n: number): Promise<void> {
  expect(await new Promise(resolve => host.owner!.write(n, 100, resolve))).toBe('acknowledged');
}

/** A copier that stores nothing: it checks that all in the spool follows what it had. */
class Receiver {
  readonly directory: string;
  position: Position | null = null;
  readonly #parts: Parts;

  constructor(parts: Parts, name: string) {
    this.#parts = parts;
    this.directory = join(parts.standby.root, name);
    mkdirSync(this.directory);
  }

  /** Of a cluster process that begins now, with what the repository has. */
  spool(onList = () => {}): LogSpool {
    const {connection, tenant} = this.#parts;
    if (this.position !== null) {
      mkdirSync(join(this.directory, 'spool'), {recursive: true});
      writeFileSync(join(this.directory, 'spool', 'confirmed'), encodePosition(this.position));
    }
    const {bases} = connection.replicated;
    const list: typeof bases.list = of => {
      onList();
      return bases.list(of);
    };
    const read: typeof bases.read = (...of) => bases.read(...of);
    return new LogSpool({tenant, log: connection.log(tenant), bases: {list, read}, directory: this.directory});
  }

  /** @returns first and last commits of what it took */
  take(): [number, number][] {
    const view = SpoolView.open(this.directory);
    if (view === null) return [];
    const taken: [number, number][] = [];
    const {base, sets, position} = view.list();
    expect(position, 'the spool says where it begins').not.toBeNull();
    for (const file of [...(base === null ? [] : [base]), ...sets]) {
      const {set, close} = view.open(file, BYTES_MAX)!;
      const {first, last} = set.head;
      if (first === 0) expect({...set.after}).toEqual(position);
      else checkFollows(this.position!, set.head);
      this.position = set.after;
      taken.push([first, last]);
      close();
    }
    if (this.position !== null) view.confirm(this.position);
    view.close();
    return taken;
  }
}

test(
  'it begins with the first commits of the log, goes on through owners, and removes what is stored',
  scenario(async parts => {
    const {owner, other} = parts;
    const receiver = new Receiver(parts, 'copies');
    const spool = receiver.spool();
    await spool.step();
    expect(receiver.take(), 'a tenant that was never used has nothing to copy').toEqual([]);
    await serve(owner, 1);
    await write(owner, 1);
    expect(await spool.step()).toBe(true);
    const first = receiver.take();
    expect(first[0]![0]).toBe(0);
    await owner.close();
    await serve(other, 2);
    await write(other, 2);
    expect(await spool.step()).toBe(true);
    const second = receiver.take();
    expect(second.length).toBeGreaterThan(0);
    expect(
      second.every(([begin]) => begin > first.at(-1)![1]),
      'no second base',
    ).toBe(true);
    expect(spool.prune()).toBe(true);
    expect(spool.isEmpty).toBe(true);
    expect(await spool.step()).toBe(false);
    await other.close();
  }),
);

test(
  'another process continues where the repository is, also behind a base of the log that has it, and else with a base',
  scenario(async parts => {
    const {owner, standby} = parts;
    const [early, late] = [new Receiver(parts, 'early'), new Receiver(parts, 'late')];
    await serve(owner, 1);
    await write(owner, 1);
    await early.spool().step();
    early.take();
    for (const n of [2, 3]) {
      await write(owner, n);
      await standby.follow();
      expect(await standby.storeBase()).toBe('stored');
    }
    await late.spool().step();
    expect(late.take().map(([first]) => first)).toEqual([0]);
    await write(owner, 4);
    await late.spool().step();
    const [after] = late.take();
    expect(after![0], 'it follows the base').toBeGreaterThan(0);
    for (const n of [5, 6, 7]) {
      await write(owner, n);
      await standby.follow();
      await standby.storeBase();
    }
    await write(owner, 8);
    // The log was trimmed behind what this one has.
    await early.spool().step();
    expect(early.take()[0]![0]).toBe(0);
    await late.spool().step();
    late.take();
    expect(early.position).toEqual(late.position);
    await owner.close();
  }),
);

test(
  'a base that is requested replaces what is there, and a full spool waits for the copier',
  scenario(async parts => {
    const {owner} = parts;
    const receiver = new Receiver(parts, 'copies');
    await serve(owner, 1);
    await write(owner, 1);
    const spool = receiver.spool();
    await spool.step();
    receiver.take();
    spool.wantBase();
    expect(await spool.step()).toBe(true);
    expect(receiver.take()[0]![0]).toBe(0);
    for (let n = 2; n <= LOG_SPOOL_SETS + 10; n++) await write(owner, n);
    await spool.step();
    expect(spool.isFull).toBe(true);
    receiver.take();
    await spool.step();
    receiver.take();
    expect(spool.isFull).toBe(false);
    expect(receiver.position!.commit).toBeGreaterThan(LOG_SPOOL_SETS);
    await owner.close();
  }),
);

test(
  'a base that is requested while a spool begins without one is in the next step',
  scenario(async parts => {
    const {owner, standby} = parts;
    await serve(owner, 1);
    await write(owner, 1);
    await standby.follow();
    expect(await standby.storeBase()).toBe('stored');
    const receiver = new Receiver(parts, 'copies');
    await receiver.spool().step();
    receiver.take();
    await write(owner, 2);
    const spool: LogSpool = receiver.spool(() => spool.wantBase());
    await spool.step();
    expect(receiver.take().map(([first]) => first === 0)).toEqual([false]);
    await spool.step();
    expect(receiver.take()[0]![0]).toBe(0);
    await owner.close();
  }),
);
