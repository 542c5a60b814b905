/**
 * The globals of the default runtime in an isolate of their own, with a host that only records. A snippet runs to the end of
 * the microtask queue, synchronously, as queries and mutations do.
 */
import {randomBytes} from 'node:crypto';
import {join} from 'node:path';
import {build} from 'esbuild';
import ivm from 'isolated-vm';
import {realmBundle} from '../../../build/realm-bundle.ts';
import {cryptoCall} from '../../../worker/runtime/crypto/crypto-host.ts';
import {HostOp} from '../../../worker/runtime/guest/host-call.ts';
import type {Phase} from '../../../worker/runtime/guest/state.ts';

// As workers are started; V8 takes its time zone from the process.
process.env.TZ = 'UTC';

export const DEPLOYED_AT = Date.UTC(2024, 1, 3);
export const STARTED_AT = Date.UTC(2025, 6, 7, 8, 9, 10, 11);
export const HOST_TIME = Date.UTC(2026, 0, 1);

/** The network is the actions' part: here a request comes back as an answer that shows it. */
const NETWORK = `
  export const actionFetch = async request => new Response(request.method + ' ' + request.url);
  export const ActionWebSocket = class { constructor(url) { this.url = String(url); } };
  export const networkEvent = () => {};
`;
const ENTRY = `
  import {installGlobals, resetGlobals} from './install.ts';
  import {stopTimer} from '../actions/timers.ts';
  import {settleCall} from '../actions/async-call.ts';
  import {state} from '../state.ts';
  state.host = globalThis.host;
  delete globalThis.host;
  state.deployMs = state.nowMs = ${DEPLOYED_AT};
  state.seeded.seed('00112233445566778899aabbccddeeff');
  state.phase = 'import';
  installGlobals();
  globalThis.testing = {
    begin(phase, nowMs, seed) {
      Object.assign(state, {phase, nowMs, performanceMs: 0});
      state.seeded.seed(seed);
      resetGlobals();
    },
    settle: settleCall,
  };
`;

let bundle: Promise<string> | null = null;

async function bundled(): Promise<string> {
  const globals = join(realmBundle.absWorkingDir, 'worker/runtime/guest/globals');
  const {entryPoints: _, ...options} = realmBundle;
  const result = await build({
    ...options,
    legalComments: 'none',
    stdin: {contents: ENTRY, resolveDir: globals, loader: 'ts'},
    plugins: [
      {
        name: 'network',
        setup(made) {
          made.onLoad({filter: /actions\/network\.ts$/}, () => ({contents: NETWORK, loader: 'js'}));
        },
      },
    ],
  });
  return result.outputFiles![0]!.text;
}

export class TestRealm {
  readonly isolate: ivm.Isolate;
  readonly context: ivm.Context;
  readonly #testing: ivm.Reference<Record<string, unknown>>;
  env: Record<string, string> = {};
  lines: string[] = [];
  /** Timers that were started: call number and parameters. */
  calls: {call: number; operation: string; parameters: string}[] = [];
  seed = '0123456789abcdef0123456789abcdef';

  private constructor(script: string, memoryMb: number) {
    this.isolate = new ivm.Isolate({memoryLimit: memoryMb});
    this.context = this.isolate.createContextSync();
    this.context.global.setSync('host', new ivm.Callback(this.#answer));
    this.isolate.compileScriptSync(script, {filename: 'svc:realm'}).runSync(this.context);
    this.#testing = this.context.global.getSync('testing', {reference: true}) as ivm.Reference<Record<string, unknown>>;
    this.context.global.deleteSync('testing');
  }

  static async open(memoryMb = 64): Promise<TestRealm> {
    bundle ??= bundled();
    return new TestRealm(await bundle, memoryMb);
  }

  /** A new invocation. */
  begin(phase: Phase): void {
    this.lines = [];
    this.calls = [];
    const nowMs = phase === 'import' ? DEPLOYED_AT : STARTED_AT;
    this.#apply('begin', [phase, nowMs, this.seed]);
  }

  /** @param body of an async function. @returns what it returns, as JSON. @throws what it throws, as `name: message` */
  run(body: string, timeout = 5_000): unknown {
    let outcome: {value?: string; thrown?: string} | null = null;
    this.context.evalClosureSync(
      `const report = $0;
       (async () => {${body}\n})().then(
         value => report(JSON.stringify(value) ?? 'null', undefined),
         thrown => report(undefined, thrown instanceof Error ? thrown.name + ': ' + thrown.message : 'thrown ' + String(thrown)),
       );`,
      [
        new ivm.Callback((value?: string, thrown?: string) => {
          outcome = {...(value === undefined ? {} : {value}), ...(thrown === undefined ? {} : {thrown})};
        }),
      ],
      {timeout},
    );
    const {value, thrown} = (outcome ?? {thrown: 'it never settled'}) as {value?: string; thrown?: string};
    if (thrown !== undefined) throw new Error(thrown);
    return JSON.parse(value!);
  }

  in(phase: Phase, body: string): unknown {
    this.begin(phase);
    return this.run(body);
  }

  /** The host answers a call of an action. */
  settle(call: number, answer = '+'): void {
    this.#apply('settle', [call, answer, null]);
  }

  close(): void {
    if (!this.isolate.isDisposed) this.isolate.dispose();
  }

  #apply(name: string, args: unknown[]): void {
    const method = this.#testing.getSync(name, {reference: true}) as ivm.Reference;
    method.applySync(undefined, args);
    method.release();
  }

  readonly #answer = (op: number, a: unknown, b: unknown, c: unknown): string => {
    switch (op) {
      case HostOp.log:
        this.lines.push(String(a));
        return '+';
      case HostOp.now:
        return `+${HOST_TIME}`;
      case HostOp.env:
        return `+${JSON.stringify(this.env[String(a)] ?? null)}`;
      case HostOp.envNames:
        return `+${JSON.stringify(Object.keys(this.env))}`;
      case HostOp.randomBytes:
        return `+${randomBytes(Number(a)).toString('latin1')}`;
      case HostOp.crypto:
        return cryptoCall(String(a), String(b), c instanceof Uint8Array ? c : undefined);
      case HostOp.start:
        this.calls.push({call: Number(a), operation: String(b), parameters: String(c)});
        return '+';
      default:
        return '-{"name":"Error","message":"not here"}';
    }
  };
}
