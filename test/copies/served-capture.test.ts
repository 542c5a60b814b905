/**
 * A server that copies its tenants, whose store is gone: the receiver is the test. Whatever a tenant does, and however
 * its worker ends, one base and the page sets after it are its file, byte for byte.
 */
import {chownSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {dirname, join} from 'node:path';
import {afterAll, expect, onTestFinished, test} from 'vitest';
import {writeClosedBase} from '../../engine/copies/closed-base.ts';
import {verifyFile} from '../../engine/verify/verify-file.ts';
import {App} from '../functions/app.ts';
import {rounds} from '../harness/nightly.ts';
import {Service} from '../harness/service.ts';
import {until} from '../harness/until.ts';
import {expectStatus, FUNCTIONS, insertCity} from '../operations/samples/filled.ts';
import {EVERYTHING} from './everything.ts';
import {Receiver} from './receiver.ts';
import {ownerIn} from './tenant-capture.ts';

const COURSES = rounds({commit: 1, nightly: 6});
/** Of each course: it falls asleep, and is compared, this often. */
const ROUND = rounds({commit: 6, nightly: 2});

const directory = mkdtempSync(join(tmpdir(), 'svc-test-served-capture-'));
const key = join(directory, 'key');
writeFileSync(key, `${'A'.repeat(43)}\n`, {mode: 0o600});
const service = await Service.start({
  args: [
    ...['--backup-to', 's3://nowhere/here?endpoint=http://127.0.0.1:1&region=none', '--backup-key', key],
    ...['--backup-every', '100ms', '--journal-keep-records', '100'],
  ],
});
afterAll(async () => {
  await service.stop();
  rmSync(directory, {recursive: true});
});

class CopiedApp {
  readonly app: App;
  readonly path: string;
  readonly copy: string;
  readonly receiver: Receiver;

  constructor(app: App) {
    this.app = app;
    const files = service.directoryOf(app.tenant)!;
    this.path = join(files, 'tenant.sqlite');
    this.copy = join(directory, app.tenant);
    this.receiver = new Receiver(files, this.copy);
    onTestFinished(() => this.receiver.close());
  }

  async sleep(): Promise<void> {
    await until('the tenant to be asleep', async () => (await this.app.admin('POST', '/sleep')).status === 200);
    await service.asleep(this.app.tenant);
  }

  /** The tenant sleeps: all of it is in the spool, and the copy is the file. */
  async compare(merges: number): Promise<void> {
    await this.sleep();
    this.receiver.receive(Number.POSITIVE_INFINITY, merges);
    this.receiver.verify();
    expect(readFileSync(this.copy).equals(readFileSync(this.path))).toBe(true);
  }

  /** Its worker ends in the middle of writes. */
  async kill(): Promise<void> {
    const worker = await service.workerOf(this.app.tenant);
    const writes = Array.from({length: 30}, () => insertCity(this.app).catch(() => null));
    await writes[0];
    process.kill(worker, 'SIGKILL');
    await Promise.all(writes);
    await until('another worker', async () => (await this.app.admin('GET', '/tables')).status === 200);
  }
}

test.each(Array.from({length: COURSES}, (_, course) => course))(
  'a tenant is copied through everything (%i)',
  async course => {
    service.showLogOnFailure();
    const copied = new CopiedApp(await App.deploy(service, FUNCTIONS));
    const {app, receiver} = copied;
    await until('a base', () => {
      receiver.receive(1);
      return receiver.bases === 1;
    });
    for (const [i, step] of EVERYTHING.entries()) {
      await step(app);
      receiver.receive((course + i) % 3, 1 + (i % 4));
      if ((course + i) % ROUND === 2) await copied.kill();
      if ((course + i) % ROUND === 4 % ROUND) await copied.compare(1 + (i % 4));
    }
    // Several rounds of the log, which checkpoints end.
    const text = 'x'.repeat(100_000);
    for (let n = 0; n < 100; n++)
      await expectStatus(app.admin('POST', '/documents', {table: 'big', fields: {n, text}}), 201);
    await copied.kill();
    await copied.compare(8);
    expect(receiver.bases).toBe(1);
    const owner = ownerIn(copied.path);
    expect(owner.tenant).toBe(app.tenant);
    expect(verifyFile(copied.copy, owner).findings).toEqual([]);
  },
);

test('a base of a tenant that sleeps is what its next worker goes on from', async () => {
  const copied = new CopiedApp(await App.empty(service));
  await insertCity(copied.app);
  await copied.sleep();
  const {uid, gid} = statSync(copied.path);
  await writeClosedBase(dirname(copied.path), 0);
  // The errand runs as the tenant's user.
  for (const name of ['', 'position', 'base.set']) chownSync(join(dirname(copied.path), 'spool', name), uid, gid);
  await insertCity(copied.app);
  await copied.compare(1);
  expect(copied.receiver.bases).toBe(1);
});

test('a spool that is not one is replaced, and a base is made when it is requested', async () => {
  const copied = new CopiedApp(await App.empty(service));
  const {app, receiver} = copied;
  const spool = join(dirname(copied.path), 'spool');
  const base = (count: number) =>
    until(`base ${count}`, () => {
      receiver.receive(9);
      return receiver.bases === count;
    });
  await insertCity(app);
  await copied.sleep();
  rmSync(spool, {recursive: true});
  writeFileSync(spool, 'a file');
  await insertCity(app);
  await base(1);
  await copied.sleep();
  writeFileSync(join(spool, 'position'), 'not a position');
  await insertCity(app);
  await base(2);
  await copied.compare(1);
  expect(readdirSync(spool)).not.toContain('want-base');
});
