/** Checks the environment variables of a sandbox or a service. */
import {invalid} from '../../shared/errors.ts';

/** @throws op.invalid_input 400 for variables that Node would refuse to set, or more than `charsMax` characters */
export function checkEnvironment(env: Readonly<Record<string, string>>, charsMax: number): void {
  if (JSON.stringify(env).length > charsMax) throw invalid(`env must have at most ${charsMax} characters as JSON`);
  for (const [name, value] of Object.entries(env)) {
    if (/^[^=\0]+$/.test(name) && !value.includes('\0') && name.isWellFormed() && value.isWellFormed()) continue;
    throw invalid('env must hold valid Unicode, with names that are not empty and have no "="');
  }
}
