/**
 * `svc dev`: deploys the project, and again after every change of its files, while it shows what the functions log. A push that
 * fails is told and waited out; what was deployed last stays live.
 *
 *   start ─▶ pushing ─▶ waiting ──a file changed──▶ pushing …       Ctrl-C, or --once after the first push: end
 */
import {spawn} from 'node:child_process';
import {join} from 'node:path';
import {watch} from 'chokidar';
import {type Command, Option} from 'commander';
import {CommandFailure, reportFailure} from './failure.ts';
import {showLogs} from './logs.ts';
import {functionsRoot, PROJECT_FILE, type Project} from './project/project-file.ts';
import {push} from './project/push.ts';
import {addTargetOptions, pathOf, type Target, type TargetOptions, withTarget} from './project/target.ts';
import {TYPECHECK_MODES, type TypecheckMode} from './project/typecheck.ts';

type Options = TargetOptions & {
  once?: true;
  untilSuccess?: true;
  run?: string;
  start?: string;
  tailLogs: 'always' | 'pause-on-deploy' | 'disable';
  typecheck: TypecheckMode;
};

/** Editors write several files at once: what follows within this time belongs to the same change. */
const SETTLE_MS = 100;

export function register(program: Command): void {
  const command = program
    .command('dev')
    .description('deploy a project, and again after every change; the tenant is made if it does not exist')
    .option('--once', 'end after the first push, with exit code 1 if it failed')
    .option('--until-success', 'end after the first push that succeeds')
    .option('--run <path>', 'call this function after the first push that succeeds')
    .option('--start <command>', 'run this beside it, a web server for instance; both end together')
    .addOption(
      new Option('--tail-logs <when>').choices(['always', 'pause-on-deploy', 'disable']).default('pause-on-deploy'),
    )
    .addOption(new Option('--typecheck <mode>').choices([...TYPECHECK_MODES]).default('try'));
  addTargetOptions(command).action((options: Options) =>
    reportFailure('svc dev', () => withTarget(options, target => new Development(target, options).run())),
  );
}

const say = (text: string) => void process.stderr.write(`${text}\n`);

class Development {
  readonly #target: Target;
  readonly #options: Options;
  readonly #ended = new AbortController();
  #isPushing = false;
  #hasSucceeded = false;

  constructor(target: Target, options: Options) {
    this.#target = target;
    this.#options = options;
  }

  async run(): Promise<void> {
    const {client, tenant, project} = this.#target;
    const {once, untilSuccess} = this.#options;
    if (await client.createTenant(tenant)) say(`created tenant ${tenant}`);
    process.once('SIGINT', () => this.#ended.abort());
    process.once('SIGTERM', () => this.#ended.abort());
    const changes = new Changes(project);
    try {
      for (;;) {
        const failure = await this.#push();
        if (once === true && failure !== null) throw failure;
        if (once === true || (untilSuccess === true && failure === null)) return;
        if (failure !== null) say(`svc dev: ${failure.message}\nwaiting for a change`);
        if (!(await changes.next(this.#ended.signal))) return;
      }
    } finally {
      this.#ended.abort();
      await changes.close();
    }
  }

  /** @returns why it failed; null: it did not */
  async #push(): Promise<CommandFailure | null> {
    const {typecheck} = this.#options;
    this.#isPushing = true;
    try {
      const {deployment, functions} = await push(this.#target, {typecheck, message: null, dryRun: false}, say);
      say(
        `deployment ${deployment?.id} is live: ${functions} functions at ${this.#target.client.url}/svc/${this.#target.tenant}`,
      );
    } catch (caught) {
      if (!(caught instanceof CommandFailure)) throw caught;
      return caught;
    } finally {
      this.#isPushing = false;
    }
    if (!this.#hasSucceeded) await this.#afterFirst();
    this.#hasSucceeded = true;
    return null;
  }

  async #afterFirst(): Promise<void> {
    const {run, start, tailLogs, once, untilSuccess} = this.#options;
    if (run !== undefined) {
      const reply = await this.#target.client.jsonOnce<object>('POST', pathOf(this.#target, 'functions', 'run'), {
        path: run,
        args: {},
      });
      say(JSON.stringify(reply));
    }
    if (once === true || untilSuccess === true) return;
    if (start !== undefined) this.#start(start);
    if (tailLogs !== 'disable')
      void this.#tail().catch((error: Error) => say(`svc dev: the log ended: ${error.message}`));
  }

  async #tail(): Promise<void> {
    const held: string[] = [];
    const pauses = this.#options.tailLogs === 'pause-on-deploy';
    const output = {
      write: (text: string) => {
        held.push(text);
        if (!pauses || !this.#isPushing) process.stdout.write(held.splice(0).join(''));
        return true;
      },
    };
    const options = {history: 0, success: true as const, follow: true};
    await showLogs(this.#target, options, output as NodeJS.WritableStream, this.#ended.signal);
  }

  #start(command: string): void {
    const child = spawn(command, {shell: true, stdio: 'inherit', cwd: this.#target.project.root});
    child.once('exit', () => this.#ended.abort());
    this.#ended.signal.addEventListener('abort', () => void child.kill('SIGTERM'));
  }
}

/** Changes of a project's files, many of them at once told as one. Generated code is the work of the push itself. */
class Changes {
  readonly #watcher;
  #isPending = false;
  #wake: () => void = () => undefined;

  constructor(project: Project) {
    const root = functionsRoot(project);
    const generated = join(root, '_generated');
    this.#watcher = watch([root, join(project.root, PROJECT_FILE)], {
      ignoreInitial: true,
      ignored: path => path.startsWith(generated) || path.includes('node_modules'),
    });
    this.#watcher.on('all', () => {
      this.#isPending = true;
      this.#wake();
    });
  }

  /** @returns false when the signal came first */
  async next(signal: AbortSignal): Promise<boolean> {
    await new Promise<void>(resolve => {
      this.#wake = resolve;
      signal.addEventListener('abort', () => resolve());
      if (this.#isPending || signal.aborted) resolve();
    });
    if (signal.aborted) return false;
    await new Promise(resolve => setTimeout(resolve, SETTLE_MS));
    this.#isPending = false;
    return true;
  }

  close(): Promise<void> {
    return this.#watcher.close();
  }
}
