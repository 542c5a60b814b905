/**
 * A sync that failed, and then a power cut. After a failed write-back Linux takes pages for clean that are not on disk, and later
 * syncs succeed without writing them: what a worker finds in a log that was not closed in order is therefore written again
 * before it is served.
 */
import {mkdtempSync, rmSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {describe, expect, test} from 'vitest';
import {BlockDisk, MountedImage} from '../harness/block-disk.ts';
import {svc} from '../harness/command.ts';
import {rounds} from '../harness/nightly.ts';
import {Service} from '../harness/service.ts';
import {Tenant} from '../harness/tenant.ts';
import {until} from '../harness/until.ts';

const TRIALS = rounds({commit: 1, nightly: 5});
const TRIAL_MS = 120_000;
/** Without users of tenants no copy of the code is made, which would take all blocks of the image. */
const ARGS = ['--worker-users', 'none'];

const probe = new BlockDisk({hasJournal: false});
const {isMounted} = probe;
probe.remove();

class Trial {
  readonly disk = new BlockDisk({hasJournal: false});
  readonly directory = mkdtempSync(join(tmpdir(), 'svc-test-cut-'));
  readonly #image = join(this.directory, 'image');
  readonly acknowledged: number[] = [];
  #service: Service | null = null;
  tenant!: Tenant;
  copy: MountedImage | null = null;
  #marker = 0;

  get service(): Service {
    expect(this.#service).not.toBeNull();
    return this.#service!;
  }

  async start(): Promise<void> {
    this.#service = await Service.start({data: join(this.disk.path, 'data'), args: ARGS});
    this.service.showLogOnFailure();
    this.tenant = await Tenant.make(this.service);
    await this.insert(10);
  }

  async write(): Promise<number> {
    const marker = this.#marker++;
    const fields = {marker, text: 'x'.repeat(3_000)};
    const {status} = await this.tenant.request('POST', '/documents', {table: 't', fields});
    if (status === 201) this.acknowledged.push(marker);
    return status;
  }

  async insert(count: number): Promise<void> {
    for (let n = 0; n < count; n++) expect(await this.write()).toBe(201);
  }

  /** One sync of the tenant's log fails. */
  async failSync(): Promise<void> {
    this.disk.sync();
    this.disk.refuseBlocks();
    await until('a write to fail', async () => (await this.write()) === 503);
    this.disk.takeBlocks();
    await until('a write to work', async () => (await this.write()) === 201);
  }

  /** Power is cut, and what is on the device is served. */
  async restart(): Promise<void> {
    this.disk.powerCut(this.#image);
    await this.service.end('SIGKILL');
    this.copy = new MountedImage(this.#image);
    this.#service = await Service.start({data: join(this.copy.path, 'data'), args: ARGS});
    this.service.showLogOnFailure();
    this.tenant = Tenant.of(this.service, this.tenant.id);
  }

  async stop(): Promise<void> {
    await this.#service?.stop();
    this.copy?.remove();
    this.disk.remove();
    rmSync(this.directory, {recursive: true});
  }
}

describe.skipIf(!isMounted)('a disk that fails one sync and loses power later', () => {
  test.each(Array.from({length: TRIALS}, (_, n) => n + 1))(
    'keeps everything acknowledged, also after the failed sync (trial %i)',
    {timeout: TRIAL_MS},
    async () => {
      const trial = new Trial();
      try {
        await trial.start();
        await trial.failSync();
        await trial.insert(40);
        await trial.restart();
        const markers = new Set((await trial.tenant.query({table: 't', filters: []})).map(({marker}) => marker));
        expect(trial.acknowledged.filter(marker => !markers.has(marker))).toEqual([]);
        await trial.insert(1);
        const {code, stdout} = await svc(['verify', '--data', trial.service.data]);
        expect({code, stdout}).toMatchObject({code: 0});
      } finally {
        await trial.stop();
      }
    },
  );
});
