/** Where commands keep what they remember on this machine, none of it a secret. */
import {homedir} from 'node:os';
import {isAbsolute, join} from 'node:path';

/** The XDG base directories' rule: a variable that is empty or relative is as if it were not set. */
export function stateDirectory(name: string): string {
  const given = process.env.XDG_STATE_HOME ?? '';
  const state = isAbsolute(given) ? given : join(homedir(), '.local', 'state');
  return join(state, 'svc', name);
}
