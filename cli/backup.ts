/** `svc backup …`: repositories of copies. Each verb is a file of `cli/backup/`. */
import type {Command} from 'commander';
import {register as registerDrill} from './backup/drill.ts';

export function register(program: Command): void {
  const backup = program.command('backup').description('copies of tenants in a repository');
  registerDrill(backup);
}
