/** `svc codegen` writes svc/_generated from the project's files alone, without a server. */
import type {Command} from 'commander';
import {reportFailure} from './failure.ts';
import {generateCode} from './project/codegen.ts';
import {addProjectOption} from './project/target.ts';

export function register(program: Command): void {
  const command = program.command('codegen').description('write the generated code of a project, svc/_generated');
  addProjectOption(command).action(({project}: {project: string}) =>
    reportFailure('svc codegen', async () => {
      const written = await generateCode(project);
      process.stdout.write(written.length === 0 ? 'generated code is up to date\n' : `wrote ${written.join(', ')}\n`);
    }),
  );
}
