/**
 * The warm-up of a spare: it opens a tenant of its own, serves requests over the socket like a router's, and closes it.
 * Half the cost of a first open is not the open itself but code that compiles on first use, the SQLite library, and
 * Node's lazy initialisation. A wake finds all of that done.
 *
 * The directory holds no user data. It is kept from one spare to the next, because opening a cleanly closed file is
 * what is warmed up, and is recreated after any failure. A failed warm-up costs only the time that it would have saved.
 */
import {randomUUID} from 'node:crypto';
import {existsSync, mkdirSync, rmSync, writeFileSync} from 'node:fs';
import {connect, type Socket} from 'node:net';
import {join} from 'node:path';
import type {TenantSettings} from '../shared/ipc/control.ts';
import {FrameFlag, FrameKind, FrameReader, FrameWriter, IPC_VERSION} from '../shared/ipc/frame.ts';
import type {RequestMeta, ResponseMeta} from '../shared/ipc/operations.ts';
import type {Logger} from '../shared/log.ts';
import {mayHoldIsolates} from '../shared/node-flags.ts';
import {NEW_TENANT_FILE, type NewTenant, TENANT_FILE} from '../shared/tenant-directory.ts';
import {WorkerEgress} from './runtime/egress/worker-egress.ts';
import {Serving} from './serving.ts';

const TENANT = 'rehearsal';

/** @param directory reserved for the spares of this server; it may be missing */
export async function warmUp(directory: string, log: Logger): Promise<void> {
  try {
    makeTenant(directory);
    const settings = settingsIn(directory);
    const serving = await Serving.open(settings, log, {
      egress: new WorkerEgress(settings.egress, () => undefined),
      onUse: () => undefined,
      installNode: () => Promise.resolve(),
    });
    try {
      await askAll(settings);
      if (mayHoldIsolates()) await warmIsolates();
    } finally {
      await serving.close();
    }
  } catch (error) {
    log.debug('a warm-up failed', {error});
    rmSync(directory, {recursive: true, force: true});
  }
}

function makeTenant(directory: string): void {
  if (existsSync(join(directory, TENANT_FILE))) return;
  // Not recursive: the supervisor must make the parent directory. One made here would not let the workers of tenants
  // through to their sockets.
  if (!existsSync(directory)) mkdirSync(directory, {mode: 0o700});
  const note: NewTenant = {tenant: TENANT, generation: 1, created_ms: 0};
  writeFileSync(join(directory, NEW_TENANT_FILE), JSON.stringify(note));
}

function settingsIn(directory: string): TenantSettings {
  return {
    tenant: TENANT,
    user: null,
    generation: 1,
    hasCode: false,
    isReadOnly: false,
    createdMs: 0,
    directory,
    reservePath: join(directory, 'reserve'),
    socketPath: join(directory, `s${process.pid}`),
    secret: randomUUID(),
    // No functions run in the warm-up.
    egress: {socketPath: join(directory, 'egress'), secret: ''},
    routers: 1,
    journalKeepRecords: 1,
    storageBytesMax: 0,
    servicesMemoryMbMax: 0,
    redactErrors: false,
    copies: null,
    log: null,
  };
}

/** What the start of a process of isolates needs: it starts while a tenant with functions is opened. */
async function warmIsolates(): Promise<void> {
  await Promise.all([
    import('./runtime/isolate-process/function-isolates.ts'),
    import('./runtime/process/parent-watch.ts').then(({parentWatch}) => parentWatch()),
  ]);
}

/** Starts the process of isolates of a tenant with functions before there is one. A tenant can be opened meanwhile. */
export async function warmFunctions(log: Logger): Promise<void> {
  try {
    const {spareIsolates} = await import('./runtime/isolate-process/spare-isolates.ts');
    await spareIsolates.start(log);
  } catch (error) {
    log.debug('a warm-up of functions failed', {error});
  }
}

/** One request of each kind that usually wakes a tenant; the document is deleted again. */
async function askAll({socketPath, secret}: TenantSettings): Promise<void> {
  const router = await FirstRouter.connect(socketPath, secret);
  try {
    const inserted = await router.ask({op: 'documents.insert'}, {table: 't', fields: {n: 1}});
    const {id} = JSON.parse(inserted) as {id: string};
    await router.ask({op: 'documents.get', p: ['t', id]});
    await router.ask({op: 'documents.list', p: ['t']});
    await router.ask({op: 'query.run'}, {table: 't', filters: [{field: 'n', op: 'eq', value: 1}], limit: 1});
    await router.ask({op: 'documents.delete', p: ['t', id]});
  } finally {
    router.end();
  }
}

/** A minimal router that sends one request after the other. */
class FirstRouter {
  readonly #socket: Socket;
  readonly #writer: FrameWriter;
  /** @param meta of the response: empty is a plain 200, a quoted text one with that ETag */
  #answered: (meta: string, body: string) => void = () => undefined;

  static connect(socketPath: string, secret: string): Promise<FirstRouter> {
    return new Promise((resolve, reject) => {
      const socket = connect({path: socketPath});
      socket.once('error', reject);
      socket.once('connect', () => resolve(new FirstRouter(socket, secret)));
    });
  }

  private constructor(socket: Socket, secret: string) {
    this.#socket = socket;
    this.#writer = new FrameWriter(bytes => socket.write(bytes), process.nextTick);
    const reader = new FrameReader((_kind, _stream, _flags, answer, body) =>
      this.#answered(answer.toString(), body.toString()),
    );
    socket.on('data', chunk => reader.push(chunk as Buffer));
    this.#writer.frame(FrameKind.hello, 0, FrameFlag.none, secret, String(IPC_VERSION));
  }

  ask(meta: RequestMeta, body: unknown = null): Promise<string> {
    const text = body === null ? '' : JSON.stringify(body);
    this.#writer.frame(FrameKind.request, 1, FrameFlag.none, JSON.stringify(meta), text);
    return new Promise((resolve, reject) => {
      this.#answered = (answer, body) => {
        if (answer === '' || answer.startsWith('"') || (JSON.parse(answer) as ResponseMeta).s < 300) resolve(body);
        else reject(new Error(`${meta.op}: ${body}`));
      };
      this.#socket.once('close', () => reject(new Error('the connection closed before an answer')));
    });
  }

  end(): void {
    this.#socket.destroy();
  }
}
