/** Asks for confirmation before an action that cannot be undone. */
import {createInterface} from 'node:readline/promises';
import type {Command} from 'commander';
import {CommandFailure} from './failure.ts';

export type ConfirmOptions = {yes?: true};

export function addYesOption(command: Command): Command {
  return command.option('--yes', 'do not ask');
}

/**
 * On a terminal, the user has to type the name.
 * @param whenRequired `terminal`: without a terminal it counts as confirmed, so that scripts keep working; `always`: it
 * needs --yes
 * @throws CommandFailure
 */
export async function confirm(
  what: string,
  name: string,
  {yes}: ConfirmOptions,
  whenRequired: 'terminal' | 'always',
): Promise<void> {
  if (yes === true) return;
  if (!process.stdin.isTTY || !process.stderr.isTTY) {
    if (whenRequired === 'terminal') return;
    throw new CommandFailure(`${what}: give --yes, since there is no terminal to ask on`, 2);
  }
  const terminal = createInterface({input: process.stdin, output: process.stderr});
  try {
    const typed = await terminal.question(`${what}. This cannot be undone. Type ${name} to go on: `);
    if (typed.trim() !== name) throw new CommandFailure('nothing was done');
  } finally {
    terminal.close();
  }
}
