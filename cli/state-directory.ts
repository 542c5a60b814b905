/** Locates the commands' state on this machine. None of it is a secret. */
import {homedir} from 'node:os';
import {isAbsolute, join} from 'node:path';

/** The rule of the XDG base directories: a variable that is empty or relative counts as unset. */
export function stateDirectory(name: string): string {
  const given = process.env.XDG_STATE_HOME ?? '';
  const state = isAbsolute(given) ? given : join(homedir(), '.local', 'state');
  return join(state, 'svc', name);
}
