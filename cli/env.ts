/** `svc env list|get|set|remove` manages the environment variables of a tenant's functions. */
import {readFile} from 'node:fs/promises';
import {parseEnv} from 'node:util';
import type {Command} from 'commander';
import {subcommand} from './control.ts';
import {CommandFailure} from './failure.ts';
import {ask, type Target, type TargetOptions} from './project/target.ts';

type Variables = Record<string, string>;
type SetOptions = TargetOptions & {fromFile?: string; force?: true};

export function register(program: Command): void {
  const env = program.command('env').description("the environment variables of a tenant's functions");
  subcommand(env, 'list', 'list all, as NAME=value lines', async target => {
    for (const [name, value] of Object.entries(await variables(target))) process.stdout.write(`${name}=${value}\n`);
  });
  subcommand(env, 'get <name>', 'print the value of one', async (target, _, name) => {
    process.stdout.write(`${(await ask(target, 'env.get', [name!])).value}\n`);
  });
  subcommand<SetOptions>(
    env,
    'set [name] [value]',
    'set one, or many from a file; a value that begins with - goes after --: set NAME -- VALUE',
    (target, options, name, value) => set(target, name, value, options),
    command =>
      command
        .showHelpAfterError('A value that begins with - goes after --: svc env set NAME -- VALUE')
        .option('--from-file <file>', 'NAME=value lines, as in a .env file')
        .option('--force', 'allow the file to change existing values'),
  );
  subcommand(env, 'remove <name>', 'delete one', async (target, _, name) => {
    await ask(target, 'env.delete', [name!]);
    process.stdout.write(`removed ${name}\n`);
  });
}

async function set(
  target: Target,
  name: string | undefined,
  value: string | undefined,
  options: SetOptions,
): Promise<void> {
  if (options.fromFile === undefined) {
    if (name === undefined || value === undefined)
      throw new CommandFailure('give a name and a value, or --from-file', 2);
    await setOne(target, name, value);
    return;
  }
  if (name !== undefined) throw new CommandFailure('give either a name and a value, or --from-file', 2);
  const wanted = await fileVariables(options.fromFile);
  const before = await variables(target);
  const changed = Object.entries(wanted).filter(([key, text]) => Object.hasOwn(before, key) && before[key] !== text);
  if (changed.length > 0 && options.force !== true) {
    throw new CommandFailure(
      `${changed.map(([key]) => key).join(', ')}: set to another value already; --force changes it`,
    );
  }
  for (const [key, text] of Object.entries(wanted)) if (before[key] !== text) await setOne(target, key, text);
}

async function setOne(target: Target, name: string, value: string): Promise<void> {
  await ask(target, 'env.set', [name], {body: {value}});
  process.stdout.write(`set ${name}\n`);
}

async function variables(target: Target): Promise<Variables> {
  return (await ask(target, 'env.list', [])).env;
}

async function fileVariables(file: string): Promise<Variables> {
  try {
    return parseEnv(await readFile(file, 'utf8')) as Variables;
  } catch (cause) {
    throw new CommandFailure(`${file} cannot be read: ${(cause as Error).message}`, 1, {cause});
  }
}
