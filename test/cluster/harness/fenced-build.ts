/**
 * A build whose workers stop themselves with SIGSTOP between two steps of an owner, and in which each safeguard of a tenant
 * can be taken out while they run. `mutants.ts` has those of a log alone.
 */
import {writeFileSync} from 'node:fs';
import {join} from 'node:path';
import {ChangedBuild} from '../../harness/changed-build.ts';

/** The worker stops there, once: in the first request or commit that gets there. */
export type StopPoint = 'before the append' | 'before the reply' | 'after the lease was read';

export type HostMutant = 'lease ignored' | 'open skipped' | 'expectation dropped' | 'message ids trusted';

/** Faults that the safeguards have to bear: what a host sends or reads is late or lost. */
export type HostFault = 'its renewals wait' | 'the record instead is not read once';

/** Of the host whose renewals wait. */
const HOST = 'a';
const LOG = 'worker-tenant-replication-*.js';

/** Code, and before which piece of which files it is inserted. */
const INSERTED: readonly (readonly [files: string, piece: string, code: string])[] = [
  [LOG, 'let set = this.#pages.next(facts), outcome', 'stopAt("before the append");'],
  [LOG, 'this.#appended = decision.place,', 'stopAt("before the reply"),'],
  [
    'worker.js',
    'this.#events.onRequest(link, stream, meta, body, incoming);\n      return;',
    'stopAt("after the lease was read");',
  ],
  [
    'cluster.js',
    'let sentMs = this.#clock.nowMs;\n      this.#counter++;',
    `while (this.host === "${HOST}" && isOn("its renewals wait")) await delay(this.#clock, 10);`,
  ],
  [
    LOG,
    'try {\n    return await engine.next(subject, after + 1);',
    'if (once("the record instead is not read once")) return null;',
  ],
  ['worker*.js', 'let [seconds, nanoseconds] = process.hrtime();', 'if (isOn("lease ignored")) return true;'],
  [
    LOG,
    'let entry = { kind: "open", epoch, body',
    'if (tail !== null && isOn("open skipped")) return { kind: "opened", position: tail };',
  ],
  // The cluster process finds out that a worker has opened nothing.
  [
    'cluster.js',
    'if (!(tail?.kind === "open" &&',
    'if (isOn("open skipped")) return this.#parts.onOpened({ kind: "opened", position }), [{ is: "done" }];',
  ],
  [
    'cluster.js',
    'expected !== null && expectation.set(',
    '!(subject.stream.kind === "log" && isOn("expectation dropped")) &&',
  ],
  [
    'cluster.js',
    'let expectation = (0,',
    `
    if (subject.stream.kind === "log" && isOn("message ids trusted")) {
      let id = subject.name + bytes.toString("base64");
      if (sentIds.has(id)) return { kind: "stored", sequence: expected + 1, isDuplicate: false };
      sentIds.add(id);
    }`,
  ],
];

export class FencedBuild {
  readonly #build = new ChangedBuild();
  readonly #file = join(this.#build.dist, 'switches');

  constructor() {
    this.set();
    const switches = `
      import {readFileSync} from 'node:fs';
      const used = new Set();
      globalThis.sentIds = new Set();
      globalThis.isOn = name => readFileSync(${JSON.stringify(this.#file)}, 'utf8').split('\\n').includes(name);
      globalThis.once = name => !used.has(name) && isOn(name) && used.add(name);
      globalThis.stopAt = name => once(name) && process.kill(process.pid, 'SIGSTOP');`;
    for (const entry of ['worker.js', 'cluster.js']) this.#build.runFirst(entry, switches);
    for (const [files, piece, code] of INSERTED) this.#build.replace(files, piece, `${code} ${piece}`);
  }

  get dist(): string {
    return this.#build.dist;
  }

  /** All others are off. */
  set(...on: readonly (StopPoint | HostMutant | HostFault)[]): void {
    writeFileSync(this.#file, on.join('\n'));
  }

  remove(): void {
    this.#build.remove();
  }
}
