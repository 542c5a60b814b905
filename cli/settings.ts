/** `svc settings get|set` manages which hosts a tenant's functions can connect to, and which pages can call them. */
import type {Command} from 'commander';
import type {AnswerOf, BodyOf} from '../shared/operation-types.ts';
import {jsonIn, showRecord, subcommand} from './control.ts';
import {CommandFailure} from './failure.ts';
import {ask, type Target, type TargetOptions} from './project/target.ts';

type Settings = AnswerOf<'settings.get'>;
type Change = BodyOf<'settings.put'>;
type SetOptions = TargetOptions & {allow?: string; deny?: string; origins?: string};

export function register(program: Command): void {
  const settings = program.command('settings').description('egress policy and allowed pages of a tenant');
  subcommand(settings, 'get', 'print them', async target => showRecord(await current(target)));
  subcommand<SetOptions>(
    settings,
    'set [file]',
    'change them; options that are absent keep their values',
    async (target, options, file) => {
      const body = file === undefined ? await given(target, options) : await jsonIn<Change>(file);
      await ask(target, 'settings.put', [], {body});
      showRecord(await current(target));
    },
    command =>
      command
        .option('--allow <list>', 'hosts and addresses that are opened, like 127.0.0.1,10.1.0.0/16; "" for none')
        .option('--deny <list>', 'hosts and addresses that are closed; "" for none')
        .option('--origins <list>', 'pages that may call functions, like https://app.example; any: all pages'),
  );
}

async function current(target: Target): Promise<Settings> {
  return await ask(target, 'settings.get', []);
}

async function given(target: Target, {allow, deny, origins}: SetOptions): Promise<Change> {
  if (allow === undefined && deny === undefined && origins === undefined)
    throw new CommandFailure('give --allow, --deny, --origins or a JSON file (-: standard input)', 2);
  const changed: Change = {};
  if (allow !== undefined || deny !== undefined) {
    const {egress} = await current(target);
    changed.egress = {allow: listed(allow) ?? egress.allow, deny: listed(deny) ?? egress.deny};
  }
  if (origins !== undefined) changed.allowed_origins = origins === 'any' ? null : listed(origins)!;
  return changed;
}

function listed(text: string | undefined): string[] | undefined {
  return text
    ?.split(',')
    .map(entry => entry.trim())
    .filter(entry => entry !== '');
}
