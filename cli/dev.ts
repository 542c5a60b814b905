/**
 * `svc dev` deploys the project, deploys it again after every change of its files, and shows the functions' log. After
 * a failed push it reports the error and waits for the next change; the last deployment stays live.
 *
 *   start ─▶ pushing ─▶ waiting ──a file changed──▶ pushing …       Ctrl-C, or --once after the first push: end
 */
import {spawn} from 'node:child_process';
import {type Command, Option} from 'commander';
import {CommandFailure, reportFailure} from './failure.ts';
import {LocalServer} from './local-server.ts';
import {showLogs} from './logs.ts';
import {PROJECT_FILE, type Project, readProject} from './project/project-file.ts';
import {push} from './project/push.ts';
import {SourceChanges} from './project/source-changes.ts';
import {addTargetOptions, serverUrl, type Target, type TargetOptions, withTarget} from './project/target.ts';
import {TYPECHECK_MODES, type TypecheckMode} from './project/typecheck.ts';
import {resultText} from './run.ts';

type Options = TargetOptions & {
  once?: true;
  untilSuccess?: true;
  run?: string;
  start?: string;
  local?: true;
  tailLogs: 'always' | 'pause-on-deploy' | 'disable';
  typecheck: TypecheckMode;
};

export function register(program: Command): void {
  const command = program
    .command('dev')
    .description('deploy a project, and again after every change; creates a missing tenant')
    .option('--once', 'end after the first push, with exit code 1 if it failed')
    .option('--until-success', 'end after the first push that succeeds')
    .option('--run <path>', 'call this function after the first push that succeeds')
    .option('--start <command>', 'also run this command, for example a web server; both end together')
    .option('--local', 'start a server on this machine if none answers, with its data in .svc/ of the project')
    .addOption(
      new Option('--tail-logs <when>').choices(['always', 'pause-on-deploy', 'disable']).default('pause-on-deploy'),
    )
    .addOption(new Option('--typecheck <mode>').choices([...TYPECHECK_MODES]).default('try'));
  addTargetOptions(command).action((options: Options) => reportFailure('svc dev', () => dev(options)));
}

async function dev(options: Options): Promise<void> {
  const project = await readProject(options.project);
  const server = options.local === true ? await LocalServer.start(serverUrl(options, project), project.root) : null;
  if (server !== null) say(`started a server; its data is in ${server.data}`);
  const inUse = server === null ? options : {...options, data: server.data};
  try {
    await withTarget(inUse, target => new Development(target, options, server).run(), LOCAL_HINT);
  } finally {
    await server?.stop();
  }
}

/** The hint if no server answers. */
const LOCAL_HINT = 'svc dev --local starts one on this machine';

const say = (text: string) => void process.stderr.write(`${text}\n`);

class Development {
  readonly #target: Target;
  readonly #options: Options;
  readonly #ended = new AbortController();
  /** Held back until a push is over, unless the log is always wanted. */
  readonly #log: string[] = [];
  #isPushing = false;
  #hasSucceeded = false;

  /** @param server one that was started for this command */
  constructor(target: Target, options: Options, server: LocalServer | null) {
    this.#target = target;
    this.#options = options;
    void server?.ended().then(() => this.#ended.abort());
  }

  async run(): Promise<void> {
    const {client, tenant} = this.#target;
    const {once, untilSuccess} = this.#options;
    if (await client.createTenant(tenant)) say(`created tenant ${tenant}`);
    process.once('SIGINT', () => this.#ended.abort());
    process.once('SIGTERM', () => this.#ended.abort());
    const changes = await SourceChanges.watch(this.#target.project);
    try {
      for (;;) {
        const failure = await this.#push(changes);
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

  /** @returns why it failed; null: it did not fail */
  async #push(changes: SourceChanges): Promise<CommandFailure | null> {
    this.#isPushing = true;
    try {
      await this.#deploy(changes);
      if (!this.#hasSucceeded) await this.#afterFirst();
      return null;
    } catch (caught) {
      if (!(caught instanceof CommandFailure)) throw caught;
      return caught;
    } finally {
      this.#isPushing = false;
      this.#writeLog();
    }
  }

  async #deploy(changes: SourceChanges): Promise<void> {
    const {client, tenant} = this.#target;
    const options = {typecheck: this.#options.typecheck, message: null, dryRun: false, development: true};
    const target = {...this.#target, project: await this.#currentProject()};
    const pushed = await push(target, options, say);
    const {deployment, functions, sources} = pushed;
    for (const change of pushed.changes) say(change);
    changes.add(sources);
    say(`deployment ${deployment?.id} is live: ${functions} functions at ${client.url}/svc/${tenant}`);
  }

  /** The project file can change at any time; the open connection and the watched files cannot follow such a change. */
  async #currentProject(): Promise<Project> {
    const before = this.#target.project;
    const now = await readProject(before.root);
    const {tenant, url} = this.#options;
    const inUse = {functions: true, tenant: tenant === undefined, url: url === undefined};
    for (const key of ['functions', 'tenant', 'url'] as const) {
      if (inUse[key] && now[key] !== before[key]) {
        throw new CommandFailure(`"${key}" in ${PROJECT_FILE} changed: start svc dev again to follow it`);
      }
    }
    return now;
  }

  async #afterFirst(): Promise<void> {
    this.#hasSucceeded = true;
    const {run, start, tailLogs, once, untilSuccess} = this.#options;
    if (once !== true && untilSuccess !== true) {
      if (start !== undefined) this.#start(start);
      if (tailLogs !== 'disable') void this.#tail();
    }
    if (run !== undefined) process.stdout.write(await resultText(this.#target, {path: run, args: {}}));
  }

  async #tail(): Promise<void> {
    const show = (text: string) => {
      this.#log.push(text);
      if (this.#options.tailLogs === 'always' || !this.#isPushing) this.#writeLog();
    };
    try {
      await showLogs(this.#target, {history: 0, success: true, follow: true}, show, this.#ended.signal);
    } catch (caught) {
      say(`svc dev: the log ended: ${(caught as Error).message}`);
    }
  }

  #writeLog(): void {
    if (this.#log.length > 0) process.stdout.write(this.#log.splice(0).join(''));
  }

  #start(command: string): void {
    const {client, tenant, project} = this.#target;
    const deployment = `${client.url}/svc/${tenant}`;
    // Under the names that bundlers of pages expose.
    const env = {...process.env, VITE_SVC_URL: deployment, NEXT_PUBLIC_SVC_URL: deployment};
    const child = spawn(command, {shell: true, stdio: 'inherit', cwd: project.root, env});
    child.once('exit', () => this.#ended.abort());
    this.#ended.signal.addEventListener('abort', () => void child.kill('SIGTERM'));
  }
}
