/** `svc backup …`: repositories of copies. Each verb is a file of `cli/backup/`. */
import type {Command} from 'commander';
import {register as registerCheck} from './backup/check.ts';
import {register as registerDrill} from './backup/drill.ts';
import {register as registerExpire} from './backup/expire.ts';
import {register as registerForget} from './backup/forget.ts';
import {register as registerInit} from './backup/init.ts';
import {register as registerList} from './backup/list.ts';
import {registerRun} from './backup/run.ts';
import {registerStatus} from './backup/status.ts';

export function register(program: Command): void {
  const backup = program.command('backup').description('copies of tenants in a repository');
  registerInit(backup);
  registerList(backup);
  registerCheck(backup);
  registerDrill(backup);
  registerExpire(backup);
  registerForget(backup);
  registerRun(backup);
  registerStatus(backup);
}
