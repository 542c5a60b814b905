/** `svc sessions …` manages callers' leases on a tenant, each with a sandbox of its own. */
import type {Command} from 'commander';
import type {SessionRecord} from '../shared/protocol/sessions.ts';
import {createOnce, execute, executionOf, jsonIn, showList, showRecord, subcommand} from './control.ts';
import {CommandFailure} from './failure.ts';
import type {Target, TargetOptions} from './project/target.ts';

type Found = {session: SessionRecord};
type ListOptions = TargetOptions & {json?: true};
type ExecOptions = TargetOptions & {args?: string};

const SESSIONS = '/api/sessions';

export function register(program: Command): void {
  const sessions = program
    .command('sessions')
    .description("callers' leases on a tenant, each with a sandbox of its own");
  subcommand<ListOptions>(
    sessions,
    'list',
    'all of them, a line each',
    async (target, {json}) => {
      const path = `${SESSIONS}?${new URLSearchParams({tenant: target.tenant})}`;
      const {sessions: all} = await target.client.json<{sessions: SessionRecord[]}>('GET', path);
      showList(all, json === true, lineOf);
    },
    command => command.option('--json', 'a record a line, as JSON'),
  );
  subcommand(sessions, 'show <id>', 'the record of one', async (target, _, id) =>
    showRecord((await target.client.json<Found>('GET', pathOf(id!))).session),
  );
  subcommand(sessions, 'open [file]', 'open one, as a JSON file says', async (target, _, file) => {
    const body = await bodyOf(target, file);
    const {session} = await createOnce<Found>(target, SESSIONS, body);
    process.stdout.write(`${session.id}\n`);
  });
  subcommand<ExecOptions>(
    sessions,
    'exec <id> <code>',
    'run the body of an async function of args, a file for @path',
    async (target, {args}, id, code) => execute(target, pathOf(id!, 'execute'), await executionOf(code!, args)),
    command => command.option('--args <json>', 'what it is called with', '{}'),
  );
  subcommand(sessions, 'close <id>', 'end one, and what it opened', async (target, _, id) => {
    const {session} = await target.client.json<Found>('POST', pathOf(id!, 'close'));
    process.stdout.write(`${lineOf(session)}\n`);
  });
}

function lineOf({id, state, sandbox_id: sandbox, expires_at: expires}: SessionRecord): string {
  const until = state === 'open' ? `  until ${new Date(expires).toISOString()}` : '';
  return `${id}  ${state}${sandbox === null ? '' : `  sandbox ${sandbox}`}${until}`;
}

function pathOf(...rest: string[]): string {
  return [SESSIONS, ...rest.map(encodeURIComponent)].join('/');
}

/** @throws CommandFailure */
async function bodyOf({tenant}: Target, file: string | undefined): Promise<object> {
  const given = file === undefined ? {} : await jsonIn(file);
  if (typeof given !== 'object' || given === null || Array.isArray(given)) {
    throw new CommandFailure(`${file} must hold an object`);
  }
  return {...given, tenant};
}
