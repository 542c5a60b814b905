/** `svc sessions …` manages callers' leases on a tenant, each with a sandbox of its own. */
import type {Command} from 'commander';
import type {BodyOf} from '../shared/operation-types.ts';
import type {SessionRecord} from '../shared/protocol/sessions.ts';
import {ALL, executeVerb, jsonIn, listVerb, showList, showVerb, subcommand} from './control.ts';
import {CommandFailure} from './failure.ts';
import {ask, type Target} from './project/target.ts';

export function register(program: Command): void {
  const sessions = program
    .command('sessions')
    .description("manage callers' leases on a tenant, each with its own sandbox");
  listVerb(sessions, 'list', ALL, listed, lineOf);
  showVerb(sessions, 'show <id>', async (target, id) => (await ask(target, 'sessions.get', [id])).session);
  subcommand(sessions, 'open [file]', 'open one from a JSON file', async (target, _, file) => {
    const body = await bodyOf(target, file);
    const {session} = await ask(target, 'sessions.create', [], {body, repeat: 'keyed'});
    process.stdout.write(`${session.id}\n`);
  });
  executeVerb(sessions, 'sessions.execute');
  subcommand(sessions, 'close <id>', 'end one and the sandbox it created', async (target, _, id) => {
    showList([(await ask(target, 'sessions.close', [id!])).session], false, lineOf);
  });
}

async function listed(target: Target): Promise<SessionRecord[]> {
  return (await ask(target, 'sessions.list', [], {query: {tenant: target.tenant}})).sessions;
}

function lineOf({id, state, sandbox_id: sandbox, expires_at: expires}: SessionRecord): string {
  const until = state === 'open' ? `  until ${new Date(expires).toISOString()}` : '';
  return `${id}  ${state}${sandbox === null ? '' : `  sandbox ${sandbox}`}${until}`;
}

/** @throws CommandFailure */
async function bodyOf({tenant}: Target, file: string | undefined): Promise<BodyOf<'sessions.create'>> {
  const given = file === undefined ? {} : await jsonIn(file);
  if (typeof given !== 'object' || given === null || Array.isArray(given)) {
    throw new CommandFailure(`${file} must hold an object`);
  }
  return {...given, tenant};
}
