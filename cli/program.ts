/**
 * The verbs of the svc command, one module each; only the requested one is loaded.
 *
 * Exit codes: 0 done; 1 it failed; 2 the command line or an SVC_ variable is wrong.
 */
import {Command, CommanderError} from 'commander';
import {BUILD, VERSION} from '../shared/version.ts';

type Verb = {register(program: Command, withAllVerbs: () => Promise<Command>): void};

const VERBS: Record<string, () => Promise<Verb>> = {
  start: () => import('./start.ts'),
  verify: () => import('./verify.ts'),
  recover: () => import('./recover.ts'),
  upgrade: () => import('./upgrade.ts'),
  restore: () => import('./restore.ts'),
  backup: () => import('./backup.ts'),
  promote: () => import('./promote.ts'),
  cluster: () => import('./cluster.ts'),
  import: () => import('./import.ts'),
  export: () => import('./export.ts'),
  init: () => import('./init.ts'),
  dev: () => import('./dev.ts'),
  deploy: () => import('./deploy.ts'),
  rollback: () => import('./rollback.ts'),
  deployments: () => import('./deployments.ts'),
  codegen: () => import('./codegen.ts'),
  run: () => import('./run.ts'),
  logs: () => import('./logs.ts'),
  audit: () => import('./audit.ts'),
  key: () => import('./key.ts'),
  dashboard: () => import('./dashboard.ts'),
  server: () => import('./server.ts'),
  status: () => import('./status.ts'),
  whoami: () => import('./whoami.ts'),
  tenants: () => import('./tenants.ts'),
  figures: () => import('./figures.ts'),
  auth: () => import('./auth.ts'),
  limits: () => import('./tenant-limits.ts'),
  settings: () => import('./settings.ts'),
  schema: () => import('./schema.ts'),
  env: () => import('./env.ts'),
  data: () => import('./data.ts'),
  tables: () => import('./tables.ts'),
  journal: () => import('./journal.ts'),
  live: () => import('./live.ts'),
  crons: () => import('./crons.ts'),
  services: () => import('./services.ts'),
  sandboxes: () => import('./sandboxes.ts'),
  sessions: () => import('./sessions.ts'),
  completion: () => import('./completion.ts'),
};

/** Further names of verbs, as the verbs register them. */
const ALIASES: Record<string, string> = {tenant: 'tenants'};

const EXIT_WRONG_USAGE = 2;

/** Variables that name the target. Scripts pass them on unchanged, so an empty one counts as unset. */
const TARGET_VARIABLES = ['SVC_URL', 'SVC_TENANT', 'SVC_DATA', 'SVC_ACCESS_TOKEN'];

export async function run(argv: string[]): Promise<void> {
  for (const name of TARGET_VARIABLES) if (process.env[name] === '') delete process.env[name];
  const name = argv[2] ?? '';
  const verb = Object.hasOwn(ALIASES, name) ? ALIASES[name]! : name;
  const isVersion = name === '--version' || name === '-V';
  const program = await programOf(Object.hasOwn(VERBS, verb) ? [verb] : isVersion ? [] : Object.keys(VERBS));
  try {
    await program.parseAsync(argv);
  } catch (caught) {
    if (!(caught instanceof CommanderError)) throw caught;
    // Help and version end this way too, with exit code 0.
    process.exitCode = caught.exitCode === 0 ? 0 : EXIT_WRONG_USAGE;
  }
}

/** The complete command, with every verb. */
export function wholeProgram(): Promise<Command> {
  return programOf(Object.keys(VERBS));
}

async function programOf(verbs: readonly string[]): Promise<Command> {
  const program = new Command('svc')
    .description('A self-hosted, multi-tenant document service')
    .version(`svc ${VERSION} (${BUILD})`)
    .configureHelp({showGlobalOptions: false})
    .configureOutput({outputError: (text, write) => write(text.replace(/^error: /, 'svc: '))})
    .exitOverride();
  for (const verb of verbs) (await VERBS[verb]!()).register(program, wholeProgram);
  inherit(program);
  return program;
}

/** Prebuilt verbs get the program's output and exit handling. */
function inherit(program: Command): void {
  for (const command of program.commands) command.copyInheritedSettings(program);
}
